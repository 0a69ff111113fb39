"""How hard pseudo-queries are worded: fitted on the shop's own train queries, never on kinds."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from adamroute.catalogue.item_words import INTENTS
from adamroute.distill.labels.paraphrase_fit import LEAST, catalogue_paraphraser, fit_paraphraser
from adamroute.retrieval.branch_index import Rows
from adamroute.retrieval.replay import TargetRanks
from adamroute.teacher.paraphrase import UNMATCHED
from adamroute.teacher.pseudo_queries import PseudoQuery
from tests.distill.market import market_index


def nothing(_: int) -> None: ...


def written(count: int = 24) -> list[PseudoQuery]:
    """Queries that repeat listings word for word, all functional."""
    index = market_index()
    rows = range(min(count, len(index)))
    return [PseudoQuery(index.ids[r], r, "functional", index.texts[r]) for r in rows]


def real(rank: int, count: int = 40) -> np.ndarray:
    return np.full(count, 2.0 * np.log(rank))


def functional(count: int = 40) -> np.ndarray:
    return np.tile([0.0, 1.0, 0.0], (count, 1))


def test_hard_real_queries_make_hard_wordings_and_easy_ones_easy() -> None:
    index = market_index()
    start = catalogue_paraphraser(index)
    easy = fit_paraphraser(start, index, written(), real(1), functional(), advance=nothing)
    hard = fit_paraphraser(start, index, written(), real(24), functional(), advance=nothing)
    assert easy.hardness["functional"] < 0.1
    assert hard.hardness["functional"] > 0.8


def test_kinds_that_no_real_query_has_keep_the_hardness_of_an_unmatched_shop() -> None:
    index = market_index()
    fitted = fit_paraphraser(
        catalogue_paraphraser(index),
        index,
        written(),
        real(1),
        functional(),
        advance=nothing,
    )
    assert fitted.hardness["visual"] == fitted.hardness["mixed"] == UNMATCHED


def test_few_real_queries_match_nothing() -> None:
    index = market_index()
    few = int(LEAST) - 1
    fitted = fit_paraphraser(
        catalogue_paraphraser(index),
        index,
        written(),
        real(1, few),
        functional(few),
        advance=nothing,
    )
    assert fitted.hardness == dict.fromkeys(INTENTS, UNMATCHED)


def test_the_fitted_wording_reaches_the_real_difficulty() -> None:
    index = market_index()
    fitted = fit_paraphraser(
        catalogue_paraphraser(index),
        index,
        written(),
        real(4),
        functional(),
        advance=nothing,
    )
    said = [fitted.reworded(q.text, q.kind, Random(q.text)) for q in written()]
    found = index.target_ranks(said, np.array([q.row for q in written()]))
    hard = float(np.mean(np.log(found.text) + np.log(found.mm)))
    assert hard == pytest.approx(2 * np.log(4), abs=0.5)


class OutOfSample:
    """A ranker to which the catalogue's own words are no help: everything ranks 24th."""

    def target_ranks(self, queries: Sequence[str], rows: Rows) -> TargetRanks:
        last = np.full(len(queries), 24)
        assert len(rows) == len(queries)
        return TargetRanks(last, last, np.full((len(queries), 11), 24))


def test_difficulty_is_the_rankers_and_not_the_indexs() -> None:
    index = market_index()
    start = catalogue_paraphraser(index)
    # Real queries rank fourth, written ones 24th however they are said: as easy as it goes.
    fitted = fit_paraphraser(
        start, OutOfSample(), written(), real(4), functional(), advance=nothing
    )
    assert fitted.hardness["functional"] < 0.1
