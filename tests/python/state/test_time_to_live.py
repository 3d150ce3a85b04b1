"""Time to live, per value, list element and map entry."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend, Ttl

SECOND = 1000
TEN_SECONDS = dt.timedelta(seconds=10)


@pytest.fixture
def timed(open_backend: Callable[..., KeyedBackend], clock: Any) -> KeyedBackend:
    """A backend at the key "ada" whose processing time is `clock`."""
    backend = open_backend(clock=clock)
    backend.set_key("ada")
    return backend


def test_a_value_is_expired_when_its_time_has_come(timed: KeyedBackend, clock: Any) -> None:
    state = timed.value_state("v", pa.int64(), ttl=TEN_SECONDS)
    state.update(1)
    clock.now += 10 * SECOND - 1
    assert state.value() == 1
    clock.now += 1
    assert state.value() is None
    assert list(timed.keys("v")) == []


def test_writing_starts_the_time_anew(timed: KeyedBackend, clock: Any) -> None:
    state = timed.value_state("v", pa.int64(), ttl=TEN_SECONDS)
    state.update(1)
    clock.now += 9 * SECOND
    state.update(2)
    clock.now += 9 * SECOND
    assert state.value() == 2


def test_reading_does_not_refresh_by_default(timed: KeyedBackend, clock: Any) -> None:
    state = timed.value_state("v", pa.int64(), ttl=TEN_SECONDS)
    state.update(1)
    clock.now += 9 * SECOND
    assert state.value() == 1
    clock.now += 1 * SECOND
    assert state.value() is None


def test_reading_refreshes_when_asked_to(timed: KeyedBackend, clock: Any) -> None:
    ttl = Ttl(ttl=TEN_SECONDS, refresh_on_read=True)
    value = timed.value_state("v", pa.int64(), ttl=ttl)
    words = timed.list_state("l", pa.string(), ttl=ttl)
    seen = timed.map_state("m", pa.string(), pa.int64(), ttl=ttl)
    total = timed.reducing_state("r", pa.int64(), lambda a, b: a + b, ttl=ttl)
    value.update(1)
    words.add("x")
    seen.put_all({"read": 1, "not read": 2})
    total.add(1)
    for _ in range(3):
        clock.now += 9 * SECOND
        assert value.value() == 1
        assert words.get() == ["x"]
        assert seen.get("read") == 1
        assert total.get() == 1
    assert list(seen.keys()) == ["read"]
    clock.now += 10 * SECOND
    assert value.value() is None
    assert words.get() == []
    assert seen.is_empty()
    assert total.get() is None


def test_contains_is_a_read(timed: KeyedBackend, clock: Any) -> None:
    state = timed.map_state(
        "m", pa.string(), pa.int64(), ttl=Ttl(ttl=TEN_SECONDS, refresh_on_read=True)
    )
    state.put("a", 1)
    clock.now += 9 * SECOND
    assert state.contains("a")
    clock.now += 9 * SECOND
    assert state.contains("a")
    clock.now += 10 * SECOND
    assert not state.contains("a")


def test_an_expired_value_cannot_be_refreshed(timed: KeyedBackend, clock: Any) -> None:
    state = timed.value_state("v", pa.int64(), ttl=Ttl(ttl=TEN_SECONDS, refresh_on_read=True))
    state.update(1)
    clock.now += 10 * SECOND
    assert state.value() is None
    clock.now -= 5 * SECOND
    assert state.value() in (None, 1)
    clock.now += 10 * SECOND
    assert state.value() is None


def test_list_elements_expire_one_by_one(timed: KeyedBackend, clock: Any) -> None:
    state = timed.list_state("l", pa.int64(), ttl=TEN_SECONDS)
    state.add(1)
    clock.now += 5 * SECOND
    state.add_all([2, 3])
    clock.now += 5 * SECOND
    assert state.get() == [2, 3]
    state.add(4)
    clock.now += 5 * SECOND
    assert state.get() == [4]


def test_a_list_all_of_whose_elements_expired_is_empty(timed: KeyedBackend, clock: Any) -> None:
    state = timed.list_state("l", pa.int64(), ttl=TEN_SECONDS)
    state.add_all([1, 2])
    clock.now += 10 * SECOND
    assert state.get() == []
    assert list(timed.keys("l")) == []


def test_map_entries_expire_one_by_one(timed: KeyedBackend, clock: Any) -> None:
    state = timed.map_state("m", pa.string(), pa.int64(), ttl=TEN_SECONDS)
    state.put("old", 1)
    clock.now += 5 * SECOND
    state.put("new", None)
    clock.now += 5 * SECOND
    assert state.get("old") is None
    assert not state.contains("old")
    assert "new" in state
    assert list(state.items()) == [("new", None)]
    assert len(state) == 1
    clock.now += 5 * SECOND
    assert state.is_empty()
    assert list(timed.keys("m")) == []


def test_reducing_starts_anew_after_expiry(timed: KeyedBackend, clock: Any) -> None:
    built_in = timed.reducing_state("b", pa.int64(), "sum", ttl=TEN_SECONDS)
    python = timed.reducing_state("p", pa.int64(), lambda a, b: a + b, ttl=TEN_SECONDS)
    for state in (built_in, python):
        state.add(5)
    clock.now += 10 * SECOND
    for state in (built_in, python):
        assert state.get() is None
        state.add(1)
        state.add(1)
        assert state.get() == 2


def test_aggregating_starts_anew_after_expiry(timed: KeyedBackend, clock: Any) -> None:
    class Sum:
        def create_accumulator(self) -> int:
            return 100

        def add(self, value: int, acc: int) -> int:
            return acc + value

        def get_result(self, acc: int) -> int:
            return acc

        def merge(self, a: int, b: int) -> int:
            return a + b

    state = timed.aggregating_state("a", Sum(), accumulator=pa.int64(), ttl=TEN_SECONDS)
    state.add(1)
    clock.now += 10 * SECOND
    assert state.get() is None
    state.add(2)
    assert state.get() == 102


def test_sorted_values_expire_one_by_one(timed: KeyedBackend, clock: Any) -> None:
    state = timed.sorted_state("s", pa.int64(), pa.string(), ttl=TEN_SECONDS)
    state.add(1, "old")
    state.add(2, "old")
    clock.now += 5 * SECOND
    state.add(2, "new")
    clock.now += 5 * SECOND
    assert state.values_at(1) is None
    assert state.first_entry() == (2, ["new"])
    assert list(state.read_range_from(0)) == [(2, ["new"])]
    clock.now += 5 * SECOND
    assert state.first_entry() is None
    assert list(timed.keys("s")) == []


def test_expired_values_may_be_returned_until_they_are_cleaned_up(
    timed: KeyedBackend, clock: Any
) -> None:
    state = timed.value_state("v", pa.int64(), ttl=Ttl(ttl=TEN_SECONDS, return_expired=True))
    state.update(1)
    clock.now += 100 * SECOND
    assert state.value() in (None, 1)
    state.update(2)
    assert state.value() == 2


def test_an_expired_value_is_returned_once_at_most(timed: KeyedBackend, clock: Any) -> None:
    ttl = Ttl(ttl=TEN_SECONDS, return_expired=True)
    value = timed.value_state("v", pa.int64(), ttl=ttl)
    words = timed.list_state("l", pa.string(), ttl=ttl)
    seen = timed.map_state("m", pa.string(), pa.int64(), ttl=ttl)
    total = timed.reducing_state("r", pa.int64(), lambda a, b: a + b, ttl=ttl)
    events = timed.sorted_state("s", pa.int64(), pa.string(), ttl=ttl)
    reads: list[Any] = [
        lambda: value.value(), lambda: words.get(), lambda: total.get(),
        lambda: seen.get("a"), lambda: list(seen.items()), lambda: seen.contains("a"),
        lambda: events.values_at(1), lambda: events.first_entry(),
        lambda: list(events.read_range_from(0)),
        lambda: value.get_many(pa.array(["ada"])).to_pylist(),
        lambda: words.get_many(pa.array(["ada"])).to_pylist(),
    ]  # fmt: skip
    for read in reads:
        value.update(1)
        words.add("x")
        total.add(1)
        seen.put("a", 1)
        events.add(1, "x")
        alive = read()
        clock.now += 10 * SECOND
        empty = [None, [], False, [None], [[]]]
        assert read() in [alive, *empty]
        assert read() in empty
        for state in (value, words, total, seen, events):
            state.clear()


class Total:
    """Adds up integers."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, acc: int) -> int:
        return acc + value

    def get_result(self, acc: int) -> int:
        return acc

    def merge(self, a: int, b: int) -> int:
        return a + b


