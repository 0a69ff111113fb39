"""What a scorer may know of one candidate, as a vector: the candidate against query and profile.

Attribute filtering (paper, section 3.4): a candidate found by text alone is judged without the
visual attributes of its profile: its two `*_looks` features are 0 whatever its looks are, and the
profile that a language model reads names none beyond what the listing itself says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.preferences import PreferenceProfile, Traits, item_traits
from adamroute.catalogue.shop import Interaction, profile_line
from adamroute.encoders.seams import TextEncoder, Vectors
from adamroute.retrieval.dual import Candidates

FEATURES = (
    "text_score",  # similarity in each branch
    "mm_score",
    "log_text_rank",  # at most FAR_RANK
    "log_mm_rank",
    "log_best_rank",  # of the two
    "liked_max",  # text similarity to the positives of the history, 0 without any
    "liked_mean",
    "strong_pref",  # text similarity to each part of the profile, 0 where it is empty
    "nice_to_have",
    "dislike",
    "wished_category",  # 1 among the wishes, -1 among the dislikes, else 0
    "asked_category",  # share of the category's words that the query says
    "wished_looks",  # share of the looks among the wishes, less the share among the dislikes
    "asked_looks",  # share of the words of the looks that the query says
    "collaborative",  # 1 where only the neighbours brought it
)
FAR_RANK = 200  # ranks beyond it count alike: neighbours' items at rank 2,000 would bend the fit
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Asked:
    """One request as the scorer sees it."""

    query: str  # the preference text where the request has no query
    vector: NDArray[np.float32]  # [D], E_txt of it
    profile: PreferenceProfile
    parts: Vectors  # [3, D], E_txt of strong_pref, nice_to_have, dislike; 0 where empty
    liked: NDArray[np.int64]  # [H] rows of the history's positives


@dataclass(frozen=True)
class ItemFacts:
    """What features read of the catalogue, by row."""

    text_vectors: Vectors  # [N, D]
    profiles: tuple[str, ...]  # s_i
    profiles_without_looks: tuple[str, ...]
    traits: tuple[Traits, ...]
    category_words: tuple[frozenset[str], ...]
    look_words: tuple[frozenset[str], ...]


@dataclass(frozen=True)
class Case:
    """A request and its candidates, as a scorer of features or a scorer of texts reads them."""

    query: str
    profile: PreferenceProfile
    candidates: Candidates
    features: NDArray[np.float64]  # [K, F] of FEATURES
    profiles: tuple[str, ...]  # s_i of every candidate, [K]


def item_facts(
    text_vectors: Vectors,
    texts: Sequence[str],
    categories: Sequence[str],
    visual: Sequence[Mapping[str, str]],
) -> ItemFacts:
    """Facts from the arrays and columns of an index."""
    traits = tuple(item_traits(c, v) for c, v in zip(categories, visual, strict=True))
    return ItemFacts(
        text_vectors,
        tuple(profile_line(t, v) for t, v in zip(texts, visual, strict=True)),
        tuple(profile_line(t, {}) for t in texts),
        traits,
        tuple(words(t.category) for t in traits),
        tuple(words(" ".join(t.looks)) for t in traits),
    )


def encode_parts(encoder: TextEncoder, profiles: Sequence[PreferenceProfile]) -> Vectors:
    """E_txt of every profile's three parts in one batch, [B, 3, D]; 0 where a part is empty."""
    texts = [", ".join(p) for q in profiles for p in (q.strong_pref, q.nice_to_have, q.dislike)]
    told = [place for place, text in enumerate(texts) if text]
    vectors = np.zeros((len(texts), encoder.dimensions), np.float32)
    if told:
        vectors[told] = encoder.encode([texts[place] for place in told])
    return vectors.reshape(len(profiles), 3, encoder.dimensions)


def liked_items(history: Sequence[Interaction], row_of: Mapping[str, int]) -> NDArray[np.int64]:
    """Rows of a history's positives, [H]; the latest label of an item counts."""
    labels = {x.item_id: x.positive for x in history}
    return np.array([row_of[item] for item, positive in labels.items() if positive], np.int64)


def scoring_case(found: Candidates, asked: Asked, facts: ItemFacts) -> Case:
    """All that a scorer may know, candidates in the order of `found`."""
    return Case(
        query=asked.query,
        profile=asked.profile,
        candidates=found,
        features=candidate_features(found, asked, facts),
        profiles=tuple(
            (facts.profiles_without_looks if origin == "text" else facts.profiles)[row]
            for row, origin in zip(found.rows.tolist(), found.origin, strict=True)
        ),
    )


def candidate_features(found: Candidates, asked: Asked, facts: ItemFacts) -> NDArray[np.float64]:
    """[K, F] of FEATURES, one row a candidate in the order of `found`."""
    vectors = facts.text_vectors[found.rows]
    parts = vectors @ asked.parts.T
    liked = _liked(vectors, facts.text_vectors[asked.liked])
    ranks = np.minimum(np.stack([found.text_ranks, found.mm_ranks]), FAR_RANK)
    numbers = [
        found.text_scores, found.mm_scores,
        *np.log(ranks), np.log(ranks.min(axis=0)),
        *liked, *parts.T, *_matches(found, asked, facts).T,
        np.array([origin == "collaborative" for origin in found.origin]),
    ]  # fmt: skip
    return np.stack([np.asarray(column, np.float64) for column in numbers], axis=1)


def words(text: str) -> frozenset[str]:
    """Lower-case words and numbers of a text."""
    return frozenset(_WORD.findall(text.lower()))


def _liked(vectors: Vectors, liked: Vectors) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    if not len(liked):
        nothing = np.zeros(len(vectors), np.float32)
        return nothing, nothing
    similar = vectors @ liked.T
    return similar.max(axis=1), similar.mean(axis=1)


def _matches(found: Candidates, asked: Asked, facts: ItemFacts) -> NDArray[np.float64]:
    """[K, 4]: wished_category, asked_category, wished_looks, asked_looks."""
    wishes = frozenset((*asked.profile.strong_pref, *asked.profile.nice_to_have))
    dislikes = frozenset(asked.profile.dislike)
    said = words(asked.query)
    table = np.zeros((len(found.rows), 4))
    for k, row in enumerate(found.rows):
        traits = facts.traits[row]
        table[k, 0] = (traits.category in wishes) - (traits.category in dislikes)
        table[k, 1] = _share(facts.category_words[row], said)
        if found.origin[k] != "text":  # attribute filtering
            looks = frozenset(traits.looks)
            table[k, 2] = _share(looks, wishes) - _share(looks, dislikes)
            table[k, 3] = _share(facts.look_words[row], said)
    return table


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part & whole) / len(part) if part else 0.0
