"""The Ray Serve application: deployments around plain classes, wrapped last.

    client -> Ingress -> Recommender (who asks; vectors; candidates; order) -> Router, Teacher

A request crosses to each of them once. The re-ranker works inside the recommender; one that is a
language model has a replica of its own. Each replica states its CPUs and Ray caps its OMP threads
at that number: the router is given the machine, the others one thread. The numbers are shares for
placement, so they may add up to more than the cores there are. A share of a GPU places a replica
on one as well; a replica without a share sees no GPU. A replica that holds a vLLM engine is slow
to start (seconds on a small model, minutes on a large one): Serve waits, and the engine is warm
when it is ready.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from ray import serve
from ray.serve import Application
from ray.serve.handle import DeploymentHandle

from adamroute.assembly import (
    calibration,
    check_run,
    load_contexts,
    load_reranker,
    load_student,
)
from adamroute.config import Config
from adamroute.recommender import Recommender
from adamroute.recommender.nodes import Nodes, RerankerNode, Reranking, Router, Teaching
from adamroute.recommender.steps import Facts
from adamroute.serving.admission import Admission
from adamroute.serving.api import create_api
from adamroute.serving.readiness import Readiness
from adamroute.serving.remote import (
    RemoteRecommender,
    RemoteReranker,
    RemoteRouter,
    RemoteTeacher,
    replica_states,
)
from adamroute.serving.telemetry import LOG_FILE, RayMeter, file_log
from adamroute.serving.warm import warm_index, warm_reranker, warm_teacher

MOST_HELD = 1000  # connections beyond those that admission control lets in
RECOMMENDER_CPUS, TEACHER_CPUS, RERANKER_CPUS, INGRESS_CPUS = 1.0, 1.0, 0.5, 0.5


def total_cpus(config: Config) -> float:
    """What all replicas together declare."""
    small = RECOMMENDER_CPUS + TEACHER_CPUS + RERANKER_CPUS + INGRESS_CPUS
    return config.serve.router_cpus + small


def build_app(config: Config) -> Application:
    """Check config and artefacts, then bind the graph. ArtifactError before a replica starts."""
    config = absolute(config)
    facts = check_run(config)
    nodes = {
        "router": _part(config, RouterReplica, "router", config.serve.router_cpus).bind(config),
        "teacher": _part(config, TeacherReplica, "teacher", TEACHER_CPUS).bind(config),
    }
    if config.reranker.kind == "llm":
        part = _part(config, RerankerReplica, "reranker", RERANKER_CPUS)
        nodes["reranker"] = part.bind(config)
    path = _part(config, RecommenderReplica, "recommender", RECOMMENDER_CPUS)
    # Admission control answers 503 in our own form, and health and readiness wait for nobody, so
    # Serve's limit lies far above it.
    most = MOST_HELD + config.serve.max_ongoing + config.serve.max_queued
    ingress = _deployment(
        serve.ingress()(Ingress), "ingress", INGRESS_CPUS, 0.0, max_ongoing_requests=most
    )
    application: Application = ingress.bind(config, path.bind(config, facts, **nodes))
    return application


def absolute(config: Config) -> Config:
    """The same config for a process with another working directory."""
    return config.model_copy(update={"shop": config.shop.resolve(), "out": config.out.resolve()})


class RouterReplica(Router):
    def __init__(self, config: Config) -> None:
        super().__init__(load_student(config), calibration(config))
        self.warm_up()


class TeacherReplica(Teaching):
    def __init__(self, config: Config) -> None:
        super().__init__(warm_teacher(config))


class RerankerReplica(Reranking):
    def __init__(self, config: Config) -> None:
        super().__init__(warm_reranker(config))


class RecommenderReplica(Recommender):
    def __init__(
        self,
        config: Config,
        facts: Facts,
        *,
        router: DeploymentHandle,
        teacher: DeploymentHandle,
        reranker: DeploymentHandle | None = None,
    ) -> None:
        own: RerankerNode
        if reranker is None:
            own = Reranking(load_reranker(config))
        else:
            own = RemoteReranker("reranker", reranker)
        nodes = Nodes(RemoteRouter("router", router), RemoteTeacher("teacher", teacher), own)
        super().__init__(load_contexts(config, warm_index(config)), facts, nodes)


class Ingress:
    """HTTP in front of the graph: no model, no user, a file for the request log."""

    def __init__(self, config: Config, recommender: DeploymentHandle) -> None:
        self._admission = Admission(
            RemoteRecommender("recommender", recommender),
            config.serve,
            meter=RayMeter(),
            log=file_log(config.out / LOG_FILE),
            readiness=Readiness(replica_states),
        )

    def __serve_build_asgi_app__(self) -> FastAPI:
        return create_api(self._admission)


def _part(config: Config, replica: type, name: str, cpus: float) -> Any:
    """A replica of the graph's inside, with the config's limits and its share of a GPU."""
    return _deployment(
        replica,
        name,
        cpus,
        config.serve.gpus.shares[name],
        max_ongoing_requests=config.serve.max_ongoing,
        max_queued_requests=config.serve.max_queued,
    )


def _deployment(replica: type, name: str, cpus: float, gpus: float, **limits: int) -> Any:
    return serve.deployment(
        replica,
        name=name,
        ray_actor_options={"num_cpus": cpus, "num_gpus": gpus},
        max_constructor_retry_count=1,  # artefacts were checked: what fails once fails again
        health_check_period_s=1.0,  # how soon readiness knows that a replica is gone
        **limits,
    )
