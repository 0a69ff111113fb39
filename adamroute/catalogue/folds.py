"""Other splits of the same shop, for `report --folds`: each user is tested exactly once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from adamroute.catalogue.folder import read_shop
from adamroute.catalogue.shop import Shop, Split
from adamroute.config import Config, FoldConfig
from adamroute.errors import ConfigError


def open_shop(config: Config) -> Shop:
    """The shop of a config, with its queries split anew where the config names a fold."""
    shop = read_shop(config.shop)
    return refold(shop, config.fold) if config.fold else shop


def refold(shop: Shop, fold: FoldConfig) -> Shop:
    """Users dealt to folds by the sha256 of their id: fold `number` is test, the next calibration.

    ConfigError where there is too little to deal.
    """
    users = sorted({q.user_id for q in shop.queries}, key=_place)
    if len(users) < fold.of:
        raise ConfigError(
            f"--folds {fold.of}: {shop.name} has logged queries of {len(users)} users, wanted at "
            f"least one user a fold. Give fewer folds, or a shop with queries"
        )
    splits: Mapping[str, Split] = {u: _split(i % fold.of, fold) for i, u in enumerate(users)}
    queries = tuple(replace(q, split=splits[q.user_id]) for q in shop.queries)
    return replace(shop, queries=queries)


def _place(user_id: str) -> str:
    return hashlib.sha256(user_id.encode()).hexdigest()


def _split(dealt: int, fold: FoldConfig) -> Split:
    if dealt == fold.number:
        return "test"
    return "calibration" if dealt == (fold.number + 1) % fold.of else "train"
