"""The index cross-fitted over items: where a request ranks an item that nothing fitted has seen.

What is learned from a catalogue (alignment of the photos, query adapters) knows its own items and
their words best. A request written from an item's own listing then finds it far too easily, and
more so in one branch than in the other: a router that believes such ranks does harm. So the items
are dealt to folds, duplicates together, and an item is ranked by parts that were fitted on
the other folds. Beside each item stands one claim of its listing that a request may ask for as if
the listing did not state it: then the item is ranked without that clause.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.array_files import mapped_array
from adamroute.encoders.query_adapter import AlignedPhotoEncoder, QueryAdapter
from adamroute.encoders.seams import MultimodalEncoder, TextEncoder, Vectors
from adamroute.errors import ArtifactError
from adamroute.retrieval.branch_index import BranchIndex, Rows
from adamroute.retrieval.dual import Candidates, DualRetriever
from adamroute.retrieval.replay import TargetRanks
from adamroute.retrieval.search_index import Branches, EncodedQueries
from adamroute.stages import write_text
from adamroute.theta import Theta, alpha_bin

FOLDER = "folds"  # below index/
FOLDS = 3
FOLD_FILE, CLAIMS_FILE = "fold.npy", "claims.json"
STAND_INS = ("text_unstated.npy", "mm_unstated.npy")


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Ranks of targets by parts that never saw them."""

    fold: NDArray[np.int64]  # [N], which fold an item was dealt to
    parts: tuple[Branches, ...]  # of each fold: fitted on the others
    claims: tuple[tuple[str, ...] | None, ...]  # [N], what a request may ask for unstated
    unstated: tuple[Vectors, Vectors]  # [N, D], [N, D_mm]: items without that claim
    text_encoder: TextEncoder

    def target_ranks(self, queries: Sequence[str], rows: Rows) -> TargetRanks:
        """Where item rows[b] ranks for query b, [B]."""
        return self.ranks(queries, self.text_encoder.encode(queries), rows)

    def ranks(
        self,
        queries: Sequence[str],
        e_txt: Vectors,
        rows: Rows,
        *,
        unstated: NDArray[np.bool_] | None = None,
        worst: bool = False,
    ) -> TargetRanks:
        """As `target_ranks` where E_txt [B, D] is at hand; `unstated` [B]: without the claim."""
        hidden = np.zeros(len(rows), np.bool_) if unstated is None else unstated
        groups, found = list(self._groups(rows, hidden)), [TargetRanks.of(())]
        for here in groups:
            part, at = self.parts[self.fold[rows[here[0]]]], rows[here]
            asked = part.enter([queries[place] for place in here.tolist()], e_txt[here])
            text, mm = self.unstated
            found.append(
                part.retriever.ranks(
                    asked.text, asked.mm, at, worst=worst,
                    stand_ins=(text[at], mm[at]) if hidden[here[0]] else None,
                )
            )  # fmt: skip
        order = np.argsort(np.concatenate([*groups, np.empty(0, np.int64)]))
        return TargetRanks.joined(found).take(order)

    def candidates(
        self, query: str, e_txt: NDArray[np.float32], row: int, theta: Theta, *, unstated: bool
    ) -> tuple[Candidates, tuple[float, float]]:
        """What fused retrieval finds for a request written of item `row`, by parts without it.

        The second are the deviations of the query's scores, text and multimodal. An item whose
        claim is unstated stands where its listing without that clause ranks, and is not there
        beyond the budget.
        """
        part = self.parts[self.fold[row]]
        asked = part.enter([query], e_txt[None])
        found = part.retriever.search(asked.text[0], asked.mm[0], theta, combine="fused")
        if unstated:
            found = self._without_claim(found, part.retriever, asked, row, theta)
        text, mm = part.retriever.deviations(asked.text, asked.mm)[0].tolist()
        return found, (text, mm)

    def _without_claim(
        self, found: Candidates, retriever: DualRetriever, asked: EncodedQueries, row: int,
        theta: Theta,
    ) -> Candidates:  # fmt: skip
        text, mm = (vectors[row] for vectors in self.unstated)
        at = np.array([row])
        ranks = retriever.ranks(asked.text, asked.mm, at, stand_ins=(text[None], mm[None]))
        others = found.take([k for k, other in enumerate(found.rows.tolist()) if other != row])
        place = int(ranks.fused[0, alpha_bin(theta.alpha)]) - 1
        if place >= theta.budget:
            return others
        own = Candidates(
            rows=at,
            text_ranks=ranks.text.astype(np.int64),
            mm_ranks=ranks.mm.astype(np.int64),
            text_scores=np.array([asked.text[0] @ text], np.float32),
            mm_scores=np.array([asked.mm[0] @ mm], np.float32),
            origin=("both",),
        )
        return others.with_one(own, min(place, len(others)))

    def _groups(self, rows: Rows, hidden: NDArray[np.bool_]) -> Iterator[NDArray[np.int64]]:
        """Places that are ranked by the same part in the same way."""
        for fold in range(len(self.parts)):
            for state in (False, True):
                here = np.flatnonzero((self.fold[rows] == fold) & (hidden == state))
                if len(here):
                    yield here


