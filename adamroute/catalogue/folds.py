"""The shop as a run sees it: with what was judged for it, and in other splits for `--folds`.

Of folds each user is tested exactly once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from adamroute.catalogue.folder import ShopBytes, read_shop
from adamroute.catalogue.shop import Shop, Split
from adamroute.catalogue.table_files import table_hash
from adamroute.config import Config, FoldConfig
from adamroute.errors import ConfigError
from adamroute.stages import digest

JUDGED_FILE = "judged.jsonl"  # of a run's folder


def open_shop(config: Config) -> Shop:
    """The shop of a config, with its queries split anew where the config names a fold."""
    shop = whole_shop(config)
    return refold(shop, config.fold) if config.fold else shop


def whole_shop(config: Config) -> Shop:
    """The shop of a config with what was judged in its run, whatever fold the config names."""
    path = judged_file(config)
    return read_shop(config.shop, path if path.is_file() else None)


def queries_hash(config: Config) -> str:
    """Name of all queries of a run by bytes: logged, judged in the shop, judged in the run."""
    shop, path = ShopBytes.of(config.shop).queries, judged_file(config)
    return digest([shop, table_hash(path)]) if path.is_file() else shop


def judged_file(config: Config) -> Path:
    """Where `adamroute judge` writes; a fold reads what the run judged whose index it borrows."""
    index = config.stage("index")
    return (index.resolve().parent if config.fold else config.out) / JUDGED_FILE


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
