"""Stand-ins for an engine and for the policy that an LLM policy falls back to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.llm.chat import Ask, Failure, Form, Reply
from adamroute.llm.exchange import Cost, failed, reply_of
from adamroute.teacher.context import Context
from adamroute.teacher.policy import Liking, Rewriting, Thought, Turn
from adamroute.teacher.pseudo_queries import PseudoQuery
from adamroute.theta import Theta

OWN_START, OWN_UPDATE = Theta(0.5, 20), Theta(0.4, 20)
FAILURES: tuple[Failure, ...] = get_args(Failure)
COST = Cost(prompt_tokens=100, reply_tokens=10, ms=5.0)


def obedient(name: str, user: str) -> str:
    """What a model says that does as it is told: alpha .2 at the start, .9 at every update."""
    if name == "preferences":
        return json.dumps(
            {"strong_pref": ["red"], "nice_to_have": ["soft light"], "dislike": ["blue"]}
        )
    if name == "pseudo_query":
        count = len(re.findall(r"^Product \d+:", user, re.MULTILINE))
        items = [{"relevant": True, "query": f"cosy thing {n}"} for n in range(count)]
        return json.dumps({"kind": "functional", "items": items})
    alpha = 0.2 if name == "start" else 0.9
    return json.dumps({"alpha": alpha, "budget": 20, "reason": f"as {name} says"})


class Plain:
    """A policy without a model: fixed thetas, template queries."""

    name = "plain"

    def preferences(
        self,
        requests: Sequence[Request],  # noqa: ARG002 - the seam's
        drafts: Sequence[PreferenceProfile],
    ) -> list[Liking]:
        return [Liking(draft) for draft in drafts]

    def start(self, tasks: Sequence[Context]) -> list[Thought]:
        return [Thought(OWN_START, "own start") for _ in tasks]

    def pseudo_queries(self, tasks: Sequence[Context]) -> list[Rewriting]:
        return [
            Rewriting(
                tuple(
                    PseudoQuery(e.item_id, e.row, "visual", f"template {e.words.noun}")
                    for e in task.evidence
                )
            )
            for task in tasks
        ]

    def update(self, turns: Sequence[Turn]) -> list[Thought]:
        return [Thought(OWN_UPDATE, "own update") for _ in turns]


@dataclass
class Scripted:
    """An engine that says what it is told to; a Failure says that it didn't answer."""

    say: Callable[[Ask[Any]], str]
    asks: list[Ask[Any]] = field(default_factory=list)
    name: str = "scripted"

    def check(self) -> None: ...

    def chat(self, asks: Sequence[Ask[Form]]) -> list[Reply[Form]]:
        self.asks += asks
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask[Form]) -> Reply[Form]:
        said = self.say(ask)
        for failure in FAILURES:
            if said == failure:
                return failed(failure, "no answer", Cost(ms=1.0))
        return reply_of(said, ask.form, COST)
