"""Titles, listings and clean words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adamroute.catalogue.listing import TitleTemplate, clean, listing, sentences

words = st.lists(st.from_regex(r"\A[a-z0-9åß,%-]+\Z"), min_size=1).map(" ".join)


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("  two \t\n\xa0words ", "two words"),
        ("<p>soft<br/>cotton</p>", "soft cotton"),
        ("black &amp; white &lt;b&gt;new&lt;/b&gt;", "black & white new"),
        ("<!-- hidden -->shown", "shown"),
        ("5 < 7 and 9 > 8, I <3 it", "5 < 7 and 9 > 8, I <3 it"),
        ("co\xadtton\u200b\x07 bag", "cotton bag"),
        ("\u200b", ""),
    ],
)
def test_markup_and_odd_whitespace_go(raw: str, wanted: str) -> None:
    assert clean(raw) == wanted


@settings(deadline=None)
@given(st.text())
def test_clean_words_stand_on_one_line_with_single_spaces(text: str) -> None:
    assert clean(text) == " ".join(clean(text).split())


@settings(deadline=None)
@given(words)
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert clean(text) == text


def test_a_bare_column_name_is_a_title_too() -> None:
    template = TitleTemplate.parse("Product title")
    assert template.columns == ("Product title",)
    assert template.render({"Product title": "Red  cup"}) == "Red cup"


def test_a_template_keeps_the_words_between_columns() -> None:
    template = TitleTemplate.parse("{name} in {color}, {{new}}")
    assert template.render({"name": "Cup", "color": "red"}) == "Cup in red, {new}"
    assert template.render({"name": "", "color": ""}) == ""
    assert TitleTemplate.parse("{ name }").columns == ("name",)


@pytest.mark.parametrize("text", ["{}", "{name!r}", "{name:>9}", "{name", "name}"])
def test_other_uses_of_braces_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        TitleTemplate.parse(text)


def test_a_listing_is_name_type_full_stop_description() -> None:
    cells = {"name": "MALA", "type": "easel", "description": "For two."}
    columns = ("name", "type", "description")
    assert listing(cells, columns, TitleTemplate.parse("{name} {type}")) == "MALA easel. For two."


def test_a_listing_reads_no_column_that_only_the_title_names() -> None:
    cells = {"name": "Mala", "color": "white", "description": "For two."}
    title = TitleTemplate.parse("{color} {name}")
    assert listing(cells, ("name", "description"), title) == "Mala. For two."


def test_a_listing_skips_what_is_empty() -> None:
    title = TitleTemplate.parse("title")
    assert listing({"title": "Cup", "b": " ", "c": "Gift"}, ("title", "b", "c"), title) == (
        "Cup. Gift"
    )
    assert listing({"title": "", "b": "<br>"}, ("title", "b"), title) == ""


def test_sentences_that_end_by_themselves_get_no_second_full_stop() -> None:
    assert sentences(["New!", "Is it red?", "Yes.", "", "end"]) == "New! Is it red? Yes. end"
