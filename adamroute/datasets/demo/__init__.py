"""The demo shop: a shop folder with drawn photos, so that everything runs without other data.

It states of every request whether it is visual, functional or mixed. Half of the listings mention
their look; functional facts are in the listing only, never in the photo. The same seed gives the
same bytes (photos: with the same Pillow). 1,600 photos take 45 to 65 s on one core.
"""

from adamroute.datasets.demo.generate import generate_demo_shop

__all__ = ["generate_demo_shop"]
