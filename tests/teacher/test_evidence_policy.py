"""The evidence policy, with beliefs and thetas worked by hand."""

from dataclasses import replace

import numpy as np
import pytest

from adamroute.catalogue.item_words import INTENTS, item_words, words_in
from adamroute.catalogue.request import PreferenceProfile, Request
from adamroute.leaning import Leaning
from adamroute.retrieval.replay import TargetRank, TargetRanks, recall_surfaces
from adamroute.teacher.belief import alpha_votes
from adamroute.teacher.context import Context, Evidence
from adamroute.teacher.evidence_policy import KIND_SUBSTITUTED, NO_NEIGHBOURS, EvidencePolicy
from adamroute.teacher.intent_model import IntentModel
from adamroute.teacher.neighbours import Neighbour
from adamroute.teacher.paraphrase import VERBATIM, Paraphraser
from adamroute.teacher.policy import Memory, Observation, Turn
from adamroute.teacher.pseudo_queries import PseudoQuery
from adamroute.theta import ALPHAS, Bins, Theta
from tests.leanings import AS_MEAN

BINS = Bins(20)  # one budget: surfaces are [11, 1]
FALLING = (1.0 - np.array(ALPHAS))[:, None]  # likes the multimodal branch
RISING = np.array(ALPHAS)[:, None]
# Visual queries vote for alpha 0 and functional ones for alpha 1, four to one; mixed ones spread.
VOTES = np.zeros((3, 11))
VOTES[0, [0, 10]] = 0.8, 0.2
VOTES[1, [0, 10]] = 0.2, 0.8
VOTES[2] = 1 / 11
LAMP = item_words("NORDLI lamp", "gives soft light. folds flat", "lamp", {"colour": "red"})
PLAIN = item_words("NORDLI lamp", "gives soft light", "lamp", {})


def policy(
    *, strength: float = 1.0, share: float = 0.0, lam: float = 0.0, reach: float = 0.5
) -> EvidencePolicy:
    """A sure classifier: the first axis is visual (prior falls), the second functional (rises)."""
    weights = 50.0 * np.eye(3, 2)
    surfaces = np.stack([FALLING, RISING, np.zeros_like(RISING)])
    composition = IntentModel(weights, np.zeros(3), surfaces, VOTES)
    leaning = Leaning(scale=0.3, reach=reach)  # a visual query's votes have their mean at .2
    return EvidencePolicy(composition, VERBATIM, BINS, lam, strength, share, leaning)


def task(
    axis: int = 0, *, neighbours: tuple[Neighbour, ...] = (), query: str = "red lamp please"
) -> Context:
    items = (Evidence("i0", 0, LAMP), Evidence("i1", 1, PLAIN))
    vector = np.eye(2, dtype=np.float32)[axis]
    return Context(Request("r", None, query, ()), vector, PreferenceProfile(), neighbours, items)


def seen(text_rank: int, mm_rank: int) -> Observation:
    rank = TargetRank(text_rank, mm_rank, (1,) * 11)
    return Observation(PseudoQuery("i0", 0, "visual", "red lamp"), rank)


def test_the_start_follows_the_kind_of_the_query() -> None:
    assert policy().start([task(0)])[0].theta == Theta(0.0, 20)
    assert policy().start([task(1)])[0].theta == Theta(1.0, 20)


def test_the_start_without_neighbours_says_so() -> None:
    assert policy().start([task()])[0].fallbacks == (NO_NEIGHBOURS,)
    near = (Neighbour("n", 1.0, Theta(0.5, 20), ()),)
    assert policy().start([task(neighbours=near)])[0].fallbacks == ()


def test_neighbours_move_the_start_by_their_share_of_the_prior() -> None:
    # Alpha 1 has .2, .8 and 1/11 of the kinds' votes, of 1.0909 in all: .183, .733 and .083, whose
    # mean alphas are .2, .8 and .5: .665. The visual query's own votes have theirs at .2.
    near = (Neighbour("n", 1.0, Theta(1.0, 20), ()),)
    starts = [policy(share=share).start([task(neighbours=near)])[0] for share in (0.0, 0.3, 1.0)]
    # .5 + .5 (mean - .5) / .3, at means .2, .7 * .2 + .3 * .665 = .34 and .665
    assert [thought.theta.alpha for thought in starts] == [0.0, 0.2, 0.8]


def test_a_theta_votes_for_the_kinds_that_vote_for_its_alpha() -> None:
    odds = np.array([0.2, 0.8, 1 / 11])
    assert policy().votes(Theta(0.97, 33)) == pytest.approx(odds / odds.sum())
    assert policy().votes(Theta(0.42, 33)) == pytest.approx([0.0, 0.0, 1.0])


