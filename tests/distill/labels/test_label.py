"""The label stage end to end on a small shop: what it writes, what it never reads, and that a run
killed anywhere goes on to the same bytes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from adamroute.assembly import load_teacher
from adamroute.catalogue.known_queries import known_queries
from adamroute.catalogue.request import Interaction
from adamroute.catalogue.shop import Shop
from adamroute.config import Config
from adamroute.distill.labels.targets import soft_target
from adamroute.errors import ArtifactError, LabelError
from adamroute.leaning import reach_with
from adamroute.retrieval.replay import TargetRanks
from adamroute.stages import Arrays, Pieces, Record, read_manifest
from adamroute.store import ProfileStore
from adamroute.teacher.belief import evidence_belief
from adamroute.teacher.constants import TARGETS_FILE, read_teacher_file
from tests.conftest import ROOT
from tests.distill.market import label_market, market_config, market_index, market_shop

T = TypeVar("T")
INDEX = market_index()
TRAIN = 12  # of 24 queries


def label(out: Path, shop: Shop | None = None, **weights: float) -> Config:
    config = market_config(out, **weights)
    label_market(config, shop or market_shop(), INDEX)
    return config


def rows_of(config: Config) -> list[dict[str, object]]:
    lines = (config.stage("labels") / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def contents(config: Config) -> dict[str, bytes]:
    """Every file but the manifest, whose counts hold timings; its hash stands for it."""
    folder = config.stage("labels")
    found = {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "manifest.json"}
    return {**found, "hash": read_manifest(folder, "label").hash.encode()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """An uninterrupted run."""
    return label(tmp_path_factory.mktemp("whole"))


def test_each_source_names_its_rows(whole: Config) -> None:
    sources = [row["source"] for row in rows_of(whole)]
    assert sources == ["teacher"] * TRAIN + ["outcome"] * TRAIN + ["synthetic"] * 60


def test_rows_have_the_fields_of_the_contract(whole: Config) -> None:
    wanted = {
        "format", "request_id", "user_id", "query", "source", "item_ids", "text_ranks", "mm_ranks",
        "fused_ranks", "theta", "theta0", "steps", "prompt_hashes", "fallbacks", "ms",
    }  # fmt: skip
    for row in rows_of(whole):
        assert wanted <= row.keys()
        assert row["ms"] is None  # timings would break byte equality
        assert row["format"] == 2


def test_outcome_rows_hold_the_true_ranks_of_their_target(whole: Config) -> None:
    queries = market_shop().split("train")
    rows = [row for row in rows_of(whole) if row["source"] == "outcome"]
    for query, row in zip(queries, rows, strict=True):
        encoded = INDEX.encode([query.text])
        place = INDEX.row(query.target_id)
        found = INDEX.retriever.text.search(encoded.text[0], 24).rows.tolist()
        assert row["item_ids"] == [query.target_id]
        assert row["text_ranks"] == [1 + found.index(place)]
        fused = INDEX.retriever.ranks(encoded.text, encoded.mm, np.array([place])).fused
        assert row["fused_ranks"] == fused.tolist()


def test_soft_labels_lie_beside_the_rows_and_sum_to_one(whole: Config) -> None:
    with np.load(whole.stage("labels") / TARGETS_FILE) as targets:
        soft, surfaces = targets["soft"], targets["surfaces"]
    assert soft.shape == (len(rows_of(whole)), 11, 1) == (2 * TRAIN + 60, 11, 1)
    assert soft.sum(axis=(1, 2)) == pytest.approx(np.ones(2 * TRAIN + 60))
    assert surfaces.min() >= 0.0
    assert surfaces.max() <= 1.0


def test_a_target_is_the_rows_own_belief_and_its_theta_goes_as_far_as_evidence_reaches(
    tmp_path: Path,
) -> None:
    config = label(tmp_path, teacher=0.0, shrink=0.0)
    constants = read_teacher_file(config.stage("labels"))
    bins, lam = constants.bins, constants.lam
    assert constants.leaning.reach == reach_with(TRAIN) < 0.5
    with np.load(config.stage("labels") / TARGETS_FILE) as targets:
        soft = targets["soft"]
    for row, target in zip(rows_of(config), soft, strict=True):
        ranks = (np.array(row[f"{name}_ranks"]) for name in ("text", "mm", "fused"))
        own = evidence_belief(TargetRanks(*ranks), bins, lam)
        assert target == pytest.approx(soft_target(own, bins, lam, config.labels.sharpness))
        assert row["theta"] == asdict(own.theta(bins, lam, constants.leaning))


def test_a_trace_row_is_written_for_every_step_of_every_round(whole: Config) -> None:
    path = whole.stage("labels") / "traces.jsonl"
    traces = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    steps = sum(1 + int(str(row["steps"])) for row in rows_of(whole) if row["source"] == "teacher")
    assert len(traces) == 2 * steps
    assert {t["round"] for t in traces} == {0, 1}
    assert all((t["step"] == 0) == (t["item_id"] is None) for t in traces)


def test_a_weight_scales_a_source_and_zero_leaves_it_out(tmp_path: Path) -> None:
    config = label(tmp_path, teacher=0.0, outcome=2.0, synthetic=0.5)
    assert {(row["source"], row["weight"]) for row in rows_of(config)} == {
        ("outcome", 2.0),
        ("synthetic", 0.5),
    }
    with np.load(config.stage("labels") / TARGETS_FILE) as targets:
        assert targets["weights"].tolist() == [row["weight"] for row in rows_of(config)]


def test_no_source_at_all_is_an_error_and_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="no label rows"):
        label(tmp_path, teacher=0.0, outcome=0.0, synthetic=0.0)
    assert not (tmp_path / "labels").exists()


def test_only_users_of_train_queries_are_written_back_in_rounds(whole: Config) -> None:
    store = ProfileStore.file(whole.stage("labels") / "store.sqlite").snapshot().by_id
    assert {name for name, user in store.items() if user.round == 1} == {"u0", "u1", "u4", "u5"}
    assert {user.round for user in store.values()} == {-1, 1}
    assert {name for name, user in store.items() if user.lends} == {"u0", "u1", "u4", "u5"}
    last = {row["user_id"]: row["theta"] for row in rows_of(whole) if row["source"] == "teacher"}
    for name, theta in last.items():
        user = store[str(name)]
        assert theta == {"alpha": user.theta.alpha, "budget": user.theta.budget}


def test_the_stated_kind_of_a_query_changes_nothing(whole: Config, tmp_path: Path) -> None:
    shop = market_shop()
    kinds = ("visual", "functional", "mixed")
    queries = tuple(replace(q, kind=kinds[n % 3]) for n, q in enumerate(shop.queries))
    changed = contents(label(tmp_path, replace(shop, queries=queries)))
    assert {**changed, "hash": b""} == {**contents(whole), "hash": b""}  # which names its inputs


def test_held_out_users_reach_no_label(whole: Config, tmp_path: Path) -> None:
    shop = market_shop()
    swapped = dict(shop.histories)
    swapped["u2"], swapped["u3"] = (Interaction("green-vase-1", True, 0.0),), ()
    queries = tuple(
        q if q.split == "train" else replace(q, text="nothing of note") for q in shop.queries
    )
    changed = label(tmp_path, replace(shop, histories=swapped, queries=queries))
    for name in ("rows.jsonl", "targets.npz", "teacher.json", "composition.npz", "traces.jsonl"):
        assert contents(changed)[name] == contents(whole)[name], name


def test_a_shop_of_items_alone_is_labelled_by_synthetic_requests(tmp_path: Path) -> None:
    shop = replace(market_shop(queries=False), histories={})
    config = label(tmp_path, shop)
    rows, labels, ranks = rows_of(config), config.stage("labels"), config.stage("ranks")
    assert {row["source"] for row in rows} == {"synthetic"}
    splits = {s: known_queries(shop, ranks, s) for s in ("train", "calibration", "test")}
    assert [row["request_id"] for row in rows] == [q.query_id for q in splits["train"]]
    assert sum(map(len, splits.values())) == 60
    assert not {q.target_id for q in splits["train"]} & {q.target_id for q in splits["test"]}
    assert read_teacher_file(labels).leaning.reach == reach_with(0)


def test_the_manifest_records_what_later_stages_and_readers_need(whole: Config) -> None:
    counts = json.loads((whole.stage("labels") / "manifest.json").read_text())["counts"]
    assert counts["rows"] == {"teacher": TRAIN, "outcome": TRAIN, "synthetic": 60}
    assert len(counts["snapshots"]) == len(set(counts["snapshots"])) == 2
    assert counts["combine"] in ("fused", "split")
    assert counts["reach"] == reach_with(TRAIN)
    assert counts["no_evidence"] == 0
    assert {"lambda", "tau", "static", "median_ranks", "fallbacks"} <= counts.keys()


def test_the_served_teacher_loads_and_another_index_is_refused(whole: Config) -> None:
    teacher = load_teacher(whole.stage("labels"), INDEX, whole)
    shop = market_shop()
    answers = teacher.decide_many([shop.request(q) for q in shop.split("test")])
    assert {a.source for a in answers} == {"teacher"}
    other = replace(INDEX, manifest=INDEX.manifest.model_copy(update={"key": "other"}))
    with pytest.raises(ArtifactError, match="made from index"):
        load_teacher(whole.stage("labels"), other, whole)


def test_labels_for_other_items_than_the_index_holds_are_refused(tmp_path: Path) -> None:
    shop = market_shop()
    fewer = replace(shop, catalogue=type(shop.catalogue)(shop.catalogue.items[:23]))
    with pytest.raises(ArtifactError, match="adamroute build"):
        label(tmp_path, fewer)


KILLED = """
import os, signal, sys
from pathlib import Path
import adamroute.stages
from tests.distill.labels.test_label import label, stopping_after
stop = lambda: os.kill(os.getpid(), signal.SIGKILL)
adamroute.stages.Pieces = stopping_after(int(sys.argv[2]), stop)
label(Path(sys.argv[1]))
"""


def stopping_after(pieces: int, stop: Callable[[], None]) -> type[Pieces]:
    """Pieces that call `stop` in the middle of the piece after so many."""
    left = [pieces]

    class Stopping(Pieces):
        def arrays(self, name: str, make: Callable[[], Arrays]) -> Arrays:
            return super().arrays(name, lambda: self._made(make()))

        def records(self, name: str, make: Callable[[], list[Record]]) -> list[Record]:
            return super().records(name, lambda: self._made(make()))

        def _made(self, piece: T) -> T:
            left[0] -= 1
            if left[0] < 0:
                stop()
            return piece

    return Stopping


# wording, ranks of synthetic requests and of three splits; wording, preferences, round 1, round 2
@pytest.mark.parametrize("pieces", range(9))
def test_a_run_cut_in_any_piece_resumes_to_the_same_bytes(
    pieces: int, whole: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("adamroute.stages.Pieces", stopping_after(pieces, cut))
    with pytest.raises(KeyboardInterrupt):
        label(tmp_path)
    monkeypatch.undo()
    cut_short = {"ranks.parts"} if pieces < 5 else {"labels.parts", "ranks"}
    assert {p.name for p in tmp_path.iterdir()} == {"shop", "index"} | cut_short
    assert contents(label(tmp_path)) == contents(whole)
    assert {p.name for p in tmp_path.iterdir()} == {"shop", "index", "ranks", "labels"}


def test_a_run_killed_outright_resumes_to_the_same_bytes(whole: Config, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path), "7"]
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    assert run.returncode == -signal.SIGKILL
    pieces = sorted(p.name for p in (tmp_path / "labels.parts").iterdir())
    assert pieces == ["key", "preferences-000000.json", "wording.json"]
    assert contents(label(tmp_path)) == contents(whole)
