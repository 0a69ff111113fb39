"""The items table: what is refused and what is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.catalogue.conftest import Corner

LACK = "9,Lack,table,,,Light and low,images/9.png"


def test_two_items_of_one_id_are_refused(corner: Corner) -> None:
    assert corner.change("items.csv", LACK, "007,Lack,,,,,").complaint() == (
        "items.csv:4: item_id '007' stands at items.csv:2 already, wanted once. "
        "Give each row its own id or drop one"
    )


def test_ids_that_differ_only_in_zeros_are_two_ids(corner: Corner) -> None:
    ids = ["7", "07", "007", "9", "702.584.83"]
    rows = "".join(f"{item_id},a,,,,,\n" for item_id in ids)
    header = "item_id,name,type,description,color,pattern,image\n"
    shop = corner.write("items.csv", header + rows).read()
    assert list(shop.catalogue.row_of) == ids


def test_an_empty_id_is_refused(corner: Corner) -> None:
    said = corner.change("items.csv", "007,Mala", " ,Mala").complaint()
    assert said == "items.csv:2: 'item_id' is empty. Fill it in or drop the row"


def test_an_empty_listing_is_refused(corner: Corner) -> None:
    said = corner.change("items.csv", LACK, "9, ,<br>,red,,&nbsp;,").complaint()
    assert said == (
        "items.csv:4: empty listing, wanted words in at least one of name, type, description. "
        "Fill one in or drop the row"
    )


def test_a_title_stands_in_for_an_empty_text_and_the_reverse(corner: Corner) -> None:
    corner.change("shop.yaml", '"{name} {type}"', "name")
    corner.change("shop.yaml", "[name, type, description]", "[description]")
    shop = corner.change("items.csv", "007,Mala", "007,").read()
    assert shop.problems == {"items_without_text": 1, "items_without_title": 1}
    assert [(i.title, i.text) for i in shop.catalogue.items] == [
        ("For drawing.", "For drawing."),
        ("Kura", "Kura"),
        ("Lack", "Light and low"),
    ]


def test_a_missing_column_names_what_is_there(corner: Corner) -> None:
    said = corner.change("items.csv", "type,color,pattern", "kind,color,pattern").complaint()
    assert said == (
        "items.csv: no column 'type', which items in shop.yaml needs; got color, description, "
        "image, item_id, kind, name, pattern. Add the column or correct the name"
    )
