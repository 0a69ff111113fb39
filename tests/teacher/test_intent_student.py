"""The teacher's prior as a student."""

import numpy as np
import pytest

from adamroute.catalogue.request import PreferenceProfile
from adamroute.errors import RequestError
from adamroute.leaning import Leaning
from adamroute.routing.student import RoutingInput
from adamroute.teacher.intent_model import IntentModel
from adamroute.teacher.intent_student import IntentStudent
from adamroute.theta import Bins, Theta

BINS = Bins(40)  # budgets 20 and 40
NOBODY = PreferenceProfile()


def student(reach: float = 0.5) -> IntentStudent:
    """A sure classifier: the first axis is visual (photos serve it), the second functional."""
    votes = np.eye(11)[[0, 10, 5]]
    surfaces = np.full((3, *BINS.shape), 0.5)
    surfaces[1, :, 1] = 0.9  # use is worth the larger budget
    intents = IntentModel(50.0 * np.eye(3, 2), np.zeros(3), surfaces, votes)
    return IntentStudent(intents, BINS, 0.1, Leaning(scale=0.5, reach=reach))


def asked(*vector: float) -> RoutingInput:
    return RoutingInput("any", NOBODY, np.array(vector, np.float32))


def test_it_answers_as_the_shops_requests_of_the_likely_intent_are_served_best() -> None:
    looks, use = student().predict([asked(1, 0), asked(0, 1)])
    assert (looks.theta, use.theta) == (Theta(0.0, 20), Theta(1.0, 40))
    assert looks.alpha_probs == pytest.approx(np.eye(11)[0])
    assert (looks.budget_probs.tolist(), use.budget_probs.tolist()) == ([1, 0], [0, 1])
    assert looks.bin_mass == 1.0


def test_alpha_goes_no_further_than_the_evidence_reaches() -> None:
    looks, use = student(reach=0.3).predict([asked(1, 0), asked(0, 1)])
    assert (looks.theta.alpha, use.theta.alpha) == (0.2, 0.8)


def test_it_reads_vectors_and_says_so() -> None:
    assert student().reads_vectors
    with pytest.raises(RequestError, match="reads E_txt of the query"):
        student().predict([RoutingInput("words alone", NOBODY, None)])
