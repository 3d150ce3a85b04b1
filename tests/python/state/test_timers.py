"""Timers: a set of (key, namespace, time), fired in the order of time."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from flintstate import ClosedError, InvalidError, KeyedBackend, _core
from flintstate.state.backend import key_columns


def test_a_timer_fires_when_the_watermark_is_at_its_time(backend: KeyedBackend) -> None:
    backend.register_event_time_timer(10)
    assert list(backend.advance_watermark(9)) == []
    assert list(backend.advance_watermark(10)) == [(10, "ada", None)]
    assert list(backend.advance_watermark(11)) == []


def test_a_timer_that_is_late_fires_with_the_next_watermark(backend: KeyedBackend) -> None:
    assert list(backend.advance_watermark(100)) == []
    backend.register_event_time_timer(10)
    assert list(backend.advance_watermark(100)) == [(10, "ada", None)]


def test_registering_twice_fires_once(backend: KeyedBackend) -> None:
    backend.register_event_time_timer(10)
    backend.register_event_time_timer(10)
    assert len(list(backend.advance_watermark(10))) == 1


def test_timers_fire_in_the_order_of_time(backend: KeyedBackend) -> None:
    for key, time in (("bob", 5), ("ada", 30), ("cyd", -1), ("ada", 2), ("bob", 20)):
        backend.set_key(key)
        backend.register_event_time_timer(time)
    fired = [(timer.time, timer.key) for timer in backend.advance_watermark(25)]
    assert fired == [(-1, "cyd"), (2, "ada"), (5, "bob"), (20, "bob")]
    assert [timer.time for timer in backend.advance_watermark(30)] == [30]


def test_timers_of_equal_times_fire_once_for_each_key(backend: KeyedBackend) -> None:
    keys = [f"user-{i}" for i in range(50)]
    for key in keys:
        backend.set_key(key)
        backend.register_event_time_timer(7)
    assert sorted(timer.key for timer in backend.advance_watermark(7)) == sorted(keys)


def test_the_key_of_a_timer_is_current_when_it_fires(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.string())
    for key in ("ada", "bob"):
        backend.set_key(key)
        state.update(f"{key}'s")
        backend.register_event_time_timer(1)
    backend.set_key("cyd")
    assert sorted((t.key, state.value()) for t in backend.advance_watermark(1)) == [
        ("ada", "ada's"), ("bob", "bob's")
    ]  # fmt: skip


def test_a_deleted_timer_does_not_fire(backend: KeyedBackend) -> None:
    backend.register_event_time_timer(10)
    backend.register_event_time_timer(11)
    backend.delete_event_time_timer(10)
    backend.delete_event_time_timer(12)
    assert [timer.time for timer in backend.advance_watermark(20)] == [11]


def test_a_timer_deleted_and_registered_again_fires_once(backend: KeyedBackend) -> None:
    backend.register_event_time_timer(10)
    backend.delete_event_time_timer(10)
    backend.register_event_time_timer(10)
    assert len(list(backend.advance_watermark(10))) == 1


def test_deleting_is_for_one_key(backend: KeyedBackend) -> None:
    backend.register_event_time_timer(10)
    backend.set_key("bob")
    backend.delete_event_time_timer(10)
    assert [timer.key for timer in backend.advance_watermark(10)] == ["ada"]


def test_a_timer_may_register_timers(backend: KeyedBackend) -> None:
    backend.register_event_time_timer(1)
    fired = []
    for timer in backend.advance_watermark(10):
        fired.append(timer.time)
        backend.register_event_time_timer(timer.time + 4)
    assert fired == [1, 5, 9]
    assert backend.next_event_time_timer() == 13


def test_a_timer_may_delete_timers(backend: KeyedBackend) -> None:
    backend.register_event_time_timer(1)
    backend.register_event_time_timer(2)
    fired = []
    for timer in backend.advance_watermark(10):
        fired.append(timer.time)
        backend.delete_event_time_timer(2)
    assert fired == [1]


def test_timers_that_were_not_taken_stay(backend: KeyedBackend) -> None:
    for time in (1, 2, 3):
        backend.register_event_time_timer(time)
    assert next(backend.advance_watermark(10)).time == 1
    assert [timer.time for timer in backend.advance_watermark(10)] == [2, 3]


def test_the_watermark_never_goes_back(backend: KeyedBackend) -> None:
    assert backend.current_watermark is None
    list(backend.advance_watermark(10))
    backend.register_event_time_timer(7)
    assert [timer.time for timer in backend.advance_watermark(5)] == [7]
    assert backend.current_watermark == 10


@pytest.mark.parametrize("domain", ["event", "processing"])
def test_the_first_and_the_last_time_there_are_can_be_a_timers(
    backend: KeyedBackend, domain: str
) -> None:
    register = getattr(backend, f"register_{domain}_time_timer")
    advance = {"event": backend.advance_watermark, "processing": backend.advance_processing_time}
    first, last = -(2**63), 2**63 - 1
    for time in (last, first, last, 7):
        register(time)
    assert getattr(backend, f"next_{domain}_time_timer")() == first
    assert [timer.time for timer in advance[domain](last - 1)] == [first, 7]
    assert getattr(backend, f"next_{domain}_time_timer")() == last
    assert [timer.time for timer in advance[domain](last)] == [last]
    assert getattr(backend, f"next_{domain}_time_timer")() is None
    register(5)
    assert [timer.time for timer in advance[domain](last)] == [5]


def test_timers_of_one_time_fire_by_key_group_then_key_then_namespace(open_backend: object) -> None:
    backend = open_backend(timer_namespace=pa.int64())  # type: ignore[operator]
    keys = [f"user-{i}" for i in range(40)]
    group_of = _core.KeyCodec(key_columns(pa.string()), canonical=True, max_parallelism=128).group
    for key in keys:
        backend.set_key(key)
        for space in (2, None, 1):
            backend.register_event_time_timer(5, namespace=space)
    fired = [(timer.key, timer.namespace) for timer in backend.advance_watermark(5)]
    in_order = sorted(keys, key=lambda key: (group_of(key), key.encode()))
    assert fired == [(key, space) for key in in_order for space in (None, 1, 2)]


def test_a_backend_that_is_closed_while_timers_fire_says_so(backend: KeyedBackend) -> None:
    backend.register_event_time_timer(1)
    backend.register_event_time_timer(2)
    timers = backend.advance_watermark(5)
    next(timers)
    backend.close()
    with pytest.raises(ClosedError):
        next(timers)


def test_timers_have_namespaces(backend: KeyedBackend, open_backend: object) -> None:
    spaced = open_backend(timer_namespace=pa.string())  # type: ignore[operator]
    spaced.set_key("ada")
    for namespace in ("b", "a", None):
        spaced.register_event_time_timer(5, namespace)
    spaced.delete_event_time_timer(5, "b")
    assert list(spaced.advance_watermark(5)) == [(5, "ada", None), (5, "ada", "a")]
    with pytest.raises(InvalidError, match="namespace"):
        backend.register_event_time_timer(5, "a")


def test_the_two_kinds_of_time_are_apart(backend: KeyedBackend) -> None:
    backend.register_event_time_timer(5)
    backend.register_processing_time_timer(6)
    backend.delete_event_time_timer(6)
    backend.delete_processing_time_timer(5)
    assert [timer.time for timer in backend.advance_processing_time(10)] == [6]
    assert [timer.time for timer in backend.advance_watermark(10)] == [5]


def test_the_clocks_timers_are_a_set_fire_in_order_and_may_register_more(
    backend: KeyedBackend,
) -> None:
    for key, time in (("bob", 8), ("ada", 2), ("ada", 2), ("cyd", 30)):
        backend.set_key(key)
        backend.register_processing_time_timer(time)
    fired = []
    for timer in backend.advance_processing_time(20):
        fired.append((timer.time, timer.key))
        backend.register_processing_time_timer(timer.time * 3)
    assert fired == [(2, "ada"), (6, "ada"), (8, "bob"), (18, "ada")]
    assert backend.next_processing_time_timer() == 24
    assert [timer.key for timer in backend.advance_processing_time(30)] == ["bob", "cyd"]


def test_processing_time_is_the_clocks_unless_given(open_backend: object, clock: object) -> None:
    backend = open_backend(clock=clock)  # type: ignore[operator]
    backend.set_key("ada")
    clock.now = 100  # type: ignore[attr-defined]
    backend.register_processing_time_timer(100)
    backend.register_processing_time_timer(101)
    assert [timer.time for timer in backend.advance_processing_time()] == [100]


def test_the_next_timer_is_the_earliest_of_all_keys(backend: KeyedBackend) -> None:
    assert backend.next_event_time_timer() is None
    backend.register_event_time_timer(9)
    backend.set_key("bob")
    backend.register_event_time_timer(4)
    assert backend.next_event_time_timer() == 4
    backend.delete_event_time_timer(4)
    assert backend.next_event_time_timer() == 9
    assert backend.next_processing_time_timer() is None


def test_a_datetime_is_a_time_too(backend: KeyedBackend) -> None:
    backend.register_event_time_timer(dt.datetime(1970, 1, 1, 0, 0, 1))
    backend.register_event_time_timer(dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC))
    backend.register_event_time_timer(dt.datetime(1970, 1, 1, 0, 0, 1, 1))
    due = backend.advance_watermark(dt.datetime(1970, 1, 1, 0, 0, 2))
    assert [timer.time for timer in due] == [1000, 1001]


@pytest.mark.parametrize("time", ["noon", 1.5, None, True, 2**63])
def test_anything_else_is_no_time(backend: KeyedBackend, time: object) -> None:
    with pytest.raises(InvalidError):
        backend.register_event_time_timer(time)  # type: ignore[arg-type]


def test_timers_need_a_current_key(open_backend: object) -> None:
    backend = open_backend()  # type: ignore[operator]
    with pytest.raises(InvalidError, match="current key"):
        backend.register_event_time_timer(1)
    assert list(backend.advance_watermark(5)) == []
