"""Labels: everything between the index and training, in one resumable stage.

What comes out (folder `labels`): rows.jsonl and targets.npz (what students learn), traces.jsonl
(one row a teacher step), store.sqlite, composition.npz and teacher.json (what the served teacher
loads). A run cut at any moment goes on where it was, with the same bytes: see stages.Pieces.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from adamroute.assembly import (
    build_teacher,
    evidence_policy,
    load_index,
    load_ranker,
    teacher_policy,
)
from adamroute.catalogue.folds import open_shop
from adamroute.catalogue.shop import Shop
from adamroute.config import Config
from adamroute.distill.labels.assemble import Labels, assemble
from adamroute.distill.labels.basis import Basis, learn_basis
from adamroute.distill.labels.label_rows import as_lines
from adamroute.distill.labels.llm_cost import failed_steps, spent
from adamroute.distill.labels.requests import run_ranks
from adamroute.distill.labels.rounds import Round, first_snapshot, run_rounds, stored_likings
from adamroute.errors import ArtifactError
from adamroute.pipeline import LABEL, lacking
from adamroute.progress import Progress
from adamroute.retrieval.search_index import SearchIndex
from adamroute.stages import Counts, Manifest, Pieces, Work, write_text
from adamroute.store import ProfileStore, Snapshot, shared_store
from adamroute.teacher.constants import (
    INTENT_FILE,
    REPLIES_FILE,
    ROWS_FILE,
    STORE_FILE,
    TARGETS_FILE,
    TEACHER_FILE,
    TRACES_FILE,
    read_teacher_file,
)
from adamroute.teacher.policy import Liking


def run_label(config: Config, progress: Progress) -> Manifest:
    """Write ranks/ and labels/; nothing to do where they are fresh. Stops and resumes anywhere."""
    run_ranks(config, progress)
    if LABEL.is_fresh(config):
        share_users(config)

    def make(work: Work) -> Counts:
        index = load_index(config.stage("index"))
        return write_labels(config, open_shop(config), index, work, progress)

    return LABEL.run(config, make)


def relabel(config: Config, shop: Shop, index: SearchIndex, progress: Progress) -> Manifest:
    """Write labels/ anew over an index at hand, whatever stands there; ranks/ is finished."""
    return LABEL.run(
        config, lambda work: write_labels(config, shop, index, work, progress), anew=True
    )


def write_labels(
    config: Config, shop: Shop, index: SearchIndex, work: Work, progress: Progress
) -> Counts:
    """The stage's work, over an index at hand."""
    _check_same_items(index, shop, config)
    shared = shared_store(config, work.key, read_only=False)  # first: it may be away
    basis = learn_basis(config, shop, index, pieces=work.pieces, progress=progress)
    told = _told(config, shop, index, basis, shared, pieces=work.pieces, progress=progress)
    rounds, folder = told.rounds, work.folder
    labels = assemble(config.labels, shop, index, basis, rounds[-1].answers)
    answers = [answer for done in rounds for answer in done.answers]
    _write_rows(folder, labels, rounds)
    users = _write_store(folder, told.first, rounds)
    write_text(folder / TEACHER_FILE, basis.constants.model_dump_json(indent=2) + "\n")
    basis.intents.save(folder / INTENT_FILE)
    basis.paraphraser.save(folder)
    for line in failed_steps(told.likings, answers):
        progress.note(line)
    alone = None if basis.logged else "no train queries: labels are of synthetic requests alone"
    return {
        **_counts(basis, labels, rounds),
        **lacking(LABEL, None if not shop.queries else alone, progress),
        **spent(config.teacher.llm, told.likings, answers),
        "users": users.hash,
        "reading": dict(shop.reading),
    }


@dataclass(frozen=True)
class _Told:
    """All that the teacher said."""

    likings: Mapping[str, Liking]  # of whole histories, by user, as the store has them
    first: Snapshot  # what the first round read
    rounds: tuple[Round, ...]


