"""The evidence policy, with beliefs and thetas worked by hand."""

import numpy as np
import pytest

from adamroute.routing.composition import Composition
from adamroute.routing.difficulty import Difficulty
from adamroute.routing.evidence import KIND_SUBSTITUTED, NO_NEIGHBOURS, EvidencePolicy
from adamroute.routing.loop import Evidence, Memory, Observation, Task, Turn
from adamroute.routing.neighbours import Neighbour
from adamroute.routing.pseudo import PseudoQuery
from adamroute.routing.theta import ALPHAS, Bins, Theta
from adamroute.routing.words import item_words, words_in
from adamroute.scoring.profiles import PreferenceProfile
from adamroute.shop.catalogue import Request

BINS = Bins(20)  # one budget: surfaces are [11, 1]
FALLING = (1.0 - np.array(ALPHAS))[:, None]  # likes the multimodal branch
RISING = np.array(ALPHAS)[:, None]
LAMP = item_words("NORDLI lamp", "gives soft light. folds flat", "lamp", {"colour": "red"})
PLAIN = item_words("NORDLI lamp", "gives soft light", "lamp", {})


def policy(*, strength: float = 1.0, share: float = 0.0, lam: float = 0.0) -> EvidencePolicy:
    """A sure classifier: the first axis is visual (prior falls), the second functional (rises)."""
    weights = 50.0 * np.eye(3, 2)
    surfaces = np.stack([FALLING, RISING, np.zeros_like(RISING)])
    composition = Composition(weights, np.zeros(3), surfaces)
    return EvidencePolicy(composition, Difficulty(), BINS, lam, strength, share)


def task(
    axis: int = 0, *, neighbours: tuple[Neighbour, ...] = (), query: str = "red lamp please"
) -> Task:
    items = (Evidence("i0", 0, LAMP), Evidence("i1", 1, PLAIN))
    vector = np.eye(2, dtype=np.float32)[axis]
    return Task(Request("r", None, query, ()), vector, PreferenceProfile(), neighbours, items)


def seen(text_rank: int, mm_rank: int) -> Observation:
    return Observation(PseudoQuery("i0", 0, "visual", "red lamp"), text_rank, mm_rank)


def test_the_start_follows_the_kind_of_the_query() -> None:
    assert policy().start([task(0)])[0].theta == Theta(0.0, 20)
    assert policy().start([task(1)])[0].theta == Theta(1.0, 20)


def test_the_start_without_neighbours_says_so() -> None:
    assert policy().start([task()])[0].fallbacks == (NO_NEIGHBOURS,)
    near = (Neighbour("n", 1.0, Theta(0.5, 20), ()),)
    assert policy().start([task(neighbours=near)])[0].fallbacks == ()


def test_neighbours_move_the_start_by_their_share_of_the_prior() -> None:
    # Theta (1, 20) loses 1 on the falling surface, nothing on the rising one and on that of mixed
    # queries, which is zero: half a vote each. So rising gets .5 share, falling 1 - share.
    near = (Neighbour("n", 1.0, Theta(1.0, 20), ()),)
    assert policy(share=0.6).start([task(neighbours=near)])[0].theta.alpha == 0.0
    assert policy(share=0.7).start([task(neighbours=near)])[0].theta.alpha == 1.0


def test_a_theta_votes_for_the_kinds_it_would_have_suited() -> None:
    # the nearest bin is (.4, 20), which loses .4 on falling, .6 on rising and 0 on zero
    odds = np.exp(-np.array([0.4, 0.6, 0.0]) / 0.05)
    assert policy().votes(Theta(0.44, 33)) == pytest.approx(odds / odds.sum())
    sure = policy().votes(Theta(1.0, 20))  # loses 1, 0 and 0
    assert sure == pytest.approx([np.exp(-20) / (2 + np.exp(-20)), 0.5, 0.5], rel=1e-6)


def test_evidence_overrules_the_prior_once_it_outweighs_it() -> None:
    # Rank 10 in text, nowhere in the other branch: h = 1 / (1 + (10 / n)^2), n = 20 alpha.
    # One row:  alpha 0 gives 1 + .003, alpha .5 gives .5 + .5, alpha 1 gives 0 + .8.
    # Two rows: alpha .8 gives .2 + 2 * .719 = 1.638, the most; alpha 1 gives 1.6, alpha 0 1.005.
    mind, request, one = policy(), task(), seen(10, 10_000)
    memory = Memory(mind.start([request])[0])
    first = mind.update([Turn(request, memory, one)])[0]
    second = mind.update([Turn(request, memory.with_step(one, first), one)])[0]
    assert [first.theta.alpha, second.theta.alpha] == [0.0, 0.8]


def test_belief_is_the_weighted_mean_of_prior_and_observed_surfaces() -> None:
    belief = policy(strength=3.0).belief(task(), [seen(10, 10_000)])
    # alpha .5: (3 * .5 + 1 / (1 + (10 / 10)^2)) / 4 = .5; the far branch adds less than 1e-5
    assert belief[5, 0] == pytest.approx(0.5, abs=1e-5)
    # alpha 1: (0 + 1 / (1 + (10 / 20)^2)) / 4 = .2
    assert belief[10, 0] == pytest.approx(0.2, abs=1e-5)


def test_the_price_of_k_enters_every_choice() -> None:
    bins = Bins(40)
    flat = Composition(np.zeros((3, 2)), np.zeros(3), np.full((3, *bins.shape), 0.5))
    flat.surfaces[:, :, 1] = 0.6  # the larger budget gains .1
    cheap = EvidencePolicy(flat, Difficulty(), bins, 0.19, 1.0, 0.0)  # costs .19 * 20 / 40 more
    dear = EvidencePolicy(flat, Difficulty(), bins, 0.21, 1.0, 0.0)
    assert cheap.start([task()])[0].theta == Theta(0.5, 40)
    assert dear.start([task()])[0].theta == Theta(0.5, 20)


def test_pseudo_queries_follow_the_kind_and_name_what_had_to_be_replaced() -> None:
    first, second = policy().pseudo_queries([task(0)])[0].queries
    assert (first.item_id, first.row, first.kind, first.fallback) == ("i0", 0, "visual", None)
    assert (second.kind, second.fallback) == ("functional", KIND_SUBSTITUTED)


def test_pseudo_queries_take_words_from_the_item_and_only_the_length_from_q() -> None:
    short = task(1, query="zebra umbrella xylophone")
    for query in policy().pseudo_queries([short])[0].queries:
        assert not set(words_in(query.text)) & {"zebra", "umbrella", "xylophone", "nordli"}
        assert len(words_in(query.text)) <= 5
    assert (
        policy().pseudo_queries([short])[0].queries == policy().pseudo_queries([short])[0].queries
    )
