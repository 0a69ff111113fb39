"""`intent` student: what the shop's requests of a query's likely intents are served best by.

The teacher's prior as a student: nothing of it is trained beyond the label stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adamroute.errors import RequestError
from adamroute.leaning import Leaning
from adamroute.routing.student import Prediction, RoutingInput
from adamroute.teacher.intent_model import IntentModel
from adamroute.theta import Bins


@dataclass(frozen=True)
class IntentStudent:
    """`Student` over P(kind | q)."""

    intents: IntentModel
    bins: Bins
    lam: float  # price of a whole tau
    leaning: Leaning
    name: str = "intent"
    reads_vectors: bool = True

    def predict(self, inputs: Sequence[RoutingInput]) -> list[Prediction]:
        """RequestError where an input has no vector."""
        return [self._prediction(asked) for asked in inputs]

    def _prediction(self, asked: RoutingInput) -> Prediction:
        if asked.text_vector is None:
            raise RequestError("query", "the intent student reads E_txt of the query, got none")
        belief = self.intents.prior(self.intents.kinds(asked.text_vector[None])[0])
        theta = belief.theta(self.bins, self.lam, self.leaning)
        budgets = np.array(self.bins.budgets) == theta.budget
        return Prediction(belief.votes, budgets.astype(np.float64), theta, bin_mass=1.0)
