"""Dual retrieval: the union, both branches as one, and replay equal to real recall."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from adamroute.encoders.seams import Vectors
from adamroute.errors import ArtifactError
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.retrieval.dual import SPREAD_SAMPLE, DualRetriever, Spread
from adamroute.retrieval.replay import recalled
from adamroute.theta import ALPHAS, Combine, Theta


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


def unit(vectors: NDArray[np.float64]) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / lengths, dtype=np.float32)


def pairs(rng: np.random.Generator, distinct: int, size: int) -> tuple[Vectors, Vectors]:
    """Both vectors of `size` items, of which many are equal in one branch or in both."""
    text, mm = (unit(rng.normal(size=(distinct, d))) for d in (8, 12))
    kinds = rng.integers(0, distinct, size)
    others = np.where(rng.random(size) < 0.5, kinds, rng.integers(0, distinct, size))
    return text[kinds], mm[others]


def fused_by_hand(
    text: NDArray[np.float64], mm: NDArray[np.float64], alpha: float
) -> list[tuple[int, int]]:
    """Rank of every item by alpha z(text) + (1 - alpha) z(mm), and the rank with all ties lost.

    Scores are [N]; z over the catalogue. Equal items differ by rounding alone.
    """
    fused = sum(w * (s - s.mean()) / s.std() for w, s in ((alpha, text), (1.0 - alpha, mm)))
    found = []
    for row, score in enumerate(fused.tolist()):
        above = int((fused > score + 1e-9).sum())
        tied = np.flatnonzero(np.abs(fused - score) <= 1e-9)
        found.append((1 + above + int((tied < row).sum()), above + len(tied)))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_fused_retrieval_is_the_sum_of_z_scores_over_the_whole_catalogue(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = 90
    text, mm = pairs(rng, 40, size)
    both = DualRetriever(BranchIndex(text), BranchIndex(mm))
    text_query, mm_query = unit(rng.normal(size=8)), unit(rng.normal(size=12))
    asked = np.tile(text_query, (size, 1)), np.tile(mm_query, (size, 1)), np.arange(size)
    ranks, worst = both.ranks(*asked), both.ranks(*asked, worst=True)
    by_text = text.astype(np.float64) @ text_query.astype(np.float64)
    by_mm = mm.astype(np.float64) @ mm_query.astype(np.float64)
    for place, alpha in enumerate(ALPHAS):
        wanted = fused_by_hand(by_text, by_mm, alpha)
        assert ranks.fused[:, place].tolist() == [rank for rank, _ in wanted]
        assert worst.fused[:, place].tolist() == [lost for _, lost in wanted]
        order = sorted((rank, row) for row, (rank, _) in enumerate(wanted))
        found = both.search(text_query, mm_query, Theta(alpha, 20), combine="fused")
        assert found.rows.tolist() == [row for _, row in order[:20]]
    assert any(lost > rank for rank, lost in wanted)  # ties there are


def test_fused_candidates_come_in_their_one_order_with_the_ranks_of_both_branches() -> None:
    # Deviations: text .9 .8 .7 .2 .1, mean .54, sqrt(.1064) = .326; multimodal .1 .9 .2 .8 .7,
    # also mean .54 and .326. So z halves add up as the scores do: 1.0, 1.7, .9, 1.0, .8.
    found = DualRetriever(TEXT, MM).search(ONE, ONE, Theta(0.5, 3), (4, 1, 4), "fused")
    assert found.rows.tolist() == [1, 0, 3, 4]  # 0 and 3 tie, the lower row first
    assert found.origin == ("both", "both", "both", "collaborative")
    assert found.routed == 3
    assert found.text_ranks.tolist() == [2, 1, 4, 5]
    assert found.mm_ranks.tolist() == [1, 5, 2, 3]
    assert found.text_scores.tolist() == np.array([0.8, 0.9, 0.2, 0.1], np.float32).tolist()
    assert found.mm_scores.tolist() == np.array([0.9, 0.1, 0.8, 0.7], np.float32).tolist()


@pytest.mark.parametrize(("alpha", "rows"), [(1.0, [0, 1, 2]), (0.0, [1, 3, 4])])
def test_at_the_ends_fused_retrieval_is_one_branch(alpha: float, rows: list[int]) -> None:
    found = DualRetriever(TEXT, MM).search(ONE, ONE, Theta(alpha, 3), combine="fused")
    assert found.rows.tolist() == rows


def test_fused_ranks_are_those_of_the_branches_at_the_ends_and_hand_worked_between() -> None:
    asked = np.ones((5, 1), np.float32), np.ones((5, 1), np.float32), np.arange(5)
    ranks = DualRetriever(TEXT, MM).ranks(*asked)
    assert ranks.fused.shape == (5, 11)
    assert ranks.fused[:, 10].tolist() == ranks.text.tolist() == [1, 2, 3, 4, 5]
    assert ranks.fused[:, 0].tolist() == ranks.mm.tolist() == [5, 1, 4, 2, 3]
    # alpha .5, as above: 1.0, 1.7, .9, 1.0, .8
    assert ranks.fused[:, 5].tolist() == [2, 1, 4, 3, 5]
    # alpha .2: .18 + .08 = .26, .16 + .72 = .88, .14 + .16 = .30, .04 + .64 = .68, .02 + .56 = .58
    assert ranks.fused[:, 2].tolist() == [5, 1, 4, 2, 3]
    lost = DualRetriever(TEXT, MM).ranks(*asked, worst=True)
    assert lost.fused[:, 5].tolist() == [3, 1, 4, 3, 5]


def test_fused_ranks_of_stand_ins_leave_the_items_own_vectors_out() -> None:
    # Row 1, first by far, as an item of .1 and .1: .1 by text ties with row 4, .1 by photos with
    # row 0, and their sum .2 is below all others: .8 is the least of them. The deviations stay
    # those of the catalogue.
    ranks = DualRetriever(TEXT, MM).ranks(
        ONE[None], ONE[None], np.array([1]), stand_ins=(ONE[None] * 0.1, ONE[None] * 0.1)
    )
    assert (ranks.text.tolist(), ranks.mm.tolist()) == ([4], [5])  # row 1 is before 4, after 0
    assert ranks.fused[0, 5] == 5
    assert (ranks.fused[0, 0], ranks.fused[0, 10]) == (5, 4)


def test_the_spread_is_the_deviation_of_a_querys_scores() -> None:
    rng = np.random.default_rng(0)
    vectors, queries = unit(rng.normal(size=(50, 6)) + 0.5), unit(rng.normal(size=(7, 6)))
    scores = queries.astype(np.float64) @ vectors.T.astype(np.float64)
    together = Spread.of(vectors).deviations(queries)
    np.testing.assert_allclose(together, scores.std(axis=1), rtol=1e-9)
    alone = [float(Spread.of(vectors).deviations(queries[b : b + 1])[0]) for b in range(7)]
    assert together.tolist() == alone


def test_the_spread_of_equal_items_is_the_least_there_is() -> None:
    same = np.tile(unit(np.array([3.0, 4.0])), (9, 1))
    assert Spread.of(same).deviations(np.eye(2, dtype=np.float32)).tolist() == [np.inf] * 2
    assert Spread.of(same[:1]).deviations(same[:1]).tolist() == [np.inf]


def test_many_items_are_sampled_evenly_for_their_spread() -> None:
    # Every third of 60,000 items scores 1 or -1, the others 5: only the former are looked at.
    vectors = np.full((3 * SPREAD_SAMPLE, 1), 5.0, np.float32)
    vectors[::6], vectors[3::6] = 1.0, -1.0
    assert Spread.of(vectors).deviations(ONE[None]).tolist() == [1.0]


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_where_all_are_alike_in_one_branch_the_other_decides(alpha: float) -> None:
    rng = np.random.default_rng(3)
    same, mm = np.tile(unit(rng.normal(size=8)), (40, 1)), unit(rng.normal(size=(40, 12)))
    both = DualRetriever(BranchIndex(same), BranchIndex(mm))
    text_query, mm_query = unit(rng.normal(size=8)), unit(rng.normal(size=12))
    found = both.search(text_query, mm_query, Theta(alpha, 40), combine="fused")
    assert found.rows.tolist() == both.mm.search(mm_query, 40).rows.tolist()


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(1, 80),
    distinct=st.integers(1, 80),
    alpha=st.floats(0.0, 1.0),
    budget=st.integers(1, 120),
    combine=st.sampled_from(get_args(Combine)),
)
def test_replay_equals_real_recall_for_every_item_and_theta(
    seed: int, size: int, distinct: int, alpha: float, budget: int, combine: Combine
) -> None:
    rng = np.random.default_rng(seed)
    text, mm = pairs(rng, distinct, size)
    recall = DualRetriever(BranchIndex(text), BranchIndex(mm))
    text_query, mm_query = unit(rng.normal(size=8)), unit(rng.normal(size=12))
    asked = np.tile(text_query, (size, 1)), np.tile(mm_query, (size, 1)), np.arange(size)
    ranks, worst = recall.ranks(*asked), recall.ranks(*asked, worst=True)
    alphas = ALPHAS if combine == "fused" else (alpha,)  # fused ranks are known at the bins
    for theta in (Theta(a, budget) for a in alphas):
        found = recall.search(text_query, mm_query, theta, combine=combine)
        replayed = np.flatnonzero(recalled(ranks, theta, combine))
        assert sorted(found.rows.tolist()) == replayed.tolist()
        assert found.text_ranks.tolist() == ranks.text[found.rows].tolist()
        assert found.mm_ranks.tolist() == ranks.mm[found.rows].tolist()
    assert (worst.text >= ranks.text).all()
    assert (worst.mm >= ranks.mm).all()
    assert (worst.fused >= ranks.fused).all()


def test_fused_ranks_do_not_depend_on_how_queries_are_batched() -> None:
    rng = np.random.default_rng(4)
    text, mm = pairs(rng, 150, 300)
    recall = DualRetriever(BranchIndex(text), BranchIndex(mm))
    text_queries, mm_queries = unit(rng.normal(size=(40, 8))), unit(rng.normal(size=(40, 12)))
    rows = rng.integers(0, 300, 40)
    for alpha in ALPHAS[1:-1]:
        together = recall.fused_queries(text_queries, mm_queries, alpha)
        alone = [recall.fused_queries(text_queries[b : b + 1], mm_queries[b : b + 1], alpha)
                 for b in range(40)]  # fmt: skip
        assert np.concatenate(alone).tobytes() == together.tobytes()
    whole = recall.ranks(text_queries, mm_queries, rows)
    singly = [
        recall.ranks(text_queries[b : b + 1], mm_queries[b : b + 1], rows[b : b + 1]).each()[0]
        for b in range(40)
    ]
    assert whole.each() == singly
