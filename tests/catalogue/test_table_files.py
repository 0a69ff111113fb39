"""Tables: three formats, one result; and each way a file can be wrong."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adamroute.catalogue.table_files import Row, read_table
from adamroute.errors import ShopError

if TYPE_CHECKING:
    from tests.catalogue.conftest import Corner

# neither NUL nor half a surrogate pair, which are refused; no carriage return, which CSV writers
# and readers may turn into a line feed; none of the letters that text encoded twice begins with
cell = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r\u00c2\u00c3\u00e2\u00f0")
)


def saved(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def complaint(path: Path) -> str:
    with pytest.raises(ShopError) as caught:
        read_table(path)
    return str(caught.value).replace(f"{path.parent}/", "")


@settings(deadline=None)
@given(st.lists(st.fixed_dictionaries({"a": cell, "b": cell}), min_size=1, max_size=5))
def test_csv_jsonl_and_parquet_hold_the_same_rows(records: list[dict[str, str]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, ["a", "b"], quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(records)
    stripped = [{key: value.strip() for key, value in r.items()} for r in records]
    wanted = [row for row in stripped if any(row.values())]
    assume(wanted)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pl.DataFrame(records).write_parquet(folder / "t.parquet")
        tables = (
            read_table(saved(folder, "t.csv", text.getvalue())),
            read_table(saved(folder, "t.jsonl", "\n".join(map(json.dumps, records)))),
            read_table(folder / "t.parquet"),
        )
    for table in tables:
        assert [dict(row.cells) for row in table.rows] == wanted


def test_a_whole_shop_reads_alike_from_csv_jsonl_and_parquet(corner: Corner) -> None:
    from_csv = corner.read()
    frame = pl.read_csv(corner.folder / "items.csv", infer_schema=False)
    frame.write_ndjson(corner.folder / "items.jsonl")
    frame.write_parquet(corner.folder / "items.parquet")
    last = "items.csv"
    for name in ("items.jsonl", "items.parquet"):
        shop = corner.change("shop.yaml", last, name).read()
        assert shop.catalogue == from_csv.catalogue
        assert shop.histories == from_csv.histories
        last = name


def test_rows_know_their_line_even_after_a_cell_of_three_lines(tmp_path: Path) -> None:
    table = read_table(saved(tmp_path, "t.csv", 'a,b\n\n"one\ntwo\nthree",x\n\nlast,y\n'))
    assert [row.where for row in table.rows] == [f"{tmp_path}/t.csv:3", f"{tmp_path}/t.csv:7"]


def test_a_byte_order_mark_and_spaces_in_the_header_are_no_part_of_a_name(tmp_path: Path) -> None:
    table = read_table(saved(tmp_path, "t.csv", b"\xef\xbb\xbfitem_id , title\r\n1,x\r\n"))
    assert table.columns == {"item_id", "title"}


def test_an_unnamed_index_column_is_harmless(tmp_path: Path) -> None:
    table = read_table(saved(tmp_path, "t.csv", ",a,\n0,x,\n"))
    assert table.rows[0].text("a") == "x"


def test_json_values_become_text(tmp_path: Path) -> None:
    record = '{"i": 7, "f": 2.5, "t": true, "n": null, "nan": NaN, "l": ["red", null, 3]}'
    (row,) = read_table(saved(tmp_path, "t.jsonl", f"\n{record}\n")).rows
    assert row.cells == {"i": "7", "f": "2.5", "t": "true", "n": "", "nan": "", "l": "red, 3"}
    assert row.text("absent") == ""


def test_a_line_separator_inside_a_json_string_ends_no_line(tmp_path: Path) -> None:
    (row,) = read_table(saved(tmp_path, "t.jsonl", '{"a": "one\u2028two"}')).rows
    assert row.text("a") == "one\u2028two"


def test_parquet_numbers_dates_and_lists_become_text(tmp_path: Path) -> None:
    moment = datetime(2024, 5, 1, 12, tzinfo=UTC)
    frame = pl.DataFrame({"i": [7], "nan": [float("nan")], "d": [moment], "l": [["a", "b"]]})
    frame.write_parquet(tmp_path / "t.parquet")
    (row,) = read_table(tmp_path / "t.parquet").rows
    assert row.cells == {"i": "7", "nan": "", "d": "2024-05-01T12:00:00+00:00", "l": "a, b"}
    assert row.where.endswith("t.parquet, row 1")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.xlsx", "a\n1\n", "t.xlsx: unknown kind of table, wanted .csv, .tsv, .jsonl, .ndjson"),
        ("t.csv", "", "t.csv: no rows, wanted at least one"),
        ("t.csv", "a,b\n", "t.csv: no rows, wanted at least one"),
        ("t.jsonl", "\n\n", "t.jsonl: no rows, wanted at least one"),
        ("t.csv", "a,b\n1,2\n1\n", "t.csv:3: 1 cells, wanted 2 as in the header. Put double"),
        ("t.csv", "a,b\n1,2,3\n", "t.csv:2: 3 cells, wanted 2"),
        ("t.csv", "a,a\n1,2\n", "t.csv:1: column 'a' stands twice. Rename or drop one"),
        ("t.csv", 'a,b\n1,"2\n3,4\n', "t.csv:2: not CSV: unexpected end of data. Write a"),
        ("t.csv", 'a\n"x"y\n', "t.csv:2: not CSV:"),
        (
            "t.csv",
            b"a\nx\ncaf\xe9\n",
            "t.csv:3: byte 0xe9 is not UTF-8; it looks like Windows-1252",
        ),
        ("t.csv", "a\nx\0y\n", "t.csv:2: 'a' holds the character U+0000, wanted valid Unicode"),
        ("t.jsonl", b'{"a": "\xff"}', "t.jsonl:1: byte 0xff is not UTF-8"),
        ("t.jsonl", '{"a": 1}\n{"a": \n', "t.jsonl:2: not JSON:"),
        ("t.jsonl", "[" * 100_000, "t.jsonl:1: not JSON:"),
        ("t.jsonl", "[1, 2]", "t.jsonl:1: got list, wanted one JSON object on each line"),
        ("t.jsonl", '{"a": {"b": 1}}', "t.jsonl:1: 'a' holds dict, wanted text, a number or a"),
        ("t.jsonl", '{"a": "\\ud800"}', "t.jsonl:1: 'a' holds the character U+D800"),
        ("t.parquet", "no parquet at all", "t.parquet: not Parquet:"),
        ("t.parquet", "", "t.parquet: not Parquet:"),
    ],
)
def test_a_table_that_cannot_be_used_says_where_and_what(
    tmp_path: Path, name: str, content: str | bytes, said: str
) -> None:
    assert complaint(saved(tmp_path, name, content)).startswith(said)


def test_a_missing_table_says_so(tmp_path: Path) -> None:
    assert complaint(tmp_path / "t.csv") == (
        "t.csv: no such file. Put the table there or correct its name"
    )


def test_a_cell_may_be_longer_than_csv_allows_by_itself(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    (row,) = read_table(saved(tmp_path, "t.csv", f"a\n{'x' * 200_000}\n")).rows
    assert len(row.text("a")) == 200_000
    assert csv.field_size_limit() == before


def test_a_needed_cell_that_is_empty_names_its_row() -> None:
    with pytest.raises(ShopError, match=r"t\.csv:9: 'a' is empty\. Fill it in or drop the row"):
        Row("t.csv:9", {"a": ""}).needed("a")
