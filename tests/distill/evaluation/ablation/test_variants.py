"""The served path with one part exchanged, and rows that no theta would have found."""

from __future__ import annotations

import numpy as np
import pytest

from adamroute.catalogue.request import PreferenceProfile
from adamroute.config import Config
from adamroute.distill.evaluation.ablation.schema import ABLATIONS
from adamroute.distill.evaluation.ablation.variants import (
    FIXED_ALPHAS,
    SWITCHES,
    LooksKept,
    fixed_theta,
    switched,
)
from adamroute.reranking.features import Case
from adamroute.reranking.reranker import RetrievalOrder
from adamroute.theta import Theta
from tests.distill.worlds import desk, items, requests

THETA = Theta(0.5, 20)


def config(**settings: object) -> Config:
    return Config.model_validate({"name": "a", "shop": "shop", "out": "out", **settings})


def test_each_switch_turns_one_part_of_the_teacher_off_and_nothing_else() -> None:
    whole = config()
    changed = {
        name: {
            key: value
            for key, value in switched(whole, name).teacher.model_dump().items()
            if value != whole.teacher.model_dump()[key]
        }
        for name in SWITCHES
    }
    assert changed == {
        "full": {},
        "no_start": {"collaborative_start": False},
        "no_pseudo_queries": {"evidence": 0},
        "no_memory": {"memory": False},
    }
    assert {*SWITCHES, *FIXED_ALPHAS} < set(ABLATIONS)


@pytest.mark.parametrize(("tau", "budget"), [(200, 200), (1000, 800)])
def test_rows_without_routing_pay_the_papers_budget_or_tau(tau: int, budget: int) -> None:
    assert fixed_theta("no_routing", tau) == Theta(0.5, budget)
    assert fixed_theta("text_only", tau) == Theta(1.0, budget)
    assert fixed_theta("mm_only", tau) == Theta(0.0, budget)


def test_without_attribute_filtering_the_same_items_keep_their_looks() -> None:
    recall, _ = items()
    known = requests()
    query = known.text_vectors[0], known.mm_vectors[0], THETA, (5,)
    filtered, kept = recall.search(*query), LooksKept(recall.text, recall.mm).search(*query)
    assert kept.rows.tolist() == filtered.rows.tolist()
    assert "text" in filtered.origin
    assert [o for o in kept.origin if o == "text"] == []
    for before, after in zip(filtered.origin, kept.origin, strict=True):
        assert after == ("both" if before == "text" else before)
    assert kept.routed == filtered.routed


def test_without_preference_scoring_items_stay_in_the_order_of_recall() -> None:
    known, at = requests(), desk(requests()).variant(scorer=RetrievalOrder())
    recall, _ = items()
    for b in range(len(known)):
        found = recall.search(known.text_vectors[b], known.mm_vectors[b], THETA)
        places = found.rows.tolist()
        target = int(known.targets[b])
        wanted = places.index(target) + 1 if target in places else float("inf")
        assert at.serve(b, THETA).rank == wanted


def test_the_levels_of_the_recall_order_are_probabilities() -> None:
    recall, _ = items()
    known = requests()
    found = recall.search(known.text_vectors[0], known.mm_vectors[0], THETA)
    case = Case("q", PreferenceProfile(), found, np.zeros((len(found), 1)), ("",) * len(found))
    levels = RetrievalOrder().score(case)
    assert levels.shape == (len(found), 5)
    assert np.allclose(levels.sum(axis=1), 1.0)
    assert levels.min() >= 0.0


def test_without_augmentation_no_neighbours_item_is_a_candidate() -> None:
    known = requests()
    far = int(np.argmax(np.minimum(known.text, known.mm)))  # beyond both branches' reach
    at = desk(known, (int(known.targets[far]),))
    assert np.isfinite(at.serve(far, THETA).rank)
    assert at.variant(collaborative=[()] * len(known)).serve(far, THETA).rank == float("inf")
    assert np.isfinite(at.serve(far, THETA).rank)  # the desk itself is as it was


def test_rows_named_from_outside_are_served_whatever_their_ranks() -> None:
    known = requests()
    far = int(np.argmax(np.minimum(known.text, known.mm)))
    target = int(known.targets[far])
    at = desk(known, (7,))
    rows = np.array([target, (target + 1) % 100, 120])
    served = at.serve_rows(far, rows, "text")
    assert served.candidates == 3
    assert 1 <= served.rank <= 4
    assert at.serve_rows(far, rows[1:], "text").rank == float("inf")


def test_judging_gives_levels_in_the_order_of_the_rows() -> None:
    known, at = requests(), desk(requests())
    best, worst = known.text_lists[0, 0], int(np.argmax(known.text_vectors[0] * 0)) + 140
    forth = at.judge(0, np.array([best, worst]))
    back = at.judge(0, np.array([worst, best]))
    assert forth.tolist() == back[::-1].tolist()
    assert at.judge(0, np.array([best, best]))[0] == forth[0]
    assert forth[0] > forth[1]  # the scorer of this world goes by the better rank
