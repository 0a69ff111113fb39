"""Targets of the label rows: what each row teaches about every theta.

Every row has its own belief: the mean over its evidence of surfaces P(alpha, K) and of votes for
alpha (teacher/belief.py). It is pulled towards what to expect of the query's likely kinds: (1 -
shrink) own + shrink * sum over kinds of P(kind | q) times that kind's mean. The soft label of a
bin is the votes for its alpha, sharpened, times the softmax over K of (surface - lambda K / tau) /
T at that alpha. Means of votes are nearly flat (on ikea the largest of eleven is .16 on average),
and a student that sees few rows learns little from them: to the third power LoRA's regret on
held-out users falls from .059 to .033 (EXPERIMENTS.md). One rank pair, unshrunk and unsharpened,
has the soft label of CONTRACTS, "Numbers".

All ranks are taken as they are: synthetic requests are written to be as hard as real ones, and
pseudo-queries are worded so.

targets.npz holds surfaces and soft labels in the order of rows.jsonl; weights are there as well as
in the rows: a row counts its source's weight from the config, no more.
"""

from __future__ import annotations

import numpy as np

from adamroute.retrieval.replay import LABEL_TEMPERATURE, Surface, price
from adamroute.teacher.belief import Belief
from adamroute.theta import Bins


def shrunk(own: Belief, expected: Belief, shrink: float) -> Belief:
    """`own` pulled towards what to expect of the query's kinds."""
    return Belief(
        (1.0 - shrink) * own.votes + shrink * expected.votes,
        (1.0 - shrink) * own.surface + shrink * expected.surface,
    )


def soft_target(belief: Belief, bins: Bins, lam: float, sharpness: float) -> Surface:
    """Soft label [A, K] of one belief at this price of K; `sharpness` is a power of the votes."""
    votes = belief.votes**sharpness
    logits = (belief.surface - price(bins, lam)) / LABEL_TEMPERATURE
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    share = votes / votes.sum()
    return np.asarray(share[:, None] * odds / odds.sum(axis=1, keepdims=True))
