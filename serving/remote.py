"""A replica behind a handle, seen as the plain object it runs; the only seam to Ray's calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ray.exceptions import RayActorError, RayTaskError
from ray.serve.exceptions import (
    BackPressureError,
    DeploymentUnavailableError,
    ReplicaUnavailableError,
    RequestCancelledError,
)
from ray.serve.handle import DeploymentHandle

from adamroute.errors import AdamrouteError, BusyError


class Remote:
    """Attributes are the replica's methods.

    Errors of ours arrive as they were raised there; a full queue or a lost replica is BusyError.
    A caller that gives up (deadline, client gone) cancels the call, so a request that still waits
    in the replica's queue is never computed.
    """

    def __init__(self, name: str, handle: DeploymentHandle) -> None:
        self._name = name
        self._handle = handle

    def __getattr__(self, method: str) -> Callable[..., Awaitable[object]]:
        return lambda *args: self._call(method, args)

    async def _call(self, method: str, args: tuple[object, ...]) -> object:
        response = getattr(self._handle, method).remote(*args)
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
