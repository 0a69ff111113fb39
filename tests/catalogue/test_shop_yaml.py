"""shop.yaml: each way it can be wrong."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.catalogue.conftest import Corner


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: corner", "name: [corner", "shop.yaml: cannot be read as YAML in UTF-8:"),
        ("name: corner", "name: 2024-13-45", "shop.yaml: cannot be read as YAML in UTF-8:"),
        ("name: corner\n", "", "shop.yaml: name: missing, add it"),
        ("name: corner", "name: 7", "shop.yaml: name: Input should be a valid string, got 7"),
        ("name: corner", "nom: corner", "shop.yaml: name: missing, add it; nom: unknown key, "
         "wanted one of name, items, interactions, queries, judged, on_bad_row"),
        ("  image: image", "  picture: image", "shop.yaml: items.picture: unknown key, wanted "
         "one of file, encoding, delimiter, decimal, on_bad_row, id, title, text, visual, "
         "category, image"),
        ("  file: queries.jsonl", "  file: queries.jsonl\n  tmie: order",
         "shop.yaml: queries.tmie: unknown key, wanted one of file"),
        ("[name, type, description]", "[]", "shop.yaml: items.text: Tuple should have at least"),
        ("[name, type, description]", "name", "shop.yaml: items.text: Input should be a valid"),
        ("[color, pattern]", "[color, type]", "shop.yaml: items: Value error, column 'type' "
         "stands twice in text and visual, wanted once"),
        ('"{name} {type}"', '"{name!r}"', "shop.yaml: items.title: Value error, '{name!r}': "
         "wanted a column name and nothing else in each {}"),
        ('"{name} {type}"', '"{name"', "shop.yaml: items.title: Value error, expected '}'"),
        ("  file: interactions.csv", "  file: interactions.csv\n  time: never",
         "shop.yaml: interactions.time: Input should be 'global', 'order' or 'none', got 'never'"),
        ("  file: interactions.csv", "  file: interactions.csv\n  positive_from: .nan",
         "shop.yaml: interactions.positive_from: Input should be a finite number, got nan"),
        ("file: items.csv", "file: items.csv\n  encoding: cp9999",
         "shop.yaml: items.encoding: Value error, Python knows no such encoding; wanted one like"),
        ("file: items.csv", "file: items.csv\n  encoding: hex", "shop.yaml: items.encoding: "),
        ("file: items.csv", "file: items.csv\n  delimiter: ab",
         'shop.yaml: items.delimiter: Value error, wanted one character such as ";", or tab'),
        ("file: items.csv", "file: items.csv\n  delimiter: '\"'", "shop.yaml: items.delimiter: "),
        ("file: items.csv", "file: items.csv\n  decimal: x",
         "shop.yaml: items.decimal: Input should be '.' or ',', got 'x'"),
        ("file: items.csv", "file: items.csv\n  on_bad_row: ignore",
         "shop.yaml: items.on_bad_row: Input should be 'stop' or 'skip', got 'ignore'"),
        ("name: corner", "name: corner\non_bad_row: ignore", "shop.yaml: items.on_bad_row: Input"),
        ("  file: interactions.csv", "  file: interactions.csv\n  timestamp_format: '%q'",
         "shop.yaml: interactions.timestamp_format: Value error, '%q' is no format of strptime:"),
        ("  file: interactions.csv", "  file: interactions.csv\n  timestamp_format: '%H:%M'",
         "shop.yaml: interactions.timestamp_format: Value error, '%H:%M' does not tell the day"),
        ("file: items.csv", "file: items.xlsx", "items.xlsx: unknown kind of table"),
        ("file: items.csv", 'file: "it\\0ems.csv"', "shop.yaml: items.file: 'it\\x00ems.csv' "
         "cannot be a path"),
    ],
)  # fmt: skip
def test_a_wrong_shop_yaml_says_which_key_and_what_is_wanted(
    corner: Corner, old: str, new: str, said: str
) -> None:
    assert corner.change("shop.yaml", old, new).complaint().startswith(said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "shop.yaml: got NoneType, wanted a mapping with at least name and items"),
        ("- name\n", "shop.yaml: got list, wanted a mapping"),
        (b"name: caf\xe9\n", "shop.yaml: cannot be read as YAML in UTF-8:"),
        ("[" * 5000, "shop.yaml: cannot be read as YAML in UTF-8:"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(
    corner: Corner, content: str | bytes, said: str
) -> None:
    assert corner.write("shop.yaml", content).complaint().startswith(said)


def test_a_section_left_empty_counts_as_absent(corner: Corner) -> None:
    shop = corner.change("shop.yaml", "queries:\n  file: queries.jsonl\n", "queries:\n").read()
    assert shop.queries == ()


def test_a_few_lines_that_stand_for_a_billion_values_are_refused_at_once(corner: Corner) -> None:
    names = "abcdefghij"
    bomb = "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise(names)
    )
    said = corner.write("shop.yaml", f"a: &a [x, x, x]\n{bomb}name: *j\nitems: *j\n").complaint()
    assert said.startswith("shop.yaml: name: Input should be a valid string, got [")
    assert len(said) < 2000
