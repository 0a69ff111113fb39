"""The teacher's constants from requests with known ranks, small enough to work by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from adamroute.catalogue.item_words import INTENTS
from adamroute.catalogue.shop import Catalogue, Item, Shop
from adamroute.config import Config
from adamroute.distill.labels.basis import ENOUGH, fit_constants
from adamroute.errors import LabelError
from adamroute.leaning import reach_with
from adamroute.retrieval.ranks import QueryRanks
from adamroute.retrieval.replay import TargetRanks, recall_surfaces
from adamroute.teacher.constants import TeacherFile
from adamroute.teacher.intent_model import IntentModel, KnownIntents
from adamroute.theta import ALPHAS, Bins, Combine

N = 100  # items, so the budgets are 20, 40 and 80
FAR = 90  # beyond them
AXES = np.eye(len(INTENTS), dtype=np.float32)  # where the queries of each kind lie
ANYWHERE = KnownIntents(np.repeat(AXES, 50, axis=0), np.repeat(INTENTS, 50).tolist())


def shop() -> Shop:
    items = tuple(Item(f"i{n}", "rug", "rug", {}, "rug", None) for n in range(N))
    return Shop("small", Path("shop"), Catalogue(items), {}, (), "none")


def config(combine: str = "auto", mean_budget: int = 40) -> Config:
    return Config.model_validate(
        {
            "name": "small", "shop": "shop", "out": "out",
            "routing": {"tau": N, "mean_budget": mean_budget}, "retrieval": {"combine": combine},
        }
    )  # fmt: skip


def asked(count: int, text: int, mm: int, fused: int | Sequence[int]) -> QueryRanks:
    """As many requests of all kinds in turn, whose items all rank so."""
    places = np.arange(count)
    alike = np.broadcast_to(np.array(fused), (count, len(ALPHAS))).copy()
    none, vectors = np.zeros((count, 0), np.int64), AXES[places % len(INTENTS)]
    by_text, by_mm = np.full(count, text), np.full(count, mm)
    return QueryRanks(
        tuple(f"q{n}" for n in range(count)),
        tuple(f"u{n}" for n in range(count)),
        tuple(INTENTS[n % len(INTENTS)] for n in range(count)),
        vectors,
        vectors,
        places % N,
        *(by_text, by_mm, alike),
        *(by_text, by_mm, alike),
        *(none, none),
    )


TEXT_ALONE = [FAR] * 10 + [1]  # fused ranks of an item that alpha 1 finds
NOBODY = asked(0, 1, 1, 1)
FOR_FUSED = asked(120, FAR, FAR, 1)  # both branches miss what they find together
FOR_SPLIT = asked(120, 1, FAR, [FAR] * len(ALPHAS))  # fused, the text branch's first is lost


def fitted(
    templates: QueryRanks = NOBODY,
    outcomes: QueryRanks = NOBODY,
    combine: str = "auto",
    mean_budget: int = 40,
) -> tuple[TeacherFile, IntentModel]:
    return fit_constants(config(combine, mean_budget), shop(), templates, outcomes, ANYWHERE)


@pytest.mark.parametrize(("known", "way"), [(FOR_FUSED, "fused"), (FOR_SPLIT, "split")])
def test_auto_takes_the_way_whose_best_fixed_alpha_recalls_more(
    known: QueryRanks, way: Combine
) -> None:
    assert fitted(known)[0].combine == way
    for wanted in get_args(Combine):  # what the config says is not asked
        assert fitted(known, combine=wanted)[0].combine == wanted


def test_recall_is_counted_in_whole_hits_and_fused_is_taken_where_they_are_as_many() -> None:
    # All ranks are 15. A split at alpha 0 or 1 and any fusion recall all of them at every K.
    alike = asked(120, 15, 15, 15)
    split, fused = (recall_surfaces(alike.ranks, Bins(N, way)) for way in ("split", "fused"))
    assert np.all(split.max(axis=1) > fused.max(axis=1))  # the smooth utility likes splits better
    assert fitted(alike)[0].combine == "fused"
    # One item in 120 that a split alone recalls turns it.
    better = TargetRanks(alike.text, alike.mm, alike.fused.copy())
    better.fused[0] = FAR
    assert fitted(with_ranks(alike, better))[0].combine == "split"


def with_ranks(known: QueryRanks, ranks: TargetRanks) -> QueryRanks:
    return QueryRanks(**{**vars(known), "text": ranks.text, "mm": ranks.mm, "fused": ranks.fused})


def test_a_hundred_real_queries_decide_and_fewer_leave_it_to_the_written_ones() -> None:
    real = asked(ENOUGH, 1, FAR, FAR)
    few = real.take(np.arange(ENOUGH) > 0)
    assert fitted(FOR_FUSED, few)[0].combine == "fused"
    assert fitted(FOR_FUSED, real)[0].combine == "split"
    assert fitted(NOBODY, few)[0].combine == "split"  # nothing was written


def test_reach_grows_with_real_queries_and_lets_the_static_prior_further_away_from_half() -> None:
    # Every item is the text branch's first and beyond reach otherwise: all votes are for alpha 1.
    alone = fitted(asked(120, 1, FAR, TEXT_ALONE))[0]
    logged = fitted(asked(120, 1, FAR, TEXT_ALONE), asked(90, 1, FAR, TEXT_ALONE))[0]
    assert alone.combine == logged.combine == "fused"
    for found, real in ((alone, 0), (logged, 90)):
        assert found.leaning.scale == pytest.approx(0.5, abs=0.01)
        assert found.leaning.reach == reach_with(real)
        assert found.static_alpha == round(10 * (0.5 + found.leaning.reach)) / 10
    assert 0.5 < alone.static_alpha < logged.static_alpha


def test_what_serves_a_kind_is_unknown_where_few_requests_of_it_were_written() -> None:
    few = asked(80, 1, FAR, TEXT_ALONE)  # 27 of two kinds, 26 of the third
    assert fitted(few)[0].static_alpha == 0.5
    votes = fitted(few)[1].votes
    assert votes.tolist() == np.tile(np.eye(len(ALPHAS))[5], (3, 1)).tolist()


def test_the_price_holds_the_mean_budget_on_the_requests_that_decide() -> None:
    # Ranks spread from 1 to 80: at no price each would take the largest K, 80.
    spread = asked(120, FAR, FAR, 1)
    ranks = np.tile(np.linspace(1, 80, 120).astype(np.int64)[:, None], (1, len(ALPHAS)))
    known = with_ranks(spread, TargetRanks(spread.text, spread.mm, ranks))
    cheap, dear = (fitted(known, mean_budget=k)[0].lam for k in (60, 30))
    assert 0.0 < cheap < dear


def test_a_query_is_of_the_kind_whose_phrases_it_lies_near() -> None:
    intents = fitted(FOR_FUSED)[1]
    assert intents.kinds(AXES).argmax(axis=1).tolist() == [0, 1, 2]


def test_without_any_known_outcome_there_is_nothing_to_learn() -> None:
    with pytest.raises(LabelError, match="none of the 100 items has a word to ask by"):
        fitted()
