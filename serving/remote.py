"""Replicas behind handles, each seen as the node it runs; the only seam to Ray's calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from ray import serve
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.serve.exceptions import (
    BackPressureError,
    DeploymentUnavailableError,
    ReplicaUnavailableError,
    RequestCancelledError,
)
from ray.serve.handle import DeploymentHandle
from ray.serve.schema import DeploymentStatusOverview

from adamroute.catalogue.request import Request
from adamroute.errors import AdamrouteError, BusyError
from adamroute.recommender import Recommendation, Routing
from adamroute.recommender.nodes import Grading, Routed
from adamroute.recommender.path import Asking
from adamroute.reranking.features import Case
from adamroute.routing.student import RoutingInput
from adamroute.serving.readiness import READY
from adamroute.teacher.answer import TeacherAnswer


class Remote:
    """One replica.

    Errors of ours arrive as they were raised there; a full queue or a lost replica is BusyError.
    A caller that gives up (deadline, client gone) cancels the call, so a request that still waits
    in the replica's queue is never computed.
    """

    def __init__(self, name: str, handle: DeploymentHandle) -> None:
        self._name = name
        self._handle = handle

    async def _call(self, method: str, *args: object, **kwargs: object) -> Any:
        response = getattr(self._handle, method).remote(*args, **kwargs)
        try:
            return await response
        except asyncio.CancelledError:
            response.cancel()
            raise
        except BackPressureError as error:
            raise BusyError(f"{self._name}: its queue is full; try again shortly") from error
        except RequestCancelledError as error:
            raise BusyError(f"{self._name}: gave the request up; try again shortly") from error
        except (RayActorError, DeploymentUnavailableError, ReplicaUnavailableError) as error:
            raise BusyError(f"{self._name}: restarting; try again shortly") from error
        except RayTaskError as error:
            if isinstance(error.cause, AdamrouteError):
                raise error.cause from None
            raise


class RemoteRouter(Remote):
    """RouterNode."""

    async def route(self, asked: RoutingInput) -> Routed:
        routed: Routed = await self._call("route", asked)
        return routed


class RemoteTeacher(Remote):
    """TeacherNode."""

    async def decide(self, request: Request) -> TeacherAnswer:
        answer: TeacherAnswer = await self._call("decide", request)
        return answer


class RemoteReranker(Remote):
    """RerankerNode."""

    async def grade(self, case: Case) -> Grading:
        graded: Grading = await self._call("grade", case)
        return graded

    async def contributions(self, case: Case) -> list[Mapping[str, float]]:
        added: list[Mapping[str, float]] = await self._call("contributions", case)
        return added


class RemoteRecommender(Remote):
    """RecommenderNode."""

    async def recommend(
        self,
        *,
        policy: str = "auto",
        n: int | None = None,
        exclude: Sequence[str] | None = None,
        time_s: float | None = None,
        **asking: Unpack[Asking],
    ) -> Recommendation:
        answer: Recommendation = await self._call(
            "recommend", policy=policy, n=n, exclude=exclude, time_s=time_s, **asking
        )
        return answer

    async def route(
        self, *, policy: str = "auto", time_s: float | None = None, **asking: Unpack[Asking]
    ) -> Routing:
        answer: Routing = await self._call("route", policy=policy, time_s=time_s, **asking)
        return answer


async def replica_states() -> dict[str, str]:
    """Name to "ready" or what is wrong, by deployment but one's own; only inside a replica.

    Serve's controller is asked, which looks after the replicas' processes every second: the
    question waits in no queue of theirs.
    """
    context = serve.get_replica_context()
    try:
        found = (await asyncio.to_thread(serve.status)).applications[context.app_name]
    except (RayError, KeyError) as error:
        raise BusyError("Serve's controller does not answer; try again shortly") from error
    others = found.deployments.items()  # who asks is there
    return {name: _state(seen) for name, seen in others if name != context.deployment}


def _state(seen: DeploymentStatusOverview) -> str:
    if seen.replica_states.get("RUNNING"):
        return READY
    return f"not ready: {' '.join(seen.message.split())[:200] or 'restarting'}"
