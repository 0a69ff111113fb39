"""What the judging page does: lists for a query, and a person's word on them, kept in a file.

A click on an item is a grade of 4 for it. "None of these" is a grade of 0 for each item shown, and
is taken back by a later click for the same query. Every act has a number, so that the last one can
be undone, after a new start too. The rows are held in memory: whoever has this has the run's lock.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock

from adamroute.catalogue.judged_file import JudgedRow, keep_rows, kept_rows
from adamroute.catalogue.judgements import MOST_GRADE, normalised
from adamroute.catalogue.listing import clean_spaces, is_invisible
from adamroute.catalogue.photo_decoding import open_photo
from adamroute.catalogue.queries import MAX_QUERY_CHARACTERS
from adamroute.catalogue.table_files import inside
from adamroute.errors import RequestError, ShopError
from adamroute.retrieval.search_index import SearchIndex

SHOWN = 10  # items of each list
SIDE = 256  # longest side of a thumbnail, px
ABOUT = 110  # characters of a listing that a card has
TEXT_KEYS, PHOTO_KEYS = "1234567890", "abcdefghij"
_ACT = re.compile(r"page:([0-9]+)")
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Card:
    """An item as a list shows it."""

    item_id: str
    title: str
    about: str
    photo: int | None  # row of the index, where it has one
    key: str  # on the keyboard, or blank
    meant: bool


@dataclass(frozen=True, slots=True)
class TwoLists:
    """What each branch finds for a query, best first."""

    query: str
    text: tuple[Card, ...]
    photos: tuple[Card, ...]
    answered: bool  # an item was meant, shown here or not


@dataclass(frozen=True, slots=True)
class Named:
    """Items found by their names, whatever the branches think of them."""

    words: str
    cards: tuple[Card, ...]
    total: int  # with those that are not shown


@dataclass(frozen=True, slots=True)
class Act:
    """One thing said on the page."""

    source: str
    query: str
    meant: str | None  # title of the item; None: none of those shown


@dataclass(frozen=True, slots=True)
class Tally:
    """How far it got."""

    judged: int  # queries with an item that was meant
    unanswered: int  # queries of which nothing shown was
    last: Act | None


class JudgeDesk:
    """The page's work, without HTTP."""

    def __init__(self, index: SearchIndex, shop: Path, file: Path) -> None:
        """`shop` is the folder that photos lie in; ShopError where `file` has a broken line."""
        self._index = index
        self._shop = shop.resolve()
        self._file = file
        self._rows = kept_rows(file)
        self._busy = Lock()
        self.thumbnail = lru_cache(maxsize=512)(self._thumbnail)

    @property
    def version(self) -> str:
        """Of the index: photos of another one are others."""
        return self._index.hash

    def lists(self, words: str) -> TwoLists:
        """RequestError where the words cannot be a query."""
        query = _checked(words)
        meant = {row.item_id for row in self._of(query) if _positive(row)}
        with self._busy:
            encoded = self._index.encode([query])
            retriever = self._index.retriever
            text = retriever.text.search(encoded.text[0], SHOWN).rows.tolist()
            photos = retriever.mm.search(encoded.mm[0], SHOWN).rows.tolist()
        return TwoLists(
            query,
            self._cards(text, TEXT_KEYS, meant),
            self._cards(photos, PHOTO_KEYS, meant),
            answered=bool(meant),
        )

    def named(self, words: str, query: str) -> Named:
        """Items that all the words stand in the title or the id of, one of that very id first.

        What was meant need not be among the lists: judged there alone, every target would be one
        that the branches find at once, and any split would look perfect.
        """
        index, wanted = self._index, normalised(words)
        meant = {row.item_id for row in self._of(query) if _positive(row)}
        rows = [
            row
            for row, names in enumerate(zip(index.titles, index.ids, strict=True))
            if all(word in " ".join(names).casefold() for word in wanted.split())
        ]
        rows.sort(key=lambda row: index.ids[row].casefold() != wanted)
        return Named(words, self._cards(rows, " " * SHOWN, meant), len(rows))

    def mean(self, words: str, item_id: str) -> None:
        """This item was meant. RequestError where the index does not hold it."""
        query = _checked(words)
        if item_id not in self._index.row_of:
            raise RequestError("item_id", "This item is not in the index. Search again")
        with self._busy:
            if any(row.item_id == item_id and _positive(row) for row in self._of(query)):
                return
            taken_back = {id(row) for row in self._of(query) if _act(row) and not _positive(row)}
            kept = [row for row in self._rows if id(row) not in taken_back]
            source = self._next_act()
            said = JudgedRow(query=query, item_id=item_id, grade=MOST_GRADE, source=source)
            self._keep((*kept, said))

    def mean_none(self, words: str) -> None:
        """Nothing that is shown for it was meant. RequestError where something was before."""
        found = self.lists(words)
        with self._busy:
            known = self._of(found.query)
            if any(_positive(row) for row in known):
                raise RequestError("query", "An item was meant for these words. Undo that first")
            items = dict.fromkeys(card.item_id for card in (*found.text, *found.photos))
            source = self._next_act()
            graded = {row.item_id for row in known if row.grade is not None}
            said = [
                JudgedRow(query=found.query, item_id=item, grade=0.0, source=source)
                for item in items
                if item not in graded
            ]
            self._keep((*self._rows, *said))

    def undo(self) -> str | None:
        """Take the last act of this page back; its query, None where there is none."""
        with self._busy:
            last = self._last()
            if last is None:
                return None
            self._keep([row for row in self._rows if row.source != last.source])
            return last.query

    def tally(self) -> Tally:
        queries: dict[str, bool] = defaultdict(bool)
        for row in self._rows:
            queries[normalised(row.query)] |= _positive(row)
        judged = sum(queries.values())
        return Tally(judged, len(queries) - judged, self._last())

    def _thumbnail(self, row: int) -> bytes:
        """JPEG of an item's photo; ShopError where it has none that can be read.

        Only what the index names is opened, inside the shop folder, and it is drawn anew.
        """
        name = self._index.images[row] if 0 <= row < len(self._index) else None
        if name is None:
            raise ShopError(f"no photo of row {row}")
        image = open_photo(inside(self._shop, name, "index/items.parquet"), SIDE).image
        image.thumbnail((SIDE, SIDE))
        stream = io.BytesIO()
        image.save(stream, "JPEG", quality=85)
        return stream.getvalue()

    def _cards(self, rows: Sequence[int], keys: str, meant: set[str]) -> tuple[Card, ...]:
        index = self._index
        return tuple(
            Card(
                item_id=index.ids[row],
                title=index.titles[row],
                about=_about(index.titles[row], index.texts[row]),
                photo=row if index.images[row] else None,
                key=key,
                meant=index.ids[row] in meant,
            )
            for row, key in zip(rows, keys, strict=False)
        )

    def _of(self, query: str) -> list[JudgedRow]:
        key = normalised(query)
        return [row for row in self._rows if normalised(row.query) == key]

    def _last(self) -> Act | None:
        acts = [row for row in self._rows if _act(row)]
        if not acts:
            return None
        row = max(acts, key=_act)
        at = self._index.row_of.get(row.item_id)
        title = row.item_id if at is None else self._index.titles[at]
        return Act(row.source, row.query, title if _positive(row) else None)

    def _next_act(self) -> str:
        return f"page:{1 + max(map(_act, self._rows), default=0)}"

    def _keep(self, rows: Sequence[JudgedRow]) -> None:
        keep_rows(self._file, rows)
        self._rows = tuple(rows)


def _checked(words: str) -> str:
    if is_invisible(words):
        raise RequestError("query", "Type what a shopper would, a few words are enough")
    if len(words) > MAX_QUERY_CHARACTERS:
        most = f"At most {MAX_QUERY_CHARACTERS:,} characters"
        raise RequestError("query", f"{most}, these are {len(words):,}. Shorten them")
    if _UNUSABLE.search(words):
        raise RequestError("query", "A character that is no text. Type the words anew")
    return clean_spaces(words)


def _positive(row: JudgedRow) -> bool:
    return bool(row.grade or row.clicks)


def _act(row: JudgedRow) -> int:
    """Number of the act on the page; 0 where the row was imported."""
    found = _ACT.fullmatch(row.source)
    return int(found[1]) if found else 0


def _about(title: str, listing: str) -> str:
    """The listing's first words, without the title that most of them begin with."""
    text = listing.removeprefix(title).lstrip(" .")
    return text if len(text) <= ABOUT else text[: ABOUT - 1].rsplit(" ", 1)[0] + " …"
