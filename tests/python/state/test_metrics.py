"""What a backend counts of its states, and times if asked to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend, MapState, SortedState, ValueState


@pytest.fixture(params=["heap", "rocksdb"])
def open_backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with contextlib.ExitStack() as stack:
        yield lambda **options: stack.enter_context(
            KeyedBackend.open(tmp_path, kind=request.param, key=pa.string(), **options)
        )


def test_reads_and_writes_are_counted_for_each_state(open_backend: Any) -> None:
    backend = open_backend()
    backend.set_key("ada")
    value = backend.value_state("v", pa.int64(), default=0)
    words = backend.list_state("l", pa.string())
    for n in range(3):
        value.update(n)
    value.value()
    words.add("x")
    words.get()
    words.get()
    counted = backend.metrics()
    assert {name: (one.reads, one.writes) for name, one in counted.items()} == {
        "v": (1, 3), "l": (2, 1)
    }  # fmt: skip
    assert counted["v"].latencies == {}


@pytest.mark.parametrize("cache_bytes", [100_000, 10_000_000])
def test_the_cache_is_as_large_as_asked_for(tmp_path: Path, cache_bytes: int) -> None:
    with KeyedBackend.open(
        tmp_path, kind="rocksdb", key=pa.int64(), cache_bytes=cache_bytes
    ) as backend:
        value = backend.value_state("v", pa.binary())
        elements = backend.list_state("l", pa.binary())
        entries = backend.map_state("m", pa.int64(), pa.binary())
        events = backend.sorted_state("s", pa.int64(), pa.binary())
        for key in range(1000):
            backend.set_key(key)
            data = key.to_bytes(1000, "little")
            value.update(data)
            elements.add(data)
            entries[0] = data
            events.add(0, data)
        for key in range(1000):
            backend.set_key(key)
            data = key.to_bytes(1000, "little")
            assert (value.value(), elements.get(), entries[0]) == (data, [data], data)
            assert events.values_at(0) == [data]
        read = {name: counted.store_reads for name, counted in backend.metrics().items()}
        if cache_bytes < 1_000_000:
            assert min(read.values()) >= 900
        else:
            assert read["v"] == 0


def test_a_prefetch_reads_the_value_states_of_its_keys(tmp_path: Path) -> None:
    keys = pa.array(range(1000), pa.int64())
    with KeyedBackend.open(tmp_path, kind="rocksdb", key=pa.int64()) as backend:
        backend.value_state("v", pa.int64()).put_many(keys, keys)
    with KeyedBackend.open(tmp_path, kind="rocksdb", key=pa.int64()) as backend:
        state = backend.value_state("v", pa.int64())
        backend.prefetch(keys)
        assert backend.metrics()["v"].store_reads == 1000
        for key in range(1000):
            backend.set_key(key)
            assert state.value() == key
        assert backend.metrics()["v"].store_reads == 1000


def test_iterating_over_a_map_reads_it_page_by_page(tmp_path: Path) -> None:
    with KeyedBackend.open(tmp_path, kind="rocksdb", key=pa.int64()) as backend:
        backend.set_key(1)
        state = backend.map_state("m", pa.int64(), pa.binary())
        state.put_all((i, bytes(1000)) for i in range(10_000))
    with KeyedBackend.open(tmp_path, kind="rocksdb", key=pa.int64()) as backend:
        backend.set_key(1)
        state = backend.map_state("m", pa.int64(), pa.binary())
        entries = state.items()
        assert next(entries)[0] == 0
        assert backend.metrics()["m"].bytes_read < 1_000_000
        assert sum(1 for _ in entries) == 9_999
        assert backend.metrics()["m"].bytes_read > 10_000_000


def test_calls_are_timed_when_asked_to(open_backend: Any) -> None:
    backend = open_backend(time_every=2)
    backend.set_key("ada")
    value = backend.value_state("v", pa.int64(), default=0)
    seen = backend.map_state("m", pa.string(), pa.int64())
    for n in range(5):
        value.update(n)
        seen["x"] = n
        seen.put("y", n)
    assert value.value() == 4
    latencies = backend.metrics()["v"].latencies
    assert latencies["update"].samples == 2
    assert 0 < latencies["update"].max_ns <= latencies["update"].total_ns
    assert "value" not in latencies
    assert backend.metrics()["m"].latencies["put"].samples > 0


def test_a_timed_state_is_still_of_its_kind(open_backend: Any) -> None:
    backend = open_backend(time_every=1)
    backend.set_key("ada")
    value = backend.value_state("v", pa.int64(), namespace=pa.string())
    seen = backend.map_state("m", pa.string(), pa.int64())
    events = backend.sorted_state("s", pa.int64(), pa.string())
    assert isinstance(value, ValueState)
    assert isinstance(seen, MapState)
    assert isinstance(events, SortedState)
    value.set_namespace("w")
    assert (value.name, value.namespace) == ("v", "w")
    seen["a"] = 1
    assert dict(seen.items()) == {"a": 1}
    assert len(seen) == 1
    events.add(1, "x")
    assert list(events.read_range_from(0)) == [(1, ["x"])]
    value.update(1)
    assert list(backend.keys(value, "w")) == ["ada"]


def test_time_every_is_at_least_one(open_backend: Any) -> None:
    with pytest.raises(InvalidError):
        open_backend(time_every=0)
