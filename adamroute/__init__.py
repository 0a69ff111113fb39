"""adamroute: learned split of a recall budget between a text index and a multimodal index.

run = adamroute.open_run("runs/demo")
run.recommend(query="striped umbrella with a hooked handle", n=5)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adamroute.catalogue.request import Interaction, PreferenceProfile, Request
    from adamroute.errors import AdamrouteError
    from adamroute.recommender import Explanation, Recommendation, Recommender, Routing
    from adamroute.run import Run, open_run
    from adamroute.theta import Theta

__version__ = "0.1.0"
_HOMES = {  # brought when asked for, so that `import adamroute` costs nothing
    "AdamrouteError": "errors",
    "Explanation": "recommender",
    "Interaction": "catalogue.request",
    "PreferenceProfile": "catalogue.request",
    "Recommendation": "recommender",
    "Recommender": "recommender",
    "Request": "catalogue.request",
    "Routing": "recommender",
    "Run": "run",
    "Theta": "theta",
    "open_run": "run",
}
__all__ = [
    "AdamrouteError", "Explanation", "Interaction", "PreferenceProfile", "Recommendation",
    "Recommender", "Request", "Routing", "Run", "Theta", "__version__", "open_run",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'adamroute' has no attribute {name!r}")
    return getattr(import_module(f"adamroute.{_HOMES[name]}"), name)
