"""What names a snapshot's content."""

from __future__ import annotations

from adamroute.store import Snapshot
from adamroute.theta import Theta
from tests.store.people import STATIC, user


def test_the_hash_sees_every_part_of_a_record() -> None:
    plain = Snapshot((user("ann"),)).hash
    assert plain == Snapshot((user("ann"),)).hash
    for other in (user("anna"), user("ann", wish="x"), user("ann", lends=False)):
        assert Snapshot((other,)).hash != plain
    assert Snapshot((user("ann"),)).with_thetas({"ann": Theta(0.4, 40)}, -1).hash != plain
    assert Snapshot((user("ann"),)).with_thetas({"ann": STATIC}, 0).hash != plain


def test_before_rounds_everybody_has_the_static_prior_again() -> None:
    first = Snapshot((user("ann"), user("zoe")))
    later = first.with_thetas({"zoe": Theta(0.9, 80)}, 1)
    assert later.before_rounds(STATIC).hash == first.hash
