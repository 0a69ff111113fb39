"""Encodings: what is read, and what is said of bytes that nobody can be sure of."""

from __future__ import annotations

import codecs
import gzip
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.mojibake import encoded_twice
from adamroute.catalogue.table_files import read_table
from adamroute.catalogue.table_form import TableForm
from tests.catalogue.feeds import ITEMS, listings, refusal, told, write_feed

CAFE = "sku,name,type,colour,description\nA1,Café stool,stool,red,“Two” seats – 9 €\n"
WANTED = {"A1": "Café stool. “Two” seats – 9 €"}
FILE = "items.csv"
MARKED = {
    "utf-8-sig": CAFE.encode("utf-8-sig"),
    "utf-16-le": codecs.BOM_UTF16_LE + CAFE.encode("utf-16-le"),
    "utf-16-be": codecs.BOM_UTF16_BE + CAFE.encode("utf-16-be"),
    "utf-32-le": codecs.BOM_UTF32_LE + CAFE.encode("utf-32-le"),
    "utf-32-be": codecs.BOM_UTF32_BE + CAFE.encode("utf-32-be"),
    "utf-16-le without a mark": CAFE.encode("utf-16-le"),
    "utf-16-be without a mark": CAFE.encode("utf-16-be"),
}


@pytest.mark.parametrize("name", MARKED)
def test_what_tells_its_encoding_is_read(tmp_path: Path, name: str) -> None:
    shop = read_shop(write_feed(tmp_path / "s", {FILE: MARKED[name]}))
    assert listings(shop) == WANTED
    assert str(told(shop, "items")["encoding"]) in name


@pytest.mark.parametrize("encoding", ["cp1252", "windows-1252", "UTF-8", "utf-16", "gb18030"])
def test_an_encoding_named_in_shop_yaml_is_read(tmp_path: Path, encoding: str) -> None:
    feed = write_feed(
        tmp_path / "s", {FILE: CAFE.encode(encoding)}, more=f", encoding: {encoding}"
    )
    assert listings(read_shop(feed)) == WANTED


def test_each_table_has_an_encoding_of_its_own(tmp_path: Path) -> None:
    log = "user_id,item_id,label\nJosé,A1,pos\n".encode("cp1252")
    rest = "interactions: {file: log.csv, encoding: latin-1}"
    shop = read_shop(write_feed(tmp_path / "s", {FILE: CAFE, "log.csv": log}, rest=rest))
    assert list(shop.histories) == ["José"]


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("cp1252", "it looks like Windows-1252 ('A1,Café stool,stool,r'): set encoding: cp1252 "
         "under items in shop.yaml"),
        ("mac_roman", "it looks like Mac Roman ('A1,Café stool,stool,r'): set encoding: mac_"),
    ],
)  # fmt: skip
def test_western_bytes_get_a_guess_that_shows_what_it_would_read(
    tmp_path: Path, encoding: str, said: str
) -> None:
    said_of_it = refusal(write_feed(tmp_path / "s", {FILE: CAFE.encode(encoding)}))
    assert said_of_it.split(" is not UTF-8; ")[1].startswith(said)


@pytest.mark.parametrize("encoding", ["cp1251", "gb18030", "cp932"])
def test_bytes_of_other_scripts_get_no_guess_but_what_each_would_read(
    tmp_path: Path, encoding: str
) -> None:
    words = {"cp1251": "Деревянный стул", "gb18030": "木制的椅子和桌子", "cp932": "木製の椅子と机"}
    feed = ITEMS.replace("Kelp lamp", words[encoding]).encode(encoding)
    said = refusal(write_feed(tmp_path / "s", {FILE: feed}))
    assert "it is not Western and reads" in said
    assert f"{encoding} '{words[encoding][:3]}" in said
    assert said.endswith("set encoding: the right one under items in shop.yaml")


def test_a_file_that_mixes_encodings_names_the_lines(tmp_path: Path) -> None:
    lines = CAFE.encode() + "A2,Crêpe,pan,red,x\nA3,plain,pan,red,x\nA4,Tür,pan,red,x\n".encode(
        "cp1252"
    )
    assert refusal(write_feed(tmp_path / "s", {FILE: lines})) == (
        "items.csv:3: byte 0xea is not UTF-8 and looks like Windows-1252 ('A2,Crêpe,pan,red,x'), "
        "while line 2 is UTF-8: the file mixes encodings. Write lines 3, 5 in UTF-8"
    )