def test_what_has_expired_is_not_added_to_even_where_reads_return_it(
    timed: KeyedBackend, clock: Any
) -> None:
    ttl = Ttl(ttl=TEN_SECONDS, return_expired=True)
    states: list[Any] = [
        timed.reducing_state("sum", pa.int64(), "sum", ttl=ttl),
        timed.reducing_state("function", pa.int64(), lambda a, b: a + b, ttl=ttl),
        timed.aggregating_state("total", Total(), accumulator=pa.int64(), ttl=ttl),
    ]
    for state in states:
        state.add(1)
    clock.now += 10 * SECOND
    for state in states:
        state.add(10)
    states[0].add_many(pa.array(["ada"]), pa.array([100]))
    assert [state.get() for state in states] == [110, 10, 10]


def test_the_longest_timedelta_is_a_time_to_live(timed: KeyedBackend) -> None:
    state = timed.value_state("v", pa.int64(), ttl=dt.timedelta.max)
    state.update(1)
    assert state.value() == 1


@pytest.mark.parametrize("kind", ["heap", "rocksdb"])
@pytest.mark.parametrize("said", [1.5, None, "noon", 2**63, -(2**63)])
def test_a_clock_that_gives_no_milliseconds_is_refused(
    kind: Any, said: Any, tmp_path: Path
) -> None:
    with KeyedBackend.open(tmp_path, kind=kind, key=pa.string(), clock=lambda: said) as backend:
        backend.set_key("ada")
        state = backend.value_state("v", pa.int64(), ttl=TEN_SECONDS)
        for call in (lambda: state.update(1), lambda: list(backend.advance_processing_time())):
            with pytest.raises(InvalidError, match=r"the clock said .*milliseconds since 1970"):
                call()


