"""A server on loopback that speaks as much of the OpenAI API as the tests need, or less."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What the server sends back; `hang` keeps the caller waiting until the server stops."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False


Say = Callable[[dict[str, Any]], Answer]


@dataclass
class Loopback:
    """A running server and the chat requests it got."""

    base_url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    most_at_once: int = 0


def completion(text: str, *, finish: str = "stop", prompt: int = 30, reply: int = 7) -> Answer:
    """A chat completion with this text."""
    whole = {
        "id": "c", "object": "chat.completion", "created": 0, "model": "tiny",
        "choices": [{"index": 0, "finish_reason": finish,
                     "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": reply,
                  "total_tokens": prompt + reply},
    }  # fmt: skip
    return Answer(body=json.dumps(whole).encode())


def refusal(status: int, message: str, **headers: str) -> Answer:
    """An error as OpenAI's API words it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, json.dumps({"error": {"message": message}}).encode(), named)


@contextmanager
def loopback(say: Say, *models: str) -> Iterator[Loopback]:
    """Serve until the block ends. `say` answers each chat request; `models` are listed."""
    stopped, lock = threading.Event(), threading.Lock()
    inside = 0

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listed = [{"id": m, "object": "model", "created": 0, "owned_by": ""} for m in models]
            self._send(Answer(body=json.dumps({"object": "list", "data": listed}).encode()))

        def do_POST(self) -> None:
            nonlocal inside
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                running.requests.append(request)
                running.keys.append(self.headers["authorization"])
                inside += 1
                running.most_at_once = max(running.most_at_once, inside)
            answer = say(request)
            with lock:
                inside -= 1
            if answer.hang:
                stopped.wait(30)
                return
            self._send(answer)

        def _send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in {"content-type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = Loopback(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield running
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()
