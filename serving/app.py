"""Starting and stopping the served application on this machine.

Cost: a start takes about half a minute, most of it processes importing torch on two cores. What
Ray writes (logs, sockets) lies in a temporary folder that goes when the server stops.
"""

from __future__ import annotations

import logging
import math
import os
import re
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from adamroute.config import Config, ServeConfig
from adamroute.errors import ConfigError, ServingError
from adamroute.process import Stopped, prepare_process, threads_uncounted

# Read by Ray when it is imported. The second makes GCS, raylet and workers listen on 127.0.0.1;
# without it they listen on all interfaces.
_RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",  # a replica without a share of a GPU sees none
    # Serve binds its replica-to-replica sockets to all interfaces whatever it is told, and they
    # take pickles: nothing may reach them without this start's token.
    "RAY_AUTH_MODE": "token",
}
MB = 2**20
NAME = "adamroute"  # of the application, to Serve
LONGEST = 24  # bytes of the folder that Ray's lies in: a socket's path may have 107


@contextmanager
def served(config: Config) -> Iterator[str]:
    """Serve a finished run; the value is its base URL, and leaving the block stops everything.

    ConfigError where the port is taken, ArtifactError where a stage is missing or stale, both
    before anything starts; ServingError, with the logs' folder, where a replica does not start.
    """
    port = open_port(config.serve)
    prepare_process()  # replicas inherit it
    if "ray" not in sys.modules:
        os.environ.update(_RAY_ENVIRONMENT)
        # Given here, Ray neither reads nor writes ~/.ray/auth_token.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    from adamroute.serving.graph import build_app, total_cpus

    application = build_app(config)
    folder = _temporary()
    keep = False
    try:
        _start_ray(config, total_cpus(config), folder)
        _run(application, config.serve, port)
        yield f"http://{config.serve.host}:{port}"
    except ServingError as error:
        keep = True
        raise ServingError(f"{error}. Ray's logs: {folder}") from error
    finally:
        _stop_ray()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def serve_forever(config: Config, on_ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; `on_ready` is called once with the base URL."""
    stopped = threading.Event()

    def stop(_: int, __: FrameType | None) -> None:
        stopped.set()

    with served(config) as url:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        on_ready(url)
        stopped.wait()


def open_port(limits: ServeConfig) -> int:
    """The wished port, or a free one for 0. ConfigError where it cannot be had."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((limits.host, limits.port))
            return int(probe.getsockname()[1])
    except OSError as error:
        raise ConfigError(
            f"serve: cannot listen on {limits.host}:{limits.port} ({error.strerror}). Stop what "
            "runs there, or set serve.port in the config (0 takes any free port)"
        ) from error


def _temporary() -> Path:
    """A new folder for Ray: below TMPDIR, or /tmp where the paths of its sockets get too long."""
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        if len(os.fsencode(place)) <= LONGEST and os.access(place, os.W_OK):
            return Path(tempfile.mkdtemp(prefix="adamroute-", dir=place))
    raise ConfigError(
        f"serve: {tempfile.gettempdir()} is too long for Ray's sockets, and /tmp can't be "
        f"written. Set TMPDIR to a folder of at most {LONGEST} characters"
    )


@contextmanager
def _sigterm_kept() -> Iterator[None]:
    """Ray puts a handler of its own in place of ours, which ends the process with code 15."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit as error:
        raise Stopped(signal.SIGTERM) from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


def _start_ray(config: Config, cpus: float, folder: Path) -> None:
    import ray

    with threads_uncounted(), _sigterm_kept():  # a replica has as many threads as it states CPUs
        ray.init(
            address="local",
            num_cpus=math.ceil(cpus) + 1,
            object_store_memory=config.serve.object_store_mb * MB,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _temp_dir=str(folder),
        )
    wanted = config.serve.gpus.count if any(config.serve.gpus.shares.values()) else 0
    found = ray.cluster_resources().get("GPU", 0.0)
    if found < wanted:  # Serve would wait for them without end
        raise ServingError(
            f"serve.gpus wants {wanted} GPU(s), Ray finds {found:g} here. Serve on a machine that "
            "has them, or set the shares of serve.gpus to 0"
        )


def _run(application: object, limits: ServeConfig, port: int) -> None:
    from ray import serve
    from ray.serve.config import HTTPOptions
    from ray.serve.schema import LoggingConfig

    quiet = LoggingConfig(log_level="WARNING", enable_access_log=False)
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    try:
        serve.start(
            proxy_location="HeadOnly",
            http_options=HTTPOptions(host=limits.host, port=port),
            logging_config=quiet,
        )
        serve.run(application, name=NAME, route_prefix="/", logging_config=quiet)
    except RuntimeError as error:
        raise ServingError(f"the server did not start: {_reason(error)}") from error


def _reason(error: RuntimeError) -> str:
    """What a replica said that could not start; Ray's words where it was no error of ours."""
    from ray import serve

    served = serve.status().applications.get(NAME)
    told = "" if served is None else "\n".join(d.message for d in served.deployments.values())
    said = re.findall(r"^adamroute\.errors\.\w+: (.+)$", told, re.MULTILINE)
    return str(said[-1]) if said else str(error)


def _stop_ray() -> None:
    """Nothing in the replicas needs a goodbye; Serve's own takes six seconds and complains."""
    import ray

    if ray.is_initialized():
        ray.shutdown()
