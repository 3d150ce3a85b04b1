"""One's own objects as state, by codecs."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Points:
    name = "point-1"
    ordered = True

    def encode(self, value: Point) -> bytes:
        return struct.pack(">qq", value.x, value.y)

    def decode(self, data: bytes) -> Point:
        return Point(*struct.unpack(">qq", data))


class Unordered(Points):
    ordered = False


class Failing(Points):
    name = "failing"

    def encode(self, value: Point) -> bytes:
        if value.x < 0:
            raise ZeroDivisionError("no negative points")
        return super().encode(value)

    def decode(self, data: bytes) -> Point:
        if data[-1] == 13:
            raise ValueError("unlucky")
        return super().decode(data)


class Farthest:
    def create_accumulator(self) -> Point:
        return Point(0, 0)

    def add(self, value: int, acc: Point) -> Point:
        acc.x = max(acc.x, value)
        return acc

    def get_result(self, acc: Point) -> int:
        return acc.x

    def merge(self, a: Point, b: Point) -> Point:
        return Point(max(a.x, b.x), 0)


def test_values_are_objects(backend: KeyedBackend) -> None:
    state = backend.value_state("v", Points(), default=Point(0, 0))
    assert state.value() == Point(0, 0)
    mine = Point(1, 2)
    state.update(mine)
    mine.x = 9
    assert state.value() == Point(1, 2)
    state.value().x = 9
    assert state.value() == Point(1, 2)
    state.update(None)
    assert state.value() == Point(0, 0)


def test_list_elements_are_objects(backend: KeyedBackend) -> None:
    state = backend.list_state("l", Points())
    state.add(Point(1, 1))
    state.add_all([Point(2, 2)])
    assert state.get() == [Point(1, 1), Point(2, 2)]
    state.update([Point(3, 3)])
    assert state.get() == [Point(3, 3)]
    with pytest.raises(InvalidError):
        state.add(None)


def test_map_keys_and_values_are_objects(backend: KeyedBackend) -> None:
    state = backend.map_state("m", Points(), Points())
    state.put(Point(2, 0), Point(0, 2))
    state[Point(1, 0)] = None
    assert list(state.items()) == [(Point(1, 0), None), (Point(2, 0), Point(0, 2))]
    assert Point(1, 0) in state
    assert state.pop(Point(2, 0)) == Point(0, 2)
    entries = state.items()
    next(entries)
    entries.set_value(Point(7, 7))
    assert state.get(Point(1, 0)) == Point(7, 7)
    entries.remove()
    assert state.is_empty()


def test_functions_work_on_objects(backend: KeyedBackend) -> None:
    total = backend.reducing_state("r", Points(), lambda a, b: Point(a.x + b.x, a.y + b.y))
    far = backend.aggregating_state("a", Farthest(), accumulator=Points())
    for i in (1, 3, 2):
        total.add(Point(i, 10))
        far.add(i)
    assert total.get() == Point(6, 30)
    assert far.get() == 3


def test_an_ordered_codec_is_a_sorted_states_key(backend: KeyedBackend) -> None:
    state = backend.sorted_state("s", Points(), Points())
    for x in (3, 1, 2):
        state.add(Point(x, 0), Point(0, x))
    assert state.first_entry() == (Point(1, 0), [Point(0, 1)])
    assert [k.x for k, _ in state.read_range(Point(1, 0), Point(3, 0))] == [1, 2]
    with pytest.raises(InvalidError, match="not ordered"):
        backend.sorted_state("t", Unordered(), pa.int64())


def test_a_codec_that_raises_is_named_and_writes_nothing(backend: KeyedBackend) -> None:
    value = backend.value_state("v", Failing())
    words = backend.list_state("l", Failing())
    seen = backend.map_state("m", pa.string(), Failing())
    value.update(Point(1, 1))
    calls: list[Callable[[], Any]] = [
        lambda: value.update(Point(-1, 0)),
        lambda: words.add_all([Point(1, 0), Point(-1, 0)]),
        lambda: seen.put_all({"a": Point(1, 0), "b": Point(-1, 0)}),
    ]
    for call in calls:
        with pytest.raises(InvalidError, match=r"failing.*no negative points"):
            call()
    assert value.value() == Point(1, 1)
    assert words.get() == []
    assert seen.is_empty()
    value.update(Point(0, 13))
    with pytest.raises(InvalidError, match="'failing': decode raised ValueError: unlucky"):
        value.value()


def test_a_codec_must_make_bytes(backend: KeyedBackend) -> None:
    class Strings(Points):
        name = "strings"

        def encode(self, value: Point) -> Any:
            return str(value)

    state = backend.value_state("v", Strings())
    with pytest.raises(InvalidError, match=r"strings.*str.*bytes"):
        state.update(Point(1, 1))


def test_another_codec_is_another_type(backend: KeyedBackend) -> None:
    backend.value_state("v", Points()).update(Point(1, 1))
    with pytest.raises(InvalidError, match="point-1") as error:
        backend.value_state("v", Failing())
    assert "failing" in str(error.value)
    with pytest.raises(InvalidError, match="point-1"):
        backend.value_state("v", pa.binary())


def test_built_in_functions_do_not_know_objects(backend: KeyedBackend) -> None:
    with pytest.raises(InvalidError, match="point-1"):
        backend.reducing_state("r", Points(), "sum")
    last = backend.reducing_state("l", Points(), "last")
    last.add(Point(1, 1))
    last.add(Point(2, 2))
    assert last.get() == Point(2, 2)


# -- Batches ---------------------------------------------------------------------------------------


def test_a_batch_takes_objects_or_an_array_of_their_bytes(backend: KeyedBackend) -> None:
    points, keys = [Point(1, 2), Point(3, 4)], pa.array(["ada", "bob"])
    encoded = pa.array([Points().encode(point) for point in points], pa.binary())
    value = backend.value_state("v", Points())
    value.put_many(keys, points)
    assert value.value() == Point(1, 2)
    assert value.get_many(keys) == points
    value.put_many(keys, [None, Point(5, 6)])
    assert value.value() is None
    assert value.get_many(keys) == [None, Point(5, 6)]
    value.put_many(keys, encoded)
    assert value.value() == Point(1, 2)
    words = backend.list_state("l", Points())
    words.add_many(keys, points)
    assert words.get() == [Point(1, 2)]
    assert words.get_many(pa.array(["bob", "cyd"])) == [[Point(3, 4)], []]
    entries = backend.map_state("m", Points(), Points())
    entries.put_many(keys, points, points)
    assert entries.get(Point(1, 2)) == Point(1, 2)
    assert entries.get_many(keys, points[::-1]) == [None, None]
    assert entries.get_many(keys, points) == points
    numbers = backend.map_state("n", Points(), pa.int64())
    numbers.put_many(keys, points, pa.array([1, 2]))
    assert numbers.get_many(keys, points) == pa.array([1, 2])
    farthest = backend.reducing_state("r", Points(), "last")
    farthest.add_many(keys, points)
    assert farthest.get_many(keys) == points
    events = backend.sorted_state("s", Points(), Points())
    events.add_many(keys, points, points)
    assert events.first_entry() == (Point(1, 2), [Point(1, 2)])


def test_a_codec_that_raises_within_a_batch_changes_nothing(backend: KeyedBackend) -> None:
    keys = pa.array(["ada", "ada"])
    value = backend.value_state("v", Failing())
    words = backend.list_state("l", Failing())
    entries = backend.map_state("m", pa.int64(), Failing())
    events = backend.sorted_state("s", Points(), Failing())
    bad = [Point(1, 1), Point(-1, 1)]
    for call in (
        lambda: value.put_many(keys, bad),
        lambda: words.add_many(keys, bad),
        lambda: entries.put_many(keys, pa.array([1, 2]), bad),
        lambda: events.add_many(keys, [Point(1, 1)] * 2, bad),
    ):
        with pytest.raises(InvalidError, match="no negative points"):
            call()
    assert value.value() is None
    assert words.get() == []
    assert entries.is_empty()
    assert events.first_entry() is None
