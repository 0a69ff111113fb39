"""Labelling rounds: the teacher over all train queries, then write-back, and once more.

Round r reads the store as round r-1 left it and commits at its end. A user with several train
queries keeps the theta of the last one in file order, whatever order they ran in. Pseudo-queries
that come up again were verified in the round before and are not encoded twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from pydantic import TypeAdapter

from adamroute.catalogue.preferences import preference_text, profile_of, traits_by_id
from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.catalogue.shop import Query, Shop
from adamroute.progress import Progress
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import Pieces, Record
from adamroute.store import ProfileStore, Snapshot, UserRecord
from adamroute.teacher.answer import TeacherAnswer, TraceStep
from adamroute.teacher.loop import CHUNK, Teacher, Verified
from adamroute.teacher.policy import Liking, TeacherPolicy
from adamroute.theta import Theta

_ANSWER = TypeAdapter(TeacherAnswer)
_LIKING = TypeAdapter(Liking)


@dataclass(frozen=True)
class Round:
    """What one round read and said."""

    number: int
    snapshot_hash: str  # of the store it read
    answers: tuple[TeacherAnswer, ...]  # in the order of the train queries
    thetas: Mapping[str, Theta]  # what it wrote back, by user


def stored_likings(
    shop: Shop, index: SearchIndex, policy: TeacherPolicy, pieces: Pieces, progress: Progress
) -> dict[str, Liking]:
    """p_u of every user's whole history by the policy, as the store will hold it.

    Kept in `pieces`: rounds rest on them, so a restarted run must not ask again.
    """
    traits = traits_by_id(index.ids, index.categories, index.visual)
    requests = [Request(name, name, "", shop.histories[name]) for name in sorted(shop.histories)]
    likings: dict[str, Liking] = {}
    with progress.task("preferences", len(requests)) as advance:
        for start in range(0, len(requests), CHUNK):
            chunk = requests[start : start + CHUNK]
            drafts = [profile_of(request.history, traits) for request in chunk]
            like = partial(_like, policy, chunk, drafts)
            said = map(_LIKING.validate_python, pieces.records(f"preferences-{start:06d}", like))
            likings |= {r.request_id: liking for r, liking in zip(chunk, said, strict=True)}
            advance(len(chunk))
    return likings


def _like(
    policy: TeacherPolicy, requests: Sequence[Request], drafts: Sequence[PreferenceProfile]
) -> list[Record]:
    said = policy.preferences(requests, drafts)
    return [_LIKING.dump_python(liking, mode="json") for liking in said]


def first_snapshot(
    shop: Shop, index: SearchIndex, static: Theta, likings: Mapping[str, Liking]
) -> Snapshot:
    """Every user with a history, at the static prior; `likings` by user.

    Users with a calibration or test query don't lend: they are in the store to be served, and
    nothing of theirs reaches another user's labels.
    """
    held_out = {q.user_id for q in shop.split("calibration", "test")}
    names = sorted(shop.histories)
    wishes = [preference_text(likings[name].profile) for name in names]
    vectors = iter(index.text_encoder.encode([wish for wish in wishes if wish]))
    nothing = np.empty(0, dtype=np.float32)
    return Snapshot(
        tuple(
            UserRecord(
                user_id=name,
                lends=name not in held_out,
                preference=wish,
                e_pref=next(vectors) if wish else nothing,
                history=shop.histories[name],
                theta=static,
                round=-1,
                updated=max((x.timestamp for x in shop.histories[name]), default=0.0),
            )
            for name, wish in zip(names, wishes, strict=True)
        )
    )


def run_rounds(
    teacher: Teacher,
    shop: Shop,
    *,
    rounds: int,
    shared: ProfileStore | None,
    pieces: Pieces,
    progress: Progress,
) -> tuple[Round, ...]:
    """All rounds over the shop's train queries.

    `teacher` holds the first snapshot. Answers are kept a chunk at a time in `pieces`; thetas of
    each round are committed to the shared store, if there is one, and never read from there.
    """
    queries = shop.split("train")
    requests = [shop.request(query) for query in queries]
    done: list[Round] = []
    for number in range(rounds):
        answers = _answers(teacher, requests, number, pieces, progress)
        thetas = write_back(teacher.contexts.snapshot, queries, answers)
        done.append(Round(number, teacher.contexts.snapshot.hash, answers, thetas))
        if shared is not None:
            shared.commit_round(number, thetas)
        after = teacher.contexts.snapshot.with_thetas(thetas, number)
        teacher = replace(
            teacher, contexts=teacher.contexts.after(after), verified=_verified(teacher, answers)
        )
    return tuple(done)


def write_back(
    snapshot: Snapshot, queries: Sequence[Query], answers: Sequence[TeacherAnswer]
) -> dict[str, Theta]:
    """Each user's theta after a round: that of the user's last query in file order.

    Users without a history have no record that could hold one.
    """
    pairs = zip(queries, answers, strict=True)
    return {q.user_id: answer.theta for q, answer in pairs if q.user_id in snapshot.by_id}


def _answers(
    teacher: Teacher,
    requests: Sequence[Request],
    number: int,
    pieces: Pieces,
    progress: Progress,
) -> tuple[TeacherAnswer, ...]:
    answers: list[TeacherAnswer] = []
    with progress.task(f"teacher, round {number + 1}", len(requests)) as advance:
        for start in range(0, len(requests), CHUNK):
            chunk = requests[start : start + CHUNK]
            name = f"round-{number}-{start:06d}"
            answers += map(_answer, pieces.records(name, partial(_decide, teacher, chunk)))
            advance(len(chunk))
    return tuple(answers)


def _decide(teacher: Teacher, requests: Sequence[Request]) -> list[Record]:
    return [_ANSWER.dump_python(a, mode="json") for a in teacher.decide_many(requests)]


def _answer(record: Record) -> TeacherAnswer:
    return _ANSWER.validate_python(record)


def _verified(teacher: Teacher, answers: Sequence[TeacherAnswer]) -> Verified:
    row_of = teacher.contexts.index.row_of
    return {
        (step.pseudo_query, row_of[step.item_id]): rank
        for answer in answers
        for step, rank in zip(_observed(answer), answer.ranks.each(), strict=True)
        if step.pseudo_query is not None and step.item_id is not None
    }


def _observed(answer: TeacherAnswer) -> list[TraceStep]:
    """The steps that saw a pseudo-query's ranks, in order."""
    return [step for step in answer.steps if step.item_id is not None]
