"""Sorted state: a map from an ordered key to a list of values."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend, SortedState


@pytest.fixture
def events(backend: KeyedBackend) -> SortedState[int, str]:
    """At -10, 0, 10 and 20, with two values at 10; added out of order."""
    state: SortedState[int, str] = backend.sorted_state("events", pa.int64(), pa.string())
    for key, value in ((10, "c"), (-10, "a"), (20, "e"), (10, "d"), (0, "b")):
        state.add(key, value)
    return state


def test_values_at_gives_the_values_of_one_key(events: SortedState[int, str]) -> None:
    assert events.values_at(10) == ["c", "d"]
    assert events.values_at(5) is None


def test_add_appends(events: SortedState[int, str]) -> None:
    events.add(10, "c")
    assert events.values_at(10) == ["c", "d", "c"]


def test_put_replaces(events: SortedState[int, str]) -> None:
    events.put(10, ["x", "y", "z"])
    events.put(5, ["new"])
    assert events.values_at(10) == ["x", "y", "z"]
    assert events.values_at(5) == ["new"]
    events.add(10, "after")
    assert events.values_at(10) == ["x", "y", "z", "after"]


def test_put_of_an_empty_list_clears_the_entry(events: SortedState[int, str]) -> None:
    events.put(10, [])
    assert events.values_at(10) is None
    assert [k for k, _ in events.read_range_from(-100)] == [-10, 0, 20]


def test_first_entry_is_at_or_after(events: SortedState[int, str]) -> None:
    assert events.first_entry() == (-10, ["a"])
    assert events.first_entry(1) == (10, ["c", "d"])
    assert events.first_entry(from_key=10) == (10, ["c", "d"])
    assert events.first_entry(21) is None


def test_last_entry_is_at_or_before(events: SortedState[int, str]) -> None:
    assert events.last_entry() == (20, ["e"])
    assert events.last_entry(19) == (10, ["c", "d"])
    assert events.last_entry(to_key=10) == (10, ["c", "d"])
    assert events.last_entry(-11) is None


def test_an_empty_state_has_no_entries(backend: KeyedBackend) -> None:
    state = backend.sorted_state("s", pa.int64(), pa.string())
    assert state.first_entry() is None
    assert state.last_entry() is None
    assert state.values_at(1) is None
    assert list(state.read_range_from(0)) == []
    assert list(backend.keys("s")) == []


def test_read_range_includes_from_and_excludes_to(events: SortedState[int, str]) -> None:
    assert list(events.read_range(-10, 10)) == [(-10, ["a"]), (0, ["b"])]


def test_read_range_includes_to_when_asked(events: SortedState[int, str]) -> None:
    expected = [(0, ["b"]), (10, ["c", "d"])]
    assert list(events.read_range(0, 10, True)) == expected
    assert list(events.read_range(0, 10, inclusive_to=True)) == expected


def test_read_range_until_starts_at_the_first(events: SortedState[int, str]) -> None:
    assert [k for k, _ in events.read_range_until(10)] == [-10, 0]
    assert [k for k, _ in events.read_range_until(10, inclusive_to=True)] == [-10, 0, 10]


def test_read_range_from_goes_to_the_last(events: SortedState[int, str]) -> None:
    assert [k for k, _ in events.read_range_from(0)] == [0, 10, 20]
    assert [k for k, _ in events.read_range_from(21)] == []


def test_a_range_that_ends_before_it_starts_is_empty(events: SortedState[int, str]) -> None:
    assert list(events.read_range(10, 0)) == []
    events.clear_range(10, 0, inclusive_to=True)
    assert len(list(events.read_range_from(-100))) == 4


def test_a_range_of_one_key_is_empty_unless_inclusive(events: SortedState[int, str]) -> None:
    assert list(events.read_range(10, 10)) == []
    assert [k for k, _ in events.read_range(10, 10, inclusive_to=True)] == [10]


def test_ranges_can_be_read_in_reverse(events: SortedState[int, str]) -> None:
    assert list(events.read_range(-10, 10, reverse=True)) == [(0, ["b"]), (-10, ["a"])]
    assert [k for k, _ in events.read_range_from(0, reverse=True)] == [20, 10, 0]
    assert [k for k, _ in events.read_range_until(10, True, reverse=True)] == [10, 0, -10]


def test_ranges_can_be_limited(events: SortedState[int, str]) -> None:
    assert [k for k, _ in events.read_range_from(-10, limit=2)] == [-10, 0]
    assert list(events.read_range_until(20, reverse=True, limit=1)) == [(10, ["c", "d"])]
    assert list(events.read_range(-10, 20, limit=0)) == []


def test_a_range_read_sees_the_state_as_of_its_start(events: SortedState[int, str]) -> None:
    entries = events.read_range_from(-10)
    assert next(entries) == (-10, ["a"])
    events.add(0, "late")
    events.add(5, "new")
    events.clear_entry_at(20)
    assert list(entries) == [(0, ["b"]), (10, ["c", "d"]), (20, ["e"])]
    assert [k for k, _ in events.read_range_from(-10)] == [-10, 0, 5, 10]


def test_clear_entry_at_takes_one_key(events: SortedState[int, str]) -> None:
    events.clear_entry_at(10)
    events.clear_entry_at(11)
    assert [k for k, _ in events.read_range_from(-10)] == [-10, 0, 20]
    events.add(10, "again")
    assert events.values_at(10) == ["again"]


def test_clear_range_takes_what_read_range_reads(events: SortedState[int, str]) -> None:
    events.clear_range(-10, 10)
    assert [k for k, _ in events.read_range_from(-10)] == [10, 20]
    events.clear_range(10, 20, inclusive_to=True)
    assert events.first_entry() is None


def test_clear_range_until_takes_from_the_first(events: SortedState[int, str]) -> None:
    events.clear_range_until(0)
    assert events.first_entry() == (0, ["b"])
    events.clear_range_until(0, inclusive_to=True)
    assert events.first_entry() == (10, ["c", "d"])


def test_clear_range_from_takes_to_the_last(events: SortedState[int, str]) -> None:
    events.clear_range_from(10)
    assert events.last_entry() == (0, ["b"])


def test_clear_takes_all_of_one_key(backend: KeyedBackend, events: SortedState[int, str]) -> None:
    backend.set_key("bob")
    events.add(1, "bob's")
    events.clear()
    assert events.first_entry() is None
    backend.set_key("ada")
    assert events.first_entry() == (-10, ["a"])
    events.clear()
    assert events.first_entry() is None
    assert list(backend.keys("events")) == []


def test_ranges_end_at_the_keys_own_state(
    backend: KeyedBackend, events: SortedState[int, str]
) -> None:
    for key in ("a", "ad", "ad\0", "adb", "b"):
        backend.set_key(key)
        events.add(5, key)
    backend.set_key("ada")
    assert [k for k, _ in events.read_range_from(-100)] == [-10, 0, 10, 20]
    assert events.first_entry() == (-10, ["a"])
    assert events.last_entry() == (20, ["e"])
    events.clear_range_from(-100)
    backend.set_key("adb")
    assert events.first_entry() == (5, ["adb"])


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.add(None, "x"), lambda s: s.add(1, None), lambda s: s.put(None, ["x"]),
        lambda s: s.put(0, ["x", None]), lambda s: s.put(0, None), lambda s: s.values_at(None),
        lambda s: s.read_range(None, 1), lambda s: s.clear_range_until(None),
    ],
)  # fmt: skip
def test_none_as_a_key_or_value_is_refused(events: SortedState[int, str], change: object) -> None:
    with pytest.raises(InvalidError):
        change(events)  # type: ignore[operator]
    assert [(k, len(v)) for k, v in events.read_range_from(-10)] == [
        (-10, 1), (0, 1), (10, 2), (20, 1)
    ]  # fmt: skip


def test_lists_that_were_returned_are_the_callers_own(events: SortedState[int, str]) -> None:
    events.values_at(10).append("mine")
    events.first_entry()[1].append("mine")
    assert events.values_at(10) == ["c", "d"]
    assert events.values_at(-10) == ["a"]


@pytest.mark.parametrize(
    ("type_", "keys"),
    [
        (pa.string(), ["", "a", "a\0", "ab", "b"]),
        (pa.float64(), [float("-inf"), -1.0, 0.0, 2.5, float("inf")]),
        (pa.timestamp("us"), [dt.datetime(1900, 1, 1), dt.datetime(2026, 1, 1)]),
        (pa.date32(), [dt.date(1900, 1, 1), dt.date(2026, 1, 1)]),
        (pa.bool_(), [False, True]),
    ],
    ids=str,
)
def test_any_ordered_type_is_a_key(
    backend: KeyedBackend, type_: pa.DataType, keys: list[object]
) -> None:
    state = backend.sorted_state("s", type_, pa.int64())
    for i, key in reversed(list(enumerate(keys))):
        state.add(key, i)
    assert list(state.read_range_from(keys[0])) == [(key, [i]) for i, key in enumerate(keys)]
    assert state.first_entry(keys[1]) == (keys[1], [1])


def test_descending_order_turns_everything_round(backend: KeyedBackend) -> None:
    state = backend.sorted_state("s", pa.int64(), pa.string(), descending=True)
    for key in (1, 3, 2):
        state.add(key, str(key))
    assert state.first_entry() == (3, ["3"])
    assert state.last_entry() == (1, ["1"])
    assert state.first_entry(from_key=2) == (2, ["2"])
    assert [k for k, _ in state.read_range(3, 1)] == [3, 2]
    assert list(state.read_range(1, 3)) == []


def test_keys_of_several_columns_are_tuples(backend: KeyedBackend) -> None:
    key = pa.schema([("day", pa.int64()), ("name", pa.string())])
    state = backend.sorted_state("s", key, pa.int64(), descending=["name"])
    for i, pair in enumerate([(1, "a"), (2, "a"), (1, "b"), (1, None)]):
        state.add(pair, i)
    assert [v for _, v in state.read_range_from((0, None))] == [[3], [2], [0], [1]]
    assert state.first_entry() == ((1, None), [3])
    assert [k for k, _ in state.read_range((1, "b"), (1, "a"), inclusive_to=True)] == [
        (1, "b"), (1, "a")
    ]  # fmt: skip


def test_many_keys_stay_in_order(backend: KeyedBackend) -> None:
    state = backend.sorted_state("s", pa.int64(), pa.int64())
    for i in range(1_000):
        state.add(i * 7919 % 1_000, i)
    assert [k for k, _ in state.read_range_from(0)] == list(range(1_000))
    state.clear_range(100, 900)
    assert [k for k, _ in state.read_range_from(0)] == [*range(100), *range(900, 1_000)]
    state.add(500, 1)
    assert state.first_entry(100) == (500, [1])
