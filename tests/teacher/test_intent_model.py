"""Query composition: learned from written requests and phrases, stored without pickle."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from adamroute.catalogue.item_words import INTENTS, Intent
from adamroute.errors import ArtifactError
from adamroute.teacher.belief import Belief
from adamroute.teacher.intent_model import (
    FEWEST,
    IntentModel,
    KnownIntents,
    fit_intent_model,
    load_intent_model,
)

EACH = FEWEST
CYCLE: list[Intent] = list(INTENTS) * EACH  # as many written requests of every kind as it takes
# Row r of the cycle: kind r mod 3. The mean over a kind's rows is that of r: 43.5, 44.5, 45.5.
SURFACES = np.stack([np.arange(3.0 * EACH), 2 * np.arange(3.0 * EACH)], axis=1)[:, :, None]
VOTES = np.tile(
    np.eye(3)[:, :2], (EACH, 1)
)  # visual: first alpha, functional: second, mixed: none
UNKNOWN = Belief(np.array([0.25, 0.75]), np.array([[7.0], [8.0]]))
NOTHING = KnownIntents(np.empty((0, 4), np.float32), [])


def clouds(kinds: list[Intent], each: int = 40) -> tuple[NDArray[np.float32], list[Intent]]:
    """Unit vectors around one axis a kind."""
    rng = np.random.default_rng(0)
    vectors = np.concatenate(
        [np.eye(4)[INTENTS.index(kind)] + 0.2 * rng.normal(size=(each, 4)) for kind in kinds]
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32), [kind for kind in kinds for _ in range(each)]


def fitted(kinds: list[Intent], elsewhere: list[Intent] | None = None) -> IntentModel:
    """From the shop's requests of some kinds, and from others' of all or some."""
    vectors, labels = clouds(kinds) if kinds else (NOTHING.vectors, [])
    count = len(labels)
    return fit_intent_model(
        KnownIntents(vectors, labels), np.zeros((count, 2, 1)), np.full((count, 2), 0.5),
        anywhere=KnownIntents(*clouds(elsewhere or list(INTENTS))), unknown=UNKNOWN,
    )  # fmt: skip


def test_the_classifier_tells_the_kinds_it_was_shown_apart() -> None:
    probabilities = fitted(["visual", "functional", "mixed"]).kinds(np.eye(4, dtype=np.float32))
    assert np.argmax(probabilities[:3], axis=1).tolist() == [0, 1, 2]
    assert np.diag(probabilities[:3]).min() > 0.7
    assert probabilities.sum(axis=1).tolist() == pytest.approx([1.0] * 4)


@pytest.mark.parametrize("own", [["visual", "mixed"], ["functional"], []])
def test_kinds_that_the_shop_cannot_be_asked_for_are_told_by_other_shops_phrases(
    own: list[Intent],
) -> None:
    found = fitted(own).kinds(np.eye(4, dtype=np.float32))[:3]
    assert np.argmax(found, axis=1).tolist() == [0, 1, 2]


def test_the_shops_own_requests_move_what_other_shops_phrases_say() -> None:
    vectors = np.eye(4, dtype=np.float32)[[3] * 400]
    own = KnownIntents(vectors, ["mixed"] * 400)  # the fourth axis means nothing anywhere else
    model = fit_intent_model(
        own, np.zeros((400, 2, 1)), np.full((400, 2), 0.5),
        anywhere=KnownIntents(*clouds(list(INTENTS))), unknown=UNKNOWN,
    )  # fmt: skip
    fourth = np.eye(4, dtype=np.float32)[3:]
    assert fitted([]).kinds(fourth)[0, 2] < 0.5
    assert model.kinds(fourth)[0, 2] > 0.9


def test_a_vector_gets_the_same_probabilities_in_any_batch() -> None:
    composition = fitted(["visual", "functional", "mixed"])
    vectors, _ = clouds(["visual", "functional"], each=9)
    alone = np.concatenate([composition.kinds(v[None]) for v in vectors])
    assert np.array_equal(composition.kinds(vectors), alone)


def with_beliefs(kinds: list[Intent]) -> IntentModel:
    count = len(kinds)
    own = KnownIntents(np.tile(np.eye(4, dtype=np.float32), (count, 1))[:count], kinds)
    return fit_intent_model(
        own, SURFACES[:count], VOTES[:count],
        anywhere=KnownIntents(*clouds(list(INTENTS))), unknown=UNKNOWN,
    )  # fmt: skip


def test_each_kind_keeps_its_own_mean_and_the_prior_mixes_them() -> None:
    composition = with_beliefs(CYCLE)
    assert composition.surfaces.ravel().tolist() == [43.5, 87.0, 44.5, 89.0, 45.5, 91.0]
    assert composition.votes.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    prior = composition.prior(np.array([0.75, 0.25, 0.0]))
    assert prior.surface.ravel().tolist() == [43.75, 87.5]
    assert prior.votes.tolist() == [0.75, 0.25]


def test_a_kind_of_too_few_written_requests_has_the_belief_of_what_is_unknown() -> None:
    one_short = with_beliefs(CYCLE[:-1])  # 30 visual, 30 functional, 29 mixed
    assert one_short.surfaces[:2].ravel().tolist() == [43.5, 87.0, 44.5, 89.0]
    assert one_short.surfaces[2].tolist() == UNKNOWN.surface.tolist()
    assert one_short.votes.tolist() == [[1.0, 0.0], [0.0, 1.0], UNKNOWN.votes.tolist()]


def test_without_written_requests_all_kinds_share_what_is_unknown() -> None:
    composition = fit_intent_model(
        NOTHING, np.empty((0, 2, 1)), np.empty((0, 2)),
        anywhere=KnownIntents(*clouds(list(INTENTS))), unknown=UNKNOWN,
    )  # fmt: skip
    prior = composition.prior(np.array([0.2, 0.3, 0.5]))
    assert prior.surface.ravel().tolist() == pytest.approx([7, 8])
    assert prior.votes.tolist() == pytest.approx([0.25, 0.75])


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
