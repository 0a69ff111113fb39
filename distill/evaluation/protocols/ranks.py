"""One ranked answer, where the wanted item stands in it, and the four published measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from adamroute.distill.evaluation.metrics import hr_at, ndcg_at
from adamroute.errors import RequestError

Array = NDArray[np.float64]
TIE = 1e-9  # values this close are equal


@dataclass(frozen=True)
class Answer:
    """Item ids with a value each, the best first; an item that is not in it was not found."""

    ids: tuple[str, ...]
    values: Array  # [K], falling

    def __post_init__(self) -> None:
        if len(self.values) != len(self.ids) or len(set(self.ids)) != len(self.ids):
            raise RequestError(
                "items", f"{len(self.ids)} items ranked: one twice or without value"
            )
        if np.isnan(self.values).any() or (np.diff(self.values) > TIE).any():
            raise RequestError("items", "values of a ranking must be numbers that fall")

    def rank(self, item_id: str) -> float:
        """1-based place with every tie lost; infinite where the item is absent."""
        if item_id not in self.ids:
            return float("inf")
        own = self.values[self.ids.index(item_id)]
        return float((self.values >= own - TIE).sum())


def answer_of(ids: Sequence[str], values: Array) -> Answer:
    """An answer from items in any order; ties stay in the order given."""
    order = np.argsort(-values, kind="stable")
    return Answer(tuple(ids[place] for place in order.tolist()), values[order])


@dataclass(frozen=True, slots=True)
class Measures:
    """hr@k and ndcg@k by exact item id, means over requests."""

    hr20: float
    hr40: float
    ndcg20: float
    ndcg40: float

    def spoken(self) -> dict[str, float]:
        """As the report writes them: `hr@20`, ..., to six places."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {f"{name[:-2]}@{name[-2:]}": round(value, 6) for name, value in values.items()}


def measures(ranks: Array, copies: NDArray[np.int64] | None = None) -> Measures:
    """Of [B] ranks; `copies` counts a request as often as its row stands in the file."""
    counted = ranks if copies is None else np.repeat(ranks, copies)
    return Measures(
        hr20=float(hr_at(counted, 20).mean()),
        hr40=float(hr_at(counted, 40).mean()),
        ndcg20=float(ndcg_at(counted, 20).mean()),
        ndcg40=float(ndcg_at(counted, 40).mean()),
    )


def median(trials: Sequence[Measures]) -> Measures:
    """Each measure's median over the trials."""
    names = [field.name for field in fields(Measures)]
    return Measures(**{n: float(np.median([getattr(t, n) for t in trials])) for n in names})