@dataclass(frozen=True, eq=False)
class FoldParts:
    """One fold's fitted parts, as they are written; None: what the index itself has."""

    text_items: Vectors | None  # [N, D]
    text_side: QueryAdapter | None
    mm_items: Vectors | None  # [N, D_mm]
    mm_side: QueryAdapter | None

    def save(self, folder: Path, number: int) -> None:
        """Write those that there are."""
        for kind in ("text", "mm"):
            items, side = getattr(self, f"{kind}_items"), getattr(self, f"{kind}_side")
            if items is not None and side is not None:
                np.save(folder / f"{kind}-{number}.npy", items)
                side.save(folder / f"{kind}_side-{number}.npz")


def save_folds(
    folder: Path,
    fold: NDArray[np.int64],
    claims: Sequence[tuple[str, ...] | None],
    unstated: tuple[Vectors, Vectors],
) -> None:
    """What all folds share; their parts are written beside it."""
    np.save(folder / FOLD_FILE, fold)
    write_text(folder / CLAIMS_FILE, json.dumps(claims, ensure_ascii=False))
    for name, vectors in zip(STAND_INS, unstated, strict=True):
        np.save(folder / name, vectors)


def load_folds(index: Path, live: Branches, text_encoder: TextEncoder) -> CrossFitted:
    """Read index/folds; parts that no fold has of its own are the `live` index's.

    ArtifactError where a file is missing or damaged.
    """
    folder = index / FOLDER
    try:
        fold = mapped_array(folder / FOLD_FILE)
        claims = json.loads((folder / CLAIMS_FILE).read_text(encoding="utf-8"))
        text, mm = (mapped_array(folder / name) for name in STAND_INS)
        parts = tuple(_part(folder, number, live) for number in range(int(fold.max()) + 1))
    except (OSError, ValueError) as error:
        raise ArtifactError(f"{folder}: {error}. Rebuild: adamroute build CONFIG") from error
    known = tuple(None if claim is None else tuple(claim) for claim in claims)
    return CrossFitted(fold, parts, known, (text, mm), text_encoder)


def _part(folder: Path, number: int, live: Branches) -> Branches:
    text_items, text_side = _own(folder, "text", number)
    mm_items, mm_side = _own(folder, "mm", number)
    if text_items is None and mm_items is None:
        return live  # with what it fuses, which is a copy of all vectors
    mm_encoder: MultimodalEncoder = live.mm_encoder
    if mm_side is not None:
        mm_encoder = AlignedPhotoEncoder(mm_side)
    retriever = DualRetriever(
        live.retriever.text if text_items is None else BranchIndex(text_items),
        live.retriever.mm if mm_items is None else BranchIndex(mm_items),
    )
    return Branches(live.text_side if text_side is None else text_side, mm_encoder, retriever)


def _own(folder: Path, kind: str, number: int) -> tuple[Vectors | None, QueryAdapter | None]:
    path = folder / f"{kind}-{number}.npy"
    if not path.exists():
        return None, None
    return mapped_array(path), QueryAdapter.load(folder / f"{kind}_side-{number}.npz")
