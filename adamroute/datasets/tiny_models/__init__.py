"""Tiny random checkpoints in the layout of the headline system, for tests and dry runs."""
