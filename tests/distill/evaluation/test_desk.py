"""The served path with one part switched off, and rows that no theta would have found."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from adamroute.catalogue.request import Interaction
from adamroute.config import Config
from adamroute.distill.evaluation.bench import Bench, Switches, switched
from adamroute.distill.evaluation.desk import Desk
from adamroute.distill.evaluation.routers import routers
from adamroute.reranking.reranker import RetrievalOrder
from adamroute.teacher.answer import TeacherAnswer
from adamroute.theta import Combine, Theta
from tests.distill.worlds import (
    CONSTANTS,
    bench,
    config,
    desk,
    index,
    prepared,
    requests,
    steps,
    taught,
)

THETA = Theta(0.5, 20)


def changed(whole: Config, part: Config) -> dict[str, object]:
    """`section.key` to value, where they differ."""
    found: dict[str, object] = {}
    for name, section in whole.model_dump().items():
        if isinstance(section, dict):
            after = part.model_dump()[name]
            found |= {f"{name}.{k}": after[k] for k, v in section.items() if after[k] != v}
    return found


def test_each_switch_of_the_path_turns_one_part_off_and_nothing_else() -> None:
    whole = config()
    found = {n: changed(whole, switched(whole, r.path)) for n, r in routers("ablation").items()}
    assert {name: keys for name, keys in found.items() if keys} == {
        "no_augmentation": {"retrieval.augmentation": False},
        "no_attribute_filter": {"reranker.attribute_filter": False},
        "no_preference_scoring": {"reranker.kind": "none"},
    }


def test_each_switch_of_the_loop_reaches_the_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Switches] = []

    def listen(world: Bench, switches: Switches) -> tuple[TeacherAnswer, ...]:
        asked.append(switches)
        return taught(world.known)

    monkeypatch.setattr(Bench, "taught", listen)
    for name in ("full", "no_start", "no_pseudo_queries", "no_memory", "no_augmentation"):
        routers("ablation")[name].choose(bench())
    assert asked == [
        {},
        {"teacher": {"collaborative_start": False}},
        {"teacher": {"evidence": 0}},
        {"teacher": {"memory": False}},
        {},
    ]


@pytest.mark.parametrize(("tau", "budget"), [(200, 200), (1000, 800)])
def test_rows_without_routing_pay_the_papers_budget_or_tau(tau: int, budget: int) -> None:
    world = bench()
    world.constants = CONSTANTS.model_copy(update={"tau": tau})
    for name, alpha in (("no_routing", 0.5), ("text_only", 1.0), ("mm_only", 0.0)):
        answers = routers("ablation")[name].choose(world)
        assert set(answers.alphas[0].tolist()) == {alpha}
        assert set(answers.budgets[0].tolist()) == {float(budget)}


def test_without_attribute_filtering_the_same_items_keep_their_looks() -> None:
    asked = prepared(requests(), (5,))[0]
    asked = replace(asked, asked=replace(asked.asked, query="red"))
    path = {"reranker": {"attribute_filter": False}}
    filtered, kept = steps(), steps(switched(config(), path))
    found = filtered.retrieve(asked, THETA)
    assert kept.retrieve(asked, THETA).rows.tolist() == found.rows.tolist()
    before, after = (one.case(asked, found, THETA) for one in (filtered, kept))
    text_alone = np.array([origin == "text" for origin in found.origin])
    assert text_alone.any()
    assert np.array_equal(before.features[~text_alone], after.features[~text_alone])
    assert not np.array_equal(before.features[text_alone], after.features[text_alone])


def test_without_preference_scoring_items_stay_in_the_order_of_retrieval() -> None:
    known = requests()
    at = desk(known, reranker=RetrievalOrder())
    for b in range(len(known)):
        found = index().retriever.search(known.text_vectors[b], known.mm_vectors[b], THETA)
        places = found.rows.tolist()
        target = int(known.targets[b])
        wanted = places.index(target) + 1 if target in places else float("inf")
        assert at.serve(b, THETA, "split").rank == wanted


def test_what_the_shopper_disliked_takes_no_place_and_stays_a_candidate() -> None:
    known = requests()
    at = desk(known, reranker=RetrievalOrder())
    b = next(
        b for b in range(len(known)) if 2.0 <= at.serve(b, THETA, "split").rank < float("inf")
    )
    found = steps().retrieve(prepared(known)[b], THETA)
    first = found.rows[0]  # the re-ranker keeps the order of retrieval
    history = (Interaction(index().ids[first], positive=False),)
    asked = list(prepared(known))
    request = replace(asked[b].context.request, history=history)
    asked[b] = replace(asked[b], context=replace(asked[b].context, request=request))
    told = Desk(steps(), RetrievalOrder(), asked, known.targets).serve(b, THETA, "split")
    assert told.rank == at.serve(b, THETA, "split").rank - 1
    assert told.candidates == at.serve(b, THETA, "split").candidates


def test_without_augmentation_no_neighbours_item_is_a_candidate() -> None:
    known = requests()
    far = int(np.argmax(np.minimum(known.text, known.mm)))  # beyond both branches' reach
    assert np.isfinite(desk(known, (int(known.targets[far]),)).serve(far, THETA, "split").rank)
    assert desk(known).serve(far, THETA, "split").rank == float("inf")


def test_a_budget_is_spent_as_the_router_means_it_and_answers_are_kept_apart() -> None:
    known, at = requests(), desk(requests(), reranker=RetrievalOrder())
    retriever, far = index().retriever, 0
    for b in range(len(known)):
        vectors, target = (known.text_vectors[b], known.mm_vectors[b]), int(known.targets[b])
        for combine in get_args(Combine):
            found = retriever.search(*vectors, Theta(0.3, 20), combine=combine)
            served = at.serve(b, Theta(0.3, 20), combine)
            places = found.rows.tolist()
            rank = places.index(target) + 1 if target in places else float("inf")
            assert (served.candidates, served.rank) == (len(places), rank)
            far += served.candidates < 20
    assert far  # a split has fewer where both branches found an item


def test_equal_splits_are_one_answer_and_other_weights_are_others() -> None:
    at = desk(requests())
    one, same = (at.serve(0, Theta(alpha, 20), "split") for alpha in (0.5, 0.51))
    assert one is same  # ten of text either way
    assert at.serve(0, Theta(0.5, 20), "fused") is not one
    assert at.serve(0, Theta(0.51, 20), "fused") is not at.serve(0, Theta(0.5, 20), "fused")


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


def test_judging_gives_grades_in_the_order_of_the_rows() -> None:
    known, at = requests(), desk(requests())
    best, worst = known.text_lists[0, 0], int(np.argmax(known.text_vectors[0] * 0)) + 140
    forth = at.judge(0, np.array([best, worst]))
    back = at.judge(0, np.array([worst, best]))
    assert forth.tolist() == back[::-1].tolist()
    assert at.judge(0, np.array([best, best]))[0] == forth[0]
    assert forth[0] > forth[1]  # the re-ranker of this world goes by the better rank
