"""Stage build: a shop folder to index/, and the item profiles that a vision model may add."""
