"""A rocksdb backend that was closed, and what it is opened as the next time."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend


def opened(path: Path, **options: Any) -> KeyedBackend:
    return KeyedBackend.open(path, kind="rocksdb", **{"key": pa.string(), **options})


class Longest:
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: str, acc: int) -> int:
        return max(acc, len(value))

    def get_result(self, acc: int) -> int:
        return acc

    def merge(self, a: int, b: int) -> int:
        return max(a, b)


def test_all_kinds_and_timers_are_there_again(tmp_path: Path) -> None:
    for opening in range(4):
        with opened(tmp_path) as backend:
            backend.set_key("ada")
            value: Any = backend.value_state("v", pa.int64(), default=0)
            words: Any = backend.list_state("l", pa.string())
            seen: Any = backend.map_state("m", pa.string(), pa.int64())
            total: Any = backend.reducing_state("r", pa.int64(), "sum")
            joined: Any = backend.reducing_state("p", pa.string(), lambda a, b: a + b)
            longest: Any = backend.aggregating_state("a", Longest(), accumulator=pa.int64())
            events: Any = backend.sorted_state("s", pa.int64(), pa.string())
            numbers = list(range(opening))
            assert value.value() == opening
            assert words.get() == [str(n) for n in numbers]
            assert list(seen.items()) == [(str(n), None) for n in numbers]
            assert total.get() == (sum(numbers) if numbers else None)
            assert joined.get() == ("".join(map(str, numbers)) or None)
            assert longest.get() == (opening or None)
            assert list(events.read_range_from(-9)) == [(-n, [str(n)]) for n in numbers[::-1]]
            assert backend.next_event_time_timer() == (10 if numbers else None)
            value.update(opening + 1)
            words.add(str(opening))
            seen[str(opening)] = None
            total.add(opening)
            joined.add(str(opening))
            longest.add("x" * (opening + 1))
            events.add(-opening, str(opening))
            backend.register_event_time_timer(10 + opening)
    with opened(tmp_path) as backend:
        assert [timer.time for timer in backend.advance_watermark(99)] == [10, 11, 12, 13]


def test_time_to_live_may_be_turned_on_changed_and_turned_off(tmp_path: Path) -> None:
    now = 0

    def value(milliseconds: int | None) -> tuple[KeyedBackend, Any]:
        backend = opened(tmp_path, clock=lambda: now)
        backend.set_key("ada")
        ttl = None if milliseconds is None else dt.timedelta(milliseconds=milliseconds)
        return backend, backend.value_state("v", pa.int64(), ttl=ttl)

    backend, state = value(None)
    state.update(1)
    backend.close()
    now = 1_000
    backend, state = value(10)
    assert state.value() == 1  # it was written when there was none, and has no time
    state.update(2)
    backend.close()
    now = 1_010
    backend, state = value(20)
    assert state.value() == 2  # by what is declared now
    now = 1_020
    assert state.value() is None
    backend.close()
    backend, state = value(None)
    assert state.value() in (2, None)  # it may have been cleaned up meanwhile
    backend.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key": pa.int64()}, ["string", "int64"]),
        ({"key": pa.schema([("a", pa.string()), ("b", pa.int32())])}, ["string", "int32"]),
        ({"max_parallelism": 64}, ["128", "64"]),
        ({"key_groups": range(5, 9)}, ["127", "5"]),
    ],
)
def test_a_directory_of_other_keys_is_refused(
    tmp_path: Path, options: dict[str, Any], words: list[str]
) -> None:
    opened(tmp_path).close()
    with pytest.raises(InvalidError) as error:
        opened(tmp_path, **options)
    assert all(word in str(error.value) for word in words)
    opened(tmp_path).close()


def test_a_state_of_another_kind_or_type_is_refused_with_both_named(tmp_path: Path) -> None:
    with opened(tmp_path) as backend:
        backend.set_key("ada")
        backend.value_state("v", pa.int64()).update(1)
    with opened(tmp_path) as backend:
        with pytest.raises(InvalidError, match=r"int64.*string|string.*int64"):
            backend.value_state("v", pa.string())
        with pytest.raises(InvalidError, match=r"value.*list|list.*value"):
            backend.list_state("v", pa.int64())
        backend.set_key("ada")
        assert backend.value_state("v", pa.int64()).value() == 1
