"""Alphas by replay, on ranks small enough to work by hand."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.distill.evaluation.splits import (
    Kinds,
    best_alpha,
    hits_at,
    hits_by_alpha,
    nearest_alphas,
    oracle_alphas,
    static_alpha,
)
from adamroute.retrieval.ranks import QueryRanks
from adamroute.retrieval.replay import TargetRanks, recalled
from adamroute.theta import ALPHAS, Combine, Theta
from tests.distill.worlds import requests

COMBINES = get_args(Combine)


def with_ranks(
    text: list[int],
    mm: list[int],
    kinds: tuple[str | None, ...] = (),
    fused: list[list[int]] | None = None,
) -> QueryRanks:
    """Requests with these ranks; fused ones, if they matter, from alpha 0 to 1."""
    n = len(text)
    known = requests()
    return replace(
        known,
        request_ids=known.request_ids[:n],
        users=known.users[:n],
        kinds=kinds or (None,) * n,
        text_vectors=known.text_vectors[:n],
        text=np.array(text),
        mm=np.array(mm),
        fused=np.full((n, len(ALPHAS)), 999) if fused is None else np.array(fused),
    )


def found_at(*alphas: float) -> list[int]:
    """Fused ranks of an item that is first at these alphas, and nowhere else in reach."""
    return [1 if alpha in alphas else 999 for alpha in ALPHAS]


places = st.integers(1, 300)


@given(
    st.sampled_from(ALPHAS) | st.floats(0, 1),
    st.integers(1, 200),
    st.lists(st.tuples(*[places] * (2 + len(ALPHAS))), min_size=1, max_size=9),
    st.sampled_from(COMBINES),
)
def test_hits_are_those_of_replay(
    alpha: float, budget: int, rows: list[tuple[int, ...]], combine: Combine
) -> None:
    whole = np.array(rows)
    ranks = TargetRanks(whole[:, 0], whole[:, 1], whole[:, 2:])
    alphas, budgets = np.full(len(rows), alpha), np.full(len(rows), float(budget))
    got = hits_at(alphas, budgets, ranks, combine)
    assert np.array_equal(got, recalled(ranks, Theta(alpha, budget), combine))


def test_the_best_fixed_split_recalls_most_and_ties_go_to_the_middle() -> None:
    # K = 20. Item 1 needs n_mm >= 15 (alpha <= .2), items 2 and 3 need n_txt >= 12 (alpha >= .6).
    fit = with_ranks([99, 12, 12], [15, 99, 99])
    assert static_alpha(fit, 20, "split") == 0.6
    assert static_alpha(with_ranks([1], [1]), 20, "split") == 0.5
    assert static_alpha(with_ranks([99], [99]), 20, "split") == 0.5


def test_the_best_fixed_fusion_goes_by_fused_ranks_alone() -> None:
    # By the branches' own ranks a split at 0 would have them all.
    rows = [found_at(0.3, 0.7), found_at(0.7, 0.8), found_at(0.2)]
    fit = with_ranks([99, 99, 99], [1, 1, 1], fused=rows)
    assert static_alpha(fit, 20, "fused") == 0.7
    assert static_alpha(fit, 20, "split") == 0.5  # n_mm = 10 holds all three, as others do


def test_ties_that_lie_equally_far_from_the_middle_go_to_the_smaller_alpha() -> None:
    hits = np.zeros((len(ALPHAS), 1), np.bool_)
    hits[[3, 7]] = True
    assert best_alpha(hits) == 0.3


@pytest.mark.parametrize("combine", COMBINES)
def test_the_oracle_recalls_whatever_some_alpha_recalls(combine: Combine) -> None:
    known = requests()
    alphas = oracle_alphas(known, 20, combine)
    got = hits_at(alphas, np.full(len(known), 20.0), known.ranks, combine)
    assert np.array_equal(got, hits_by_alpha(20, known.ranks, combine).any(axis=0))


def test_the_nearest_past_requests_choose_and_no_others() -> None:
    ways = [[1.0, 0.0]] * 25 + [[0.0, 1.0]] * 15
    rows = [found_at(0.9)] * 25 + [found_at(0.2)] * 15
    fit = replace(
        with_ranks([99] * 40, [99] * 40, fused=rows),
        text_vectors=np.array(ways, np.float32),
    )
    asked = np.array([[0.9, 0.1], [0.1, 0.9]], np.float32)
    # All 20 neighbours of the first are found at .9; of the second, 15 at .2 and five at .9.
    assert nearest_alphas(fit, asked, 20, "fused").tolist() == [0.9, 0.2]
    # No split finds any of them, so that none is better than half.
    assert nearest_alphas(fit, asked, 20, "split").tolist() == [0.5, 0.5]


def test_a_kind_gets_its_best_alpha_and_an_unknown_one_the_static_alpha() -> None:
    fit = with_ranks([12, 12, 99], [99, 99, 15], ("functional", "functional", "visual"))
    alphas = Kinds(fit, "split").alphas(("visual", "functional", None, "gift"), 20)
    assert alphas.tolist() == [0.2, 0.6, 0.6, 0.6]


def test_kinds_are_guessed_from_the_embedding_and_not_read() -> None:
    fit = requests()
    vectors = np.array([[1.0, 0.1 * b] if b % 2 else [-1.0, 0.1 * b] for b in range(len(fit))])
    kinds = tuple("visual" if b % 2 else "functional" for b in range(len(fit)))
    known = replace(fit, text_vectors=vectors.astype(np.float32), kinds=kinds)
    guessed = Kinds(known, "split").guess(np.array([[1, 0], [-1, 0]], np.float32))
    assert guessed == ("visual", "functional")


def test_with_fewer_than_two_stated_kinds_nothing_is_guessed() -> None:
    fit = with_ranks([1, 2], [2, 1], ("visual", None))
    assert Kinds(fit, "split").guess(fit.text_vectors) == (None, None)
