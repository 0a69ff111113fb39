"""The Ray Serve application: five deployments around plain classes, wrapped last.

    client -> Ingress -> Recall (who asks; encode; search), Router, Reranker, Teacher

Each replica states its CPUs and Ray caps its OMP threads at that number: the router is given the
machine, the others one thread. The numbers are shares for placement, so they may add up to more
than the cores there are. A share of a GPU places a replica on one as well; a replica without a
share sees no GPU. A replica that holds a vLLM engine is slow to start (seconds on a small model,
minutes on a large one): Serve waits, and the engine is warm when it is ready.
"""

from __future__ import annotations

from typing import Any, cast

from fastapi import FastAPI
from ray import serve
from ray.serve import Application
from ray.serve.handle import DeploymentHandle

from adamroute.config import Config
from adamroute.serving.accounting import LOG_FILE, RayMeter, file_log
from adamroute.serving.api import create_api
from adamroute.serving.flow import Facts, Flow, Nodes
from adamroute.serving.nodes import Recall, Router, Score, Teach
from adamroute.serving.remote import Remote
from serving import parts

RECALL_CPUS, TEACHER_CPUS, RERANKER_CPUS, INGRESS_CPUS = 1.0, 1.0, 0.5, 0.5


def total_cpus(config: Config) -> float:
    """What all replicas together declare."""
    small = RECALL_CPUS + TEACHER_CPUS + RERANKER_CPUS + INGRESS_CPUS
    return config.serve.router_cpus + small


def build_app(config: Config) -> Application:
    """Check config and artefacts, then bind the graph. ArtifactError before a replica starts."""
    config = absolute(config)
    facts = parts.check(config)
    nodes = {
        "router": (RouterReplica, config.serve.router_cpus),
        "recall": (RecallReplica, RECALL_CPUS),
        "scorer": (RerankerReplica, RERANKER_CPUS),
        "teacher": (TeacherReplica, TEACHER_CPUS),
    }
    gpus = config.serve.gpus.shares
    bound = {
        name: _deployment(
            replica,
            name,
            cpus,
            gpus[name],
            max_ongoing_requests=config.serve.max_ongoing,
            max_queued_requests=config.serve.max_queued,
        ).bind(config)
        for name, (replica, cpus) in nodes.items()
    }
    # The flow's gate answers 503 in our own form, so Serve's limit lies above it.
    most = 2 * (config.serve.max_ongoing + config.serve.max_queued)
    ingress = _deployment(
        serve.ingress()(Ingress), "ingress", INGRESS_CPUS, 0.0, max_ongoing_requests=most
    )
    application: Application = ingress.bind(config, facts, **bound)
    return application


def absolute(config: Config) -> Config:
    """The same config for a process with another working directory."""
    return config.model_copy(update={"shop": config.shop.resolve(), "out": config.out.resolve()})


class RouterReplica(Router):
    def __init__(self, config: Config) -> None:
        super().__init__(parts.student(config), parts.calibration(config))


class RecallReplica(Recall):
    def __init__(self, config: Config) -> None:
        super().__init__(parts.index(config), parts.users(config))


class RerankerReplica(Score):
    def __init__(self, config: Config) -> None:
        super().__init__(parts.warm_reranker(config))


class TeacherReplica(Teach):
    def __init__(self, config: Config) -> None:
        super().__init__(parts.warm_teacher(config, parts.index(config)))


class Ingress:
    """HTTP in front of the graph: no model, no user, a file for the request log."""

    def __init__(
        self,
        config: Config,
        facts: Facts,
        *,
        router: DeploymentHandle,
        recall: DeploymentHandle,
        scorer: DeploymentHandle,
        teacher: DeploymentHandle,
    ) -> None:
        nodes = Nodes(
            router=cast(Router, Remote("router", router)),
            recall=cast(Recall, Remote("recall", recall)),
            scorer=cast(Score, Remote("scorer", scorer)),
            teacher=cast(Teach, Remote("teacher", teacher)),
        )
        log = file_log(config.out / LOG_FILE)
        self._flow = Flow(nodes, facts, config.serve, meter=RayMeter(), log=log)

    def __serve_build_asgi_app__(self) -> FastAPI:
        return create_api(self._flow)


def _deployment(replica: type, name: str, cpus: float, gpus: float, **limits: int) -> Any:
    return serve.deployment(
        replica,
        name=name,
        ray_actor_options={"num_cpus": cpus, "num_gpus": gpus},
        max_constructor_retry_count=1,  # artefacts were checked: what fails once fails again
        **limits,
    )
