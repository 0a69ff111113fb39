"""Reading label rows, and the order in which a run draws them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.catalogue.request import PreferenceProfile
from adamroute.errors import LabelError
from adamroute.teacher.constants import ROWS_FILE, TARGETS_FILE
from adamroute.theta import Bins
from adamroute.training.dataset import (
    TrainingSet,
    best_bin_labels,
    draw_order,
    load_training_set,
)

BINS = Bins(40)
PROFILE = {"strong_pref": ["green"], "nice_to_have": [], "dislike": ["glossy"]}


def row(number: int, **other: object) -> dict[str, object]:
    base = {"request_id": f"r{number}", "user_id": "u1", "query": "rug", "profile": PROFILE}
    return {**base, "source": "teacher", **other}


def write(
    folder: Path,
    rows: list[dict[str, object]],
    soft: np.ndarray,
    weights: np.ndarray | None = None,
) -> None:
    (folder / ROWS_FILE).write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    weights = np.ones(len(soft)) if weights is None else weights
    np.savez(folder / TARGETS_FILE, soft=soft, weights=weights)


def flat(rows: int) -> np.ndarray:
    return np.full((rows, 11, 2), 1 / 22)


def test_rows_and_targets_come_in_the_same_order(tmp_path: Path) -> None:
    write(tmp_path, [row(0), row(1, user_id=None, query="lamp")], flat(2))
    found = load_training_set(tmp_path, BINS)
    assert found.queries == ("rug", "lamp")
    assert found.user_ids == ("u1", "r1")  # a request without a user stands for itself
    assert found.profiles[0] == PreferenceProfile(("green",), (), ("glossy",))
    assert found.soft.shape == (2, 11, 2)


@pytest.mark.parametrize(
    ("rows", "soft", "weights", "message"),
    [
        ([row(0)], flat(2), None, "1 rows in rows.jsonl, 2 soft labels"),
        ([row(0)], np.full((1, 11, 3), 1 / 33), None, r"labels over \(11, 3\) bins, tau 40 gives"),
        ([row(0)], flat(1) * 2, None, "row 0 sums to 2"),
        ([row(0)], np.full((1, 11, 2), np.nan), None, "row 0 sums to nan"),
        ([row(0)], flat(1), np.zeros(1), "some above 0"),
        ([row(0, query=3)], flat(1), None, "rows.jsonl:1: query: Input should be a valid string"),
        ([row(0, profile={"wants": []})], flat(1), None, "profile.wants: Extra inputs"),
    ],
)
def test_rows_that_cannot_be_used_are_named(
    tmp_path: Path,
    rows: list[dict[str, object]],
    soft: np.ndarray,
    weights: np.ndarray | None,
    message: str,
) -> None:
    write(tmp_path, rows, soft, weights)
    with pytest.raises(LabelError, match=message):
        load_training_set(tmp_path, BINS)


def test_missing_and_broken_files_say_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(LabelError, match="adamroute label CONFIG"):
        load_training_set(tmp_path, BINS)
    np.savez(tmp_path / TARGETS_FILE, soft=flat(1), weights=np.ones(1))
    with pytest.raises(LabelError, match=r"rows\.jsonl: cannot be read"):
        load_training_set(tmp_path, BINS)
    for damaged in (b"", b"PK nothing"):
        (tmp_path / TARGETS_FILE).write_bytes(damaged)
        with pytest.raises(LabelError, match="wanted arrays soft"):
            load_training_set(tmp_path, BINS)


def training_set(rows: int) -> TrainingSet:
    soft = np.zeros((rows, 11, 2))
    soft[np.arange(rows), np.arange(rows) % 11, 0] = 1.0
    users = tuple(f"u{i}" for i in range(rows))
    weights = np.arange(1.0, rows + 1)
    return TrainingSet(users, (PreferenceProfile(),) * rows, users, soft, weights)


def test_shuffled_labels_are_the_same_labels_on_other_prompts() -> None:
    rows = training_set(22)
    dealt = rows.with_shuffled_labels(np.random.default_rng(0))
    assert dealt.queries == rows.queries
    assert sorted(dealt.weights) == sorted(rows.weights)
    assert not np.array_equal(dealt.soft, rows.soft)
    assert np.array_equal(dealt.soft.argmax(axis=1)[:, 0], (dealt.weights.astype(int) - 1) % 11)
    again = rows.with_shuffled_labels(np.random.default_rng(0))
    assert np.array_equal(again.soft, dealt.soft)


def test_the_best_bin_takes_all_the_mass_and_ties_go_to_the_smallest_budget() -> None:
    soft = np.full((1, 11, 2), 0.01)
    soft[0, 3] = [0.4, 0.4]
    hard = best_bin_labels(soft, BINS)
    assert hard[0, 3].tolist() == [1.0, 0.0]
    assert hard.sum() == 1.0


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=30).filter(any),
    st.integers(1, 20),
    st.integers(1, 8),
    st.integers(0, 9),
)
def test_rows_are_drawn_as_often_as_their_weight_deserves(
    weights: list[int], steps: int, batch: int, seed: int
) -> None:
    share = np.array(weights) / sum(weights)
    lengths = np.arange(len(weights))
    rng = np.random.default_rng(seed)
    order = draw_order(np.array(weights, float), lengths, steps=steps, batch=batch, rng=rng)
    assert order.shape == (steps * batch,)
    drawn = np.bincount(order, minlength=len(weights))
    assert np.all(np.abs(drawn - share * steps * batch) < 1.0 + 1e-9)
    assert np.all(drawn[np.array(weights) == 0] == 0)


def test_rows_of_like_length_share_a_batch() -> None:
    lengths = np.arange(128) % 16
    order = draw_order(
        np.ones(128), lengths, steps=16, batch=8, rng=np.random.default_rng(0)
    ).reshape(16, 8)
    assert all(len(set(lengths[batch])) == 1 for batch in order)
    assert sorted(order.ravel()) == list(range(128))
