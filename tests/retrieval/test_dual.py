"""Dual retrieval: the union, the ranks in both branches, and replay equal to real recall."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adamroute.errors import ArtifactError
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.retrieval.dual import DualRetriever
from adamroute.retrieval.replay import recalled
from adamroute.theta import Theta


def scored(*scores: float) -> BranchIndex:
    """An index that gives item i the i-th score for the query (1,)."""
    return BranchIndex(np.array(scores, dtype=np.float32)[:, None])


ONE = np.ones(1, dtype=np.float32)
#              row   0    1    2    3    4
TEXT = scored(*(0.9, 0.8, 0.7, 0.2, 0.1))
MM = scored(*(0.1, 0.9, 0.2, 0.8, 0.7))


def test_the_union_carries_both_ranks_and_says_who_found_an_item() -> None:
    found = DualRetriever(TEXT, MM).search(ONE, ONE, Theta(0.5, 4))  # two of each
    # text: rows 0, 1; multimodal: rows 1, 3. Better ranks: row 0 1, row 1 1, row 3 2. Rows 0 and 1
    # are both first somewhere; row 0 by text.
    assert found.rows.tolist() == [0, 1, 3]
    assert found.origin == ("text", "both", "multimodal")
    assert found.text_ranks.tolist() == [1, 2, 4]
    assert found.mm_ranks.tolist() == [5, 1, 2]
    assert found.text_scores.tolist() == np.array([0.9, 0.8, 0.2], np.float32).tolist()
    assert found.mm_scores.tolist() == np.array([0.1, 0.9, 0.8], np.float32).tolist()
    assert len(found) == found.routed == 3


@pytest.mark.parametrize(
    ("alpha", "rows"), [(1.0, [0, 1]), (0.0, [1, 3]), (0.5, [0, 1]), (0.7, [0, 1])]
)
def test_alpha_says_which_branch_fills_the_budget(alpha: float, rows: list[int]) -> None:
    found = DualRetriever(TEXT, MM).search(ONE, ONE, Theta(alpha, 2))
    assert sorted(found.rows.tolist()) == rows


def test_collaborative_items_follow_in_their_order_with_true_ranks() -> None:
    found = DualRetriever(TEXT, MM).search(ONE, ONE, Theta(0.5, 2), extra_rows=[4, 1, 2, 4])
    assert found.rows.tolist() == [0, 1, 4, 2]  # row 1 was found by the multimodal branch
    assert found.origin == ("text", "multimodal", "collaborative", "collaborative")
    assert found.text_ranks.tolist() == [1, 2, 5, 3]
    assert found.mm_ranks.tolist() == [5, 1, 3, 4]
    assert found.routed == 2


def test_branches_of_different_shops_are_refused() -> None:
    with pytest.raises(ArtifactError, match="5 items by text, 2 multimodal"):
        DualRetriever(TEXT, scored(0.1, 0.2))


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 80),
    distinct=st.integers(1, 80),
    alpha=st.floats(0.0, 1.0),
    budget=st.integers(1, 120),
)
def test_replay_equals_real_recall_for_every_item_and_theta(
    seed: int, size: int, distinct: int, alpha: float, budget: int
) -> None:
    rng = np.random.default_rng(seed)
    text = rng.normal(size=(distinct, 8)).astype(np.float32)[rng.integers(0, distinct, size)]
    mm = rng.normal(size=(distinct, 12)).astype(np.float32)[rng.integers(0, distinct, size)]
    recall = DualRetriever(BranchIndex(text), BranchIndex(mm))
    text_query, mm_query = (rng.normal(size=d).astype(np.float32) for d in (8, 12))
    theta = Theta(alpha, budget)
    found = recall.search(text_query, mm_query, theta)
    rows = np.arange(size)
    text_ranks, mm_ranks = recall.ranks(
        np.tile(text_query, (size, 1)), np.tile(mm_query, (size, 1)), rows
    )
    replayed = np.flatnonzero(recalled(text_ranks, mm_ranks, theta))
    assert sorted(found.rows.tolist()) == replayed.tolist()
    assert found.text_ranks.tolist() == text_ranks[found.rows].tolist()
    assert found.mm_ranks.tolist() == mm_ranks[found.rows].tolist()
    worst_text, worst_mm = recall.pessimistic_ranks(
        np.tile(text_query, (size, 1)), np.tile(mm_query, (size, 1)), rows
    )
    assert (worst_text >= text_ranks).all()
    assert (worst_mm >= mm_ranks).all()
