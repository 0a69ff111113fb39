"""The run's own judgements: imports, what is known already, and what the run then asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adamroute.catalogue.folds import judged_file, open_shop, queries_hash
from adamroute.catalogue.judged_file import JudgedRow, keep_rows, kept_rows, take_judgements
from adamroute.config import Config, FoldConfig
from adamroute.errors import ShopError
from adamroute.pipeline import CALIBRATE, LABEL, QUERIES, RANKS, REPORT, TRAIN

if TYPE_CHECKING:
    from tests.catalogue.conftest import Corner

GRADED = '{"query": "to draw on", "item_id": "007", "grade": 2, "user_id": "me"}\n'


def config_of(corner: Corner) -> Config:
    out = corner.folder.parent / "run"
    out.mkdir(exist_ok=True)
    return Config.model_validate({"name": "c", "shop": corner.folder, "out": out})


def take(corner: Corner, text: str, name: str = "mine.jsonl") -> tuple[Path, list[str]]:
    config = config_of(corner)
    path = corner.write(name, text).folder / name
    target = judged_file(config)
    told = take_judgements(path, corner.read().catalogue, target).told()
    return target, [line.replace(f"{corner.folder}/", "") for line in told]


def test_an_import_says_what_was_taken_and_what_was_not(corner: Corner) -> None:
    gone = '{"query": "to draw on", "item_id": "x", "grade": 1}\n'
    target, told = take(corner, GRADED + GRADED + gone)
    assert told == [
        "mine.jsonl: 1 judgements of 1 queries taken",
        "not taken: 1 judgements of gone items",
        "  mine.jsonl:3: item_id 'x' is not among the items",
        "not taken: 1 judgements known already",
        "  mine.jsonl:2: item '007' for 'to draw on'",
    ]
    (row,) = kept_rows(target)
    assert (row.query, row.item_id, row.grade, row.user_id) == ("to draw on", "007", 2.0, "me")
    assert row.source.startswith("file:")


def test_what_is_imported_again_changes_nothing(corner: Corner) -> None:
    target, _ = take(corner, GRADED)
    before = target.read_bytes()
    _, told = take(corner, GRADED)
    assert target.read_bytes() == before
    assert told[:2] == [
        "mine.jsonl: 0 judgements of 0 queries taken",
        "not taken: 1 judgements known already",
    ]


def test_clicks_of_a_file_are_summed_and_count_once(corner: Corner) -> None:
    """Item 9: 1 / .5 + 1 / .25 = 6; item 007 was looked at and not clicked."""
    rows = [
        {"query": "low", "item_id": "9", "clicked": 1, "propensity": 0.5},
        {"query": "Low", "item_id": "9", "clicked": 1, "propensity": 0.25},
        {"query": "low", "item_id": "007", "clicked": 0, "propensity": 1},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    target, _ = take(corner, text)
    assert [(r.item_id, r.clicks) for r in kept_rows(target)] == [("9", 6.0), ("007", 0.0)]
    take(corner, text)
    assert len(kept_rows(target)) == 2
    take(corner, text + "\n")  # another file is another log
    assert [r.clicks for r in kept_rows(target)] == [6.0, 0.0, 6.0, 0.0]


def test_qrels_find_their_topics_beside_them(corner: Corner) -> None:
    corner.write("mine.topics.tsv", "1\tlow table\n")
    target, _ = take(corner, "1 0 9 1\n", "mine.qrels")
    assert [(r.query, r.item_id) for r in kept_rows(target)] == [("low table", "9")]


def test_without_rows_the_file_goes(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    keep_rows(path, [JudgedRow(query="q", item_id="i", grade=0)])
    assert path.read_text() == '{"query":"q","item_id":"i","grade":0.0}\n'
    keep_rows(path, [])
    assert list(tmp_path.iterdir()) == []
    assert kept_rows(path) == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"query": "q"}', ":2: item_id: Field required. Correct the line or drop it"),
        ('{"query": "q", "item_id": "i", "grade": 9}', ":2: grade: "),
        ("{", ":2: line: Invalid JSON"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text('{"query":"q","item_id":"i","grade":0}\n' + line)
    with pytest.raises(ShopError) as caught:
        kept_rows(path)
    assert str(caught.value).startswith(f"{path}{said}")


def test_a_run_asks_what_was_judged_in_it_and_labels_follow(corner: Corner) -> None:
    config = config_of(corner)
    plain = queries_hash(config)
    take(corner, GRADED)
    assert [q.text for q in open_shop(config).queries] == ["a bed", "low table", "to draw on"]
    assert corner.read().queries == open_shop(config).queries[:2]  # the folder is as it was
    judged = queries_hash(config)
    assert QUERIES.hash(config) == judged != plain
    assert all(QUERIES in stage.inputs for stage in (RANKS, LABEL, TRAIN, CALIBRATE, REPORT))
    keep_rows(judged_file(config), [JudgedRow(query="q", item_id="9", grade=1)])
    assert queries_hash(config) != judged


def test_a_fold_reads_what_the_run_judged_whose_index_it_borrows(corner: Corner) -> None:
    config = config_of(corner)
    take(corner, GRADED)
    config.stage("index").mkdir()
    fold = FoldConfig(of=3, number=0)
    part = config.model_copy(update={"out": config.out / "folds" / "1-of-3", "fold": fold})
    part.out.mkdir(parents=True)
    part.stage("index").symlink_to(config.stage("index"), target_is_directory=True)
    assert [q.text for q in open_shop(part).queries] == ["a bed", "low table", "to draw on"]
    assert queries_hash(part) == queries_hash(config)
