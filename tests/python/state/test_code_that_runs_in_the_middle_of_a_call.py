"""Clocks, functions, codecs, generators and conversions run in the middle of a call on a state.

What they may not do there (another key or namespace, writing to the state, closing the backend) is
refused; whatever they do, nothing is lost and nothing goes to a wrong place.
"""

from __future__ import annotations

import datetime as dt
import gc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flintstate import ClosedError, InvalidError, KeyedBackend, Ttl

HOUR = dt.timedelta(hours=1)
NUMBERS = pa.list_(pa.int64())


class Middle:
    """What happens when a call is in its middle: nothing, until it is said."""

    def __init__(self) -> None:
        self.act: Callable[[], object] = lambda: None

    def __call__(self) -> None:
        self.act()


class Sum:
    """An aggregate function, each of whose methods is in the middle."""

    def __init__(self, middle: Middle) -> None:
        self.middle = middle

    def create_accumulator(self) -> int:
        self.middle()
        return 0

    def add(self, value: int, acc: int) -> int:
        self.middle()
        return acc + value

    def get_result(self, acc: int) -> int:
        return acc

    def merge(self, a: int, b: int) -> int:
        self.middle()
        return a + b


class Digits:
    """A codec of numbers."""

    name, ordered = "digits", True

    def __init__(self, middle: Middle) -> None:
        self.middle = middle

    def encode(self, value: int) -> bytes:
        self.middle()
        return b"%03d" % value

    def decode(self, data: bytes) -> int:
        return int(data)


class Slow(Sequence[int]):
    """Numbers that run code when they are looked at."""

    def __init__(self, middle: Middle) -> None:
        self.middle = middle

    def __len__(self) -> int:
        return 1

    def __getitem__(self, at: Any) -> Any:
        self.middle()
        return [7][at]


class Zone(dt.tzinfo):
    """A time zone that runs code when it is asked."""

    def __init__(self, middle: Middle) -> None:
        self.middle = middle

    def utcoffset(self, _: dt.datetime | None) -> dt.timedelta:
        self.middle()
        return dt.timedelta(0)

    def dst(self, _: dt.datetime | None) -> None:
        return None

    def tzname(self, _: dt.datetime | None) -> str:
        return "zone"


def given(middle: Middle, *items: object) -> Iterator[Any]:
    """A generator whose code runs before each of its items."""
    for item in items:
        middle()
        yield item


Opened = tuple[Any, Callable[[], object], Callable[[], object]]
"""A state, a call on it that has a middle, and a write to it that has none."""
STRINGS: dict[str, Any] = {"namespace": pa.string()}
LIVING: dict[str, Any] = {**STRINGS, "ttl": Ttl(ttl=HOUR, refresh_on_read=True)}


def of_lists(b: KeyedBackend, middle: Middle, call: str) -> Opened:
    s: Any = b.list_state("s", pa.int64(), **STRINGS)
    return s, lambda: getattr(s, call)(given(middle, 1, 2)), lambda: s.add(9)


