"""The teacher's loop over a real index: five steps, exact ranks, no leak, no order effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from adamroute.catalogue.request import Interaction, PreferenceProfile, Request
from adamroute.distill.labels.rounds import first_snapshot
from adamroute.errors import RequestError
from adamroute.llm.chat import Call
from adamroute.retrieval.branch_index import Rows
from adamroute.retrieval.replay import TargetRank, TargetRanks
from adamroute.teacher.context import Context, Contexts, Evidence
from adamroute.teacher.evidence_policy import EvidencePolicy
from adamroute.teacher.intent_model import IntentModel
from adamroute.teacher.loop import NO_HISTORY, Ranker, Teacher
from adamroute.teacher.paraphrase import VERBATIM
from adamroute.teacher.policy import Liking, Rewriting, TeacherPolicy, Thought, Turn
from adamroute.teacher.pseudo_queries import PseudoQuery
from adamroute.theta import ALPHAS, Bins, Theta
from tests.distill.market import BagOfWords, kept_likings, market_index, market_shop
from tests.leanings import AS_MEAN

BINS = Bins(20)
STATIC = Theta(0.5, 20)
FLAT = np.full((3, *BINS.shape), 0.5)
EVEN = np.full((3, 11), 1 / 11)
EVIDENCE = EvidencePolicy(
    IntentModel(np.zeros((3, 256)), np.zeros(3), FLAT, EVEN),
    VERBATIM,
    BINS,
    0.0,
    5.0,
    0.1,
    AS_MEAN,
)


class NotingPolicy:
    """Asks for each item by its own listing, answers with the step number, notes what it saw."""

    name = "noting"

    def __init__(self) -> None:
        self.tasks: list[Context] = []
        self.profiled: list[Request] = []

    def preferences(
        self, requests: Sequence[Request], drafts: Sequence[PreferenceProfile]
    ) -> list[Liking]:
        self.profiled += requests
        return [Liking(draft) for draft in drafts]

    def start(self, tasks: Sequence[Context]) -> list[Thought]:
        call = Call("start@0", prompt_tokens=8, reply_tokens=2, ms=1.0)
        return [Thought(Theta(0.0, 20), "start", ("started_blind",), (call,)) for _ in tasks]

    def pseudo_queries(self, tasks: Sequence[Context]) -> list[Rewriting]:
        self.tasks += tasks
        return [Rewriting(tuple(map(_own_listing, task.evidence))) for task in tasks]

    def update(self, turns: Sequence[Turn]) -> list[Thought]:
        call = Call("update@0", prompt_tokens=4, reply_tokens=1, ms=1.0)
        return [
            Thought(Theta((len(t.memory.observations) + 1) / 10, 20), "seen", calls=(call,))
            for t in turns
        ]


def _own_listing(e: Evidence) -> PseudoQuery:
    return PseudoQuery(e.item_id, e.row, "functional", " ".join(e.words.claims[0]), "reworded")


def teacher(
    policy: TeacherPolicy = EVIDENCE,
    *,
    evidence: int = 5,
    neighbours: int = 2,
    blind: Theta | None = None,
    ranker: Ranker | None = None,
) -> Teacher:
    index, shop = market_index(), market_shop()
    likings = kept_likings(shop, index, EVIDENCE)
    snapshot = first_snapshot(shop, index, STATIC, likings)
    contexts = Contexts(index, snapshot, evidence, neighbours)
    return Teacher(contexts, policy, ranker or index, blind)


def ask(*history: tuple[str, bool], user: str | None = "u0", query: str = "red lamp") -> Request:
    return Request("r", user, query, tuple(Interaction(i, p, 0.0) for i, p in history))


LIKED = (("red-lamp-0", True), ("blue-vase-1", True), ("red-rug-0", False))


def test_every_step_leaves_one_typed_row_and_the_last_theta_is_the_answer() -> None:
    answer = teacher(NotingPolicy()).decide(ask(*LIKED))
    assert [step.step for step in answer.steps] == [0, 1, 2]
    assert [step.alpha for step in answer.steps] == [0.0, 0.1, 0.2]
    assert (answer.theta0, answer.theta) == (Theta(0.0, 20), Theta(0.2, 20))
    assert (answer.steps[0].item_id, answer.steps[0].pseudo_query) == (None, None)
    assert answer.source == "teacher"
    assert answer.item_ids == ("red-lamp-0", "blue-vase-1")
    assert (answer.llm_calls, answer.tokens) == (3, 20)
    assert answer.fallbacks == ("started_blind", "reworded", "reworded")


def test_observed_ranks_are_those_a_search_gives() -> None:
    loop = teacher(NotingPolicy())
    answer = loop.decide(ask(*LIKED))
    for step in answer.steps[1:]:
        assert step.pseudo_query is not None
        row = loop.contexts.index.row(step.item_id or "")
        encoded = loop.contexts.index.encode([step.pseudo_query])
        text = loop.contexts.index.retriever.text.search(encoded.text[0], 24).rows.tolist()
        mm = loop.contexts.index.retriever.mm.search(encoded.mm[0], 24).rows.tolist()
        assert (step.text_rank, step.mm_rank) == (1 + text.index(row), 1 + mm.index(row))


def test_relevant_history_is_the_positives_nearest_to_the_query_in_text() -> None:
    policy = NotingPolicy()
    history = [("red-rug-1", True), ("blue-lamp-0", True), ("red-lamp-1", False)]
    teacher(policy, evidence=1).decide(ask(*history, query="lamp for reading at night"))
    assert [e.item_id for e in policy.tasks[0].evidence] == ["blue-lamp-0"]


def test_an_item_liked_and_later_rejected_is_no_evidence() -> None:
    policy = NotingPolicy()
    teacher(policy).decide(ask(("red-rug-0", True), ("red-lamp-0", True), ("red-rug-0", False)))
    assert [e.item_id for e in policy.tasks[0].evidence] == ["red-lamp-0"]


def test_without_relevant_history_the_prior_is_the_answer_and_says_so() -> None:
    for request in (ask(), ask(("red-rug-0", False)), ask(user=None)):
        answer = teacher(NotingPolicy()).decide(request)
        assert (answer.source, answer.theta) == ("teacher:no_evidence", answer.theta0)
        assert NO_HISTORY in answer.fallbacks
        assert len(answer.steps) == 1
    assert teacher(NotingPolicy(), evidence=0).decide(ask(*LIKED)).source == "teacher:no_evidence"


def test_the_user_is_never_among_the_neighbours() -> None:
    policy = NotingPolicy()
    loop = teacher(policy, neighbours=8)
    for user in ("u0", "u1", "u4"):
        loop.decide(Request("r", user, "lamp", market_shop().histories[user]))
        near = {n.user_id for n in policy.tasks[-1].neighbours}
        assert user not in near
        assert near <= {"u0", "u1", "u4", "u5"}  # users of train queries alone lend


def test_preferences_told_with_a_request_are_taken_and_win_over_its_history() -> None:
    policy, told = NotingPolicy(), PreferenceProfile(("blue",), ("vase",))
    loop = teacher(policy)
    plain = ask(*LIKED)
    loop.decide_many([replace(plain, preferences=told), plain])
    given, derived = policy.tasks
    assert given.profile == told != derived.profile
    assert policy.profiled == [plain]  # nobody writes what was told
    assert given.evidence == derived.evidence
    encoded = loop.contexts.index.text_encoder.encode(["blue, vase"])[0]
    known = loop.contexts.snapshot.by_id
    for near in given.neighbours:
        assert near.similarity == pytest.approx(float(encoded @ known[near.user_id].e_pref))
    assert given.neighbours != derived.neighbours


def test_without_a_collaborative_start_the_policy_is_not_asked_for_one_and_sees_nobody() -> None:
    policy, blind = NotingPolicy(), Theta(0.5, 10)
    answer = teacher(policy, blind=blind).decide(ask(*LIKED))
    assert (answer.theta0, answer.steps[0].reason) == (blind, "no collaborative start")
    assert answer.fallbacks == ("reworded", "reworded")  # none of the policy's own start
    assert policy.tasks[0].neighbours == ()
    assert teacher(blind=blind).contexts.prepare([ask(*LIKED)])[0].neighbours  # still known


def test_the_target_leaves_no_trace_in_what_the_policy_sees() -> None:
    shop, policy = market_shop(), NotingPolicy()
    query = next(q for q in shop.queries if q.user_id == "u0")
    with_target = {**shop.histories, "u0": shop.histories["u0"]}
    with_target["u0"] += (Interaction(query.target_id, True, 9.0),)
    loop = teacher(policy)
    loop.decide(shop.request(query))
    loop.decide(replace(shop, histories=with_target).request(query))
    first, second = policy.tasks
    assert first.profile == second.profile
    assert first.neighbours == second.neighbours
    assert first.evidence == second.evidence


def test_a_stored_wish_is_not_encoded_again() -> None:
    loop = teacher()
    encoder = loop.contexts.index.text_encoder
    assert isinstance(encoder, BagOfWords)
    encoder.seen.clear()
    history = market_shop().histories["u0"]
    loop.contexts.prepare([Request("r", "u0", "a lamp", history)])
    assert encoder.seen == ["a lamp"]
    loop.contexts.prepare([Request("r", "u0", "a lamp", history[:2])])
    assert len(encoder.seen) == 3


def test_many_requests_get_the_answers_they_get_alone() -> None:
    shop, loop = market_shop(), teacher()
    requests = [shop.request(query) for query in shop.queries] * 4  # more than one chunk
    together = [replace(answer, ms=0.0) for answer in loop.decide_many(requests)]
    alone = [replace(loop.decide(request), ms=0.0) for request in requests[:24]]
    assert together[:24] == alone
    assert together[72:] == alone
    assert loop.decide_many([]) == []


def test_ranks_already_verified_are_not_looked_up_again() -> None:
    loop, request = teacher(NotingPolicy()), ask(LIKED[0])
    step = loop.decide(request).steps[1]
    rank = TargetRank(7, 9, (5,) * 11)
    known = {(step.pseudo_query or "", loop.contexts.index.row("red-lamp-0")): rank}
    unasked = NotingRanker()
    answer = replace(loop, verified=known, ranker=unasked).decide(request)
    assert answer.ranks.each() == [rank]
    assert unasked.asked == []


class NotingRanker:
    """Ranks every item by its row, text ahead of photos, and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def target_ranks(self, queries: Sequence[str], rows: Rows) -> TargetRanks:
        self.asked += zip(queries, rows.tolist(), strict=True)
        fused = rows[:, None] + np.arange(11, 0, -1)
        return TargetRanks(rows + 1, rows + 11, fused)