def test_evidence_overrules_the_prior_once_it_outweighs_it() -> None:
    # The prior's votes have their mean at .2. An item that only text finds, at rank 1, votes for
    # high alphas alone: .0025 at alpha 0, more than .09 at each from .2 up.
    mind, request, one = policy(strength=0.05), task(), seen(1, 10_000)
    memory = Memory(mind.start([request])[0])
    first = mind.update([Turn(request, memory, one)])[0]
    assert (memory.theta.alpha, first.theta.alpha > 0.0) == (0.0, True)
    stubborn = policy(strength=5.0).update([Turn(request, memory, one)])[0]
    assert stubborn.theta.alpha <= 0.2 < first.theta.alpha


def test_belief_is_the_weighted_mean_of_prior_and_observations() -> None:
    belief = policy(strength=3.0).belief(task(), [seen(10, 10_000)])
    # alpha .5: (3 * .5 + 1 / (1 + (10 / 10)^2)) / 4 = .5; the far branch adds less than 1e-5
    assert belief.surface[5, 0] == pytest.approx(0.5, abs=1e-5)
    # alpha 1: (0 + 1 / (1 + (10 / 20)^2)) / 4 = .2
    assert belief.surface[10, 0] == pytest.approx(0.2, abs=1e-5)
    ranks = TargetRanks.of([seen(10, 10_000).rank])
    own = alpha_votes(recall_surfaces(ranks, BINS), BINS, 0.0)[0]
    assert belief.votes == pytest.approx((3 * VOTES[0] + own) / 4)


def test_thin_evidence_keeps_every_theta_near_one_half() -> None:
    assert policy(reach=0.0).start([task(0)])[0].theta.alpha == 0.5
    assert policy(reach=0.3).start([task(0)])[0].theta.alpha == 0.2
    mind, request = policy(strength=5.0, reach=0.3), task(0)
    memory = Memory(mind.start([request])[0])
    assert mind.update([Turn(request, memory, seen(10_000, 1))])[0].theta.alpha == 0.2


def test_a_policy_of_fused_retrieval_reads_fused_ranks() -> None:
    mind = replace(policy(strength=1.0), bins=Bins(20, "fused"))
    ranks = tuple(20 if place == 7 else 10_000 for place in range(11))
    observed = replace(seen(1, 1), rank=TargetRank(1, 1, ranks))
    belief = mind.belief(task(), [observed])
    # alpha .7: (1 - .7 + 1 / 2) / 2 = .4; alpha .2: (1 - .2 + less than 1e-5) / 2
    assert belief.surface[7, 0] == pytest.approx(0.4)
    assert belief.surface[2, 0] == pytest.approx(0.4, abs=1e-5)


def test_the_price_of_k_enters_every_choice() -> None:
    bins = Bins(40)
    even = np.full((3, 11), 1 / 11)
    flat = IntentModel(np.zeros((3, 2)), np.zeros(3), np.full((3, *bins.shape), 0.5), even)
    flat.surfaces[:, :, 1] = 0.6  # the larger budget gains .1
    cheap = EvidencePolicy(flat, VERBATIM, bins, 0.19, 1.0, 0.0, AS_MEAN)  # .19 * 20 / 40 more
    dear = EvidencePolicy(flat, VERBATIM, bins, 0.21, 1.0, 0.0, AS_MEAN)
    assert cheap.start([task()])[0].theta == Theta(0.5, 40)
    assert dear.start([task()])[0].theta == Theta(0.5, 20)


def test_pseudo_queries_follow_the_kind_and_name_what_had_to_be_replaced() -> None:
    first, second = policy().pseudo_queries([task(0)])[0].queries
    assert (first.item_id, first.row, first.kind, first.fallback) == ("i0", 0, "visual", None)
    assert (second.kind, second.fallback) == ("functional", KIND_SUBSTITUTED)


def test_pseudo_queries_are_worded_as_the_shop_needs_them() -> None:
    hard = Paraphraser(hardness=dict.fromkeys(INTENTS, 1.0), related={"lamp": ("light",)})
    mind = replace(policy(), paraphraser=hard)
    first = mind.pseudo_queries([task(0)])[0].queries[0]
    assert "light" in first.text.split()
    assert "lamp" not in first.text.split()


def test_pseudo_queries_take_words_from_the_item_and_only_the_length_from_q() -> None:
    short = task(1, query="zebra umbrella xylophone")
    for query in policy().pseudo_queries([short])[0].queries:
        assert not set(words_in(query.text)) & {"zebra", "umbrella", "xylophone", "nordli"}
        assert len(words_in(query.text)) <= 5
    assert (
        policy().pseudo_queries([short])[0].queries == policy().pseudo_queries([short])[0].queries
    )