def test_a_file_beside_a_shop_is_told_to_be_converted(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes(CAFE.encode("cp1252"))
    with pytest.raises(Exception, match=r"convert the file: iconv -f cp1252 -t UTF-8 q\.csv$"):
        read_table(path)


@pytest.mark.parametrize(
    ("content", "encoding", "said"),
    [
        (CAFE.encode(), "cp1252", "items.csv: is UTF-8, but items.encoding in shop.yaml is cp"),
        (MARKED["utf-16-le"], "cp1252", "items.csv: begins with the mark of UTF-16-LE, but"),
        (MARKED["utf-8-sig"], "utf-16", "items.csv: begins with the mark of UTF-8, but"),
        (CAFE.encode("cp1252"), "utf-8", "items.csv:2: byte 0xe9 is not utf-8 (invalid cont"),
        (CAFE.encode("cp1252"), "ascii", "items.csv:2: byte 0xe9 is not ascii (ordinal not in"),
        (CAFE.encode("utf-16")[:-1], "utf-16", "items.csv:2: byte 0x0a is not utf-16 (truncated"),
    ],
)  # fmt: skip
def test_an_encoding_that_is_not_the_files_is_refused(
    tmp_path: Path, content: bytes, encoding: str, said: str
) -> None:
    feed = write_feed(tmp_path / "s", {FILE: content}, more=f", encoding: {encoding}")
    assert refusal(feed).startswith(said)


def test_a_file_cut_within_a_character_says_so(tmp_path: Path) -> None:
    cut = (CAFE + "A2,Crêpe,pan,red,à la carté").encode()[:-1]
    said = refusal(write_feed(tmp_path / "s", {FILE: cut}))
    assert said.startswith("items.csv:3: byte 0xc3 is not UTF-8: the file ends within a character")


def test_other_kinds_of_files_are_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", "<workbook/>")
    with zipfile.ZipFile(tmp_path / "plain.zip", "w") as packed:
        packed.writestr("items.csv", ITEMS)
    kinds = {
        "a gzip file": gzip.compress(ITEMS.encode()),
        "a zip file": (tmp_path / "plain.zip").read_bytes(),
        "a spreadsheet (.xlsx or .ods)": (tmp_path / "book.xlsx").read_bytes(),
        "an Excel workbook of the old kind (.xls)": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "a Parquet file": b"PAR1\x15\x04",
        "an HTML page": b"\n<!DOCTYPE html><html><body>404</body></html>",
    }
    for number, (kind, content) in enumerate(kinds.items()):
        said = refusal(write_feed(tmp_path / f"s{number}", {FILE: content}))
        assert said.startswith(f"items.csv: is {kind}, whatever its name says. ")


@pytest.mark.parametrize("name", ["items.csv.gz", "items.jsonl.gz", "items.CSV.GZ"])
def test_gzip_is_unpacked_by_its_name(tmp_path: Path, name: str) -> None:
    text = ITEMS
    if "jsonl" in name:
        text = '{"sku": "A1", "name": "Kelp lamp", "type": "", "colour": "", "description": null}'
    shop = read_shop(write_feed(tmp_path / "s", {name: gzip.compress(text.encode())}, items=name))
    assert shop.catalogue.items[0].title == "Kelp lamp"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (ITEMS.encode(), "items.csv.gz: not a gzip file. Take .gz off its name"),
        (gzip.compress(ITEMS.encode())[:-9], "items.csv.gz: gzip that cannot be unpacked: "),
        (gzip.compress(ITEMS.encode("utf-8") + b"\xe9"), "items.csv.gz:4: byte 0xe9 is not UTF-8"),
    ],
)
def test_broken_gzip_says_so(tmp_path: Path, content: bytes, said: str) -> None:
    feed = write_feed(tmp_path / "s", {"items.csv.gz": content}, items="items.csv.gz")
    assert refusal(feed).startswith(said)


def test_text_encoded_twice_is_named_and_refused_where_it_is_common(tmp_path: Path) -> None:
    wrong = "Café crème".encode().decode("cp1252")
    one = ITEMS.replace("Kelp", wrong)
    shop = read_shop(write_feed(tmp_path / "one", {FILE: one}))
    first = [f"items.csv:2: '{wrong} lamp' for 'Café crème lamp'"]
    assert told(shop, "items")["cells_encoded_twice"] == {"count": 1, "first": first}
    assert refusal(write_feed(tmp_path / "many", {FILE: one.replace("rug", wrong)})).startswith(
        f"items.csv:2: '{wrong} lamp' for 'Café crème lamp': encoded twice, as are 3 of the 3 "
    )
    right = one.replace("rug", wrong) + "A3,é,é,é,é\n"  # 3 of 7 cells
    read_shop(write_feed(tmp_path / "few", {FILE: right}))


def test_letters_lost_before_are_named(tmp_path: Path) -> None:
    shop = read_shop(write_feed(tmp_path / "s", {FILE: ITEMS.replace("Kelp", "Caf\ufffd")}))
    first = ["items.csv:2: 'Caf\ufffd lamp'"]
    assert told(shop, "items")["cells_with_lost_letters"] == {"count": 1, "first": first}


@pytest.mark.parametrize(
    "text", ["NOUVEAUTÉ® «CAFÉ»", "MAÇÃ”", "Ærø – 20 °C", "Ð is a letter", "naïve façade", "È•"]
)
def test_right_text_is_not_taken_for_text_encoded_twice(text: str) -> None:
    assert encoded_twice(text) == ""


@settings(deadline=None)
@given(st.text(st.characters(min_codepoint=0xC0, max_codepoint=0xFF), min_size=1))
def test_accents_encoded_twice_are_told_back(text: str) -> None:
    wrong = bytes(text, "utf-8").decode("latin-1")  # with the C1 controls that cp1252 lacks
    signs = "".join(bytes([ord(c)]).decode("cp1252", "ignore") or c for c in wrong)
    assert encoded_twice(signs) == text


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "gb18030"]
words = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="ÂÃâð"), min_size=1
)


@settings(deadline=None, max_examples=60)
@given(st.lists(words, min_size=1, max_size=4), st.sampled_from(ENCODINGS))
def test_a_table_reads_back_equal_in_any_encoding_it_can_be_written_in(
    cells: list[str], encoding: str
) -> None:
    text = "name\n" + "".join('"' + cell.replace('"', '""') + '"\n' for cell in cells)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(text.encode(encoding))
        form = TableForm("items", encoding=encoding if encoding == "gb18030" else None)
        assert [row.text("name") for row in read_table(path, form).rows] == cells