def test_pseudo_queries_are_verified_against_the_ranker_and_not_the_index() -> None:
    ranker = NotingRanker()
    loop = teacher(NotingPolicy(), ranker=ranker)
    answer = loop.decide(ask(*LIKED))
    rows = [loop.contexts.index.row(item_id) for item_id in answer.item_ids]
    assert [row for _, row in ranker.asked] == rows
    assert [text for text, _ in ranker.asked] == [s.pseudo_query for s in answer.steps[1:]]
    assert answer.text_ranks == tuple(row + 1 for row in rows)
    assert answer.mm_ranks == tuple(row + 11 for row in rows)
    assert answer.fused_ranks == tuple(tuple(range(row + 11, row, -1)) for row in rows)
    assert [(s.text_rank, s.mm_rank) for s in answer.steps[1:]] == [(r + 1, r + 11) for r in rows]
    assert answer.ranks.fused.shape == (2, 11)


def test_an_answer_without_evidence_has_no_ranks() -> None:
    answer = teacher(NotingPolicy(), ranker=NotingRanker()).decide(ask())
    assert (answer.fused_ranks, len(answer.ranks)) == ((), 0)


def test_an_unknown_item_in_the_history_names_the_field() -> None:
    with pytest.raises(RequestError, match="no-such-item") as caught:
        teacher().decide(ask(("no-such-item", True)))
    assert caught.value.field == "history"


def test_the_evidence_policy_runs_the_whole_loop() -> None:
    answer = teacher().decide(ask(*LIKED))
    assert answer.theta.alpha in ALPHAS
    assert len(answer.text_ranks) == 2
    assert all("ranks" in step.reason for step in answer.steps[1:])
