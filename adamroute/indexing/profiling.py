"""Stage `profile`: a vision model reads every item's photo and listing into named attributes.

One ask an item. Good replies are kept in a file beside the run, so a run that was killed goes on
where it was, and a changed item alone is asked for again. An item whose reply fails keeps the
shop's own columns (source `embedded`); each failure is counted by its name in the manifest. To
ask for the failed ones again, delete the stage's manifest and run it once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.item_profiles import PROFILES_FILE, Attribute, ProfileRow
from adamroute.catalogue.photo_files import decoded
from adamroute.catalogue.shop import Item
from adamroute.config import Config
from adamroute.errors import ConfigError
from adamroute.llm.chat import Ask, ChatEngine, Reply, ReplyForm
from adamroute.llm.engines import chat_engine
from adamroute.llm.fence import clean
from adamroute.llm.prompts import Prompt, prompts
from adamroute.pipeline import PROFILE
from adamroute.progress import Progress
from adamroute.stages import Counts, Manifest, Work, write_text

PROMPT = "item_profile"
LISTING_LIMIT = 2_000  # characters
MOST = 12  # attributes an item
NAME_CHARS, VALUE_CHARS, SUMMARY_CHARS = 30, 60, 200
CHUNK = 64  # items an engine call, between two steps of the progress bar
REPLIES_FILE = "profile_replies.sqlite"


class ItemAttribute(ReplyForm):
    """One thing that the model says of an item."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_CHARS)]
    value: Annotated[str, Field(min_length=1, max_length=VALUE_CHARS)]
    visual: bool  # a photo shows it


class ItemProfile(ReplyForm):
    """What the model says of an item."""

    attributes: Annotated[list[ItemAttribute], Field(max_length=MOST)]
    summary: Annotated[str, Field(max_length=SUMMARY_CHARS)]


def run_profile(config: Config, progress: Progress, engine: ChatEngine | None = None) -> Manifest:
    """Write profiles/ from the shop folder, or return at once where it is up to date.

    EngineError where the model can't be used at all; what fails later is counted, item by item.
    """
    llm = config.profiler.llm
    if config.profiler.kind == "embedded" or llm is None:
        raise ConfigError(
            "profiler.kind: embedded needs no stage of its own, the index reads the shop's "
            "columns. Set profiler: {kind: llm, llm: {engine: ..., model: ...}} for profiles"
        )
    if PROFILE.is_fresh(config):
        progress.note(f"profile: {PROFILE.path(config)} is up to date")

    def make(work: Work) -> Counts:
        asked = engine or chat_engine(llm, config.out / "cache" / REPLIES_FILE)
        asked.check()
        items = decoded(read_shop(config.shop), progress).catalogue.items
        rows, counts = profile_items(items, asked, llm.max_tokens, progress)
        if counts["failures"]:
            progress.note(
                f"profile: {counts['failures']} of {len(rows)} items keep the shop's columns "
                f"alone; delete {PROFILE.path(config)} and run again to ask for them"
            )
        lines = "".join(f"{row.model_dump_json()}\n" for row in rows)
        write_text(work.folder / PROFILES_FILE, lines)
        return {**counts, "engine": asked.name}

    return PROFILE.run(config, make)


def profile_items(
    items: Sequence[Item], engine: ChatEngine, max_tokens: int, progress: Progress
) -> tuple[list[ProfileRow], dict[str, JsonValue]]:
    """A row an item, in order, with what the asks cost and how many failed by which name."""
    rows: list[ProfileRow] = []
    costs: Counter[str] = Counter()
    with progress.task("item profiles", total=len(items)) as advance:
        for start in range(0, len(items), CHUNK):
            chunk = items[start : start + CHUNK]
            replies = engine.chat([item_ask(item, max_tokens) for item in chunk])
            for item, reply in zip(chunk, replies, strict=True):
                rows.append(_row(item, reply))
                costs.update(prompt_tokens=reply.prompt_tokens, reply_tokens=reply.reply_tokens)
            advance(len(chunk))
    failures = Counter(row.failure for row in rows if row.failure)
    counts: dict[str, JsonValue] = {
        "items": len(rows),
        "by_the_model": sum(row.source == "llm" for row in rows),
        "items_without_photo": sum(item.image is None for item in items),
        "failures": dict(sorted(failures.items())),
        **costs,
    }
    return rows, counts


def item_ask(item: Item, max_tokens: int) -> Ask[ItemProfile]:
    """Photo and fenced listing of one item."""
    prompt = profile_prompt()
    return Ask(
        prompt=prompt.stamp,
        system=prompt.part("system", most=MOST),
        user=prompt.part(
            "user", photo=item.image is not None, listing=item.text, listing_limit=LISTING_LIMIT
        ),
        form=ItemProfile,
        max_tokens=max_tokens,
        images=() if item.image is None else (item.image,),
    )


def profile_prompt() -> Prompt:
    """The profiler's template."""
    return prompts(Path(__file__).with_name("prompts"))[PROMPT]


def _row(item: Item, reply: Reply[ItemProfile]) -> ProfileRow:
    said = reply.value
    if said is None:
        return ProfileRow(item_id=item.item_id, source="embedded", failure=reply.failure)
    found = {}
    for attribute in said.attributes:
        name = clean(attribute.name, NAME_CHARS).lower()
        value = clean(attribute.value, VALUE_CHARS).lower()
        if name and value and name not in found:  # the first of a name stands
            found[name] = Attribute(name=name, value=value, visual=attribute.visual)
    return ProfileRow(
        item_id=item.item_id,
        source="llm",
        attributes=tuple(found.values()),
        summary=clean(said.summary, SUMMARY_CHARS),
    )