def _told(
    config: Config,
    shop: Shop,
    index: SearchIndex,
    basis: Basis,
    shared: ProfileStore | None,
    *,
    pieces: Pieces,
    progress: Progress,
) -> _Told:
    constants, replies = basis.constants, config.out / REPLIES_FILE
    evidence = evidence_policy(constants, config.teacher, basis.intents, basis.paraphraser)
    policy = teacher_policy(evidence, constants, config.teacher, index, replies)
    likings = stored_likings(shop, index, policy, pieces, progress)
    first = first_snapshot(shop, index, constants.static, likings)
    ranker = load_ranker(config, index)
    teacher = build_teacher(constants, config.teacher, index, first, policy, ranker=ranker)
    if shared is not None:
        shared.start(first.users)
    rounds = run_rounds(
        teacher,
        shop,
        rounds=config.teacher.rounds,
        shared=shared,
        pieces=pieces,
        progress=progress,
    )
    return _Told(likings, first, rounds)


def _write_rows(folder: Path, labels: Labels, rounds: Sequence[Round]) -> None:
    write_text(folder / ROWS_FILE, as_lines(labels.rows))
    weights = np.array([row.weight for row in labels.rows])
    np.savez(folder / TARGETS_FILE, soft=labels.soft, surfaces=labels.surfaces, weights=weights)
    steps = (
        json.dumps({"round": r.number, **asdict(step)}, ensure_ascii=False, sort_keys=True)
        for r in rounds
        for answer in r.answers
        for step in answer.steps
    )
    write_text(folder / TRACES_FILE, "".join(line + "\n" for line in steps))


def _write_store(folder: Path, first: Snapshot, rounds: Sequence[Round]) -> Snapshot:
    """The store as it stood before the first round, then one commit a round."""
    store = ProfileStore.create_file(folder / STORE_FILE, first.users)
    for done in rounds:
        store.commit_round(done.number, done.thetas)
    return store.snapshot()


def share_users(config: Config) -> None:
    """Give finished labels' users to the shared database, if it is new or lost them."""
    labels = config.stage("labels")
    shared = shared_store(config, LABEL.read(config).key, read_only=False)
    if shared is None:
        return
    kept = ProfileStore.file(labels / STORE_FILE)
    shared.start(kept.snapshot().before_rounds(read_teacher_file(labels).static).users)
    for number, thetas in kept.rounds().items():
        shared.commit_round(number, thetas)


def _check_same_items(index: SearchIndex, shop: Shop, config: Config) -> None:
    if index.ids != tuple(item.item_id for item in shop.catalogue.items):
        raise ArtifactError(
            f"{config.stage('index')}: {len(index.ids)} items, which are not the "
            f"{len(shop.catalogue)} of {shop.folder}. Run: adamroute build CONFIG"
        )


def _counts(basis: Basis, labels: Labels, rounds: Sequence[Round]) -> dict[str, JsonValue]:
    """What the manifest records beside the hashes."""
    answers = rounds[-1].answers
    fallbacks = Counter(name for answer in answers for name in answer.fallbacks)
    times = [answer.ms for r in rounds[:1] for answer in r.answers]
    return {
        "rows": dict(Counter(row.source for row in labels.rows)),
        "no_evidence": sum(a.source == "teacher:no_evidence" for a in answers),
        "fallbacks": dict(sorted(fallbacks.items())),
        "lambda": basis.constants.lam,
        "tau": basis.constants.tau,
        "static": {"alpha": basis.constants.static_alpha, "budget": basis.constants.static_budget},
        "hardness": {str(kind): share for kind, share in basis.paraphraser.hardness.items()},
        "combine": basis.constants.combine,
        "reach": basis.constants.leaning.reach,
        "snapshots": [r.snapshot_hash for r in rounds],
        "median_ranks": _median_ranks(basis, rounds[-1]),
        "teacher_mean_budget": _mean([float(a.theta.budget) for a in answers]),
        "teacher_ms_mean": _mean(times),
    }


def _median_ranks(basis: Basis, last: Round) -> dict[str, JsonValue]:
    """Whether template queries are as hard as real ones: [text, multimodal] medians."""
    pseudo_text = np.array([r for a in last.answers for r in a.text_ranks], dtype=np.int64)
    pseudo_mm = np.array([r for a in last.answers for r in a.mm_ranks], dtype=np.int64)
    pairs: Mapping[str, tuple[NDArray[np.number], NDArray[np.number]]] = {
        "real": (basis.outcomes.text, basis.outcomes.mm),
        "synthetic": (basis.templates.text, basis.templates.mm),
        "pseudo": (pseudo_text, pseudo_mm),
    }
    return {
        name: [float(np.median(text)), float(np.median(mm))]
        for name, (text, mm) in pairs.items()
        if len(text)
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
