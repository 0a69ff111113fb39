"""What surrounds FAISS on a GPU; no GPU is at hand, so a flat index stands in its place.

The real one is held against the CPU's answers by scripts/gpu_check.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from adamroute.errors import ConfigError
from adamroute.retrieval import branch_index as module
from adamroute.retrieval.branch_index import GPU_MOST, BranchIndex

RNG = np.random.default_rng(0)
DIMENSIONS = 16


@dataclass
class Away:
    """FAISS elsewhere: sums in another order, so other last bits, and refuses long answers."""

    flat: Any
    asked: list[int] = field(default_factory=list)

    def search(self, queries: Any, n: int) -> Any:
        assert n <= GPU_MOST
        self.asked.append(n)
        scores, rows = self.flat.search(queries, n)
        shaken = scores + RNG.choice([-2e-7, 2e-7], scores.shape).astype(np.float32)
        order = np.argsort(-shaken, axis=1, kind="stable")
        return np.take_along_axis(shaken, order, 1), np.take_along_axis(rows, order, 1)


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> list[Away]:
    made: list[Away] = []

    def on_gpu(flat: Any) -> Away:
        made.append(Away(flat))
        return made[-1]

    monkeypatch.setattr(module, "_on_gpu", on_gpu)
    return made


def vectors(items: int, copies: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    found = RNG.standard_normal((items, DIMENSIONS)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return np.tile(found, (copies, 1))


def test_other_last_bits_from_the_gpu_change_no_rank(away: list[Away]) -> None:
    items = vectors(300, copies=3)  # every score three times: ties everywhere
    here, there = BranchIndex(items), BranchIndex(items, device="gpu")
    for query in vectors(20, copies=1):
        one, other = here.search(query, 50), there.search(query, 50)
        assert np.array_equal(one.rows, other.rows)
        assert np.array_equal(one.ranks, other.ranks)
    assert len(away[0].asked) >= 20


def test_more_ties_than_a_gpu_can_list_are_settled_on_the_cpu(away: list[Away]) -> None:
    items = vectors(1, copies=3_000)
    there = BranchIndex(items, device="gpu")
    found = there.search(items[0], 20)
    assert found.rows.tolist() == list(range(20))  # 3,000 equal items: the lowest rows
    assert max(away[0].asked) <= GPU_MOST


def test_without_a_gpu_both_ways_out_are_named() -> None:
    with pytest.raises(ConfigError, match=r"faiss-cpu.*retrieval_device: cpu"):
        BranchIndex(vectors(4, copies=1), device="gpu")
