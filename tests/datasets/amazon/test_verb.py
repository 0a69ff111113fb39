"""`adamroute data` as a user meets it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from adamroute import cli
from adamroute.datasets.amazon.sources import PUBLIC_SETS


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["adamroute", "data", *map(str, arguments)])
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_help_names_every_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run(monkeypatch, "--help") == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in PUBLIC_SETS)
    assert "Only photos are fetched" in printed


def test_a_made_shop_says_what_is_in_it_and_what_was_left_out(
    downloads: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "shop"
    arguments = ("amazon-beauty", "--dir", downloads, "--out", out, "--no-images")
    assert run(monkeypatch, *arguments, "--keep-duplicates") == 0
    first, *left_out, last = capsys.readouterr().out.splitlines()
    assert first == f"{out}: 3 items, 4 users, 5 interactions, 3 queries"
    assert "  items_without_words: 1" in left_out
    assert last == f"Next, with a config of configs/: adamroute build CONFIG --shop {out}"


def test_without_files_it_says_which_are_needed_and_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "msr-baby", "--dir", tmp_path) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"adamroute: msr-baby: 2 of 2 files missing in {tmp_path}\n")
    assert "reviews_Baby_5.json or Baby_5.json, each packed (.gz) or not: 5-core reviews" in said
    assert "meta_Baby.json, each packed (.gz) or not: product metadata" in said


def test_before_photos_are_fetched_it_says_so(
    downloads: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "amazon-beauty", "--dir", downloads) == 0  # loopback: none is asked
    printed = capsys.readouterr()
    assert "fetching 3 photos from the addresses in your metadata into" in printed.err
    assert "  photos_refused_address: 3" in printed.out.splitlines()
