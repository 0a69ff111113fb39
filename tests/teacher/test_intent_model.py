"""Query composition: learned from synthetic requests, stored without pickle."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from adamroute.catalogue.item_words import INTENTS, Intent
from adamroute.errors import ArtifactError, LabelError
from adamroute.teacher.belief import Belief
from adamroute.teacher.intent_model import IntentModel, fit_intent_model, load_intent_model

SURFACES = np.arange(6 * 2 * 1, dtype=np.float64).reshape(6, 2, 1)
VOTES = np.stack([np.linspace(0.0, 1.0, 6), np.linspace(1.0, 0.0, 6)], axis=1)


def clouds(kinds: list[Intent], each: int = 40) -> tuple[NDArray[np.float32], list[Intent]]:
    """Unit vectors around one axis a kind."""
    rng = np.random.default_rng(0)
    vectors = np.concatenate(
        [np.eye(4)[INTENTS.index(kind)] + 0.2 * rng.normal(size=(each, 4)) for kind in kinds]
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32), [kind for kind in kinds for _ in range(each)]


def fitted(kinds: list[Intent]) -> IntentModel:
    vectors, labels = clouds(kinds)
    return fit_intent_model(
        vectors, labels, np.zeros((len(labels), 2, 1)), np.full((len(labels), 2), 0.5)
    )


def test_the_classifier_tells_the_kinds_it_was_shown_apart() -> None:
    probabilities = fitted(["visual", "functional", "mixed"]).kinds(np.eye(4, dtype=np.float32))
    assert np.argmax(probabilities[:3], axis=1).tolist() == [0, 1, 2]
    assert np.diag(probabilities[:3]).min() > 0.7
    assert probabilities.sum(axis=1).tolist() == pytest.approx([1.0] * 4)


def test_two_kinds_or_one_leave_nothing_to_the_absent() -> None:
    two = fitted(["visual", "mixed"]).kinds(np.eye(4, dtype=np.float32))
    assert two[:, 1].max() < 1e-6
    assert two[0, 0] > 0.8
    assert two[2, 2] > 0.8
    one = fitted(["functional"]).kinds(np.eye(4, dtype=np.float32))
    assert one[:, 1].min() > 1 - 1e-6


def test_a_vector_gets_the_same_probabilities_in_any_batch() -> None:
    composition = fitted(["visual", "functional", "mixed"])
    vectors, _ = clouds(["visual", "functional"], each=9)
    alone = np.concatenate([composition.kinds(v[None]) for v in vectors])
    assert np.array_equal(composition.kinds(vectors), alone)


def test_each_kind_keeps_its_own_mean_and_the_prior_mixes_them() -> None:
    vectors = np.eye(6, dtype=np.float32)
    kinds: list[Intent] = ["visual", "visual", "functional", "functional", "mixed", "mixed"]
    composition = fit_intent_model(vectors, kinds, SURFACES, VOTES)
    assert composition.surfaces.ravel().tolist() == [1, 2, 5, 6, 9, 10]  # (0+2)/2, (1+3)/2, ...
    prior = composition.prior(np.array([0.5, 0.5, 0.0]))
    assert prior.surface.ravel().tolist() == [3.0, 4.0]
    # votes for the second alpha fall by .2 a row: .9 for visual, .5 for functional queries
    assert composition.votes[:2, 1].tolist() == pytest.approx([0.9, 0.5])
    assert prior.votes.tolist() == pytest.approx([0.3, 0.7])


def test_a_kind_never_seen_has_the_mean_of_all() -> None:
    composition = fit_intent_model(np.eye(6, dtype=np.float32), ["visual"] * 6, SURFACES, VOTES)
    assert composition.surfaces[1].ravel().tolist() == [5.0, 6.0]
    assert composition.votes[1].tolist() == pytest.approx([0.5, 0.5])


def test_without_synthetic_requests_all_kinds_share_what_outcomes_say() -> None:
    none = np.empty((0, 4), dtype=np.float32)
    composition = fit_intent_model(
        none, [], np.empty((0, 2, 1)), np.empty((0, 2)), fallback=Belief(VOTES[1], SURFACES[1])
    )
    assert composition.kinds(np.eye(4, dtype=np.float32))[0].tolist() == pytest.approx([1 / 3] * 3)
    prior = composition.prior(np.array([0.2, 0.3, 0.5]))
    assert prior.surface.ravel().tolist() == pytest.approx([2, 3])
    assert prior.votes.tolist() == pytest.approx([0.2, 0.8])
    with pytest.raises(LabelError, match="synthetic_requests"):
        fit_intent_model(none, [], np.empty((0, 2, 1)), np.empty((0, 2)))


def test_a_saved_composition_reads_back_and_the_file_is_always_the_same(tmp_path: Path) -> None:
    composition = fitted(["visual", "functional", "mixed"])
    composition.save(tmp_path / "a.npz")
    composition.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    again = load_intent_model(tmp_path / "a.npz")
    assert np.array_equal(again.weights, composition.weights)
    assert np.array_equal(again.surfaces, composition.surfaces)
    assert np.array_equal(again.votes, composition.votes)


def test_a_missing_or_broken_file_says_what_to_run(tmp_path: Path) -> None:
    (tmp_path / "bad.npz").write_bytes(b"PK not a zip")
    for name in ("none.npz", "bad.npz"):
        with pytest.raises(ArtifactError, match="adamroute label"):
            load_intent_model(tmp_path / name)
