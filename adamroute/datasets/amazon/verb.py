"""What `adamroute data` says."""

from __future__ import annotations

from collections.abc import Iterator

from adamroute.datasets.amazon.make import MadeShop


def told(made: MadeShop) -> Iterator[str]:
    """Lines for the person who ran it: what is there, what was left out, what comes next."""
    counts = ", ".join(f"{count:,} {name}" for name, count in made.counts.items())
    yield f"{made.folder}: {counts}"
    for name, count in made.problems.items():
        yield f"  {name}: {count:,}"
    yield f"Next, with a config of configs/: adamroute build CONFIG --shop {made.folder}"
