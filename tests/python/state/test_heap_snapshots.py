"""Snapshots of the heap backend: nothing that is written later is in them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from flintstate import KeyedBackend, Ttl
from flintstate.state.heap.backend import HeapBackend
from flintstate.state.heap.snapshot import HeapSnapshot


def opened(**options: Any) -> HeapBackend:
    backend = KeyedBackend.open(None, kind="heap", **{"key": pa.string(), **options})
    assert isinstance(backend, HeapBackend)
    if "key_groups" not in options:
        backend.set_key("ada")
    return backend


def restored(snapshot: HeapSnapshot, **options: Any) -> HeapBackend:
    backend = opened(**options)
    backend.load(snapshot)
    return backend


def declare(backend: KeyedBackend) -> dict[str, Any]:
    return {
        "value": backend.value_state("value", pa.int64()),
        "list": backend.list_state("list", pa.list_(pa.int64())),
        "map": backend.map_state("map", pa.string(), pa.int64()),
        "sum": backend.reducing_state("sum", pa.int64(), "sum"),
        "sorted": backend.sorted_state("sorted", pa.int64(), pa.string()),
    }


def write(states: dict[str, Any], n: int) -> None:
    states["value"].update(n)
    states["list"].add([n])
    states["map"].put(str(n), n)
    states["map"].put("same", n)
    states["sum"].add(n)
    states["sorted"].add(n, str(n))
    states["sorted"].add(0, str(n))


def contents(states: dict[str, Any]) -> list[object]:
    return [
        states["value"].value(),
        states["list"].get(),
        list(states["map"].items()),
        states["sum"].get(),
        list(states["sorted"].read_range_from(-1)),
    ]


def test_what_is_written_later_is_not_in_a_snapshot() -> None:
    backend = opened()
    states = declare(backend)
    write(states, 1)
    before = contents(states)
    snapshot = backend.snapshot()
    write(states, 2)
    backend.set_key("bob")
    write(states, 3)
    copy = restored(snapshot)
    assert contents(declare(copy)) == before
    assert list(copy.keys("value")) == ["ada"]


def test_what_is_cleared_later_is_still_in_a_snapshot() -> None:
    backend = opened()
    states = declare(backend)
    write(states, 1)
    before = contents(states)
    snapshot = backend.snapshot()
    for state in states.values():
        state.clear()
    assert contents(declare(restored(snapshot))) == before


def test_each_of_several_snapshots_is_of_its_own_time() -> None:
    backend = opened()
    states = declare(backend)
    taken = []
    for n in range(1, 6):
        write(states, n)
        taken.append((backend.snapshot(), contents(states)))
    write(states, 9)
    for snapshot, expected in taken:
        assert contents(declare(restored(snapshot))) == expected


def test_a_released_snapshot_leaves_the_others_alone() -> None:
    backend = opened()
    states = declare(backend)
    write(states, 1)
    first, expected = backend.snapshot(), contents(states)
    write(states, 2)
    second = backend.snapshot()
    second.release()
    second.release()
    write(states, 3)
    assert contents(declare(restored(first))) == expected


def test_a_restored_backend_does_not_write_into_its_snapshot() -> None:
    backend = opened()
    states = declare(backend)
    write(states, 1)
    expected = contents(states)
    snapshot = backend.snapshot()
    one, two = restored(snapshot), restored(snapshot)
    later = one.snapshot()
    later.release()
    write(declare(one), 5)
    write(states, 7)
    assert contents(declare(two)) == expected


def test_timers_are_in_a_snapshot() -> None:
    backend = opened()
    backend.register_event_time_timer(5)
    backend.register_processing_time_timer(6)
    snapshot = backend.snapshot()
    backend.delete_event_time_timer(5)
    backend.register_event_time_timer(7)
    copy = restored(snapshot)
    assert [timer.time for timer in copy.advance_watermark(10)] == [5]
    assert [timer.time for timer in copy.advance_processing_time(10)] == [6]
    assert [timer.time for timer in backend.advance_watermark(10)] == [7]


def test_a_snapshot_is_taken_over_by_key_group() -> None:
    backend = opened()
    state = backend.value_state("value", pa.int64())
    for n in range(100):
        backend.set_key(str(n))
        state.update(n)
    snapshot = backend.snapshot()
    parts = [restored(snapshot, key_groups=range(a, b)) for a, b in ((0, 1), (1, 77), (77, 128))]
    keys = []
    for part in parts:
        part.value_state("value", pa.int64())
        keys += [*part.keys("value")]
    assert sorted(map(int, keys)) == list(range(100))


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True)])
def test_time_to_live_may_be_turned_on_or_off_across_a_restore(before: bool, after: bool) -> None:
    now = 1_000
    ttl = dt.timedelta(seconds=1)

    def states(backend: HeapBackend, on: bool) -> list[Any]:
        given = ttl if on else None
        return [
            backend.value_state("v", pa.int64(), ttl=given),
            backend.list_state("l", pa.int64(), ttl=given),
            backend.map_state("m", pa.string(), pa.int64(), ttl=given),
            backend.sorted_state("s", pa.int64(), pa.int64(), ttl=given),
        ]

    backend = opened(clock=lambda: now)
    value, elements, entries, ordered = states(backend, before)
    value.update(1)
    elements.add(2)
    entries.put("a", 3)
    ordered.add(4, 5)
    copy = restored(backend.snapshot(), clock=lambda: now)
    value, elements, entries, ordered = states(copy, after)
    now += 10_000  # what was written without a time does not expire until it is written again
    assert value.value() == 1
    assert elements.get() == [2]
    assert list(entries.items()) == [("a", 3)]
    assert ordered.first_entry() == (4, [5])


def test_expired_entries_are_cleaned_up_by_the_accesses_of_others() -> None:
    now = 1_000
    backend = opened(clock=lambda: now)
    state = backend.value_state("v", pa.int64(), ttl=Ttl(ttl=dt.timedelta(seconds=1)))
    for n in range(300):
        backend.set_key(str(n))
        state.update(n)
    now += 1_000
    backend.set_key("other")
    for _ in range(500):
        state.value()
    assert sum(len(shard) for shard in backend._tables["v"].shards) == 0


def test_nothing_is_written_to_a_heap_backends_path(tmp_path: Any) -> None:
    with KeyedBackend.open(tmp_path / "state", kind="heap", key=pa.string()) as backend:
        backend.set_key("ada")
        backend.value_state("v", pa.int64()).update(1)
    assert list(tmp_path.iterdir()) == []
    with KeyedBackend.open(tmp_path / "state", kind="heap", key=pa.string()) as backend:
        backend.set_key("ada")
        assert backend.value_state("v", pa.int64()).value() is None
