"""Asking a server that runs elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
from pydantic import JsonValue, TypeAdapter

from adamroute.errors import ServingError
from adamroute.recommender import Recommendation

Body = Mapping[str, JsonValue]


def ask_server(url: str, body: Body, timeout_s: float = 30.0) -> Recommendation:
    """The answer of `POST /v1/recommend`. ServingError: what it said, or that none listens."""
    try:
        reply = httpx.post(f"{url.rstrip('/')}/v1/recommend", json=dict(body), timeout=timeout_s)
    except httpx.HTTPError as error:
        raise ServingError(
            f"{url}: no answer ({error}). Start a server first: adamroute serve CONFIG"
        ) from error
    if reply.status_code != httpx.codes.OK:
        raise ServingError(f"{url}: HTTP {reply.status_code}: {reply.text[:500]}")
    return TypeAdapter(Recommendation).validate_json(reply.text)
