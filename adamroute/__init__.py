"""adamroute: learned split of a recall budget between a text index and a multimodal index."""

__version__ = "0.1.0"
