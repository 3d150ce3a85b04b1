"""Keyed state from Python, on both backends: one call at a time, and in batches.

The time shown is that of as many calls as the name says, over 1,000 keys that are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

import flintstate as fs

KEYS = [f"user-{i}" for i in range(1_000)]


@pytest.fixture(params=["heap", "rocksdb"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[fs.KeyedBackend]:
    with fs.KeyedBackend.open(tmp_path / "state", kind=request.param, key=pa.string()) as opened:
        yield opened


def test_value_and_update_of_1_000_keys(benchmark, backend: fs.KeyedBackend) -> None:
    state: fs.ValueState[int] = backend.value_state("n", pa.int64(), default=0)

    def run() -> None:
        for key in KEYS:
            backend.set_key(key)
            state.update(state.value() + 1)

    benchmark(run)
    assert state.value() > 0


def test_1_000_appends_to_a_list(benchmark, backend: fs.KeyedBackend) -> None:
    state: fs.ListState[int] = backend.list_state("l", pa.int64())
    backend.set_key("a")

    def run() -> None:
        for i in range(1_000):
            state.add(i)

    benchmark.pedantic(run, rounds=20)
    assert len(state.get()) == 20_000


def test_1_000_puts_into_a_map(benchmark, backend: fs.KeyedBackend) -> None:
    state: fs.MapState[int, int] = backend.map_state("m", pa.int64(), pa.int64())
    backend.set_key("a")

    def run() -> None:
        for i in range(1_000):
            state.put(i, i)

    benchmark(run)
    assert state.get(7) == 7


def test_1_000_additions_to_a_sum(benchmark, backend: fs.KeyedBackend) -> None:
    state: fs.ReducingState[int] = backend.reducing_state("s", pa.int64(), "sum")

    def run() -> None:
        for key in KEYS:
            backend.set_key(key)
            state.add(1)

    benchmark(run)
    assert state.get() > 0


def test_1_000_events_into_sorted_state(benchmark, backend: fs.KeyedBackend) -> None:
    state: fs.SortedState[int, int] = backend.sorted_state("e", pa.int64(), pa.int64())
    backend.set_key("a")
    times = count()

    def run() -> None:
        start = next(times) * 1_000
        for i in range(1_000):
            state.add(start + i, i)
        state.clear_range(0, start + 1_000)

    benchmark(run)
    assert state.first_entry() is None


def test_1_000_timers(benchmark, backend: fs.KeyedBackend) -> None:
    def run() -> None:
        for key in KEYS:
            backend.set_key(key)
            backend.register_event_time_timer(1)

    benchmark(run)


def test_put_many_and_get_many_of_10_000_keys(benchmark, tmp_path: Path) -> None:
    keys = pa.array(range(10_000), pa.int64())
    with fs.KeyedBackend.open(tmp_path / "batches", kind="rocksdb", key=pa.int64()) as backend:
        state: fs.ValueState[int] = backend.value_state("n", pa.int64())

        def run() -> int:
            state.put_many(keys, keys)
            return len(state.get_many(keys))

        assert benchmark(run) == 10_000