def test_what_has_expired_is_in_no_entries_even_where_reads_return_it(
    timed: KeyedBackend, clock: Any
) -> None:
    state = timed.value_state("v", pa.int64(), ttl=Ttl(ttl=TEN_SECONDS, return_expired=True))
    state.update(1)
    clock.now += 10 * SECOND
    assert list(timed.keys("v")) == []
    rows = pa.RecordBatchReader.from_stream(timed.entries("v")).read_all()
    assert rows.num_rows == 0


def test_an_iteration_that_is_given_up_refreshes_what_it_returned_alone(
    timed: KeyedBackend, clock: Any
) -> None:
    ttl = Ttl(ttl=TEN_SECONDS, refresh_on_read=True)
    seen = timed.map_state("m", pa.int64(), pa.int64(), ttl=ttl)
    events = timed.sorted_state("s", pa.int64(), pa.int64(), ttl=ttl)
    for number in range(3):
        seen.put(number, number)
        events.add(number, number)
    clock.now += 9 * SECOND
    items, entries = seen.items(), events.read_range_from(0)
    assert (next(items), next(entries)) == ((0, 0), (0, [0]))
    del items, entries
    clock.now += 1 * SECOND
    assert list(seen.keys()) == [0]
    assert list(events.read_range_from(0)) == [(0, [0])]


def test_a_look_whether_a_map_is_empty_refreshes_nothing(timed: KeyedBackend, clock: Any) -> None:
    seen = timed.map_state(
        "m", pa.int64(), pa.int64(), ttl=Ttl(ttl=TEN_SECONDS, refresh_on_read=True)
    )
    seen.put(1, 1)
    clock.now += 9 * SECOND
    assert not seen.is_empty()
    assert len(seen) == 1
    clock.now += 1 * SECOND
    assert seen.is_empty()
    assert len(seen) == 0


