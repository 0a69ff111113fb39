"""The report's rows on a small world of real FAISS branches."""

from dataclasses import replace

import numpy as np
import pytest

from adamroute.distill.evaluation.baselines import hits_by_alpha
from adamroute.distill.evaluation.outcomes import (
    baseline_choices,
    chosen,
    fusion_outcomes,
    kind_slices,
    outcomes,
    pool,
    report_rows,
)
from adamroute.distill.evaluation.schema import FIXED_BUDGETS, METRICS, ROUTERS
from adamroute.reranking.features import ranking_case
from adamroute.reranking.reranker import expected_grade
from adamroute.retrieval.replay import recalled
from adamroute.theta import Theta
from tests.distill.worlds import B, desk, items, measured, requests

ZERO = np.zeros(B)


def test_recall_of_a_choice_is_that_of_replay_and_of_real_recall() -> None:
    known = requests()
    alphas = np.linspace(0, 1, B)
    found = outcomes(known, chosen(alphas, np.full(B, 20.0)), desk(known), ZERO)
    recall, _ = items()
    for b in range(B):
        theta = Theta(float(alphas[b]), 20)
        assert found.recall[b] == recalled(known.text[[b]], known.mm[[b]], theta)[0]
        rows = recall.search(known.text_vectors[b], known.mm_vectors[b], theta).rows
        assert found.recall[b] == (known.targets[b] in rows)
        assert found.candidates[b] == len(rows)


def test_collaborative_items_count_only_as_augmented_recall() -> None:
    known = requests()
    target = int(known.targets[3])
    choice = chosen(np.full(B, 0.5), np.full(B, 1.0))
    without = outcomes(known, choice, desk(known), ZERO)
    brought = outcomes(known, choice, desk(known, (target,)), ZERO)
    assert np.array_equal(without.recall, brought.recall)
    assert np.array_equal(without.candidates, brought.candidates)
    assert without.recall_augmented.sum() == without.recall.sum()
    gained = np.flatnonzero(brought.recall_augmented > without.recall_augmented)
    same = np.flatnonzero((known.targets == target) & (without.recall == 0))
    assert gained.tolist() == same.tolist()


def test_losing_ties_never_helps_and_hurts_the_item_with_a_twin() -> None:
    known = requests()  # request 0 asks for item 0, which item 1 equals in both branches
    assert known.text_worst[0] == known.text[0] + 1
    assert known.mm_worst[0] == known.mm[0] + 1
    alphas, budgets = np.full(B, 1.0), np.full(B, float(known.text[0]))
    found = outcomes(known, chosen(alphas, budgets), desk(known), ZERO)
    assert (found.recall[0], found.recall_pessimistic[0]) == (1.0, 0.0)
    assert np.all(found.recall_pessimistic <= found.recall)


def test_the_place_after_scoring_counts_every_tie_as_lost() -> None:
    known = requests()
    at = desk(known)
    theta = Theta(0.5, 200)
    served = at.serve(0, theta)
    recall, facts = items()
    found = recall.search(known.text_vectors[0], known.mm_vectors[0], theta)
    values = expected_grade(at._scorer.score(ranking_case(found, at._asked[0], facts)))
    own = values[found.rows == 0][0]
    assert served.rank == 1 + sum(values > own + 1e-9) + sum(abs(values - own) <= 1e-9) - 1
    assert served.rank >= 2  # the twin


def test_an_item_that_is_no_candidate_has_no_place() -> None:
    known = requests()
    far = int(np.argmax(np.minimum(known.text, known.mm)))
    assert desk(known).serve(far, Theta(0.5, 2)).rank == float("inf")


def test_fusion_is_served_with_its_first_k_rows_only() -> None:
    known = requests()
    found = fusion_outcomes(known, 20, desk(known), ZERO)
    assert np.all(found.candidates == 20)
    assert np.all((found.hr20 == 1) == (found.recall == 1))  # 20 candidates: recalled is a hit


