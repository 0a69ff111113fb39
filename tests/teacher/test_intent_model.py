"""Query composition: learned from written requests and phrases, stored without pickle."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from adamroute.catalogue.item_words import INTENTS, Intent
from adamroute.errors import ArtifactError
from adamroute.teacher.intent_model import (
    FEWEST,
    WORTH,
    IntentModel,
    KnownIntents,
    KnownOutcomes,
    fit_intent_model,
    load_intent_model,
)

EACH = FEWEST
CYCLE: list[Intent] = list(INTENTS) * EACH  # as many written requests of every kind as it takes
# Row r of the cycle: kind r mod 3. The mean over a kind's rows is that of r: 43.5, 44.5, 45.5.
SURFACES = np.tile(np.arange(3.0 * EACH)[:, None, None], (1, 11, 1))
VOTES = np.tile(np.eye(11)[[0, 10, 5]], (EACH, 1))  # by photos, by text, by both
AXES = np.eye(4, dtype=np.float32)
NOTHING = KnownOutcomes(np.empty((0, 4), np.float32), np.empty((0, 11)), np.empty((0, 11, 1)))


def clouds(kinds: list[Intent], each: int = 40) -> tuple[NDArray[np.float32], list[Intent]]:
    """Unit vectors around one axis a kind."""
    rng = np.random.default_rng(0)
    vectors = np.concatenate(
        [np.eye(4)[INTENTS.index(kind)] + 0.2 * rng.normal(size=(each, 4)) for kind in kinds]
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32), [kind for kind in kinds for _ in range(each)]


def outcomes(vectors: NDArray[np.float32]) -> KnownOutcomes:
    """Requests that any alpha serves as well."""
    count = len(vectors)
    return KnownOutcomes(vectors, np.full((count, 11), 1 / 11), np.zeros((count, 11, 1)))


def fit(
    written: KnownOutcomes, kinds: list[Intent], logged: KnownOutcomes = NOTHING
) -> IntentModel:
    anywhere = KnownIntents(*clouds(list(INTENTS)))
    return fit_intent_model(written, kinds, anywhere=anywhere, logged=logged)


def fitted(kinds: list[Intent]) -> IntentModel:
    """From the shop's requests of some kinds, and from others' of all."""
    if not kinds:
        return fit(NOTHING, [], outcomes(AXES[:1]))
    vectors, labels = clouds(kinds)
    return fit(outcomes(vectors), labels)


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
    fourth = AXES[3:]  # which means nothing anywhere else
    model = fit(outcomes(AXES[[3] * 400]), ["mixed"] * 400)
    assert fitted([]).kinds(fourth)[0, 2] < 0.5
    assert model.kinds(fourth)[0, 2] > 0.9


def test_a_vector_gets_the_same_probabilities_in_any_batch() -> None:
    composition = fitted(["visual", "functional", "mixed"])
    vectors, _ = clouds(["visual", "functional"], each=9)
    alone = np.concatenate([composition.kinds(v[None]) for v in vectors])
    assert np.array_equal(composition.kinds(vectors), alone)


def with_beliefs(kinds: list[Intent], logged: KnownOutcomes = NOTHING) -> IntentModel:
    count = len(kinds)
    vectors = np.tile(AXES, (count, 1))[:count]
    return fit(KnownOutcomes(vectors, VOTES[:count], SURFACES[:count]), kinds, logged)


def test_each_kind_keeps_its_own_mean_and_the_prior_mixes_them() -> None:
    composition = with_beliefs(CYCLE)
    assert composition.surfaces[:, 0, 0].tolist() == [43.5, 44.5, 45.5]
    assert composition.votes.tolist() == np.eye(11)[[0, 10, 5]].tolist()
    prior = composition.prior(np.array([0.75, 0.25, 0.0]))
    assert prior.surface[:, 0].tolist() == [43.75] * 11
    assert prior.votes[[0, 10]].tolist() == [0.75, 0.25]


def test_a_kind_of_too_few_written_requests_is_undecided() -> None:
    one_short = with_beliefs(CYCLE[:-1])  # 30 visual, 30 functional, 29 mixed
    assert one_short.votes.tolist() == np.eye(11)[[0, 10, 5]].tolist()
    assert one_short.surfaces[:2, 0, 0].tolist() == [43.5, 44.5]
    assert one_short.surfaces[2] == pytest.approx(SURFACES[:-1].mean(axis=0))


def test_logged_requests_count_beside_all_written_ones_of_their_kind() -> None:
    # WORTH requests of the first axis, which the phrases call visual, that text alone serves.
    count = int(WORTH)
    logged = KnownOutcomes(
        AXES[[0] * count], np.tile(np.eye(11)[10], (count, 1)), np.ones((count, 11, 1))
    )
    composition = with_beliefs(CYCLE, logged)
    likely = composition.kinds(AXES[:1])[0]
    share = likely * count / (WORTH + likely * count)
    assert composition.votes[0, 10] == pytest.approx(share[0])
    assert composition.votes[2, [5, 10]] == pytest.approx([1 - share[2], share[2]])
    assert composition.surfaces[0, 0, 0] == pytest.approx(43.5 * (1 - share[0]) + share[0])


def test_without_written_requests_logged_ones_move_what_is_undecided() -> None:
    logged = KnownOutcomes(AXES[:1], np.eye(11)[[10]], np.ones((1, 11, 1)))
    composition = fit(NOTHING, [], logged)
    assert composition.votes.argmax(axis=1).tolist() == [5, 5, 5]
    assert composition.votes[0, 10] > composition.votes[1, 10] > 0.0


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
    (tmp_path / "empty.npz").touch()
    for name in ("none.npz", "bad.npz", "empty.npz"):
        with pytest.raises(ArtifactError, match="adamroute label"):
            load_intent_model(tmp_path / name)
