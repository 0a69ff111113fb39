"""Kept replies: found by content, never for failures, whole after a kill."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from adamroute.errors import ArtifactError
from adamroute.llm.cached_chat import CachedChat
from adamroute.llm.chat import Ask, ReplyForm
from tests.catalogue.pictures import red_above_blue, saved, turned
from tests.llm.minds import Scripted


class Word(ReplyForm):
    n: Annotated[str, Field(max_length=9)]


class LongWord(ReplyForm):
    n: Annotated[str, Field(max_length=90)]


def say(asked: Ask[Any]) -> str:
    return f'{{"n": "{asked.user}"}}'


def ask(user: str = "u", **changes: Any) -> Ask[Word]:
    return replace(Ask("p@1", "s", user, Word, 64), **changes)


def test_an_ask_is_sent_once_even_by_a_later_process(tmp_path: Path) -> None:
    first, second = Scripted(say), Scripted(say)
    path = tmp_path / "cache" / "replies.sqlite"
    told = CachedChat(first, path, "greedy").chat([ask("a"), ask("b"), ask("a")])
    again = CachedChat(second, path, "greedy").chat([ask("b"), ask("a")])
    assert [reply.value for reply in told] == [Word(n="a"), Word(n="b"), Word(n="a")]
    assert (len(first.asks), len(second.asks)) == (2, 0)
    assert again == [told[1], told[0]]  # tokens and milliseconds too


def test_everything_that_shapes_a_reply_is_part_of_the_key(tmp_path: Path) -> None:
    photo, other = tmp_path / "a.jpg", tmp_path / "b.jpg"
    photo.write_bytes(b"a")
    other.write_bytes(b"b")
    variants = [
        ask(), ask("v"), ask(system="t"), ask(form=LongWord),
        ask(max_tokens=65), ask(images=(photo,)), ask(images=(other,)),
    ]  # fmt: skip
    engine = Scripted(say)
    path = tmp_path / "r.sqlite"
    CachedChat(engine, path, "greedy").chat(variants)
    assert len(engine.asks) == len(variants)
    CachedChat(engine, path, "warm").chat([ask()])
    CachedChat(Scripted(engine.say, engine.asks, "another"), path, "greedy").chat([ask()])
    assert len(engine.asks) == len(variants) + 2


def test_the_same_photo_under_another_name_is_the_same_ask(tmp_path: Path) -> None:
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / name).write_bytes(b"same")
    engine = Scripted(say)
    cached = CachedChat(engine, tmp_path / "r.sqlite", "greedy")
    cached.chat([ask(images=(tmp_path / "a.jpg",)), ask(images=(tmp_path / "b.jpg",))])
    assert len(engine.asks) == 1


def test_a_photo_is_known_by_what_a_model_sees_of_it(tmp_path: Path) -> None:
    plain = saved(tmp_path / "a.png", red_above_blue())
    lying = saved(tmp_path / "b.png", red_above_blue(), **turned(6))
    engine = Scripted(say)
    cached = CachedChat(engine, tmp_path / "r.sqlite", "greedy")
    for _ in range(2):
        cached.chat([ask(images=(plain,)), ask(images=(lying,))])
    assert len(engine.asks) == 2


def test_failures_are_asked_again(tmp_path: Path) -> None:
    said = iter(["engine_timeout", "no json", '{"n": ""}'])
    engine = Scripted(lambda _: next(said))
    cached = CachedChat(engine, tmp_path / "r.sqlite", "greedy")
    failures = [cached.chat([ask()])[0].failure for _ in range(4)]
    assert failures == ["engine_timeout", "reply_not_json", None, None]
    assert len(engine.asks) == 3


def test_a_file_that_is_no_cache_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    path.write_text("not a database, but long enough to be looked at" * 40, encoding="utf-8")
    with pytest.raises(ArtifactError, match="Delete the file"):
        CachedChat(Scripted(say), path, "greedy").chat([ask()])


def test_a_kept_reply_that_no_longer_fits_its_form_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    cached = CachedChat(Scripted(say), path, "greedy")
    cached.chat([ask()])
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("""UPDATE replies SET reply = replace(reply, '"n": "u"', '"n": 5')""")
    with pytest.raises(ArtifactError, match="Delete the file"):
        cached.chat([ask()])


_WRITER = """
import sys
from pathlib import Path
from adamroute.llm.cached_chat import CachedChat
from tests.llm.minds import Scripted
from tests.llm.test_cached_chat import ask, say

cached = CachedChat(Scripted(say), Path(sys.argv[1]), "greedy")
for number in range(100_000):
    cached.chat([ask(str(number))])
"""


def test_a_writer_killed_at_any_moment_leaves_whole_replies(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)])
    try:
        deadline = time.monotonic() + 60
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    replies = CachedChat(Scripted(say), path, "greedy").chat([ask(str(n)) for n in range(300)])
    assert [reply.value for reply in replies] == [Word(n=str(n)) for n in range(300)]
