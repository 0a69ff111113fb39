"""Plain words of text that may hold HTML or XML: tags, comments, scripts, CDATA, entities.

A `<` that begins no tag is a sign like any other: `fits <A4 and >A6` keeps its words. A tag is
known by its name, or by what no sentence holds: quoted attributes, a namespace, a slash, an end
tag of the same name.
"""

from __future__ import annotations

import html
import re

_ROUNDS = 4  # feeds hold &amp;amp;lt;
_ELEMENTS = (
    "a abbr acronym address area article aside audio b base bdi bdo big blink blockquote body br "
    "button canvas caption center cite code col colgroup data datalist dd del details dfn dialog "
    "dir div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 "
    "h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main map "
    "mark marquee menu meta meter nav noscript object ol optgroup option output p param picture "
    "pre progress q rp rt ruby s samp script section select small source span strike strong style "
    "sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u "
    "ul var video wbr"
)
_NAMES = frozenset(_ELEMENTS.split())
_BARE_ATTRIBUTES = (  # those that stand without a value
    "allowfullscreen async autoplay checked controls defer disabled hidden ismap itemscope loop "
    "multiple muted novalidate noshade nowrap open readonly required reversed selected"
)
_BARE = frozenset(_BARE_ATTRIBUTES.split())
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.S)
_CODE = re.compile(r"<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.S | re.I)
_DECLARED = re.compile(r"<!--.*?-->|<!doctype\b[^<>]*>|<!\[[^<>]*>|<\?[^<>]*\?>", re.S | re.I)
_VALUE = r"""(?:"[^"]*"|'[^']*'|[^\s"'<>=]+)"""
_ATTRIBUTE = rf"""[^\s"'<>/=]+(?:\s*=\s*{_VALUE})?"""
_TAG = re.compile(
    rf"""<(/?)([a-z][\w:.-]*)((?:[\s/]+{_ATTRIBUTE}|(?<=["']){_ATTRIBUTE})*)\s*(/?)>""", re.I
)


def plain(text: str) -> str:
    """The text without markup; a space stands where a tag, a comment or a script stood."""
    if "<" not in text and "&" not in text:
        return text
    for _ in range(_ROUNDS):
        found = html.unescape(_without_markup(text))
        if found == text:
            break
        text = found
    return _without_markup(text)


def _without_markup(text: str) -> str:
    if "<" not in text:
        return text
    text = _DECLARED.sub(" ", _CODE.sub(" ", _CDATA.sub(r"\1", text)))
    ended = {found[2].lower() for found in _TAG.finditer(text) if found[1]}
    return _TAG.sub(lambda found: " " if _is_tag(found, ended) else found[0], text)


def _is_tag(found: re.Match[str], ended: set[str]) -> bool:
    name, attributes = found[2].lower(), found[3]
    known = name in _NAMES or name in ended or ":" in name or "-" in name
    if found[1] or found[4] or '"' in attributes or "'" in attributes:
        return True
    words = attributes.lower().split()
    return known and all("=" in word or word in _BARE for word in words)
