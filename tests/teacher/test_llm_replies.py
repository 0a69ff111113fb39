"""What a schema can't check of a reply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from adamroute.catalogue.item_words import item_words
from adamroute.catalogue.request import PreferenceProfile
from adamroute.indexing.profiling import ItemProfile
from adamroute.llm.chat import ReplyForm
from adamroute.teacher.context import Evidence
from adamroute.teacher.llm_replies import (
    ItemReply,
    ItemVerdict,
    Listing,
    PreferencesReply,
    QueriesReply,
    flaws_in_words,
    queries_form,
    theta_form,
    verdicts,
)
from adamroute.theta import Theta

LISTING = Listing("NORDLI lamp", "red NORDLI lamp. gives soft light")
LAMP = Evidence("i0", 0, item_words(LISTING.title, "gives soft light", "lamp", {"colour": "red"}))


def reply(*queries: str, relevant: bool = True) -> QueriesReply:
    items = [ItemReply(relevant=relevant, query=query) for query in queries]
    return queries_form(len(items))(kind="mixed", items=items)


def verdict(query: str, *, relevant: bool = True, listing: Listing = LISTING) -> ItemVerdict:
    said = reply(query, relevant=relevant)
    return verdicts(said, "round green rug", [LAMP], [listing])[0]


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """All types in a schema."""
    if isinstance(schema, dict):
        if "type" in schema:
            yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from parts(part)


@pytest.mark.parametrize(
    "form", [PreferencesReply, theta_form((20, 40)), queries_form(3), ItemProfile]
)
def test_every_form_is_bounded_complete_and_closed(form: type[ReplyForm]) -> None:
    for part in parts(form.schema_sent()):
        assert not {"$ref", "$defs", "title", "default"} & set(part)
        if part["type"] == "string":
            assert "maxLength" in part or "enum" in part
        if part["type"] == "array":
            assert "maxItems" in part
        if part["type"] == "object":
            assert part["required"] == list(part["properties"])
            assert part["additionalProperties"] is False


def test_the_reason_comes_before_the_numbers_that_it_decides() -> None:
    form = theta_form((20, 40))
    assert list(form.model_fields) == ["reason", "alpha", "budget"]
    assert form.schema_sent()["properties"] == {
        "reason": {"type": "string", "maxLength": 200},
        "alpha": {"type": "number", "minimum": 0, "maximum": 1},
        "budget": {"type": "integer", "enum": [20, 40]},
    }
    assert form(reason="", alpha=0, budget=40).theta == Theta(0.0, 40)


def test_there_is_one_verdict_an_item() -> None:
    items = queries_form(2).schema_sent()["properties"]
    assert isinstance(items, dict)
    assert items["items"]["minItems"] == items["items"]["maxItems"] == 2  # type: ignore[call-overload,index]


def test_phrases_are_lower_case_and_each_in_its_strongest_list_only() -> None:
    said = PreferencesReply(
        strong_pref=["Red ", "red", "\u200b"], nice_to_have=["red", "Soft  light"],
        dislike=["soft light", "glossy"],
    )  # fmt: skip
    assert said.profile() == PreferenceProfile(("red",), ("soft light",), ("glossy",))


@pytest.mark.parametrize(
    ("query", "flaw"),
    [
        ("a red reading lamp", None),
        ("", "empty_query"),
        (" ... ", "empty_query"),
        ("Round green rug!", "copies_query"),
        ("red NORDLI lamp, gives soft light", "copies_listing"),
        ("that red nordli lamp please", "copies_title"),
    ],
)
def test_a_query_must_be_one_and_give_nothing_away(query: str, flaw: str | None) -> None:
    assert verdict(query) == ItemVerdict(True, query.strip(), flaw)  # type: ignore[arg-type]


def test_a_title_that_only_names_the_category_is_no_secret() -> None:
    assert verdict("a tall lamp", listing=Listing("Lamp", "Lamp. tall and bright")).flaw is None


def test_an_irrelevant_item_has_no_query_to_judge() -> None:
    assert verdict("red NORDLI lamp", relevant=False) == ItemVerdict(False, "", None)


def test_flaws_are_worded_with_the_products_number() -> None:
    said = reply("", "a lamp", "nordli lamp")
    assert flaws_in_words(verdicts(said, "rug", [LAMP] * 3, [LISTING] * 3)) == (
        "product 1 is marked relevant and has an empty query; "
        "product 3 has the product's name in its query; describe the product instead"
    )
