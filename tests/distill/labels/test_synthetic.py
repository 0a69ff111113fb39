"""Synthetic requests: seeded, spread over items and kinds, readable as a shop's own queries."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from adamroute.catalogue.folder import derived_split, read_queries
from adamroute.catalogue.item_words import INTENTS, catalogue_words, words_in
from adamroute.catalogue.known_queries import SYNTHETIC_QUERIES, unstated_queries
from adamroute.catalogue.shop import Catalogue, Item, Query
from adamroute.distill.labels.synthetic import (
    Writer,
    Written,
    as_queries_file,
    nothing_to_learn,
)
from adamroute.teacher.paraphrase import VERBATIM, Paraphraser


def catalogue(count: int = 30) -> Catalogue:
    return Catalogue(
        tuple(
            Item(
                item_id=f"i{n}",
                title=f"BRAND{n} lamp",
                text=f"BRAND{n} lamp. gives soft light number{n} to read. folds flat in use{n}",
                visual={"colour": ("red", "blue", "green")[n % 3]} if n % 5 else {},
                category="lamp",
                image=None,
            )
            for n in range(count)
        )
    )


Claims = Sequence[tuple[str, ...] | None]


def written(
    count: int,
    *,
    seed: int = 0,
    split_items: bool = False,
    shop: Catalogue | None = None,
    claims: Claims | None = None,
    wording: Paraphraser = VERBATIM,
) -> tuple[Written, ...]:
    """Requests over a shop in which every listing can be without its first claim."""
    items = (shop or catalogue()).items
    words = catalogue_words(
        [i.title for i in items],
        [i.text for i in items],
        [i.category for i in items],
        [i.visual for i in items],
    )
    kept = claims or [w.claims[0] if w.claims else None for w in words]
    writer = Writer([i.item_id for i in items], words, kept, wording)
    return writer.write(count=count, seed=seed, split_items=split_items)


def requests(
    count: int, *, seed: int = 0, split_items: bool = False, shop: Catalogue | None = None
) -> tuple[Query, ...]:
    made = written(count, seed=seed, split_items=split_items, shop=shop)
    return tuple(request.query for request in made)


def test_a_seed_gives_one_set_of_requests_and_another_seed_another() -> None:
    assert requests(60) == requests(60)
    assert {r.text for r in requests(60)} != {r.text for r in requests(60, seed=1)}


def test_every_item_is_asked_for_before_one_is_asked_for_twice() -> None:
    assert {r.target_id for r in requests(30)} == {f"i{n}" for n in range(30)}
    assert len({r.query_id for r in requests(60)}) == 60


def test_kinds_are_even_as_far_as_the_listings_allow() -> None:
    kinds = [r.kind for r in requests(300)]
    assert min(kinds.count(k) for k in ("visual", "functional", "mixed")) >= 90
    colourless = {f"i{n}" for n in range(0, 30, 5)}
    assert {r.kind for r in requests(300) if r.target_id in colourless} == {"functional"}


def test_no_request_gives_the_title_away_and_lengths_vary() -> None:
    made = requests(200)
    assert not [r for r in made if "brand" in r.text]
    lengths = [len(words_in(r.text)) for r in made]
    assert min(lengths) <= 4
    assert max(lengths) >= 12


def test_a_shop_of_items_alone_is_split_by_the_hash_of_the_item() -> None:
    split = requests(300, split_items=True)
    assert {r.split for r in split} == {"train", "calibration", "test"}
    assert all(r.split == derived_split(r.target_id) for r in split)
    assert {r.split for r in requests(300)} == {"train"}


def test_items_too_few_to_leave_a_train_request_are_all_trained_on() -> None:
    held_out = next(i for i in map("i{}".format, range(99)) if derived_split(i) == "test")
    alone = Catalogue((replace(catalogue().items[0], item_id=held_out),))
    assert {r.split for r in requests(10, split_items=True, shop=alone)} == {"train"}


def test_half_of_the_requests_by_use_ask_for_what_the_listing_does_not_state() -> None:
    made = written(600)
    by_use = [r for r in made if r.query.kind != "visual"]
    assert not [r for r in made if r.query.kind == "visual" and r.unstated]
    assert 0.4 < sum(r.unstated for r in by_use) / len(by_use) < 0.6
    for request in by_use:
        number = request.query.target_id.removeprefix("i")
        first, second = {"gives", "soft", "light"}, {"folds", "flat", f"use{number}"}
        said = set(words_in(request.query.text))
        if request.unstated:  # the kept claim is the first, and no other is asked for
            assert not said & second
            assert said & {*first, f"number{number}", "read"}


def test_an_item_without_a_kept_claim_is_asked_for_as_its_listing_states_it() -> None:
    made = written(120, claims=[None] * 30)
    assert not [r for r in made if r.unstated]
    assert {r.query.kind for r in made} == set(INTENTS)


def test_requests_are_said_in_other_words_as_often_as_asked() -> None:
    hard = Paraphraser(hardness=dict.fromkeys(INTENTS, 1.0), related={"lamp": ("lantern",)})
    plain, said = written(60), written(60, wording=hard)
    assert any("lamp" in words_in(r.query.text) for r in plain)
    assert not [r for r in said if "lamp" in words_in(r.query.text)]
    assert any("lantern" in words_in(r.query.text) for r in said)


def test_what_is_missing_is_what_would_help() -> None:
    assert "Set labels.synthetic_requests above 0" in str(nothing_to_learn(0, 9))
    wordless = str(nothing_to_learn(400, 1))
    assert "none of the 1 items has a word" in wordless
    assert "synthetic_requests" not in wordless


def test_the_file_reads_back_as_queries_of_a_shop(tmp_path: Path) -> None:
    made = requests(40, split_items=True)
    file = as_queries_file([Written(query, n % 2 == 0) for n, query in enumerate(made)])
    (tmp_path / SYNTHETIC_QUERIES).write_text(file, encoding="utf-8")
    read = read_queries(tmp_path / SYNTHETIC_QUERIES, catalogue())
    assert read == made
    assert {q.user_id for q in read} == {f"synthetic:{r.target_id}" for r in made}
    assert json.loads(file.splitlines()[0])["kind"] == made[0].kind
    assert unstated_queries(tmp_path) == {q.query_id for q in made[::2]}
    assert unstated_queries(tmp_path / "none") == frozenset()


def test_a_catalogue_without_words_to_ask_for_gives_no_requests() -> None:
    bare = Catalogue((Item("i0", "", "", {}, "", None),))
    assert requests(10, shop=bare) == ()
    assert requests(0) == ()
