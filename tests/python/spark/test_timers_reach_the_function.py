"""The loop that fires due timers, without Spark around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import _core
from flintstate.errors import InvalidError
from flintstate.process import Context, KeyedProcessFunction
from flintstate.spark.runner import BatchRunner, Clock, RowRunner
from flintstate.state.rocksdb import RocksDbBackend

KEY = pa.schema([("user", pa.int64()), ("shop", pa.string())])
FIRED = pa.schema([("user", pa.int64()), ("shop", pa.string()), ("time", pa.int64())])


class Calls(KeyedProcessFunction[Any]):
    def __init__(self, call: Callable[[int, Context], Any]) -> None:
        self.on_timer = call  # type: ignore[method-assign]

    def process_element(self, row: Any, ctx: Context) -> None:
        raise AssertionError("there are no rows here")


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[RocksDbBackend]:
    with RocksDbBackend(
        _core.RocksBackend.open(str(tmp_path), KEY, 128, 0, 127), 128, range(128)
    ) as backend:
        yield backend


def fire(
    backend: RocksDbBackend, call: Callable[[int, Context], Any], clock: Clock
) -> list[pa.RecordBatch]:
    runner = RowRunner(Calls(call), ("user", "shop"), None, "event")
    runner.output = FIRED
    runner.begin(backend, clock)
    return list(runner.fire())


def told(time: int, ctx: Context) -> Iterator[tuple[object, ...]]:
    user, shop = ctx.current_key  # type: ignore[misc]
    yield user, shop, time


def rows(batches: list[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def test_due_timers_fire_in_order_with_their_key_as_the_current_one(
    backend: RocksDbBackend,
) -> None:
    for user, time in ((1, 30), (2, 10), (3, 20), (4, 40)):
        backend.set_key((user, "x"))
        backend.register_event_time_timer(time)
    backend.register_processing_time_timer(5)
    backend.register_processing_time_timer(6)
    got = fire(backend, told, Clock(30, 5))
    assert rows(got) == [(2, "x", 10), (3, "x", 20), (1, "x", 30), (4, "x", 5)]
    assert backend.next_event_time_timer() == 40
    assert backend.next_processing_time_timer() == 6


def test_without_a_watermark_the_clocks_timers_alone_fire(backend: RocksDbBackend) -> None:
    backend.set_key((1, "x"))
    backend.register_event_time_timer(1)
    backend.register_processing_time_timer(2)
    assert rows(fire(backend, told, Clock(None, 5))) == [(1, "x", 2)]


def test_timers_that_are_registered_meanwhile_fire_too(backend: RocksDbBackend) -> None:
    def doubles(time: int, ctx: Context) -> Iterator[tuple[object, ...]]:
        ctx.register_event_time_timer(time * 2)
        yield from told(time, ctx)

    backend.set_key((1, "x"))
    backend.register_event_time_timer(1)
    assert [row[2] for row in rows(fire(backend, doubles, Clock(10, 0)))] == [1, 2, 4, 8]


def test_much_that_is_put_out_comes_in_several_batches_in_its_order(
    backend: RocksDbBackend,
) -> None:
    for user in range(40):
        backend.set_key((user, "x"))
        backend.register_event_time_timer(user)
    got = fire(backend, lambda time, ctx: [(time, None, i) for i in range(5000)], Clock(99, 0))
    assert len(got) > 2
    assert rows(got) == [(user, None, i) for user in range(40) for i in range(5000)]


def test_a_function_may_put_out_nothing_or_raise(backend: RocksDbBackend) -> None:
    backend.set_key((1, "x"))
    backend.register_event_time_timer(1)
    backend.register_event_time_timer(2)
    assert fire(backend, lambda time, ctx: None, Clock(1, 0)) == []
    with pytest.raises(ZeroDivisionError):
        fire(backend, lambda time, ctx: [(1 / 0,)], Clock(2, 0))


def test_a_row_that_does_not_fit_is_shown(backend: RocksDbBackend) -> None:
    backend.set_key((1, "x"))
    backend.register_event_time_timer(1)
    with pytest.raises(InvalidError, match=r"\('one', 'x', 1\): column 'user': expected int64"):
        fire(backend, lambda time, ctx: [("one", "x", 1)], Clock(1, 0))


def test_a_function_of_batches_is_refused_where_timers_wait(backend: RocksDbBackend) -> None:
    runner = BatchRunner(lambda batch, ctx: (), ("user", "shop"), None)
    runner.begin(backend, Clock(None, 0))
    backend.set_key((1, "x"))
    backend.register_processing_time_timer(1)
    with pytest.raises(InvalidError, match="timers that process\\(\\) set"):
        runner.begin(backend, Clock(None, 0))
