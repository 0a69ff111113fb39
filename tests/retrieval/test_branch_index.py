"""FAISS against brute force: order, ties and ranks exactly as CONTRACTS says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from adamroute.errors import ArtifactError, RequestError
from adamroute.retrieval.branch_index import BranchIndex, Ranks

TIE = 1e-6


def brute_force_ranks(vectors: NDArray[np.float32], query: NDArray[np.float32]) -> Ranks:
    """[N] ranks, written as CONTRACTS states them, one item at a time."""
    scores = [float(np.dot(v.astype(np.float64), query.astype(np.float64))) for v in vectors]
    ranks = []
    for row, score in enumerate(scores):
        above = sum(other > score + TIE for other in scores)
        before = sum(abs(other - score) <= TIE for other in scores[:row])
        ranks.append(1 + above + before)
    return np.array(ranks)


@st.composite
def catalogues(draw: st.DrawFn) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Vectors of which many are equal or differ by less than float32 can tell, and queries."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    distinct = draw(st.integers(1, 8))
    size = draw(st.integers(1, 60))
    dimensions = draw(st.sampled_from([2, 8, 33]))
    base = rng.normal(size=(distinct, dimensions))
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    vectors = base[rng.integers(0, distinct, size)]
    noise = draw(st.sampled_from([0.0, 3e-7, 3e-6, 1e-3]))
    stored = (vectors + noise * rng.normal(size=vectors.shape)).astype(np.float32)
    queries = rng.normal(size=(4, dimensions))
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    return stored, queries.astype(np.float32)


def test_the_tie_goes_to_the_lower_row_and_counts_as_lost_when_pessimistic() -> None:
    vectors = np.array([[0, 1], [1, 0], [1, 0], [0.6, 0.8]], dtype=np.float32)
    index = BranchIndex(vectors)
    query = np.array([[1, 0]] * 4, dtype=np.float32)  # scores 0, 1, 1, .6
    rows = np.arange(4)
    assert index.ranks(query, rows).tolist() == [4, 1, 2, 3]
    assert index.ranks(query, rows, worst=True).tolist() == [4, 2, 2, 3]
    assert index.ranks_of(query[0], rows).tolist() == [4, 1, 2, 3]
    hits = index.search(query[0], 3)
    assert hits.rows.tolist() == [1, 2, 3]
    assert hits.ranks.tolist() == [1, 2, 3]
    assert hits.scores.tolist() == [1.0, 1.0, np.float32(0.6)]


def test_a_chain_of_near_ties_shares_a_rank_and_is_returned_whole() -> None:
    # Falling scores with rising distance but falling rows: each ties with its neighbour only.
    # Row 2 has nobody above and ties with row 1: rank 1 + 1 = 2. Row 1 ties with 0 and 2: 2.
    # Row 0 has row 2 above, ties with row 1, which is not lower: 2.
    vectors = np.array([[0.0], [8e-7], [16e-7]], dtype=np.float32)
    index = BranchIndex(vectors)
    one = np.ones((3, 1), dtype=np.float32)
    assert index.ranks(one, np.arange(3)).tolist() == [2, 2, 2]
    assert len(index.search(one[0], 1).rows) == 0
    assert index.search(one[0], 2).rows.tolist() == [0, 1, 2]


@settings(max_examples=150, deadline=None)
@given(catalogues(), st.integers(0, 80))
def test_search_ranks_and_ranks_of_equal_brute_force(
    catalogue: tuple[NDArray[np.float32], NDArray[np.float32]], n: int
) -> None:
    vectors, queries = catalogue
    index = BranchIndex(vectors)
    rows = np.arange(len(vectors))
    for query in queries:
        truth = brute_force_ranks(vectors, query)
        assert index.ranks_of(query, rows).tolist() == truth.tolist()
        assert index.ranks(np.tile(query, (len(rows), 1)), rows).tolist() == truth.tolist()
        hits = index.search(query, n)
        wanted = sorted((rank, row) for row, rank in enumerate(truth) if rank <= min(n, len(rows)))
        assert list(zip(hits.ranks, hits.rows, strict=True)) == wanted


@settings(max_examples=50, deadline=None)
@given(catalogues())
def test_the_pessimistic_rank_is_the_contract_rank_of_the_worst_row_order(
    catalogue: tuple[NDArray[np.float32], NDArray[np.float32]],
) -> None:
    vectors, queries = catalogue
    index = BranchIndex(vectors)
    for query in queries:
        for row in range(min(len(vectors), 5)):
            # With the target moved behind all others, every tie is a tie with a lower row.
            last = np.concatenate([np.delete(vectors, row, axis=0), vectors[row : row + 1]])
            wanted = brute_force_ranks(last, query)[-1]
            found = index.ranks(query[None], np.array([row]), worst=True)
            assert found.tolist() == [wanted]
            assert found[0] >= index.ranks(query[None], np.array([row]))[0]


def test_a_catalogue_of_one_product_repeated_is_ranked_by_row() -> None:
    vectors = np.tile(np.array([[0.6, 0.8]], dtype=np.float32), (700, 1))
    index = BranchIndex(vectors)
    query = np.array([0.8, 0.6], dtype=np.float32)
    assert index.search(query, 20).rows.tolist() == list(range(20))
    many = np.tile(query, (3, 1))
    assert index.ranks(many, np.array([0, 350, 699])).tolist() == [1, 351, 700]
    assert index.ranks(many, np.array([0, 350, 699]), worst=True).tolist() == [700] * 3
    assert index.ranks_of(query, np.array([699, 5])).tolist() == [700, 6]


def test_a_stand_in_is_ranked_among_the_others_and_not_beside_its_own_vector() -> None:
    vectors = np.array([[1, 0], [0.9, 0], [0.8, 0], [0.7, 0]], dtype=np.float32)
    index = BranchIndex(vectors)
    query = np.tile(np.array([1, 0], np.float32), (4, 1))
    # Row 0 as .75: only .9 and .8 are above, since its own 1.0 is not there. Row 3 as .95: 1.0 is
    # above. Row 1 as .8: 1.0 is above, and row 2 ties, which is not lower. Row 2 as .9: row 1 ties
    # and is lower.
    stand_ins = np.array([[0.75, 0], [0.95, 0], [0.8, 0], [0.9, 0]], dtype=np.float32)
    rows = np.array([0, 3, 1, 2])
    assert index.ranks(query, rows, stand_ins=stand_ins).tolist() == [3, 2, 2, 3]
    assert index.ranks(query, rows, worst=True, stand_ins=stand_ins).tolist() == [3, 2, 3, 3]
    assert index.ranks(query, rows).tolist() == [1, 4, 2, 3]  # they are gone afterwards


@settings(max_examples=50, deadline=None)
@given(catalogues(), st.integers(0, 2**32 - 1))
def test_ranks_of_stand_ins_are_those_of_a_catalogue_that_has_them(
    catalogue: tuple[NDArray[np.float32], NDArray[np.float32]], seed: int
) -> None:
    vectors, queries = catalogue
    rng = np.random.default_rng(seed)
    rows, others = rng.integers(0, len(vectors), (2, len(queries)))
    stand_ins = vectors[others]  # those of other items: ties are the normal case
    found = BranchIndex(vectors).ranks(queries, rows, stand_ins=stand_ins)
    wanted = []
    for query, row, stand_in in zip(queries, rows, stand_ins, strict=True):
        changed = vectors.copy()
        changed[row] = stand_in
        wanted.append(int(brute_force_ranks(changed, query)[row]))
    assert found.tolist() == wanted


def test_stand_ins_of_another_encoder_are_refused() -> None:
    index = BranchIndex(np.eye(3, dtype=np.float32))
    query = np.ones((1, 3), np.float32)
    with pytest.raises(ArtifactError, match=r"3 dimensions, queries \(1, 2\)"):
        index.ranks(query, np.array([0]), stand_ins=np.ones((1, 2), np.float32))


def test_ranks_need_no_copy_of_the_vectors() -> None:
    vectors = np.eye(3, dtype=np.float32)
    index = BranchIndex(vectors)
    index.ranks(vectors, np.arange(3))
    index.ranks_of(vectors[0], np.arange(3))
    assert index.vectors is vectors
    assert "_faiss" not in vars(index)
    index.search(vectors[0], 1)
    assert "_faiss" in vars(index)


def test_n_beyond_the_catalogue_is_capped_and_zero_finds_nothing() -> None:
    index = BranchIndex(np.eye(3, dtype=np.float32))
    query = np.array([0.1, 0.3, 0.2], dtype=np.float32)
    assert index.search(query, 50).rows.tolist() == [1, 2, 0]
    assert index.search(query, 0).rows.tolist() == []
    assert index.ranks_of(query, np.array([], dtype=np.int64)).tolist() == []
    assert index.ranks(np.empty((0, 3), np.float32), np.array([], np.int64)).tolist() == []


def test_ranks_do_not_depend_on_how_queries_are_batched() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 16)).astype(np.float32)
    queries = rng.normal(size=(600, 16)).astype(np.float32)
    rows = rng.integers(0, 300, 600)
    index = BranchIndex(vectors)
    alone = [int(index.ranks(queries[i : i + 1], rows[i : i + 1])[0]) for i in range(600)]
    assert index.ranks(queries, rows).tolist() == alone


@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((0, 4), np.float32),
        np.zeros(4, np.float32),
        np.zeros((2, 4), np.float64),
        np.full((2, 4), np.nan, np.float32),
    ],
)
def test_vectors_that_cannot_be_an_index_are_refused(vectors: NDArray[np.float32]) -> None:
    with pytest.raises(ArtifactError, match="index: vectors"):
        BranchIndex(vectors)


def test_a_query_of_another_encoder_is_refused_with_both_dimensions() -> None:
    index = BranchIndex(np.eye(3, dtype=np.float32))
    with pytest.raises(ArtifactError, match=r"3 dimensions, queries \(1, 2\)"):
        index.search(np.ones(2, np.float32), 1)


def test_rows_that_do_not_exist_are_refused() -> None:
    index = BranchIndex(np.eye(3, dtype=np.float32))
    query = np.ones((1, 3), np.float32)
    with pytest.raises(RequestError, match="there are 3"):
        index.ranks(query, np.array([3]))
    with pytest.raises(RequestError, match="2 rows for 1 queries"):
        index.ranks(query, np.array([0, 1]))
