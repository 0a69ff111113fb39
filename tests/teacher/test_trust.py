"""How far evidence is believed: by what written requests can say, and by how many are logged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adamroute.teacher.trust import HALF_WORTH, WRITTEN, trust_in


def test_written_requests_alone_are_worth_three_quarters() -> None:
    assert trust_in(0) == WRITTEN == 0.75


def test_real_queries_close_what_is_left_fifty_of_them_half() -> None:
    assert trust_in(HALF_WORTH) == 0.875  # 1 - .25 * 50 / 100
    assert trust_in(150) == 0.9375  # 1 - .25 * 50 / 200
    assert trust_in(950) == pytest.approx(1 - 0.25 * 0.05)


@given(st.integers(0, 10_000))
def test_trust_is_a_share_and_grows_with_every_query(logged: int) -> None:
    assert 0.0 <= trust_in(logged) < trust_in(logged + 1) <= 1.0
