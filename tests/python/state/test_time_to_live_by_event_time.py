"""Time to live by event time: it counts from the rows' times, wherever batches are cut."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend, Ttl

TEN = Ttl(ttl=dt.timedelta(milliseconds=10), event_time=True)
Opener = Callable[..., KeyedBackend]


def at(backend: KeyedBackend, time: int | None) -> None:
    backend.set_event_time(time)


def pass_to(backend: KeyedBackend, watermark: int) -> None:
    list(backend.advance_watermark(watermark))


def test_a_value_counts_from_the_time_of_its_row(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), ttl=TEN)
    at(backend, 100)
    state.update(1)
    at(backend, 109)
    assert state.value() == 1
    at(backend, 110)
    assert state.value() is None


def test_what_the_first_batch_writes_expires_too(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), ttl=TEN)
    at(backend, 100)
    state.update(1)
    pass_to(backend, 109)
    assert state.value() == 1
    pass_to(backend, 110)
    assert state.value() is None
    assert list(backend.keys("v")) == []


def test_a_row_that_comes_late_in_order_still_sees_what_lives_for_it(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), ttl=TEN)
    words = backend.list_state("l", pa.int64(), ttl=TEN)
    at(backend, 100)
    state.update(1)
    words.add(1)
    at(backend, 115)
    assert (state.value(), words.get()) == (None, [])
    words.add(2)
    at(backend, 105)
    assert (state.value(), words.get()) == (1, [1, 2])


@pytest.mark.parametrize("refresh", [False, True])
def test_no_write_and_no_read_makes_a_value_older(backend: KeyedBackend, refresh: bool) -> None:
    ttl = Ttl(ttl=TEN.ttl, event_time=True, refresh_on_read=refresh)
    value = backend.value_state("v", pa.int64(), ttl=ttl)
    seen = backend.map_state("m", pa.string(), pa.int64(), ttl=ttl)
    total = backend.reducing_state("r", pa.int64(), "sum", ttl=ttl)
    for time in (109, 100):
        at(backend, time)
        value.update(time)
        seen.put("a", time)
        total.add(1)
    assert (value.value(), seen.get("a"), total.get()) == (100, 100, 2)
    pass_to(backend, 118)
    assert (value.value(), seen.get("a"), total.get()) == (100, 100, 2)
    pass_to(backend, 119)
    assert (value.value(), seen.get("a"), total.get()) == (None, None, None)


def test_reading_refreshes_to_the_time_of_the_row_that_reads(backend: KeyedBackend) -> None:
    ttl = Ttl(ttl=TEN.ttl, event_time=True, refresh_on_read=True)
    state = backend.value_state("v", pa.int64(), ttl=ttl)
    at(backend, 100)
    state.update(1)
    at(backend, 109)
    assert state.value() == 1
    at(backend, None)
    pass_to(backend, 118)
    assert state.value() == 1  # no row's time: nothing to refresh it to
    pass_to(backend, 119)
    assert state.value() is None


def test_a_timer_writes_and_reads_at_its_own_time(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), ttl=TEN)
    backend.register_event_time_timer(100)
    for timer in backend.advance_watermark(105):
        assert backend.current_event_time == timer.time == 100
        state.update(1)
        assert state.value() == 1
    assert backend.current_event_time is None
    pass_to(backend, 110)
    assert state.value() is None


def test_a_processing_time_timer_has_the_watermark_as_its_event_time(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), ttl=TEN)
    backend.register_processing_time_timer(5)
    backend.register_processing_time_timer(6)
    for _ in backend.advance_processing_time(5):
        with pytest.raises(InvalidError, match="lives by event time"):
            state.update(1)
    pass_to(backend, 100)
    for _ in backend.advance_processing_time(6):
        assert backend.current_event_time == 100
        state.update(1)
    pass_to(backend, 110)
    assert state.value() is None


def test_a_write_without_a_time_is_refused_by_name_and_changes_nothing(
    backend: KeyedBackend,
) -> None:
    value = backend.value_state("v", pa.int64(), ttl=TEN)
    words = backend.list_state("l", pa.int64(), ttl=TEN)
    seen = backend.map_state("m", pa.int64(), pa.int64(), ttl=TEN)
    total = backend.reducing_state("r", pa.int64(), "sum", ttl=TEN)
    events = backend.sorted_state("s", pa.int64(), pa.int64(), ttl=TEN)
    states: list[Any] = [value, words, seen, total, events]
    key, one = pa.array(["ada"]), pa.array([1])
    for call in (
        lambda: value.update(1), lambda: words.add(1), lambda: words.add_all([1]),
        lambda: words.update([1]), lambda: seen.put(1, 1), lambda: seen.put_all({1: 1}),
        lambda: total.add(1), lambda: events.add(1, 1), lambda: events.put(1, [1]),
        lambda: value.put_many(key, one), lambda: words.add_many(key, one),
        lambda: seen.put_many(key, one, one), lambda: total.add_many(key, one),
        lambda: events.add_many(key, one, one),
    ):  # fmt: skip
        with pytest.raises(InvalidError, match=r"state '.' lives by event time.*set_event_time"):
            call()
    assert [list(backend.keys(state)) for state in "vlmrs"] == [[]] * 5
    for state in states:
        state.clear()  # gives nothing a time
    value.update(None)
    words.update([])
    assert (value.value(), words.get(), seen.get(1), total.get()) == (None, [], None, None)


def test_batches_give_the_time_of_each_row(open_backend: Opener) -> None:
    backend = open_backend()
    value = backend.value_state("v", pa.int64(), ttl=TEN)
    words = backend.list_state("l", pa.int64(), ttl=TEN)
    seen = backend.map_state("m", pa.int64(), pa.int64(), ttl=TEN)
    total = backend.reducing_state("r", pa.int64(), "sum", ttl=TEN)
    events = backend.sorted_state("s", pa.int64(), pa.int64(), ttl=TEN)
    keys, one, times = pa.array(["ada", "bob"]), pa.array([1, 1]), pa.array([100, 105])
    value.put_many(keys, one, times=times)
    words.add_many(keys, one, times=times)
    seen.put_many(keys, one, one, times=times)
    total.add_many(keys, one, times=times)
    events.add_many(keys, one, one, times=times)
    now = pa.array([110, 110])
    assert value.get_many(keys, times=now).to_pylist() == [None, 1]
    assert words.get_many(keys, times=now).to_pylist() == [[], [1]]
    assert seen.get_many(keys, one, times=now).to_pylist() == [None, 1]
    assert total.get_many(keys, times=now).to_pylist() == [None, 1]
    assert value.get_many(keys).to_pylist() == [1, 1]  # no watermark yet
    pass_to(backend, 110)
    assert [list(backend.keys(state)) for state in "vlmrs"] == [["bob"]] * 5


@pytest.mark.parametrize(
    "type_", [pa.int64(), pa.timestamp("s"), pa.timestamp("us", "UTC")], ids=str
)
def test_times_are_timestamps_or_milliseconds(backend: KeyedBackend, type_: pa.DataType) -> None:
    state = backend.value_state(
        "v", pa.int64(), ttl=Ttl(ttl=dt.timedelta(seconds=1), event_time=True)
    )
    noon = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
    millis = int(noon.timestamp() * 1000)
    times = pa.array([millis if type_ == pa.int64() else noon], type_)
    state.put_many(pa.array(["ada"]), pa.array([1]), times=times)
    backend.set_event_time(noon + dt.timedelta(milliseconds=999))
    assert state.value() == 1
    backend.set_event_time(noon + dt.timedelta(seconds=1))
    assert state.value() is None


def test_times_that_do_not_fit_are_refused_and_change_nothing(backend: KeyedBackend) -> None:
    by_event: Any = backend.value_state("v", pa.int64(), ttl=TEN)
    other: Any = backend.value_state("o", pa.int64())
    keys, values = pa.array(["ada", "bob"]), pa.array([1, 2])
    for state, times, what in (
        (by_event, pa.array([1, None]), "row 1 is null"),
        (by_event, pa.array([1]), "1 given for 2 keys"),
        (by_event, pa.array(["1", "2"]), "timestamps are wanted"),
        (other, pa.array([1, 2]), "does not live by event time"),
    ):
        with pytest.raises(InvalidError, match=what):
            state.put_many(keys, values, times=times)
    by_event.put_many(keys, pa.array([1, None]), times=pa.array([1, None]))  # a null clears
    assert list(backend.keys("v")) == ["ada"]
    assert list(backend.keys("o")) == []


def test_the_least_of_all_times_is_that_of_no_row(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), ttl=TEN)
    least = -(2**63)
    at(backend, least)
    assert backend.current_event_time is None
    with pytest.raises(InvalidError, match="lives by event time"):
        state.update(1)
    backend.register_event_time_timer(least)
    for timer in backend.advance_watermark(least):
        assert (timer.time, backend.current_event_time) == (least, None)
    at(backend, least + 1)
    state.update(1)
    assert state.value() == 1


def test_merging_needs_no_time_and_keeps_the_parts(backend: KeyedBackend) -> None:
    total = backend.reducing_state("r", pa.int64(), "sum", ttl=TEN, namespace=pa.string())
    words = backend.list_state("l", pa.int64(), ttl=TEN, namespace=pa.string())
    for time, space in ((100, "a"), (105, "b")):
        at(backend, time)
        for state in (total, words):
            state.set_namespace(space)
            state.add(time)
    at(backend, None)
    for state in (total, words):
        state.merge_namespaces("c", ["a", "b"])
        state.set_namespace("c")
    pass_to(backend, 110)
    assert (total.get(), words.get()) == (205, [105])
    pass_to(backend, 115)
    assert (total.get(), words.get()) == (None, [])


# -- Wherever batches are cut ----------------------------------------------------------------------


def rows_of(seed: int) -> list[tuple[str, int]]:
    """Keys and times, up to 15 out of order."""
    random_ = random.Random(seed)
    return [(random_.choice("abc"), step + random_.randrange(15)) for step in range(120)]


def cuts_of(rows: list[tuple[str, int]], seed: int) -> Iterable[tuple[list[tuple[str, int]], int]]:
    """The rows in batches, and the watermark behind each, by which none of the others is late."""
    random_ = random.Random(seed)
    start = 0
    while start < len(rows):
        end = min(len(rows), start + random_.randrange(1, 40))
        bound = min((time for _, time in rows[end:]), default=0)
        yield rows[start:end], random_.choice([bound, bound, bound - 3, 0])
        start = end


class Answers:
    """A program over all kinds that live by event time: what it reads at each row."""

    def __init__(self, backend: KeyedBackend, ttl: Ttl) -> None:
        self.backend = backend
        self.value = backend.value_state("v", pa.int64(), ttl=ttl)
        self.words = backend.list_state("l", pa.int64(), ttl=ttl)
        self.seen = backend.map_state("m", pa.int64(), pa.int64(), ttl=ttl)
        self.total = backend.reducing_state("r", pa.int64(), "sum", ttl=ttl)
        self.joined = backend.reducing_state("p", pa.string(), lambda a, b: a + b, ttl=ttl)
        self.events = backend.sorted_state("s", pa.int64(), pa.int64(), ttl=ttl)

    def at_row(self, number: int, key: str, time: int) -> list[object]:
        self.backend.set_key(key)
        self.backend.set_event_time(time)
        answers = [
            self.value.value(), self.words.get(), list(self.seen.items()), self.seen.get(1),
            len(self.seen), self.seen.is_empty(), self.total.get(), self.joined.get(),
            self.events.first_entry(), list(self.events.read_range_from(2)),
        ]  # fmt: skip
        self.write(number, time)
        return answers

    def write(self, number: int, time: int) -> None:
        if number % 3:
            self.value.update(number)
            self.seen.put(number % 4, number)
            self.joined.add(str(number % 10))
        self.words.add(number)
        self.total.add(number)
        self.events.add(number % 5, number)
        if number % 13 == 0:
            self.words.update([number])
            self.value.clear()
            self.seen.remove(1)


@pytest.mark.parametrize("refresh", [False, True], ids=["", "refreshed"])
def test_the_same_rows_in_other_batches_give_the_same_answers(
    all_ways: list[Any], tmp_path: Any, refresh: bool, rounds: int
) -> None:
    ttl = Ttl(ttl=dt.timedelta(milliseconds=8), event_time=True, refresh_on_read=refresh)
    for seed in range(rounds):
        rows = rows_of(seed)
        found = []
        for way in all_ways:
            for cut in (0, 1, 2):
                place = tmp_path / f"{seed}-{way}-{cut}"
                with way.open(place, {"key": pa.string()}) as backend:
                    program = Answers(backend, ttl)
                    batches = [(rows, 0)] if cut == 0 else cuts_of(rows, seed + cut)
                    found.append(answers_of(program, batches))
        assert any(answer[0] is None for answer in found[0])
        for others in found[1:]:
            assert others == found[0]


def answers_of(program: Answers, batches: Iterable[tuple[list[Any], int]]) -> list[list[object]]:
    answers = []
    for rows, watermark in batches:
        for key, time in rows:
            answers.append(program.at_row(len(answers), key, time))
        list(program.backend.advance_watermark(watermark))
    return answers
