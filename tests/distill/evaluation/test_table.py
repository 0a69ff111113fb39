"""The one table: what is stored is read back, parts and pooled folds keep their order."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adamroute.distill.evaluation.table import Results, pooled
from tests.distill.worlds import B, measured_world


def of_one(values: np.ndarray, users: list[str]) -> Results:
    names = [f"q{b}" for b in range(len(values))]
    requests = pl.DataFrame({"request": names, "user": users})
    columns = {
        metric: pl.DataFrame({"router": "r", "request": names, "metric": metric, "value": column})
        for metric, column in zip("ab", values.T, strict=True)
    }
    return Results(pl.concat(columns.values()), requests, seed=0)


def test_the_table_survives_parquet(tmp_path: Path) -> None:
    table = measured_world().table
    table.rows.write_parquet(tmp_path / "results.parquet")
    rows = pl.read_parquet(tmp_path / "results.parquet")
    assert rows.columns == ["router", "request", "metric", "value"]
    again = Results(rows, table.requests, table.seed)
    for router in ("student", "random", "oracle"):
        for metric in ("recall", "ndcg@20", "ms"):
            assert np.array_equal(again.of(router, metric), table.of(router, metric))


def test_pooled_folds_are_their_requests_one_after_the_other() -> None:
    table = measured_world().table
    first = np.arange(B) < 15
    joined = pooled([table.part(first), table.part(~first)])
    assert joined.requests.equals(table.requests)
    for metric in ("recall_at_k_mean", "ms"):
        assert np.array_equal(joined.of("random", metric), table.of("random", metric))


def test_intervals_hold_the_mean_and_shrink_to_a_point_where_users_agree() -> None:
    columns = np.stack([np.tile([0.0, 1.0], 50), np.ones(100)], axis=1)
    together = of_one(columns, [f"u{i // 2}" for i in range(100)])  # one hit, one miss each
    assert together.intervals(together.values("r", "a", "b")) == ((0.5, 0.5), (1.0, 1.0))
    alone = of_one(columns, [f"u{i}" for i in range(100)])
    (low, high), _ = alone.intervals(alone.values("r", "a", "b"))
    assert low < 0.5 < high
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(100), rel=0.1)


def test_parts_come_in_natural_order_and_leave_out_what_says_nothing() -> None:
    table = of_one(np.zeros((4, 2)), list("abcd"))
    labels = pl.DataFrame({"length": ["21 and more", "", "3 to 5", "3 to 5"]})
    parts = table.told(labels).parts("length")
    assert {label: len(part) for label, part in parts.items()} == {"3 to 5": 2, "21 and more": 1}
    assert list(parts) == ["3 to 5", "21 and more"]
    assert parts["3 to 5"].users == ["c", "d"]
