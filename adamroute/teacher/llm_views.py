"""What prompts show of histories and listings: the latest few, so that a prompt stays bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adamroute.catalogue.request import Interaction
from adamroute.catalogue.shop import profile_line
from adamroute.retrieval.search_index import SearchIndex
from adamroute.teacher.llm_replies import Listing
from adamroute.teacher.neighbours import Neighbour
from adamroute.teacher.policy import Turn
from adamroute.theta import Theta

CHOICES = 20  # latest interactions of a user in the preference prompt
GLANCED = 4  # latest interactions of each neighbour in the start prompt
STEPS = 10  # latest steps of the memory in the update prompt


@dataclass(frozen=True)
class Listings:
    """The catalogue as prompts show it."""

    titles: Sequence[str]
    texts: Sequence[str]
    visual: Sequence[Mapping[str, str]]
    row_of: Mapping[str, int]

    @classmethod
    def of(cls, index: SearchIndex) -> Listings:
        return cls(index.titles, index.profile_texts, index.visual, index.row_of)

    def __len__(self) -> int:
        return len(self.titles)

    def at(self, row: int) -> Listing:
        """Item profile s_i: looks, then listing."""
        return Listing(self.titles[row], profile_line(self.texts[row], self.visual[row]))

    def choices(self, history: Sequence[Interaction], count: int) -> list[ShownInteraction]:
        """The latest `count` interactions, the oldest of them first; items that left are skipped.

        Timestamps tie in shops without clocks: the order of the history decides then.
        """
        known = [x for x in history if x.item_id in self.row_of]
        return [
            ShownInteraction(x.positive, self.at(self.row_of[x.item_id]).text)
            for x in known[-count:]
        ]


@dataclass(frozen=True, slots=True)
class ShownInteraction:
    """An interaction in a prompt."""

    positive: bool
    listing: str


@dataclass(frozen=True, slots=True)
class Friend:
    """A neighbour in a prompt: no name, only taste and theta."""

    similarity: float
    theta: Theta
    choices: Sequence[ShownInteraction]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the memory in a prompt."""

    query: str
    text_rank: int
    mm_rank: int
    theta: Theta
    reason: str


def friends(neighbours: Sequence[Neighbour], listings: Listings) -> list[Friend]:
    """The neighbours, nearest first."""
    return [
        Friend(n.similarity, n.theta, listings.choices(n.history, GLANCED)) for n in neighbours
    ]


def steps(turn: Turn) -> list[Step]:
    """The latest steps of a turn's memory, the oldest of them first."""
    pairs = zip(turn.memory.observations, turn.memory.thoughts, strict=True)
    shown = [Step(o.query.text, o.rank.text, o.rank.mm, t.theta, t.reason) for o, t in pairs]
    return shown[-STEPS:]
