"""Asking a server that runs elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
from pydantic import JsonValue, TypeAdapter

from adamroute.errors import ServingError
from adamroute.hardware import is_here
from adamroute.recommender import Recommendation

Body = Mapping[str, JsonValue]


def client(url: str, timeout_s: float) -> httpx.Client:
    """For requests to this server; the environment's proxies are for other machines."""
    return httpx.Client(base_url=url, timeout=timeout_s, trust_env=not is_here(url))


def ask_server(url: str, body: Body, timeout_s: float = 30.0) -> Recommendation:
    """The answer of `POST /v1/recommend`. ServingError: what it said, or that none listens."""
    try:
        with client(url, timeout_s) as asker:
            reply = asker.post("/v1/recommend", json=dict(body))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, ImportError) as error:  # a proxy's too
        raise ServingError(
            f"{url}: no answer ({error}). Start a server first: adamroute serve CONFIG"
        ) from error
    if reply.status_code != httpx.codes.OK:
        raise ServingError(f"{url}: HTTP {reply.status_code}: {reply.text[:500]}")
    return TypeAdapter(Recommendation).validate_json(reply.text)
