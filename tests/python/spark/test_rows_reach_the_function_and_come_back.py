"""The loop that hands rows to a user's function, without Spark around it."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import _core
from flintstate.errors import InvalidError
from flintstate.process import Context, KeyedProcessFunction
from flintstate.spark.runner import Clock, RowRunner
from flintstate.state.rocksdb import RocksDbBackend

KEYED = pa.schema([("user", pa.int64()), ("what", pa.string())])


class Calls(KeyedProcessFunction[Any]):
    """Runs a plain function for each row."""

    def __init__(self, call: Callable[[Any, Context, Any], Any]) -> None:
        self.call = call

    def open(self, ctx: Context) -> None:
        self.n = ctx.value_state("n", pa.int64(), default=0)

    def process_element(self, row: Any, ctx: Context) -> Any:
        return self.call(row, ctx, self.n)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    opened: list[_core.RocksBackend] = []

    def over(
        rows: pa.RecordBatch,
        call: Callable[[Any, Context, Any], Any],
        output: pa.Schema,
        *,
        keys: tuple[str, ...] = ("user",),
        cache_bytes: int = 64 << 20,
    ) -> list[dict[str, Any]]:
        schema = pa.schema([rows.schema.field(name) for name in keys])
        directory = str(tmp_path / str(len(opened)))
        native = _core.RocksBackend.open(directory, schema, 128, 0, 127, cache_bytes=cache_bytes)
        opened.append(native)
        runner = RowRunner(Calls(call), keys, None)
        runner.output = output
        runner.begin(RocksDbBackend(native, 128, range(128)), Clock(None, 0))
        return [row for batch in runner.run(rows) for row in batch.to_pylist()]

    yield over
    for native in opened:
        native.close()


def users(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch([list(numbers), [f"row {i}" for i in range(len(numbers))]], KEYED)


def test_rows_of_a_key_come_together_and_in_their_order(run: Any) -> None:
    got = run(users(3, 1, 3, 2, 1, 3), lambda row, ctx, n: [(ctx.current_key, row.what)], KEYED)
    of_user = {u: [row["what"] for row in got if row["user"] == u] for u in (1, 2, 3)}
    assert of_user == {1: ["row 1", "row 4"], 2: ["row 3"], 3: ["row 0", "row 2", "row 5"]}
    seen = [row["user"] for row in got]
    assert len([i for i in range(1, 6) if seen[i] != seen[i - 1]]) == 2


@pytest.mark.parametrize("cache_bytes", [64 << 20, 1])
def test_state_is_each_keys_own_however_many_there_are(run: Any, cache_bytes: int) -> None:
    def count(row: Any, ctx: Context, n: Any) -> Iterator[tuple[object, ...]]:
        n.update(n.value() + 1)
        yield ctx.current_key, str(n.value())

    rows = users(*(i % 20_000 for i in range(60_000)))
    got = run(rows, count, KEYED, cache_bytes=cache_bytes)
    assert sorted((row["user"], row["what"]) for row in got) == [
        (user, str(n)) for user in range(20_000) for n in (1, 2, 3)
    ]


def test_what_is_put_out_comes_in_the_order_of_the_calls_in_several_batches(run: Any) -> None:
    made: list[tuple[object, ...]] = []

    def many(row: Any, ctx: Context, n: Any) -> Iterator[tuple[object, ...]]:
        for i in range(1000):
            made.append((i, row.what))
            yield made[-1]

    got = run(users(*range(200)), many, KEYED)
    assert [(row["user"], row["what"]) for row in got] == made


def test_the_first_row_that_does_not_fit_is_shown(run: Any) -> None:
    message = r"output row \('one', 'row 0'\): column 'user': expected int64, got str 'one'"
    with pytest.raises(InvalidError, match=message):
        run(users(1), lambda row, ctx, n: [(1, "fits"), ("one", row.what)], KEYED)


def test_what_the_function_raises_comes_through(run: Any) -> None:
    def late(row: Any, ctx: Context, n: Any) -> Iterator[tuple[object, ...]]:
        yield 1, "fits"
        raise LookupError("the user's own")

    with pytest.raises(LookupError, match="the user's own"):
        run(users(1), late, KEYED)
    with pytest.raises(InvalidError, match=r"process_element: expected tuples .*, got int 7"):
        run(users(1), lambda row, ctx, n: 7, KEYED)


def test_a_value_that_does_not_fit_its_state_is_refused(run: Any) -> None:
    with pytest.raises(InvalidError, match=r"value state 'n'.*expected int64, got str 'x'"):
        run(users(1), lambda row, ctx, n: n.update("x"), KEYED)


def test_a_row_has_the_values_that_arrow_has(run: Any) -> None:
    at = dt.datetime(2026, 1, 2, 3, 4, 5, 678)
    columns = {
        "user": pa.array([1, None]),
        "flag": pa.array([True, None]),
        "name": pa.array(["ada", None]),
        "data": pa.array([b"\x00\xff", None]),
        "day": pa.array([at.date(), None]),
        "at": pa.array([at, None], pa.timestamp("us", "UTC")),
        "local": pa.array([at, None], pa.timestamp("us")),
        "took": pa.array([dt.timedelta(days=-1, microseconds=3), None]),
        "price": pa.array([decimal.Decimal("-12.50"), None], pa.decimal128(10, 2)),
        "ratio": pa.array([0.1, None], pa.float32()),
        "tags": pa.array([["a", None], None]),
        "place": pa.array([{"x": 1, "y": None}, None]),
        "counts": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        "odd name": pa.array([1, 2], pa.int8()),
    }
    rows = pa.record_batch(columns)
    seen: list[tuple[object, ...]] = []
    run(rows, lambda row, ctx, n: seen.append(row), rows.schema)
    expected = [
        tuple(v.replace(tzinfo=dt.UTC) if k == "at" and v else v for k, v in row.items())
        for row in rows.to_pylist()
    ]
    assert sorted(map(repr, map(tuple, seen))) == sorted(map(repr, expected))
    assert seen[0]._fields[-2:] == ("counts", "_13")  # type: ignore[attr-defined]


def test_rows_of_every_type_come_back_as_they_were(run: Any) -> None:
    at = dt.datetime(2026, 1, 2, 3, 4, 5, 678)
    flat = {
        "user": pa.array([1]),
        "flag": pa.array([False]),
        "name": pa.array(["ada"]),
        "data": pa.array([b"\x00\xff"]),
        "at": pa.array([at], pa.timestamp("us", "UTC")),
        "price": pa.array([decimal.Decimal("-12.50")], pa.decimal128(10, 2)),
        "none": pa.array([None], pa.float64()),
    }
    nested = {**flat, "tags": pa.array([["a", None]])}
    for columns in (flat, nested):
        rows = pa.record_batch(columns)
        assert run(rows, lambda row, ctx, n: [tuple(row)], rows.schema) == rows.to_pylist()


def test_a_key_of_several_columns_is_a_tuple(run: Any) -> None:
    rows = users(1, 2)
    got = run(rows, lambda row, ctx, n: [ctx.current_key], KEYED, keys=("user", "what"))
    assert sorted(row["what"] for row in got) == ["row 0", "row 1"]
