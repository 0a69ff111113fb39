"""The teacher's mind as a language model (paper, section 3): four prompts, one seam.

Whatever a model fails to answer, the evidence policy answers instead, under a name that says
which step failed and how: "theta_update:reply_not_json". Nothing falls back without one.

Cost of a request with T_f evidence items: T_f + 3 calls; the updates follow one another, and each
step of all requests at hand leaves as one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from adamroute.catalogue.item_words import words_in
from adamroute.catalogue.preferences import PHRASES, preference_text
from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.catalogue.shop import TimeMeaning
from adamroute.leaning import Leaning
from adamroute.llm.asking import Heard, Question, hear
from adamroute.llm.chat import Ask, ChatEngine, Form
from adamroute.llm.fence import ITEM_LIMIT, QUERY_LIMIT, clean
from adamroute.llm.prompts import prompts
from adamroute.teacher.context import Context
from adamroute.teacher.evidence_policy import NO_NEIGHBOURS
from adamroute.teacher.llm_replies import (
    MAX_REASON,
    ItemVerdict,
    PreferencesReply,
    QueriesReply,
    ThetaReply,
    flaws_in_words,
    queries_form,
    theta_form,
    verdicts,
)
from adamroute.teacher.llm_views import CHOICES, Listings, friends, steps
from adamroute.teacher.neighbours import known_then
from adamroute.teacher.policy import Liking, Rewriting, TeacherPolicy, Thought, Turn
from adamroute.teacher.pseudo_queries import PseudoQuery
from adamroute.theta import Bins, Theta

CHOICE_LIMIT = 200  # characters of a listing in a history
GLANCE_LIMIT = 100  # of one in a neighbour's


@dataclass(frozen=True)
class LlmPolicy:
    """TeacherPolicy by prompts. `evidence` takes the steps that the model has no answer for."""

    engine: ChatEngine
    evidence: TeacherPolicy
    bins: Bins
    listings: Listings
    leaning: Leaning  # how far the evidence lets alpha go
    usual: Theta  # the static prior, the setting to keep where nothing speaks for another
    time: TimeMeaning  # of the shop's interactions
    max_tokens: int  # of one reply

    @property
    def name(self) -> str:
        return "llm"

    def preferences(
        self, requests: Sequence[Request], drafts: Sequence[PreferenceProfile]
    ) -> list[Liking]:
        """p_u from the latest choices; a user without any wants nothing that is known."""
        asked = [p for p, request in enumerate(requests) if request.history]
        heard = self._hear([self._preferences(requests[p]) for p in asked])
        likings = [Liking(draft) for draft in drafts]
        for place, said in zip(asked, heard, strict=True):
            fallbacks = _named("preferences", said)
            profile = drafts[place] if said.value is None else said.value.profile()
            likings[place] = Liking(profile, fallbacks, said.calls)
        return likings

    def start(self, tasks: Sequence[Context]) -> list[Thought]:
        """Theta0 from the neighbours' thetas and choices."""
        heard = self._hear([self._start(task) for task in tasks])
        alone = [() if task.neighbours else (NO_NEIGHBOURS,) for task in tasks]
        return [
            self._thought("start", said, partial(self._own_start, task), lacking)
            for said, task, lacking in zip(heard, tasks, alone, strict=True)
        ]

    def pseudo_queries(self, tasks: Sequence[Context]) -> list[Rewriting]:
        """Queries for the relevant evidence items; the template's where the model's is no use."""
        asked = [p for p, task in enumerate(tasks) if task.evidence]
        heard = self._hear([self._pseudo_queries(tasks[p]) for p in asked])
        rewritings = [Rewriting(())] * len(tasks)
        for place, said in zip(asked, heard, strict=True):
            rewritings[place] = self._rewriting(tasks[place], said)
        return rewritings

    def update(self, turns: Sequence[Turn]) -> list[Thought]:
        """Theta after one more observation of each request, with the memory so far."""
        heard = self._hear([self._update(turn) for turn in turns])
        return [
            self._thought("theta_update", said, partial(self._own_update, turn))
            for said, turn in zip(heard, turns, strict=True)
        ]

    def _preferences(self, request: Request) -> Question[PreferencesReply]:
        choices = self.listings.choices(request.history, CHOICES)
        ask = self._ask(
            "preferences", PreferencesReply,
            choices=choices, choice_limit=CHOICE_LIMIT, phrases=PHRASES,
        )  # fmt: skip
        return Question(ask)

    def _start(self, task: Context) -> Question[ThetaReply]:
        near = known_then(task.neighbours, time=self.time, history=task.request.history)
        ask = self._ask(
            "start", theta_form(self.bins.budgets),
            items=len(self.listings), usual=self.usual, budgets=self.bins.budgets,
            combine=self.bins.combine,
            query=task.request.query, wanted=preference_text(task.profile),
            disliked=", ".join(task.profile.dislike), neighbours=friends(near, self.listings),
            query_limit=QUERY_LIMIT, choice_limit=CHOICE_LIMIT, glance_limit=GLANCE_LIMIT,
        )  # fmt: skip
        return Question(ask)

    def _pseudo_queries(self, task: Context) -> Question[QueriesReply]:
        query = task.request.query
        ask = self._ask(
            "pseudo_query", queries_form(len(task.evidence)),
            query=query, words=len(words_in(query)),
            listings=[self.listings.at(item.row).text for item in task.evidence],
            query_limit=QUERY_LIMIT, item_limit=ITEM_LIMIT,
        )  # fmt: skip
        return Question(ask, lambda reply: flaws_in_words(self._verdicts(task, reply)))

    def _update(self, turn: Turn) -> Question[ThetaReply]:
        ask = self._ask(
            "theta_update", theta_form(self.bins.budgets),
            items=len(self.listings), usual=self.usual, budgets=self.bins.budgets,
            combine=self.bins.combine,
            query=turn.task.request.query, start=turn.memory.start, steps=steps(turn),
            new=turn.observation,
            query_limit=QUERY_LIMIT, choice_limit=CHOICE_LIMIT, reason_limit=MAX_REASON,
        )  # fmt: skip
        return Question(ask)

    def _verdicts(self, task: Context, reply: QueriesReply) -> list[ItemVerdict]:
        listings = [self.listings.at(item.row) for item in task.evidence]
        return verdicts(reply, task.request.query, task.evidence, listings)

    def _rewriting(self, task: Context, said: Heard[QueriesReply]) -> Rewriting:
        own = self.evidence.pseudo_queries([task])[0].queries
        if said.value is None:
            return Rewriting(own, _named("pseudo_query", said), said.calls)
        queries: list[PseudoQuery] = []
        fallbacks: list[str] = []
        dropped: list[str] = []
        found = self._verdicts(task, said.value)
        for verdict, item, template in zip(found, task.evidence, own, strict=True):
            if not verdict.relevant:
                dropped.append(item.item_id)
            elif verdict.flaw:
                fallbacks.append(f"pseudo_query:{verdict.flaw}")
                queries.append(template)
            else:
                kind = said.value.kind
                queries.append(PseudoQuery(item.item_id, item.row, kind, verdict.query))
        return Rewriting(tuple(queries), tuple(fallbacks), said.calls, tuple(dropped))

    def _own_start(self, task: Context) -> Thought:
        return self.evidence.start([task])[0]

    def _own_update(self, turn: Turn) -> Thought:
        return self.evidence.update([turn])[0]

    def _thought(
        self,
        step: str,
        said: Heard[ThetaReply],
        own: Callable[[], Thought],
        lacking: tuple[str, ...] = (),
    ) -> Thought:
        """The model's setting, or the evidence policy's thought under the failure's name.

        An alpha beyond what the shop's evidence reaches is set to the end of its reach.
        """
        if said.value is not None:
            reason, theta = clean(said.value.reason, MAX_REASON), said.value.theta
            within = Theta(self.leaning.within(theta.alpha), theta.budget)
            return Thought(within, reason, lacking, said.calls)
        thought = own()
        fallbacks = (*_named(step, said), *thought.fallbacks)
        return Thought(thought.theta, thought.reason, fallbacks, said.calls)

    def _ask(self, name: str, form: type[Form], **values: object) -> Ask[Form]:
        prompt = prompts()[name]
        return Ask(
            prompt=prompt.stamp,
            system=prompt.part("system", **values),
            user=prompt.part("user", **values),
            form=form,
            max_tokens=self.max_tokens,
        )

    def _hear(self, questions: Sequence[Question[Form]]) -> list[Heard[Form]]:
        return hear(self.engine, questions, prompts()["repair"])


def _named(step: str, said: Heard[Form]) -> tuple[str, ...]:
    return () if said.failure is None else (f"{step}:{said.failure}",)
