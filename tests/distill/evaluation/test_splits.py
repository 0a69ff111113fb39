"""Alphas by replay, on ranks small enough to work by hand."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adamroute.distill.evaluation.splits import (
    Kinds,
    best_alpha,
    hits_at,
    hits_by_alpha,
    oracle_alphas,
    static_alpha,
)
from adamroute.retrieval.ranks import QueryRanks
from adamroute.retrieval.replay import recalled
from adamroute.theta import ALPHAS, Theta
from tests.distill.worlds import requests


def with_ranks(text: list[int], mm: list[int], kinds: tuple[str | None, ...] = ()) -> QueryRanks:
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
    )


@given(
    st.sampled_from(ALPHAS) | st.floats(0, 1),
    st.integers(1, 200),
    st.lists(st.tuples(st.integers(1, 300), st.integers(1, 300)), min_size=1, max_size=9),
)
def test_hits_are_those_of_replay(alpha: float, budget: int, pairs: list[tuple[int, int]]) -> None:
    text, mm = np.array(pairs).T
    got = hits_at(np.full(len(text), alpha), np.full(len(text), float(budget)), text, mm)
    assert np.array_equal(got, recalled(text, mm, Theta(alpha, budget)))


def test_the_best_fixed_split_recalls_most_and_ties_go_to_the_middle() -> None:
    # K = 20. Item 1 needs n_mm >= 15 (alpha <= .2), items 2 and 3 need n_txt >= 12 (alpha >= .6).
    fit = with_ranks([99, 12, 12], [15, 99, 99])
    assert static_alpha(fit, 20) == 0.6
    assert static_alpha(with_ranks([1], [1]), 20) == 0.5
    assert static_alpha(with_ranks([99], [99]), 20) == 0.5


def test_ties_that_lie_equally_far_from_the_middle_go_to_the_smaller_alpha() -> None:
    hits = np.zeros((len(ALPHAS), 1), np.bool_)
    hits[[3, 7]] = True
    assert best_alpha(hits) == 0.3


def test_the_oracle_recalls_whatever_some_alpha_recalls() -> None:
    known = requests()
    alphas = oracle_alphas(known, 20)
    got = hits_at(alphas, np.full(len(known), 20.0), known.text, known.mm)
    assert np.array_equal(got, hits_by_alpha(20, known.text, known.mm).any(axis=0))


def test_a_kind_gets_its_best_alpha_and_an_unknown_one_the_static_alpha() -> None:
    fit = with_ranks([12, 12, 99], [99, 99, 15], ("functional", "functional", "visual"))
    alphas = Kinds(fit).alphas(("visual", "functional", None, "gift"), 20)
    assert alphas.tolist() == [0.2, 0.6, 0.6, 0.6]


def test_kinds_are_guessed_from_the_embedding_and_not_read() -> None:
    fit = requests()
    vectors = np.array([[1.0, 0.1 * b] if b % 2 else [-1.0, 0.1 * b] for b in range(len(fit))])
    kinds = tuple("visual" if b % 2 else "functional" for b in range(len(fit)))
    known = replace(fit, text_vectors=vectors.astype(np.float32), kinds=kinds)
    guessed = Kinds(known).guess(np.array([[1, 0], [-1, 0]], np.float32))
    assert guessed == ("visual", "functional")


def test_with_fewer_than_two_stated_kinds_nothing_is_guessed() -> None:
    fit = with_ranks([1, 2], [2, 1], ("visual", None))
    assert Kinds(fit).guess(fit.text_vectors) == (None, None)
