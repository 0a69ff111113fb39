"""Cross-fitted ranks: each item by the part that never saw it, with or without its claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from adamroute.encoders.query_adapter import AlignedPhotoEncoder, QueryAdapter
from adamroute.encoders.seams import Vectors
from adamroute.errors import ArtifactError
from adamroute.retrieval.branch_index import BranchIndex
from adamroute.retrieval.cross_fit import CrossFitted, FoldParts, load_folds, save_folds
from adamroute.retrieval.dual import DualRetriever
from adamroute.retrieval.search_index import Branches

FOLD = np.array([0, 1, 0, 1])
CLAIMS = (("folds", "flat"), None, ("keeps", "dry"), ("über", "alles"))


def column(*values: float) -> Vectors:
    """[N, 1]: item n has the n-th score for the query (1,)."""
    return np.array(values, dtype=np.float32)[:, None]


@dataclass
class Numbers:
    """Both encoders: a query is the number it reads as."""

    name: str = "numbers"
    dimensions: int = 1
    seen: list[str] = field(default_factory=list)  # what entered the multimodal branch, in order

    def encode(self, texts: Sequence[str]) -> Vectors:
        return column(*(float(text) for text in texts))

    def encode_items(self, texts: Sequence[str]) -> Vectors:
        return self.encode(texts)

    def encode_queries(self, texts: Sequence[str], text_vectors: Vectors) -> Vectors:
        self.seen += texts
        assert self.encode(texts).tolist() == text_vectors.tolist()  # each beside its own
        return text_vectors


def part(encoder: Numbers, text: Vectors, mm: Vectors) -> Branches:
    return Branches(None, encoder, DualRetriever(BranchIndex(text), BranchIndex(mm)))


RISING, FALLING = column(0.1, 0.2, 0.3, 0.4), column(0.9, 0.8, 0.7, 0.6)
UNSTATED = column(0.65, 0.05, 0.85, 0.35), column(0.25, 0.95, 0.15, 0.65)


def proof(encoder: Numbers | None = None) -> CrossFitted:
    """Part 0, of rows 0 and 2: text falls by row, photos rise. Part 1 is the other way round."""
    encoder = encoder or Numbers()
    parts = part(encoder, FALLING, RISING), part(encoder, RISING, FALLING)
    return CrossFitted(FOLD, parts, CLAIMS, UNSTATED, encoder)


def test_an_item_is_ranked_by_the_part_of_its_own_fold() -> None:
    found = proof().target_ranks(["1"] * 4, np.arange(4))
    assert found.text.tolist() == [1, 3, 3, 1]  # rows 1 and 3 by part 1, whose text scores rise
    assert found.mm.tolist() == [4, 2, 2, 4]
    for row, fold in enumerate(FOLD.tolist()):
        own = proof().parts[fold].retriever.ranks(column(1), column(1), np.array([row]))
        assert found.fused[row].tolist() == own.fused[0].tolist()


def test_answers_keep_the_order_of_the_queries_and_each_its_own_vector() -> None:
    encoder = Numbers()
    rows, queries = np.array([3, 0, 1, 2, 0]), ["1", "-1", "-1", "1", "1"]
    found = proof(encoder).target_ranks(queries, rows)
    # With -1 the order of a branch of four turns round: rank r becomes 5 - r.
    assert found.text.tolist() == [1, 5 - 1, 5 - 3, 3, 1]
    assert found.mm.tolist() == [4, 5 - 4, 5 - 2, 2, 4]
    assert sorted(encoder.seen) == sorted(queries)
    together = found.each()
    alone = [proof().target_ranks([q], rows[b : b + 1]).each()[0] for b, q in enumerate(queries)]
    assert together == alone


def test_only_requests_for_what_is_unstated_see_the_item_without_its_claim() -> None:
    rows, hidden = np.array([0, 0, 1, 1, 2]), np.array([True, False, False, True, False])
    found = proof().ranks(["1"] * 5, column(1, 1, 1, 1, 1), rows, unstated=hidden)
    # Row 0 as .65 among .8 .7 .6 by text, as .25 among .2 .3 .4 by photos: 3 and 3. Row 1 as .05
    # among .1 .3 .4 and as .95 among .9 .7 .6: 4 and 1.
    assert found.text.tolist() == [3, 1, 3, 4, 3]
    assert found.mm.tolist() == [3, 4, 2, 1, 2]
    # Half and half all items add up to 1.0, row 0 without its claim to .9: last of four. Row 1 to
    # 1.0, which ties with all, and row 0 is before it.
    assert found.fused[0, 5] == 4
    assert found.fused[3, 5] == 2
    none = proof().ranks(["1"] * 5, column(1, 1, 1, 1, 1), rows, unstated=~np.ones(5, bool))
    assert none.each() == proof().target_ranks(["1"] * 5, rows).each()


def test_with_ties_lost_ranks_are_those_of_the_worst_row_order() -> None:
    encoder = Numbers()
    same = part(encoder, column(0.5, 0.5, 0.5, 0.5), RISING)
    alike = replace(proof(encoder), parts=(same, same))
    rows = np.array([0, 3])
    assert alike.ranks(["1"] * 2, column(1, 1), rows).text.tolist() == [1, 4]
    assert alike.ranks(["1"] * 2, column(1, 1), rows, worst=True).text.tolist() == [4, 4]
    as_low = replace(alike, unstated=(column(0.4, 0.5, 0.5, 0.5), UNSTATED[1]))
    both = np.ones(2, bool)
    found = as_low.ranks(["1"] * 2, column(1, 1), rows, unstated=both, worst=True)
    assert found.text.tolist() == [4, 4]


def test_no_queries_have_no_ranks() -> None:
    found = proof().target_ranks([], np.array([], np.int64))
    assert (len(found), found.mm.shape, found.fused.shape) == (0, (0,), (0, 11))
    hidden = proof().ranks(
        [], np.empty((0, 1), np.float32), np.array([], np.int64), unstated=np.zeros(0, bool)
    )
    assert len(hidden) == 0


TURNED = QueryAdapter(np.zeros(1, np.float32), -np.ones((1, 1), np.float32))


def write(index: Path, *parts: FoldParts) -> None:
    folder = index / "folds"
    folder.mkdir()
    for number, one in enumerate(parts):
        one.save(folder, number)
    save_folds(folder, FOLD, CLAIMS, UNSTATED)


def test_what_a_fold_has_of_its_own_is_read_and_the_rest_is_the_indexs(tmp_path: Path) -> None:
    encoder = Numbers()
    live = part(encoder, RISING, FALLING)
    write(tmp_path, FoldParts(FALLING, TURNED, None, None), FoldParts(None, None, FALLING, TURNED))
    read = load_folds(tmp_path, live, encoder)
    assert read.fold.tolist() == FOLD.tolist()
    assert read.claims == CLAIMS
    assert [vectors.tolist() for vectors in read.unstated] == [v.tolist() for v in UNSTATED]
    first, second = read.parts
    assert first.retriever.text.vectors.tolist() == FALLING.tolist()
    assert first.retriever.mm is live.retriever.mm
    assert first.mm_encoder is encoder
    assert second.retriever.text is live.retriever.text
    assert second.retriever.mm.vectors.tolist() == FALLING.tolist()
    assert second.text_side is None
    assert isinstance(second.mm_encoder, AlignedPhotoEncoder)
    # Row 0, in part 0: the adapter turns the query round, .9 of a falling branch is the last; by
    # photos .9 is the first. Row 1, in part 1: .2 is third by text; turned round, .8 of .9 .8 .7
    # .6 is third as well.
    found = read.target_ranks(["1", "1"], np.array([0, 1]))
    assert (found.text.tolist(), found.mm.tolist()) == ([4, 3], [1, 3])


def test_an_index_of_which_nothing_is_fitted_has_the_indexs_parts_in_every_fold(
    tmp_path: Path,
) -> None:
    encoder = Numbers()
    live = part(encoder, RISING, FALLING)
    nothing = FoldParts(None, None, None, None)
    write(tmp_path, nothing, nothing)
    read = load_folds(tmp_path, live, encoder)
    assert all(one is live for one in read.parts)  # what is fused is one copy of all vectors
    asked = ["1"] * 4, np.arange(4)
    assert read.target_ranks(*asked).text.tolist() == [4, 3, 2, 1]
    assert read.target_ranks(*asked).mm.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "name",
    ["fold.npy", "claims.json", "text_unstated.npy", "mm_unstated.npy", "text-0.npy",
     "text_side-0.npz"],
)  # fmt: skip
def test_a_damaged_or_missing_file_names_the_way_out(tmp_path: Path, name: str) -> None:
    encoder = Numbers()
    live = part(encoder, RISING, FALLING)
    write(tmp_path, FoldParts(FALLING, TURNED, None, None), FoldParts(None, None, None, None))
    path = tmp_path / "folds" / name
    path.write_bytes(b"cut short")
    with pytest.raises(ArtifactError, match=r"folds.*Rebuild: adamroute build"):
        load_folds(tmp_path, live, encoder)
    path.unlink()
    if name != "text-0.npy":  # without it the fold has no part of its own
        with pytest.raises(ArtifactError, match=r"folds.*Rebuild: adamroute build"):
            load_folds(tmp_path, live, encoder)
