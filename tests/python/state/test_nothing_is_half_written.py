"""Calls that fail leave everything as it was, whatever of them was right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend

KEYS = pa.array(["ada", "bob", "cyd", "dan", "eve", "fay"])


def group_of(key: str) -> int:
    for group in range(128):
        groups = range(group, group + 1)
        with KeyedBackend.open(None, kind="heap", key=pa.string(), key_groups=groups) as backend:
            try:
                backend.set_key(key)
            except InvalidError:
                continue
            return group
    raise AssertionError(key)


@pytest.fixture
def part(open_backend: Callable[..., KeyedBackend]) -> KeyedBackend:
    """A backend that has the key group of the first of KEYS, and not those of the others."""
    groups = [group_of(key) for key in KEYS.to_pylist()]
    assert len(set(groups)) == len(groups)
    backend = open_backend(key_groups=range(groups[0], groups[0] + 1))
    backend.set_key("ada")
    return backend


def test_a_batch_with_a_key_of_another_group_writes_nothing(part: KeyedBackend) -> None:
    numbers = pa.array(range(6), pa.int64())
    states: Any = [
        part.value_state("v", pa.int64()),
        part.list_state("l", pa.int64()),
        part.map_state("m", pa.int64(), pa.int64()),
        part.reducing_state("r", pa.int64(), "sum"),
        part.sorted_state("s", pa.int64(), pa.int64()),
    ]
    value, words, seen, total, events = states
    for call in (
        lambda: value.put_many(KEYS, numbers),
        lambda: words.add_many(KEYS, numbers),
        lambda: seen.put_many(KEYS, numbers, numbers),
        lambda: total.add_many(KEYS, numbers),
        lambda: events.add_many(KEYS, numbers, numbers),
        lambda: value.get_many(KEYS),
        lambda: value.clear_many(KEYS),
    ):
        with pytest.raises(InvalidError, match="key group"):
            call()
    assert [list(part.keys(state)) for state in states] == [[]] * 5
    assert part.current_key == "ada"


class Brittle:
    """Fails where 13 is merged or added."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, acc: int) -> int:
        return acc + value

    def get_result(self, acc: int) -> int:
        return acc

    def merge(self, a: int, b: int) -> int:
        if 13 in (a, b):
            raise ZeroDivisionError("13")
        return a + b


def brittle(a: int, b: int) -> int:
    return Brittle().merge(a, b)


def test_merging_with_a_function_that_raises_changes_nothing(backend: KeyedBackend) -> None:
    states: Any = [
        backend.reducing_state("r", pa.int64(), brittle, namespace=pa.string()),
        backend.aggregating_state("a", Brittle(), accumulator=pa.int64(), namespace=pa.string()),
    ]
    for state in states:
        for space, number in (("x", 1), ("y", 2), ("z", 13)):
            state.set_namespace(space)
            state.add(number)
        with pytest.raises(ZeroDivisionError):
            state.merge_namespaces("x", ["y", "z"])
        found = []
        for space in ("x", "y", "z"):
            state.set_namespace(space)
            found.append(state.get())
        assert found == [1, 2, 13]


def test_merging_a_namespace_that_does_not_fit_changes_nothing(backend: KeyedBackend) -> None:
    state: Any = backend.list_state("l", pa.string(), namespace=pa.string())
    state.set_namespace("x")
    state.add("a")
    with pytest.raises(InvalidError, match="namespace"):
        state.merge_namespaces("y", ["x", 5])
    assert state.get() == ["a"]


def test_an_iterable_that_raises_halfway_changes_nothing(backend: KeyedBackend) -> None:
    def halfway(of: Any) -> Any:
        yield of
        raise ZeroDivisionError("halfway")

    words: Any = backend.list_state("l", pa.string())
    seen: Any = backend.map_state("m", pa.string(), pa.int64())
    events: Any = backend.sorted_state("s", pa.int64(), pa.string())
    words.add("before")
    events.add(1, "before")
    for call in (
        lambda: words.add_all(halfway("a")),
        lambda: words.update(halfway("a")),
        lambda: seen.put_all(halfway(("a", 1))),
        lambda: events.put(1, halfway("a")),
    ):
        with pytest.raises(ZeroDivisionError):
            call()
    assert words.get() == ["before"]
    assert seen.is_empty()
    assert events.values_at(1) == ["before"]


def test_use_without_a_current_key_is_refused_by_all_kinds(
    open_backend: Callable[..., KeyedBackend],
) -> None:
    backend = open_backend()
    value: Any = backend.value_state("v", pa.int64(), default=0)
    words: Any = backend.list_state("l", pa.int64())
    seen: Any = backend.map_state("m", pa.int64(), pa.int64())
    total: Any = backend.reducing_state("r", pa.int64(), "sum")
    mean: Any = backend.aggregating_state("a", Brittle(), accumulator=pa.int64())
    events: Any = backend.sorted_state("s", pa.int64(), pa.int64())
    for call in (
        lambda: value.value(), lambda: value.update(1), lambda: value.clear(),
        lambda: words.get(), lambda: words.add(1), lambda: words.update([1]), lambda: words.clear(),
        lambda: seen.get(1), lambda: seen.put(1, 1), lambda: seen.is_empty(),
        lambda: seen.items(), lambda: seen.clear(),
        lambda: total.get(), lambda: total.add(1), lambda: total.clear(),
        lambda: mean.get(), lambda: mean.add(1), lambda: mean.clear(),
        lambda: events.first_entry(), lambda: events.add(1, 1), lambda: events.read_range_from(1),
        lambda: events.clear_range_from(1), lambda: events.clear(),
        lambda: backend.register_event_time_timer(1),
    ):  # fmt: skip
        with pytest.raises(InvalidError, match="set_key"):
            call()