def of_maps(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.map_state("s", pa.int64(), pa.int64(), **STRINGS)
    return s, lambda: s.put_all(given(middle, (1, 1), (2, 2))), lambda: s.put(1, 9)


def of_sorted(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.sorted_state("s", pa.int64(), pa.int64(), **STRINGS)
    return s, lambda: s.put(1, given(middle, 1, 2)), lambda: s.add(1, 9)


def of_functions(b: KeyedBackend, middle: Middle) -> Opened:
    def total(one: int, other: int) -> int:
        middle()
        return one + other

    s: Any = b.reducing_state("s", pa.int64(), total, **STRINGS)
    return s, lambda: s.add(1), lambda: s.add(9)


def of_aggregates(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.aggregating_state("s", Sum(middle), accumulator=pa.int64(), **STRINGS)
    return s, lambda: s.add(1), lambda: s.add(9)


def of_merges(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.reducing_state("s", pa.int64(), "sum", **STRINGS)
    return s, lambda: s.merge_namespaces("t", given(middle, None)), lambda: s.add(9)


def of_values_by_codec(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.value_state("s", Digits(middle), **STRINGS)
    return s, lambda: s.update(1), s.clear


def of_keys_by_codec(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.map_state("s", Digits(middle), pa.int64(), **STRINGS)
    return s, lambda: s.put(1, 1), s.clear


def of_sorted_by_codec(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.sorted_state("s", Digits(middle), pa.int64(), **STRINGS)
    return s, lambda: s.add(1, 1), s.clear


def of_lists_by_codec(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.list_state("s", Digits(middle), **STRINGS)
    return s, lambda: s.add_all([1, 2]), s.clear


def of_conversions(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.value_state("s", NUMBERS, **STRINGS)
    return s, lambda: s.update(Slow(middle)), lambda: s.update([9])


def of_elements(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.list_state("s", NUMBERS, **STRINGS)
    return s, lambda: s.add(Slow(middle)), lambda: s.add([9])


def of_map_keys(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.map_state("s", pa.timestamp("us", "UTC"), pa.int64(), **STRINGS)
    when = dt.datetime(2026, 1, 1, tzinfo=Zone(middle))
    return s, lambda: s.put(when, 1), lambda: s.put(dt.datetime(2025, 1, 1, tzinfo=dt.UTC), 9)


def of_ranges(b: KeyedBackend, middle: Middle) -> Opened:
    s: Any = b.sorted_state("s", pa.timestamp("us", "UTC"), pa.int64(), **STRINGS)
    when = dt.datetime(2026, 1, 1, tzinfo=Zone(middle))
    return s, lambda: s.clear_range_until(when), s.clear


def of_clocks(b: KeyedBackend, middle: Middle, kind: str) -> Opened:
    if kind == "value":
        s: Any = b.value_state("s", pa.int64(), **LIVING)
        return s, lambda: s.update(1), s.clear
    if kind == "map":
        s = b.map_state("s", pa.int64(), pa.int64(), **LIVING)
        return s, lambda: s.put(1, 1), s.clear
    if kind == "sorted":
        s = b.sorted_state("s", pa.int64(), pa.int64(), **LIVING)
        return s, lambda: s.add(1, 1), s.clear
    if kind == "sum":
        s = b.reducing_state("s", pa.int64(), "sum", **LIVING)
        return s, lambda: s.add(1), s.clear
    s = b.list_state("s", pa.int64(), **LIVING)
    return s, lambda: getattr(s, kind)(1 if kind == "add" else [1, 2]), s.clear


CASES: dict[str, Callable[[KeyedBackend, Middle], Opened]] = {
    "add_all of a generator": lambda b, m: of_lists(b, m, "add_all"),
    "update with a generator": lambda b, m: of_lists(b, m, "update"),
    "put_all of a generator": of_maps,
    "put of a generator": of_sorted,
    "a reducing function": of_functions,
    "an aggregate function": of_aggregates,
    "merging what a generator gives": of_merges,
    "a value's codec": of_values_by_codec,
    "a map key's codec": of_keys_by_codec,
    "a sorted key's codec": of_sorted_by_codec,
    "elements' codec": of_lists_by_codec,
    "a value's conversion": of_conversions,
    "an element's conversion": of_elements,
    "a map key's conversion": of_map_keys,
    "a bound's conversion": of_ranges,
    **{
        f"the clock of {kind}": lambda b, m, k=kind: of_clocks(b, m, k)  # type: ignore[misc]
        for kind in ("value", "map", "sorted", "sum", "add", "add_all", "update")
    },
}


@pytest.fixture(params=["heap", "rocksdb"])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def middle() -> Middle:
    return Middle()


@pytest.fixture
def backend(kind: Any, middle: Middle, tmp_path: Path) -> Iterator[KeyedBackend]:
    def clock() -> int:
        middle()
        return 1000

    opened = KeyedBackend.open(tmp_path / "s", kind=kind, key=pa.string(), clock=clock)
    opened.set_key("ada")
    yield opened
    middle.act = lambda: None
    opened.close()


@pytest.fixture(params=CASES)
def opened(request: pytest.FixtureRequest, backend: KeyedBackend, middle: Middle) -> Opened:
    """A state that holds something at "ada", so that its function is called."""
    state, call, write = CASES[request.param](backend, middle)
    write()
    if write != state.clear:
        write()
    return state, call, write


def held(backend: KeyedBackend) -> list[dict[str, object]]:
    return pa.RecordBatchReader.from_stream(backend.entries("s")).read_all().to_pylist()


def once(act: Callable[[], object], middle: Middle) -> Callable[[], None]:
    """Acts the first time alone: what it does may come to the middle of something, too."""

    def first() -> None:
        middle.act = lambda: None
        act()

    return first


def test_another_key_is_refused_and_nothing_is_written(
    backend: KeyedBackend, middle: Middle, opened: Opened
) -> None:
    state, call, _ = opened
    before = held(backend)
    middle.act = once(lambda: backend.set_key("bob"), middle)
    with pytest.raises(InvalidError, match=r"state 's'.*the current key was changed"):
        call()
    assert held(backend) == before
    backend.set_key("ada")
    call()
    assert {row["key"] for row in held(backend)} <= {"ada"}
    assert state.namespace is None


def test_another_namespace_is_refused_and_nothing_is_written(
    backend: KeyedBackend, middle: Middle, opened: Opened
) -> None:
    state, call, _ = opened
    before = held(backend)
    middle.act = once(lambda: state.set_namespace("w"), middle)
    with pytest.raises(InvalidError, match=r"state 's'.*its namespace was changed"):
        call()
    assert held(backend) == before


def test_a_write_to_the_same_state_is_refused_and_not_lost(
    backend: KeyedBackend, middle: Middle, opened: Opened
) -> None:
    state, call, write = opened
    middle.act = once(write, middle)
    with pytest.raises(InvalidError, match=r"state 's'.*it was written to"):
        call()
    after = held(backend)
    state.clear()
    for _ in range(3 if write != state.clear else 0):  # two at the beginning, one in the middle
        write()
    assert after == held(backend)


def test_a_key_that_is_put_back_does_no_harm(
    backend: KeyedBackend, middle: Middle, opened: Opened
) -> None:
    def there_and_back() -> None:
        backend.set_key("bob")
        backend.set_key("ada")

    middle.act = once(there_and_back, middle)
    opened[1]()
    assert {row["key"] for row in held(backend)} <= {"ada"}


def test_what_raises_leaves_everything_as_it_was(
    backend: KeyedBackend, middle: Middle, opened: Opened
) -> None:
    before = held(backend)

    def fail() -> None:
        raise ZeroDivisionError("in the middle")

    middle.act = once(fail, middle)
    with pytest.raises((ZeroDivisionError, InvalidError)):
        opened[1]()
    assert held(backend) == before
    opened[1]()


def test_a_backend_that_is_closed_in_the_middle_says_so(
    backend: KeyedBackend, middle: Middle, opened: Opened
) -> None:
    middle.act = once(backend.close, middle)
    with pytest.raises(ClosedError):
        opened[1]()
    with pytest.raises(ClosedError):
        opened[2]()


def test_other_states_may_be_read_and_written(
    backend: KeyedBackend, middle: Middle, opened: Opened
) -> None:
    other = backend.value_state("other", pa.int64(), default=0)
    middle.act = lambda: other.update(other.value() + 1)
    opened[1]()
    assert other.value() > 0


def test_reading_by_a_key_that_changes_the_current_one_is_refused(
    backend: KeyedBackend, middle: Middle
) -> None:
    seen: Any = backend.map_state("s", pa.timestamp("us", "UTC"), pa.int64())
    events: Any = backend.sorted_state("t", pa.timestamp("us", "UTC"), pa.int64())
    when = dt.datetime(2026, 1, 1, tzinfo=Zone(middle))
    for call in (
        lambda: seen.get(when), lambda: seen.contains(when), lambda: seen.remove(when),
        lambda: events.values_at(when), lambda: events.first_entry(when),
        lambda: events.read_range_from(when), lambda: events.clear_entry_at(when),
    ):  # fmt: skip
        backend.set_key("ada")
        middle.act = once(lambda: backend.set_key("bob"), middle)
        with pytest.raises(InvalidError, match="the current key was changed"):
            call()


def test_an_entry_that_is_removed_while_its_value_is_converted_stays_removed(
    backend: KeyedBackend, middle: Middle
) -> None:
    seen: Any = backend.map_state("s", pa.int64(), NUMBERS)
    seen.put(1, [1])
    entries = seen.items()
    next(entries)
    middle.act = once(entries.remove, middle)
    with pytest.raises(InvalidError):
        entries.set_value(Slow(middle))
    assert seen.is_empty()


def test_a_clock_that_closes_the_backend_ends_reads_and_iterations(
    backend: KeyedBackend, middle: Middle
) -> None:
    ttl = Ttl(ttl=HOUR, refresh_on_read=True, return_expired=True)
    seen: Any = backend.map_state("m", pa.int64(), pa.int64(), ttl=ttl)
    seen.put_all({1: 1, 2: 2})
    entries = seen.items()
    next(entries)
    middle.act = once(backend.close, middle)
    with pytest.raises(ClosedError):
        next(entries)
    with pytest.raises(ClosedError):
        seen.get(1)


@pytest.mark.parametrize("read", ["value", "get", "items", "first_entry", "entries", "keys"])
def test_a_clock_that_closes_the_backend_ends_any_read(
    backend: KeyedBackend, middle: Middle, read: str
) -> None:
    ttl = Ttl(ttl=HOUR, refresh_on_read=True)
    value: Any = backend.value_state("v", pa.int64(), ttl=ttl)
    words: Any = backend.list_state("l", pa.int64(), ttl=ttl)
    seen: Any = backend.map_state("m", pa.int64(), pa.int64(), ttl=ttl)
    events: Any = backend.sorted_state("s", pa.int64(), pa.int64(), ttl=ttl)
    value.update(1)
    words.add(1)
    seen.put(1, 1)
    events.add(1, 1)
    reads: dict[str, Callable[[], object]] = {
        "value": value.value, "get": words.get, "items": lambda: list(seen.items()),
        "first_entry": events.first_entry, "entries": lambda: backend.entries("v").read_all(),
        "keys": lambda: list(backend.keys("v")),
    }  # fmt: skip
    middle.act = once(backend.close, middle)
    with pytest.raises(ClosedError):
        reads[read]()


class Cycle:
    """Garbage that only the collector finds, and that runs code when it does."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.me = self
        self.act = act

    def __del__(self) -> None:
        self.act()


def test_garbage_that_closes_the_backend_while_a_value_is_made_does_no_harm(
    backend: KeyedBackend,
) -> None:
    state: Any = backend.value_state("s", pa.list_(pa.list_(pa.string())))
    rows = [["x" * 100] * 3] * 300
    state.update(rows)
    threshold = gc.get_threshold()
    Cycle(backend.close)
    gc.set_threshold(1)
    try:
        found = state.value()
    except ClosedError:
        found = rows
    finally:
        gc.set_threshold(*threshold)
    assert found == rows


def test_garbage_that_empties_the_cache_while_values_are_reduced_does_no_harm(
    kind: Any, tmp_path: Path
) -> None:
    with KeyedBackend.open(tmp_path, kind=kind, key=pa.string(), cache_bytes=1) as backend:
        backend.set_key("ada")
        rows = backend.list_state("other", pa.string())
        joined = backend.reducing_state("s", pa.list_(pa.list_(pa.string())), lambda a, b: a + b)
        old, new = [["x" * 2000]] * 20, [["y"]] * 10
        for containers in range(1, 50):  # made before garbage is collected
            joined.clear()
            joined.add(old)
            threshold = gc.get_threshold()
            Cycle(lambda: rows.update(["z" * 10_000]))
            gc.set_threshold(containers)
            try:
                joined.add(new)
            finally:
                gc.set_threshold(*threshold)
            assert joined.get() == old + new
            gc.collect()
