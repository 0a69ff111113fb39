"""A finished run as a library: `run = adamroute.open_run("runs/demo")`, then ask it.

Opening checks that all stages are there, whole and made from each other, and loads models and
index: seconds. Afterwards a request takes what it takes on the server, less the way there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from adamroute.assembly import check_run, load_index, load_served_teacher, local_nodes
from adamroute.catalogue.request import Interaction, PreferenceProfile
from adamroute.config import CONFIG_FILE, Config, load_config
from adamroute.errors import ArtifactError
from adamroute.process import prepare_process
from adamroute.recommender import Explanation, Recommendation, Recommender, Routing

T = TypeVar("T")
History = tuple[Interaction, ...]


class Run:
    """One finished run. Not for several threads at a time: serve it instead (adamroute serve)."""

    def __init__(self, config: Config, recommender: Recommender) -> None:
        self.config = config
        self.recommender = recommender

    def recommend(
        self,
        *,
        query: str | None = None,
        user_id: str | None = None,
        history: History | None = None,
        preferences: PreferenceProfile | None = None,
        policy: str = "auto",
        n: int | None = None,
        exclude: Sequence[str] | None = None,
    ) -> Recommendation:
        """The `n` best items (20; at most tau) for a request, best first.

        `query` has 1 to 2,000 characters; without it the user's preferences are asked. `history`
        (earliest first) and `preferences` win over what is stored of the user. `policy` is `auto`,
        `auto@T`, `student`, `teacher` or `static@ALPHA,K`. Scores are expected grades, 1 to 5;
        ranks are 1-based; times are milliseconds.

        `exclude` leaves candidates out before they are graded: "liked" and "disliked" items of
        that history, and items by id, as in `exclude=("liked", "702.584.83")`. Absent: disliked
        items; `()`: none. The answer's `excluded` counts them.

        RequestError, whose `field` names the argument, where something cannot be used;
        PolicyError for an unknown policy.
        """
        return _wait(
            self.recommender.recommend(
                query=query, user_id=user_id, history=history, preferences=preferences,
                policy=policy, n=n, exclude=exclude,
            )
        )  # fmt: skip

    def route(
        self,
        *,
        query: str | None = None,
        user_id: str | None = None,
        history: History | None = None,
        preferences: PreferenceProfile | None = None,
        policy: str = "auto",
    ) -> Routing:
        """Theta alone, with its source and confidence (0 to 1); arguments as `recommend`."""
        return _wait(
            self.recommender.route(
                query=query, user_id=user_id, history=history, preferences=preferences,
                policy=policy,
            )
        )  # fmt: skip

    def explain(
        self,
        *,
        query: str | None = None,
        user_id: str | None = None,
        history: History | None = None,
        preferences: PreferenceProfile | None = None,
        policy: str = "auto",
        n: int | None = None,
        exclude: Sequence[str] | None = None,
    ) -> Explanation:
        """A recommendation and the numbers behind it; arguments and errors as `recommend`.

        For every item its score in both branches and what each feature of the re-ranker adds;
        for the request the student's distribution over alpha, the profile, the neighbours (cosine,
        -1 to 1), and the teacher's steps where the teacher answered.
        """
        return _wait(
            self.recommender.explain(
                query=query, user_id=user_id, history=history, preferences=preferences,
                policy=policy, n=n, exclude=exclude,
            )
        )  # fmt: skip


def open_run(folder: str | Path) -> Run:
    """The run of a folder that `adamroute run CONFIG` wrote, as "runs/demo".

    ArtifactError, with what to run, where a stage is missing, damaged or made from other parts.
    """
    path = Path(folder) / CONFIG_FILE
    if not path.is_file():
        raise ArtifactError(
            f"{folder}: no {CONFIG_FILE}, so no run was made there. Run: adamroute run CONFIG"
        )
    return assemble_run(load_config(path, out=Path(folder)))  # it may have been moved


def assemble_run(config: Config) -> Run:
    """The same for a config at hand."""
    prepare_process(config.threads)
    facts = check_run(config)
    index = load_index(config.stage("index"))
    teacher = load_served_teacher(config, index)
    return Run(config, Recommender(teacher.contexts, facts, local_nodes(config, teacher)))


def _wait(work: Coroutine[Any, Any, T]) -> T:
    """Its result; beside the loop that a notebook already runs, where there is one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