def test_refitted_baselines_take_the_best_alpha_of_each_k() -> None:
    known, fit = requests(), requests(3)
    choices = baseline_choices(fit, known, 40, np.random.default_rng(0))
    for k in FIXED_BUDGETS:
        counts = hits_by_alpha(k, fit.text, fit.mm).sum(axis=1)
        alpha = float(choices["static_best"].fixed[k][0, 0])
        assert counts[round(alpha * 10)] == counts.max()
    assert choices["random"].alphas.shape == (20, B)
    assert set(choices["half"].alphas[0].tolist()) == {0.5}


def test_kinds_of_the_reported_requests_move_kind_known_alone() -> None:
    known, fit = requests(), requests(3)
    shuffled = replace(known, kinds=tuple(reversed(known.kinds)))
    seeds = [np.random.default_rng(0), np.random.default_rng(0)]
    before, after = (
        baseline_choices(fit, k, 40, rng) for k, rng in zip((known, shuffled), seeds, strict=True)
    )
    moved = {n for n in before if not np.array_equal(before[n].alphas, after[n].alphas)}
    assert moved <= {"kind_known"}


def test_rows_hold_means_and_paired_differences_to_the_best_fixed_split() -> None:
    results = measured().results
    rows = report_rows(results, requests().users, seed=0)
    assert tuple(rows) == ROUTERS
    student, static = results["student"], results["static_best"]
    row = rows["student"]
    assert row.recall == pytest.approx(sum(student.recall) / B)
    assert row.recall_at_k.k40 == pytest.approx(sum(student.at_k[:, 1]) / B)
    difference = row.minus_static_best["recall_at_k_mean"]
    assert difference.mean == pytest.approx(
        (student.at_k.sum() - static.at_k.sum()) / (B * len(FIXED_BUDGETS))
    )
    assert difference.ci95[0] <= difference.mean <= difference.ci95[1]
    assert set(row.ci95) == set(row.minus_static_best) == set(METRICS)
    own = rows["static_best"].minus_static_best
    assert all(d.mean == 0.0 and d.ci95 == (0.0, 0.0) for d in own.values())


def test_no_router_beats_the_oracle_at_equal_budgets() -> None:
    rows = report_rows(measured().results, requests().users, seed=0)
    best = rows["oracle"].recall_at_k
    for name in ROUTERS:
        if name == "rrf":
            continue  # fusion is no split, so the best split does not bound it
        for mine, bound in zip(rows[name].recall_at_k, best, strict=True):
            assert mine[1] <= bound[1] + 1e-12


def test_the_cascade_is_the_teacher_where_it_asks_and_the_student_elsewhere() -> None:
    results = measured().results
    sent = np.arange(B) % 5 == 0
    for part, rows in ((results["teacher"], sent), (results["student"], ~sent)):
        assert np.array_equal(results["cascade"].at_k[rows], part.at_k[rows])
        assert np.array_equal(results["cascade"].recall[rows], part.recall[rows])
    assert results["cascade"].fell_back.tolist() == sent.tolist()
    assert results["cascade"].llm_calls.sum() == 2 * sent.sum()


def test_slices_split_the_requests_by_kind() -> None:
    results, kinds = measured().results, requests().kinds
    slices = kind_slices(results, kinds)
    assert sum(part.n for part in slices.values()) == B
    here = np.array([kind == "visual" for kind in kinds])
    assert slices["visual"].student.recall_at_k.k20 == pytest.approx(
        results["student"].at_k[here, 0].mean()
    )
    assert kind_slices(results, [None] * B) == {}


def test_pooled_folds_are_their_requests_one_after_the_other() -> None:
    results = measured().results
    first = np.arange(B) < 15
    parts = [{n: r.take(rows) for n, r in results.items()} for rows in (first, ~first)]
    for name, joined in pool(parts).items():
        assert np.array_equal(joined.at_k, results[name].at_k)
        assert np.array_equal(joined.ms, results[name].ms)
