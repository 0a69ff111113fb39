"""How far the evidence at hand is believed, against what a shop without any should do.

Without evidence every router answers alpha .5, which is plain fusion of both branches. Requests
written from the catalogue say which words ask for looks and which for use, and which branch finds
which, out of sample; that is worth `WRITTEN`. Real queries close what is left: `HALF_WORTH` of
them half of it.
"""

from __future__ import annotations

# On ikea's train queries, priors that learned from written requests alone recalled .819, .829,
# .837 and .838 at a trust of .5, .75, .8 and 1, plain fusion .796 (EXPERIMENTS.md).
WRITTEN = 0.8
HALF_WORTH = 50


def trust_in(logged: int) -> float:
    """0 to 1, of a shop that logs so many train queries."""
    return 1.0 - (1.0 - WRITTEN) * HALF_WORTH / (HALF_WORTH + logged)
