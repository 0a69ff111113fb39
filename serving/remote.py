"""Replicas behind handles, each seen as the node it runs; the only seam to Ray's calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Unpack

from ray.exceptions import RayActorError, RayTaskError
from ray.serve.exceptions import (
    BackPressureError,
    DeploymentUnavailableError,
    ReplicaUnavailableError,
    RequestCancelledError,
)
from ray.serve.handle import DeploymentHandle

from adamroute.catalogue.request import Request
from adamroute.errors import AdamrouteError, BusyError
from adamroute.recommender import Recommendation, Routing
from adamroute.recommender.nodes import Grading, Routed
from adamroute.recommender.path import Asking
from adamroute.reranking.features import Case
from adamroute.routing.student import RoutingInput
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

    async def ping(self) -> str:
        return str(await self._call("ping"))

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
        time_s: float | None = None,
        **asking: Unpack[Asking],
    ) -> Recommendation:
        answer: Recommendation = await self._call(
            "recommend", policy=policy, n=n, time_s=time_s, **asking
        )
        return answer

    async def route(
        self, *, policy: str = "auto", time_s: float | None = None, **asking: Unpack[Asking]
    ) -> Routing:
        answer: Routing = await self._call("route", policy=policy, time_s=time_s, **asking)
        return answer

    async def ready(self) -> dict[str, str]:
        states: dict[str, str] = await self._call("ready")
        return states
