"""Stored ranks come back as they were computed, for any choice and order of the queries."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from adamroute.catalogue.shop import Query
from adamroute.errors import ArtifactError
from adamroute.retrieval.ranks import Arrays, QueryRanks, load_ranks, save_ranks


def query(name: str) -> Query:
    return Query(name, f"user of {name}", "words", "item", "visual", "train")


def arrays(count: int, length: int, seed: int) -> Arrays:
    rng = np.random.default_rng(seed)
    numbers = {n: rng.integers(1, 99, count) for n in ("targets", "text", "mm")}
    worst = {n: rng.integers(1, 99, count) for n in ("text_worst", "mm_worst")}
    lists = {n: rng.integers(0, 99, (count, length)) for n in ("text_lists", "mm_lists")}
    vectors = {n: rng.random((count, 3), np.float32) for n in ("text_vectors", "mm_vectors")}
    return {**vectors, **numbers, **worst, **lists}


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


def test_a_query_without_ranks_says_what_to_run(tmp_path: Path) -> None:
    stored(tmp_path)
    with pytest.raises(ArtifactError, match=r"of 1 of 2 queries, 'd' the first.*adamroute label"):
        load_ranks(tmp_path, (LOGGED[0], query("d")))
    (tmp_path / "ranks.parquet").write_bytes(b"junk")
    with pytest.raises(ArtifactError, match="Run again: adamroute label"):
        load_ranks(tmp_path, LOGGED)
