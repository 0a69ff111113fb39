"""Lines of the public files: packed or not, JSON or literals, and what damage looks like."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from adamroute.datasets.amazon.lines import MAX_LINE, kilobytes, read_lines
from adamroute.errors import ShopError


def read(path: Path, only: set[str] | None = None) -> list[dict[str, object]]:
    return [dict(record.fields) for record in read_lines(path, lambda _: None, only)]


def complaint(path: Path) -> str:
    with pytest.raises(ShopError) as caught:
        read(path)
    return str(caught.value).replace(f"{path.parent}/", "")


JSON_LINE = b'{"asin": "B1", "title": "it\'s \\u00e9"}\n'
CUT = gzip.compress(b'{"a": 1}\n' * 9, mtime=0)[:-12]
LITERAL_LINE = "{'asin': 'B1', 'title': \"it's é\"}\n".encode()


@pytest.mark.parametrize("line", [JSON_LINE, LITERAL_LINE])
def test_json_and_literals_packed_or_not_read_alike(tmp_path: Path, line: bytes) -> None:
    wanted = [{"asin": "B1", "title": "it's é"}]
    for name, data in [("plain.json", b"\n" + line), ("packed", gzip.compress(line))]:
        (tmp_path / name).write_bytes(data)
        assert read(tmp_path / name) == wanted


def test_a_literal_is_never_run(tmp_path: Path) -> None:
    path = tmp_path / "meta.json"
    trap = tmp_path / "ran"
    path.write_text(f"{{'asin': open({str(trap)!r}, 'w').name}}\n", encoding="utf-8")
    assert complaint(path).startswith("meta.json:1: neither JSON nor a Python literal: \"{'asin'")
    assert not trap.exists()


def test_a_backslash_that_means_nothing_is_kept_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "meta.json"
    path.write_text("{'asin': 'B1', 'title': '5\\d'}\n", encoding="utf-8")
    assert read(path) == [{"asin": "B1", "title": "5\\d"}]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": 1}\n{"a": \n', "meta.json:2: neither JSON nor a Python literal: '{\"a\":'"),
        (b"{'a': 1}\nx = 1\n", "meta.json:2: neither JSON nor a Python literal: 'x = 1'"),
        (b"[" * 100_000, "meta.json:1: neither JSON nor a Python literal: "),
        (b'{"a": 1}\n[1]\n', "meta.json:2: got list, wanted one object"),
        (b'{"a": "\xff"}\n', "meta.json:1: not UTF-8"),
        (CUT, "meta.json:2: the file breaks off or is damaged here"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "meta.json").write_bytes(data)
    assert complaint(tmp_path / "meta.json").startswith(said)


def test_an_endless_line_is_refused_and_not_swallowed(tmp_path: Path) -> None:
    path = tmp_path / "meta.json"
    path.write_bytes(gzip.compress(b" " * (MAX_LINE + 1)))
    assert complaint(path).startswith("meta.json:1: longer than 33,554,432 bytes")


def test_with_wanted_ids_other_lines_are_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "meta.json"
    path.write_bytes(b"{'asin': 'B1', broken\n{'asin': 'B2'}\n{'parent_asin': 'B3'}\n{'x': 1}\n")
    assert read(path, {"B2", "B3"}) == [{"asin": "B2"}, {"parent_asin": "B3"}, {"x": 1}]


def test_progress_adds_up_to_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "meta.json"
    path.write_bytes(b'{"a": "%s"}\n' % (b"x" * 500) * 9000)
    steps: list[int] = []
    assert sum(1 for _ in read_lines(path, steps.append)) == 9000
    assert sum(steps) == kilobytes(path)
    assert len(steps) > 2
