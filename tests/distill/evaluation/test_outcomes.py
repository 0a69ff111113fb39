"""Routers' answers and what comes of them, on a small world of real FAISS branches."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from adamroute.distill.evaluation.metrics import METRICS
from adamroute.distill.evaluation.outcomes import Answers, listed, split
from adamroute.distill.evaluation.rankings import rank_fusion
from adamroute.distill.evaluation.report import build_report, measured
from adamroute.distill.evaluation.routers import routers
from adamroute.distill.evaluation.schema import Report, ReportRow
from adamroute.distill.evaluation.splits import FIXED_BUDGETS, Array, best_alpha, hits_by_alpha
from adamroute.distill.evaluation.table import Results
from adamroute.reranking.features import ranking_case
from adamroute.reranking.reranker import expected_grade
from adamroute.retrieval.replay import recalled
from adamroute.teacher.constants import TeacherFile
from adamroute.theta import ALPHAS, Combine, Theta
from tests.distill.worlds import (
    CONSTANTS,
    FUSED,
    B,
    bench,
    by_best_rank,
    desk,
    index,
    measured_world,
    prepared,
    requests,
)

COMBINES = get_args(Combine)
RUNS: dict[Combine, TeacherFile] = {"split": CONSTANTS, "fused": FUSED}
TODAY = ("static_best", "rrf", "fusion_half", "fusion_best")  # what a shop has without a router
AT_K = ("recall@20", "recall@40", "recall@100")


def values(answers: Answers, name: str) -> Array:
    return METRICS[name].values(answers)


def fixed(alpha: float, budget: float, collaborative: tuple[int, ...] = ()) -> Answers:
    world = bench(collaborative=collaborative)
    return split(world, np.full((1, B), alpha), np.full((1, B), budget))


@pytest.mark.parametrize("combine", COMBINES)
def test_recall_of_a_choice_is_that_of_replay_and_of_real_retrieval(combine: Combine) -> None:
    known = requests()
    alphas = np.resize(np.array(ALPHAS), B)[None]
    world = bench(collaborative=(), constants=RUNS[combine])
    found = split(world, alphas, np.full((1, B), 20.0))
    recall, candidates = values(found, "recall"), values(found, "candidates")
    hits = [recalled(known.ranks, Theta(a, 20), combine) for a in ALPHAS]
    for b in range(B):
        theta = Theta(float(alphas[0, b]), 20)
        rows = search(b, theta, combine)
        assert recall[b] == hits[b % len(ALPHAS)][b] == (known.targets[b] in rows)
        assert candidates[b] == len(rows)


def test_a_router_may_spend_its_budget_in_another_way_than_the_run() -> None:
    alphas, budgets = np.full((1, B), 0.3), np.full((1, B), 20.0)
    for way, other in zip(RUNS, reversed(RUNS.values()), strict=True):
        asked = split(bench(constants=other), alphas, budgets, combine=way)
        meant = split(bench(constants=RUNS[way]), alphas, budgets)
        for name in ("recall", "recall_pessimistic", "recall@40", "candidates", "hr@20", "regret"):
            assert np.array_equal(values(asked, name), values(meant, name)), name


def search(place: int, theta: Theta, combine: Combine = "split") -> list[int]:
    """Rows that retrieval finds for a request."""
    known = requests()
    vectors = known.text_vectors[place], known.mm_vectors[place]
    rows: list[int] = index().retriever.search(*vectors, theta, combine=combine).rows.tolist()
    return rows


def test_collaborative_items_count_only_as_augmented_recall() -> None:
    known = requests()
    target = int(known.targets[3])
    without, brought = fixed(0.5, 1.0), fixed(0.5, 1.0, (target,))
    for name in ("recall", "candidates"):
        assert np.array_equal(values(without, name), values(brought, name))
    assert values(without, "recall_augmented").sum() == values(without, "recall").sum()
    more = values(brought, "recall_augmented") > values(without, "recall_augmented")
    same = np.flatnonzero((known.targets == target) & (values(without, "recall") == 0))
    assert np.flatnonzero(more).tolist() == same.tolist()


def test_losing_ties_never_helps_and_hurts_the_item_with_a_twin() -> None:
    known = requests()  # request 0 asks for item 0, which item 1 equals in both branches
    assert known.text_worst[0] == known.text[0] + 1
    assert known.mm_worst[0] == known.mm[0] + 1
    found = fixed(1.0, float(known.text[0]))
    recall, worst = values(found, "recall"), values(found, "recall_pessimistic")
    assert (recall[0], worst[0]) == (1.0, 0.0)
    assert np.all(worst <= recall)


def test_the_place_in_the_answer_counts_every_tie_as_lost() -> None:
    known = requests()
    theta = Theta(0.5, 200)
    served = desk(known).serve(0, theta, "split")
    found = index().retriever.search(known.text_vectors[0], known.mm_vectors[0], theta)
    case = ranking_case(found, prepared(known)[0].asked, index().facts, 0.5)
    grades = expected_grade(by_best_rank().score(case))
    own = grades[found.rows == 0][0]
    assert served.rank == 1 + sum(grades > own + 1e-9) + sum(abs(grades - own) <= 1e-9) - 1
    assert served.rank >= 2  # the twin


def test_an_item_that_is_no_candidate_has_no_place() -> None:
    known = requests()
    far = int(np.argmax(np.minimum(known.text, known.mm)))
    assert desk(known).serve(far, Theta(0.5, 2), "split").rank == float("inf")


def test_fusion_is_served_with_its_first_k_rows_only() -> None:
    found = listed(bench(collaborative=()), rank_fusion(requests(), 20))
    assert np.all(values(found, "candidates") == 20)
    assert np.array_equal(values(found, "hr@20"), values(found, "recall"))  # 20 candidates


@pytest.mark.parametrize(("name", "way"), [("static_best", "split"), ("fusion_best", "fused")])
@pytest.mark.parametrize("run", COMBINES)
def test_refitted_baselines_take_the_best_alpha_of_each_k_in_their_own_way(
    name: str, way: Combine, run: Combine
) -> None:
    world, fit, known = bench(constants=RUNS[run]), requests(3), requests()
    best_fixed = routers("report")[name].choose(world)
    for k in FIXED_BUDGETS:
        counts = hits_by_alpha(k, fit.ranks, way).sum(axis=1)
        best = [n / 10 for n in np.flatnonzero(counts == counts.max())]
        hits = best_fixed.hits_at(k)[0].tolist()
        assert any(recalled(known.ranks, Theta(a, k), way).tolist() == hits for a in best)


@pytest.mark.parametrize(("name", "way"), [("half", "split"), ("fusion_half", "fused")])
@pytest.mark.parametrize("run", COMBINES)
def test_half_is_half_at_every_k_in_its_own_way(name: str, way: Combine, run: Combine) -> None:
    half, known = routers("report")[name].choose(bench(constants=RUNS[run])), requests()
    assert set(half.alphas[0].tolist()) == {0.5}
    for k in FIXED_BUDGETS:
        assert np.array_equal(half.hits_at(k)[0], recalled(known.ranks, Theta(0.5, k), way))
    for b in range(3):
        assert half.candidates[0, b] == len(search(b, Theta(0.5, 40), way))  # K that all pay


@pytest.mark.parametrize("way", COMBINES)
def test_the_nearest_past_requests_are_asked_about_the_runs_own_way(way: Combine) -> None:
    world, fit, known = bench(constants=RUNS[way]), requests(3), requests()
    knn = routers("report")["knn"].choose(world)
    for k in FIXED_BUDGETS:
        for b in range(B):
            near = np.argsort(-(fit.text_vectors @ known.text_vectors[b]))[:20]
            alpha = best_alpha(hits_by_alpha(k, fit.ranks.take(near), way))
            own = known.ranks.take(np.array([b]))
            assert knn.hits_at(k)[0, b] == recalled(own, Theta(alpha, k), way)[0]


def test_random_alphas_of_a_fused_run_are_those_whose_ranks_are_known() -> None:
    for constants in RUNS.values():
        assert bench(constants=constants).random.shape == (20, B)
    assert set(bench(constants=FUSED).random.ravel().tolist()) == set(ALPHAS)
    assert not set(bench().random.ravel().tolist()) & set(ALPHAS)


def test_random_alphas_are_seeded() -> None:
    assert np.array_equal(bench().random, bench().random)


def test_kinds_of_the_reported_requests_move_kind_known_alone() -> None:
    known = requests()
    shuffled = replace(known, kinds=tuple(reversed(known.kinds)))
    moved = set()
    for name, router in routers("report").items():
        if name not in ("student", "linear_student", "cascade", "teacher", "rrf"):
            before, after = (router.choose(bench(k)).alphas for k in (known, shuffled))
            moved |= {name} if not np.array_equal(before, after) else set()
    assert moved <= {"kind_known"}


def test_rows_hold_means_and_paired_differences_to_the_best_that_a_shop_has_today() -> None:
    table = measured_world().table
    report = report_of(table)
    rows, today = report.rows, report.today
    assert tuple(rows) == tuple(routers("report"))
    student, static, best = (table.values(n, *AT_K) for n in ("student", "static_best", today))
    bases = {name: table.values(name, *AT_K).sum() for name in TODAY}
    assert best.sum() == max(bases.values())
    row = rows["student"]
    assert row["recall"] == pytest.approx(sum(table.of("student", "recall")) / B)
    assert row["recall_at_k"]["40"] == pytest.approx(sum(student[:, 1]) / B)
    for base, found in (("static_best", static), ("today", best)):
        difference = row.minus(base, "recall_at_k_mean")
        assert difference.mean == pytest.approx((student.sum() - found.sum()) / (B * 3))
        assert difference.ci95[0] <= difference.mean <= difference.ci95[1]
        assert set(row["ci95"]) == set(row[f"minus_{base}"])
    for name, own in (("static_best", "minus_static_best"), (today, "minus_today")):
        assert all(d.mean == 0.0 and d.ci95 == (0.0, 0.0) for d in rows[name][own].values())


def report_of(table: Results) -> Report:
    world = bench()
    found = replace(measured_world(), table=table)
    return build_report(world.config, world.shop, found, "test split")


@pytest.mark.parametrize(
    ("run", "others"),
    [("split", ("fusion_half", "fusion_best")), ("fused", ("half", "static_best"))],
)
def test_no_router_beats_the_oracle_at_equal_budgets(run: Combine, others: tuple[str]) -> None:
    table = measured(bench(constants=RUNS[run]), {}).table
    best = table.values("oracle", *AT_K)
    for name in routers("report"):
        if name not in ("rrf", *others):  # which spend a budget in another way than the run
            assert np.all(table.values(name, *AT_K) <= best + 1e-12), name


def test_the_cascade_is_the_teacher_where_it_asks_and_the_student_elsewhere() -> None:
    table = measured_world().table
    sent = np.arange(B) % 5 == 0
    for part, rows in (("teacher", sent), ("student", ~sent)):
        for name in ("recall_at_k_mean", "recall", "hr@20"):
            assert np.array_equal(table.of("cascade", name)[rows], table.of(part, name)[rows])
    assert table.of("cascade", "fell_back").tolist() == sent.tolist()
    assert table.of("cascade", "llm_calls").sum() == 2 * sent.sum()


def test_slices_split_the_requests_by_kind() -> None:
    table = measured_world().table
    slices = report_of(table).slices["kind"]
    assert sum(int(str(part["n"])) for part in slices.values()) == B
    here = np.array([kind == "visual" for kind in requests().kinds])
    student = slices["visual"]["student"]
    assert isinstance(student, ReportRow)
    assert student["recall_at_k"]["20"] == pytest.approx(
        table.of("student", "recall@20")[here].mean()
    )
