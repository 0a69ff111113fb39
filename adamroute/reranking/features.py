"""What a re-ranker may know of a candidate, as a vector: it is held against query and profile.

Scores are in deviations over the catalogue, so that those of both branches, and of easy and hard
queries, can be added.

Attribute filtering (paper, section 3.4): a candidate found by text alone is judged without the
visual attributes of its profile: its two `*_looks` features are 0 whatever its looks are, and the
profile that a language model reads names none beyond what the listing itself says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.request import PreferenceProfile
from adamroute.encoders.seams import TextEncoder, Vectors
from adamroute.retrieval.dual import Candidates
from adamroute.retrieval.item_facts import ItemFacts, words

FEATURES = (
    "text_score",  # similarity in each branch, in deviations
    "mm_score",
    "fused_score",  # theta's: alpha of the text score, the rest of the other
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
    "said_listing",  # share of the query's words, by their rarity, that the listing has
    "said_looks",  # the same of the looks
    "collaborative",  # 1 where only the neighbours brought it
)
READ = (  # features whose worth depends on theta: by looks or by use
    "text_score", "mm_score", "log_text_rank", "log_mm_rank", "asked_category", "asked_looks",
    "said_listing", "said_looks",
)  # fmt: skip
READING = tuple(f"{name} x alpha" for name in READ)
_READ = [FEATURES.index(name) for name in READ]
FAR_RANK = 200  # ranks beyond it count alike: neighbours' items at rank 2,000 would bend the fit


@dataclass(frozen=True)
class Asked:
    """One request as a re-ranker sees it."""

    query: str  # the preference text where the request has no query
    vector: NDArray[np.float32]  # [D], E_txt of it
    spread: tuple[float, float]  # deviation of its scores over the catalogue, text and multimodal
    profile: PreferenceProfile
    parts: Vectors  # [3, D], E_txt of strong_pref, nice_to_have, dislike; 0 where empty
    liked: NDArray[np.int64]  # [H] rows of the history's positives


@dataclass(frozen=True)
class Case:
    """A request and its candidates, as a re-ranker of features or of texts reads them."""

    query: str
    profile: PreferenceProfile
    candidates: Candidates
    features: NDArray[np.float64]  # [K, F] of FEATURES
    profiles: tuple[str, ...]  # s_i of every candidate, [K]
    alpha: float | None  # of a theta that was decided for this request, None of a fixed one


def encode_parts(encoder: TextEncoder, profiles: Sequence[PreferenceProfile]) -> Vectors:
    """E_txt of every profile's three parts in one batch, [B, 3, D]; 0 where a part is empty."""
    texts = [", ".join(p) for q in profiles for p in (q.strong_pref, q.nice_to_have, q.dislike)]
    told = [place for place, text in enumerate(texts) if text]
    vectors = np.zeros((len(texts), encoder.dimensions), np.float32)
    if told:
        vectors[told] = encoder.encode([texts[place] for place in told])
    return vectors.reshape(len(profiles), 3, encoder.dimensions)


def ranking_case(
    found: Candidates,
    asked: Asked,
    facts: ItemFacts,
    alpha: float,
    *,
    decided: bool = True,
    attribute_filter: bool = True,
) -> Case:
    """All that a re-ranker may know, candidates in the order of `found`.

    `alpha` is theta's; `decided` whether it says something of this request.
    """
    seen = looks_seen(found) if attribute_filter else np.ones(len(found), np.bool_)
    return Case(
        query=asked.query,
        profile=asked.profile,
        candidates=found,
        features=candidate_features(found, asked, facts, alpha, seen),
        alpha=alpha if decided else None,
        profiles=tuple(
            (facts.profiles if looks else facts.profiles_without_looks)[row]
            for row, looks in zip(found.rows.tolist(), seen.tolist(), strict=True)
        ),
    )


def looks_seen(found: Candidates) -> NDArray[np.bool_]:
    """[K] whose looks may count: not those of candidates that text alone has found."""
    return np.array([origin != "text" for origin in found.origin], np.bool_)


def candidate_features(
    found: Candidates,
    asked: Asked,
    facts: ItemFacts,
    alpha: float,
    seen: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """[K, F] of FEATURES, one row a candidate in the order of `found`; `seen` as `looks_seen`."""
    seen = looks_seen(found) if seen is None else seen
    text, mm = found.text_scores / asked.spread[0], found.mm_scores / asked.spread[1]
    vectors = facts.text_vectors[found.rows]
    parts = vectors @ asked.parts.T
    liked = _liked(vectors, facts.text_vectors[asked.liked])
    ranks = np.minimum(np.stack([found.text_ranks, found.mm_ranks]), FAR_RANK)
    numbers = [
        text, mm, alpha * text + (1.0 - alpha) * mm,
        *np.log(ranks), np.log(ranks.min(axis=0)),
        *liked, *parts.T, *_matches(found, asked, facts, seen).T,
        np.array([origin == "collaborative" for origin in found.origin]),
    ]  # fmt: skip
    return np.stack([np.asarray(column, np.float64) for column in numbers], axis=1)


def with_theta(features: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """[K, F + R]: those of READ also times alpha, from -1 (all by photos) to 1 (all by text)."""
    return np.hstack([features, features[:, _READ] * (2.0 * alpha - 1.0)])


def _liked(vectors: Vectors, liked: Vectors) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    if not len(liked):
        nothing = np.zeros(len(vectors), np.float32)
        return nothing, nothing
    similar = vectors @ liked.T
    return similar.max(axis=1), similar.mean(axis=1)


def _matches(
    found: Candidates, asked: Asked, facts: ItemFacts, seen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """[K, 6]: category and looks, wished and asked, and the rarity that listing and looks say."""
    wishes = frozenset((*asked.profile.strong_pref, *asked.profile.nice_to_have))
    dislikes = frozenset(asked.profile.dislike)
    said = words(asked.query)
    rarity = facts.rarities(said)
    table = np.zeros((len(found.rows), 6))
    for k, row in enumerate(found.rows):
        traits = facts.traits[row]
        table[k, 0] = (traits.category in wishes) - (traits.category in dislikes)
        table[k, 1] = _share(facts.category_words[row], said)
        table[k, 4] = sum(rarity[word] for word in said & facts.listing_words[row])
        if seen[k]:  # attribute filtering
            looks = frozenset(traits.looks)
            table[k, 2] = _share(looks, wishes) - _share(looks, dislikes)
            table[k, 3] = _share(facts.look_words[row], said)
            table[k, 5] = sum(rarity[word] for word in said & facts.look_words[row])
    return table


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part & whole) / len(part) if part else 0.0
