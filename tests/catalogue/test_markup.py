"""Markup goes, words stay; and cells that say "nothing"."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.listing import clean, is_invisible
from adamroute.catalogue.markup import plain
from tests.catalogue.feeds import ITEMS, listings, write_feed


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("<![CDATA[Moss rug]]>", "Moss rug"),
        ("<![CDATA[<p>5 &lt; 7</p>]]> &amp; more", "5 < 7 & more"),
        ("<![CDATA[one ]]]]><![CDATA[> two]]>", "one ]]> two"),
        ("&lt;![CDATA[Moss rug]]&gt;", "Moss rug"),
        ("black &amp; white", "black & white"),
        ("black &amp;amp; white &amp;amp;amp; red", "black & white & red"),
        ("&amp;lt;b&amp;gt;new&amp;lt;/b&amp;gt; caf&amp;eacute;", "new café"),
        ("20&#160;cm &#x2013; &euro;5", "20 cm – €5"),
        ("size < 5 cm and > 2", "size < 5 cm and > 2"),
        ("fits paper <A4 and >A6 only", "fits paper <A4 and >A6 only"),
        ("a<b and c>d", "a<b and c>d"),
        ("x <b and y> z", "x <b and y> z"),
        ("I <3 it, sizes <XL>", "I <3 it, sizes <XL>"),
        ("weight &lt;2kg, &gt;1kg", "weight <2kg, >1kg"),
        ('<img alt="Red > blue" src=x>Stacks', "Stacks"),
        ("<p style='a'class=\"b\">one<br>two<BR/>three<hr />four", "one two three four"),
        ("<input disabled><td nowrap>x</td>", "x"),
        ("<o:p>Word</o:p> <my-card>x</my-card> <price>5</price>", "Word x 5"),
        ('<product id="3"> lamp', "lamp"),
        ("a<script>alert('<b>')</script><style>p{x:1}</style>b", "a b"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;Mug", "Mug"),
        ("Mug<SCRIPT src=x>cut off", "Mug"),
        ("<!-- a <b> -->shown<!-- > -->", "shown"),
        ("<!DOCTYPE html><?xml version='1.0'?>Cup<![if !IE]> x<![endif]>", "Cup x"),
    ],
)
def test_markup_goes_and_words_stay(raw: str, wanted: str) -> None:
    assert clean(raw) == wanted


@settings(deadline=None)
@given(st.text(st.sampled_from("<>ab &;/!-[]=\"' 5"), max_size=60))
def test_what_has_no_markup_left_is_left_alone(text: str) -> None:
    once = clean(text)
    assert once == " ".join(once.split())
    if "<" not in once and "&" not in once:
        assert clean(once) == once


def test_odd_markup_is_read_in_no_time() -> None:
    for part in (
        "<a b",
        "<a b=",
        '<a b="',
        "<!--",
        "<![CDATA[",
        "<script>",
        "< ",
        "&lt;",
        "<a b c ",
    ):
        plain(part * 3000)


@pytest.mark.parametrize(
    "nothing",
    ["NULL", "null", "nan", "NaN", "n/a", "N/A", "None", "-", "NA", "\\N", "<NA>", "\u200b"],
)  # fmt: skip
def test_words_for_nothing_are_empty_in_text_looks_category_and_photo(
    tmp_path: Path, nothing: str
) -> None:
    header = ITEMS.splitlines()[0]
    feed = f"{header},photo\nA1,Kelp lamp,{nothing},{nothing},{nothing},{nothing}\n"
    shop = read_shop(write_feed(tmp_path / "s", {"items.csv": feed}, more=", image: photo"))
    (item,) = shop.catalogue.items
    assert (item.title, item.text, item.category, item.visual) == (
        "Kelp lamp",
        "Kelp lamp",
        "",
        {},
    )
    assert (item.image, shop.problems) == (None, {"missing_photos": 1})


def test_words_for_nothing_stay_within_a_text(tmp_path: Path) -> None:
    feed = ITEMS.replace("Kelp lamp", "None the wiser").replace("Moss rug", "Na")
    shop = read_shop(write_feed(tmp_path / "s", {"items.csv": feed}))
    assert listings(shop) == {"A1": "None the wiser. dims", "A2": "Na. x"}


@pytest.mark.parametrize(
    "text", ["", " \t", "\u200b\u200d", "\u2800\u3164", "\ufe0f", "\u202e\xad"]
)
def test_what_nobody_sees_is_invisible(text: str) -> None:
    assert is_invisible(text)
    assert not is_invisible(f"{text}a")
    assert not is_invisible(f"{text}👍")
