"""Stored ranks come back as they were computed, for any choice and order of the queries."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from adamroute.catalogue.shop import Query
from adamroute.errors import ArtifactError
from adamroute.retrieval.ranks import Arrays, QueryRanks, load_ranks, rank_fields, save_ranks
from adamroute.retrieval.replay import TargetRank, TargetRanks


def query(name: str) -> Query:
    return Query(name, f"user of {name}", "words", "item", "visual", "train")


def arrays(count: int, length: int, seed: int) -> Arrays:
    rng = np.random.default_rng(seed)
    numbers = {n: rng.integers(1, 99, count) for n in ("targets", "text", "mm")}
    worst = {n: rng.integers(1, 99, count) for n in ("text_worst", "mm_worst")}
    fused = {n: rng.integers(1, 99, (count, 11)) for n in ("fused", "fused_worst")}
    lists = {n: rng.integers(0, 99, (count, length)) for n in ("text_lists", "mm_lists")}
    vectors = {n: rng.random((count, 3), np.float32) for n in ("text_vectors", "mm_vectors")}
    return {**vectors, **numbers, **fused, **worst, **lists}


LOGGED, MADE = (query("a"), query("b"), query("c")), (query("s"),)


def stored(folder: Path) -> QueryRanks:
    """Three queries with lists of two, and one without a list."""
    save_ranks(folder, [(LOGGED, arrays(3, 2, 1)), (MADE, arrays(1, 0, 2))])
    return QueryRanks.of(LOGGED, arrays(3, 2, 1))


def test_what_is_stored_comes_back_bit_by_bit_in_the_order_asked_for(tmp_path: Path) -> None:
    whole = stored(tmp_path)
    found = load_ranks(tmp_path, (LOGGED[2], LOGGED[0]))
    assert found.request_ids == ("c", "a")
    assert found.users == ("user of c", "user of a")
    for field in fields(QueryRanks)[3:]:
        kept = getattr(found, field.name)
        assert kept.dtype == getattr(whole, field.name).dtype
        assert np.array_equal(kept, getattr(whole, field.name)[[2, 0]]), field.name


def test_queries_may_have_no_lists_and_there_may_be_no_queries(tmp_path: Path) -> None:
    stored(tmp_path)
    assert load_ranks(tmp_path, MADE).text_lists.shape == (1, 0)
    nothing = load_ranks(tmp_path, ())
    assert (len(nothing), nothing.text_vectors.shape, nothing.text.shape) == (0, (0, 3), (0,))
    assert nothing.fused.shape == (0, 11)


def test_ranks_of_targets_are_at_hand_with_ties_by_row_and_with_ties_lost(tmp_path: Path) -> None:
    whole = stored(tmp_path)
    kept = whole.take(np.array([True, False, True]))
    assert kept.request_ids == ("a", "c")
    assert kept.ranks.text.tolist() == whole.text[[0, 2]].tolist()
    assert kept.ranks.mm.tolist() == whole.mm[[0, 2]].tolist()
    assert kept.ranks.fused.tolist() == whole.fused[[0, 2]].tolist()
    assert kept.worst.text.tolist() == whole.text_worst[[0, 2]].tolist()
    assert kept.worst.mm.tolist() == whole.mm_worst[[0, 2]].tolist()
    assert kept.worst.fused.tolist() == whole.fused_worst[[0, 2]].tolist()


def test_fields_of_ranks_are_named_as_they_are_stored() -> None:
    one = TargetRanks.of([TargetRank(3, 4, tuple(range(1, 12)))])
    lost = TargetRanks.of([TargetRank(5, 6, tuple(range(2, 13)))])
    found = rank_fields(one, lost)
    assert {name: values.tolist() for name, values in found.items()} == {
        "text": [3], "mm": [4], "fused": [list(range(1, 12))],
        "text_worst": [5], "mm_worst": [6], "fused_worst": [list(range(2, 13))],
    }  # fmt: skip


def test_a_query_without_ranks_says_what_to_run(tmp_path: Path) -> None:
    stored(tmp_path)
    with pytest.raises(ArtifactError, match=r"of 1 of 2 queries, 'd' the first.*adamroute label"):
        load_ranks(tmp_path, (LOGGED[0], query("d")))
    (tmp_path / "ranks.parquet").write_bytes(b"junk")
    with pytest.raises(ArtifactError, match="Run again: adamroute label"):
        load_ranks(tmp_path, LOGGED)