def test_reading_many_keys_refreshes_as_reading_one_does(timed: KeyedBackend, clock: Any) -> None:
    state = timed.value_state("v", pa.int64(), ttl=Ttl(ttl=TEN_SECONDS, refresh_on_read=True))
    state.update(1)
    clock.now += 9 * SECOND
    assert state.get_many(pa.array(["ada", "ada"])).to_pylist() == [1, 1]
    clock.now += 9 * SECOND
    assert state.value() == 1


def test_defaults_do_not_apply_to_expired_values(timed: KeyedBackend, clock: Any) -> None:
    state = timed.value_state("v", pa.int64(), default=7, ttl=TEN_SECONDS)
    state.update(1)
    clock.now += 10 * SECOND
    assert state.value() is None
    assert state.get_many(pa.array(["ada"])).to_pylist() == [None]


def test_merging_does_not_refresh(timed: KeyedBackend, clock: Any) -> None:
    words = timed.list_state("l", pa.string(), namespace=pa.string(), ttl=TEN_SECONDS)
    total = timed.reducing_state(
        "r", pa.int64(), lambda a, b: a + b, namespace=pa.string(), ttl=TEN_SECONDS
    )
    for state, value in ((words, "x"), (total, 1)):
        state.set_namespace("w1")
        state.add(value)
    clock.now += 9 * SECOND
    for state in (words, total):
        state.merge_namespaces("w2", ["w1"])
        state.set_namespace("w2")
    assert words.get() == ["x"]
    assert total.get() == 1
    clock.now += 1 * SECOND
    assert words.get() == []
    assert total.get() is None


def test_expired_sources_are_not_merged(timed: KeyedBackend, clock: Any) -> None:
    total = timed.reducing_state(
        "r", pa.int64(), lambda a, b: a + b, namespace=pa.string(), ttl=TEN_SECONDS
    )
    total.set_namespace("w1")
    total.add(1)
    clock.now += 10 * SECOND
    total.set_namespace("w2")
    total.add(5)
    total.merge_namespaces("w2", ["w1"])
    assert total.get() == 5


def test_batches_see_what_has_not_expired(timed: KeyedBackend, clock: Any) -> None:
    state = timed.value_state("v", pa.int64(), ttl=TEN_SECONDS)
    keys = pa.array(["ada", "bob"])
    state.put_many(keys[:1], pa.array([1]))
    clock.now += 5 * SECOND
    state.put_many(keys[1:], pa.array([2]))
    clock.now += 5 * SECOND
    assert state.get_many(keys).to_pylist() == [None, 2]


def test_entries_leave_out_what_has_expired(timed: KeyedBackend, clock: Any) -> None:
    words = timed.list_state("l", pa.string(), ttl=TEN_SECONDS)
    seen = timed.map_state("m", pa.string(), pa.int64(), ttl=TEN_SECONDS)
    words.add("old")
    seen.put("old", 1)
    clock.now += 5 * SECOND
    words.add("new")
    seen.put("new", 2)
    clock.now += 5 * SECOND
    rows = {n: pa.RecordBatchReader.from_stream(timed.entries(n)).read_all() for n in "lm"}
    assert rows["l"]["value"].to_pylist() == ["new"]
    assert rows["m"]["map_key"].to_pylist() == ["new"]


def test_a_state_may_be_long_lived(timed: KeyedBackend, clock: Any) -> None:
    state = timed.value_state("v", pa.int64(), ttl=dt.timedelta(days=999_999))
    state.update(1)
    clock.now += 10**12
    assert state.value() == 1


@pytest.mark.parametrize("ttl", [dt.timedelta(0), dt.timedelta(seconds=-1), 5, "1h"])
def test_a_time_to_live_is_a_positive_duration(timed: KeyedBackend, ttl: object) -> None:
    with pytest.raises(InvalidError):
        timed.value_state("v", pa.int64(), ttl=ttl)
