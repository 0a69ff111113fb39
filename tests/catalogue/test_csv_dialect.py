"""Dialects of CSV, folders of parts, and columns that nobody reads."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adamroute.catalogue.folder import ShopBytes, read_shop
from adamroute.catalogue.table_files import read_table
from adamroute.catalogue.table_form import TableForm
from adamroute.errors import ShopError
from tests.catalogue.feeds import ITEMS, listings, refusal, told, write_feed

FILE = "items.csv"
WANTED = {"A1": "Kelp lamp. dims", "A2": "Moss rug. x"}


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_header_tells_the_delimiter(tmp_path: Path, mark: str) -> None:
    shop = read_shop(write_feed(tmp_path / "s", {FILE: ITEMS.replace(",", mark)}))
    assert listings(shop) == WANTED
    assert told(shop, "items")["delimiter"] == mark


@pytest.mark.parametrize(("key", "mark"), [('"^"', "^"), ("tab", "\t"), ('"\\t"', "\t")])
def test_a_delimiter_in_shop_yaml_wins(tmp_path: Path, key: str, mark: str) -> None:
    feed = ITEMS.replace(",", mark).replace("dims", '"di,ms"')
    shop = read_shop(write_feed(tmp_path / "s", {FILE: feed}, more=f", delimiter: {key}"))
    assert listings(shop) == WANTED | {"A1": "Kelp lamp. di,ms"}


def test_the_wanted_columns_decide_where_a_header_could_be_read_in_two_ways(
    tmp_path: Path,
) -> None:
    feed = 'sku;name;type;colour;description;"a,b,c,d,e,f,g"\nA1;Cup;;;;\n'
    assert listings(read_shop(write_feed(tmp_path / "s", {FILE: feed}))) == {"A1": "Cup"}


def test_a_delimiter_nobody_guesses_is_asked_for(tmp_path: Path) -> None:
    said = refusal(write_feed(tmp_path / "s", {FILE: ITEMS.replace(",", "^")}))
    assert said.endswith("got sku^name^type^colour^description. Add the column or correct the "
                         "name, or say what parts the columns: delimiter")  # fmt: skip


@pytest.mark.parametrize("line", ["sep=;\r\n", "SEP=;\n", '"sep=;"\r\n'])
def test_excels_line_tells_the_delimiter_and_counts_as_a_line(tmp_path: Path, line: str) -> None:
    feed = line + ITEMS.replace(",", ";")
    assert listings(read_shop(write_feed(tmp_path / "s", {FILE: feed}))) == WANTED
    said = refusal(write_feed(tmp_path / "t", {FILE: feed + "A3;x\n"}))
    assert said.startswith("items.csv:5: 2 cells, wanted 5 as in the header. Put double quotes "
                           "around a cell that holds a semicolon or a line break")  # fmt: skip


@pytest.mark.parametrize("rest", ["   \n", ",,,,\n", "\n\n", " , ,,\t,\n,,,,,,\n", ",,,,,,,\n"])
def test_rows_without_a_filled_cell_are_none(tmp_path: Path, rest: str) -> None:
    assert listings(read_shop(write_feed(tmp_path / "s", {FILE: ITEMS + rest}))) == WANTED
    first = read_shop(write_feed(tmp_path / "t", {FILE: rest + ITEMS}))
    assert listings(first) == WANTED


def test_columns_that_a_spreadsheet_adds_are_none(tmp_path: Path) -> None:
    header, *rows = ITEMS.splitlines()
    feed = "\n".join([f"{header},,,", f"{rows[0]},,,", rows[1], f"{rows[1]},".replace("A2", "A3")])
    assert list(listings(read_shop(write_feed(tmp_path / "s", {FILE: feed})))) == [
        "A1",
        "A2",
        "A3",
    ]


def test_a_table_of_empty_rows_alone_has_no_rows(tmp_path: Path) -> None:
    said = refusal(write_feed(tmp_path / "s", {FILE: ITEMS.splitlines()[0] + "\n,,,,\n \n"}))
    assert said == "items.csv: no rows, wanted at least one. Fill the table or leave it out"


def test_a_cell_of_any_length_is_read(tmp_path: Path) -> None:
    feed = ITEMS.replace("dims", "very long words " * 20_000)
    shop = read_shop(write_feed(tmp_path / "s", {FILE: feed}))
    assert len(shop.catalogue.items[0].text) == len("Kelp lamp. ") + 16 * 20_000 - 1


def test_a_folder_of_parts_is_one_table(tmp_path: Path) -> None:
    folder = write_feed(tmp_path / "s", {"parts/_SUCCESS": "", "parts/.crc": "x"}, items="parts")
    frame = pl.read_csv(io.BytesIO(ITEMS.encode()))
    frame[1:].write_parquet(folder / "parts" / "part-1.parquet")
    frame[:1].write_parquet(folder / "parts" / "part-0.parquet")
    assert listings(read_shop(folder)) == WANTED
    frame[1:].with_columns(name=pl.lit(""), description=pl.lit(None)).write_parquet(
        folder / "parts" / "part-1.parquet"
    )
    assert refusal(folder).startswith("parts/part-1.parquet, row 1: empty listing")


def test_a_folder_of_csv_parts_is_one_table_and_its_hash_follows_each(tmp_path: Path) -> None:
    header, one, two = ITEMS.splitlines()
    parts: dict[str, str | bytes] = {
        "p.csv/b.csv": f"{header}\n{two}\n",
        "p.csv/a.csv.gz": gzip.compress(f"{header}\n{one}".encode()),
    }
    folder = write_feed(tmp_path / "s", parts, items="p.csv")
    before = ShopBytes.of(folder).catalogue
    assert listings(read_shop(folder)) == WANTED
    (folder / "p.csv" / "b.csv").write_text(f"{header}\n{two}y\n")
    assert ShopBytes.of(folder).catalogue != before


def test_folders_of_parts_may_hold_a_column_in_their_names(tmp_path: Path) -> None:
    cells = "sku,name,type,description\n{}\n"
    parts: dict[str, str | bytes] = {
        "p/colour=dark%20red/a.csv": cells.format("A1,Cup,cup,d"),
        "p/colour=__HIVE_DEFAULT_PARTITION__/a.csv": cells.format("A2,Mug,mug,d"),
    }
    items = read_shop(write_feed(tmp_path / "s", parts, items="p")).catalogue.items
    assert {item.item_id: dict(item.visual) for item in items} == {
        "A1": {"colour": "dark red"},
        "A2": {},
    }


def test_a_folder_without_parts_or_with_others_is_refused(tmp_path: Path) -> None:
    folder = write_feed(tmp_path / "s", {"p.parquet/_SUCCESS": ""}, items="p.parquet")
    assert refusal(folder) == "p.parquet: a folder without a table in it, wanted at least one part"
    (folder / "p.parquet" / "notes.txt").write_text("x")
    assert refusal(folder).startswith("p.parquet/notes.txt: unknown kind of table")
    (folder / "p.parquet" / "notes.txt").unlink()
    (tmp_path / "out.csv").write_text(ITEMS)
    (folder / "p.parquet" / "in.csv").symlink_to(tmp_path / "out.csv")
    assert refusal(folder).startswith("p.parquet/in.csv: leads out of p.parquet. Copy the file")


def test_columns_nobody_names_may_hold_anything(tmp_path: Path) -> None:
    row = '{"sku": "A1", "name": "Cup", "type": "t", "colour": "c", "description": "d"'
    lines = f'{row}, "dims": {{"w": 3}}, "note": "a\\u0000b", "half": "\\ud800"}}\n'
    shop = read_shop(write_feed(tmp_path / "j", {"i.jsonl": lines}, items="i.jsonl"))
    assert listings(shop) == {"A1": "Cup. d"}
    twice = "x," + ITEMS.replace("\nA", "\n1,A").replace("description\n", "description,x\n")
    twice = twice.replace(",dims", ",dims,2").replace(",brown,x", ",brown,x,2")
    assert listings(read_shop(write_feed(tmp_path / "t", {FILE: twice}))) == WANTED
    note = ITEMS.replace("description\n", "description,note\n").replace("dims", "dims,a\0b")
    note = note.replace(",x\n", ",x,y\n")
    assert listings(read_shop(write_feed(tmp_path / "c", {FILE: note}))) == WANTED
    folder = write_feed(tmp_path / "p", {}, items="i.parquet")
    frame = pl.read_csv(io.BytesIO(ITEMS.encode()))
    thumb, nested = pl.Series([b"\x89PNG", None]), pl.Series([{"w": 1}, {"w": 2}])
    frame.with_columns(thumb=thumb, nested=nested).write_parquet(folder / "i.parquet")
    assert listings(read_shop(folder)) == WANTED


def test_columns_that_are_named_are_still_checked(tmp_path: Path) -> None:
    row = '{"sku": "A1", "name": {"en": "Cup"}, "type": "", "colour": "", "description": "d"}'
    said = refusal(write_feed(tmp_path / "s", {"i.jsonl": row}, items="i.jsonl"))
    assert said == (
        "i.jsonl:1: 'name' holds dict, wanted text, a number or a list of these. Correct the cell"
    )


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("i.jsonl", ', delimiter: ";"', "i.jsonl: items.delimiter in shop.yaml is for CSV alone"),
        ("i.parquet", ", encoding: cp1252", "i.parquet: items.encoding in shop.yaml is for text"),
    ],
)
def test_a_key_that_means_nothing_for_a_file_is_refused(
    tmp_path: Path, name: str, more: str, said: str
) -> None:
    assert refusal(write_feed(tmp_path / "s", {name: "{}"}, items=name, more=more)).startswith(
        said
    )


cell = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r\u00c2\u00c3\u00e2\u00f0")
)
row = st.tuples(cell, cell).filter(lambda cells: any(c.strip() for c in cells))


@settings(deadline=None, max_examples=80)
@given(
    st.lists(row, min_size=1, max_size=4),
    st.sampled_from(",;\t|"),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)  # fmt: skip
def test_a_table_reads_back_equal_in_any_dialect(
    rows: list[tuple[str, str]], mark: str, quoting: int, end: str, encoding: str
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=mark, quoting=quoting, lineterminator=end)  # type: ignore[arg-type]
    writer.writerows([("first", "second"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(text.getvalue().encode(encoding))
        table = read_table(path, columns=("first", "second"))
    read = [(r.text("first"), r.text("second")) for r in table.rows]
    assert read == [(a.strip(), b.strip()) for a, b in rows]


def test_messages_quote_no_more_of_a_cell_than_sixty_characters(tmp_path: Path) -> None:
    long = "s" * 500
    feed = write_feed(tmp_path / "s", {FILE: ITEMS + f"{long},x,,,\n{long},y,,,\n"})
    said = refusal(feed)
    assert said.startswith(f"items.csv:5: sku '{'s' * 60}'... stands at items.csv:4 already")
    with pytest.raises(ShopError) as caught:
        read_table(feed / FILE, TableForm()).require(("x" * 3,), "nobody")
    assert len(str(caught.value)) < 400
