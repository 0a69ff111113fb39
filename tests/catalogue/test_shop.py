"""What a shop answers once it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adamroute.catalogue.request import Interaction, Request
from adamroute.catalogue.shop import Query
from adamroute.errors import ShopError

if TYPE_CHECKING:
    from tests.catalogue.conftest import Corner


def test_a_row_is_the_place_in_the_items_table(corner: Corner) -> None:
    catalogue = corner.read().catalogue
    assert [catalogue.row(i) for i in ("007", "702.584.83", "9")] == [0, 1, 2]
    assert len(catalogue) == 3


def test_an_unknown_item_is_an_error_that_names_it(corner: Corner) -> None:
    with pytest.raises(ShopError, match=r"item '8': not among the 3 items"):
        corner.read().catalogue.row("8")


def test_a_profile_shows_looks_only_where_asked(corner: Corner) -> None:
    bed = corner.read().catalogue.items[1]
    assert bed.profile(with_visual=True) == "white striped Kura bed"
    assert bed.profile(with_visual=False) == "Kura bed"


def test_a_request_knows_nothing_of_its_target(corner: Corner) -> None:
    shop = corner.read()
    assert shop.request(shop.queries[0]) == Request(
        "q1", "ann", "a bed", (Interaction("007", False, 1.0),)
    )


def test_a_user_without_history_has_an_empty_one(corner: Corner) -> None:
    stranger = Query("q9", "stranger", "a bed", "007", None, "test")
    assert corner.read().request(stranger).history == ()


def test_splits_are_taken_in_file_order(corner: Corner) -> None:
    shop = corner.read()
    assert [q.query_id for q in shop.split("test", "train")] == ["q1", "q2"]
    assert shop.split("calibration") == ()


def test_an_item_that_was_liked_and_then_disliked_is_nothing_to_learn_from() -> None:
    liked, disliked = Interaction("007", True, 1.0), Interaction("007", False, 2.0)
    for history, found in (
        ((), False),
        ((disliked,), False),
        ((liked,), True),
        ((liked, disliked), False),
        ((disliked, liked), True),
        ((liked, disliked, Interaction("9", True, 3.0)), True),
    ):
        assert Request("r", "ann", "a bed", history).has_positives is found
