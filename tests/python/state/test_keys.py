"""The current key, key groups, and what a backend refuses."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
from pathlib import Path

import pyarrow as pa
import pytest

from flintstate import ClosedError, InvalidError, KeyedBackend, NotFoundError


def test_the_current_key_is_the_one_set(backend: KeyedBackend) -> None:
    assert backend.current_key == "ada"
    backend.set_key("bob")
    assert backend.current_key == "bob"


def test_there_is_no_current_key_at_first(open_backend: object) -> None:
    backend = open_backend()
    state = backend.value_state("v", pa.int64(), default=1)
    events = backend.sorted_state("s", pa.int64(), pa.string())
    for call in (
        lambda: state.value(),
        lambda: state.update(1),
        lambda: state.clear(),
        lambda: events.first_entry(),
        lambda: events.add(1, "a"),
        lambda: backend.current_key,
    ):
        with pytest.raises(InvalidError, match="current key"):
            call()
    assert list(backend.keys("v")) == []


@pytest.mark.parametrize("key", [5, b"ada", 1.0, ["ada"]])
def test_a_key_that_does_not_fit_is_refused(backend: KeyedBackend, key: object) -> None:
    with pytest.raises(InvalidError):
        backend.set_key(key)
    assert backend.current_key == "ada"


@pytest.mark.parametrize(
    ("type_", "keys"),
    [
        (pa.int64(), [-(2**63), -1, 0, 1, 2**63 - 1]),
        (pa.int8(), [-128, 127]),
        (pa.string(), ["", "a", "a\0", "é"]),
        (pa.binary(), [b"", b"\0", b"\0\0"]),
        (pa.bool_(), [False, True]),
        (pa.float64(), [-1.5, 0.0, float("inf")]),
        (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
        (pa.timestamp("us"), [dt.datetime(1969, 1, 1), dt.datetime(2026, 1, 1, 0, 0, 0, 1)]),
        (pa.decimal128(10, 2), [decimal.Decimal("-1.50"), decimal.Decimal("2.00")]),
    ],
    ids=str,
)
def test_keys_of_all_types_are_told_apart(
    open_backend: object, type_: pa.DataType, keys: list[object]
) -> None:
    backend = open_backend(key=type_)
    state = backend.value_state("v", pa.int64())
    for i, key in enumerate(keys):
        backend.set_key(key)
        assert backend.current_key == key
        assert state.value() is None
        state.update(i)
    for i, key in enumerate(keys):
        backend.set_key(key)
        assert state.value() == i
    assert sorted(backend.keys("v")) == keys


def test_a_float_key_is_the_same_where_its_bytes_are(open_backend: object) -> None:
    backend = open_backend(key=pa.float64())
    state = backend.value_state("v", pa.int64())
    backend.set_key(-0.0)
    state.update(1)
    backend.set_key(0.0)
    assert state.value() == 1


def test_none_is_a_key_like_any_other(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64())
    backend.set_key(None)
    assert backend.current_key is None
    assert state.value() is None
    state.update(1)
    backend.set_key("ada")
    assert state.value() is None
    assert list(backend.keys("v")) == [None]


def test_keys_of_several_columns_are_tuples(open_backend: object) -> None:
    backend = open_backend(key=pa.schema([("user", pa.int64()), ("city", pa.string())]))
    state = backend.value_state("v", pa.int64())
    for i, key in enumerate([(1, "a"), (1, None), (None, "a"), (1, "b")]):
        backend.set_key(key)
        assert state.value() is None
        state.update(i)
    backend.set_key((1, None))
    assert state.value() == 1
    assert backend.current_key == (1, None)
    with pytest.raises(InvalidError):
        backend.set_key((1,))


def test_a_key_of_another_key_group_is_refused(open_backend: object) -> None:
    low = open_backend(key_groups=range(64))
    high = open_backend(key_groups=range(64, 128))
    states = [backend.value_state("v", pa.string()) for backend in (low, high)]
    for i in range(200):
        refused = []
        for backend, state in zip((low, high), states, strict=True):
            try:
                backend.set_key(f"user-{i}")
                state.update(f"user-{i}")
            except InvalidError as error:
                refused.append(str(error))
        assert len(refused) == 1
        assert "key group" in refused[0]
    found = [*low.keys("v"), *high.keys("v")]
    assert sorted(found) == sorted(f"user-{i}" for i in range(200))
    assert len(list(low.keys("v"))) > 50
    assert len(list(high.keys("v"))) > 50


def test_prefetching_a_key_of_another_key_group_is_refused(open_backend: object) -> None:
    low = open_backend(key_groups=range(64))
    state = low.value_state("v", pa.int64())
    own = []
    for i in range(20):
        with contextlib.suppress(InvalidError):
            low.set_key(f"user-{i}")
            state.update(i)
            own.append(f"user-{i}")
    with pytest.raises(InvalidError, match="key group"):
        low.prefetch(pa.array([f"user-{i}" for i in range(20)]))
    low.prefetch(pa.array(own))
    assert low.current_key == own[-1]


@pytest.mark.parametrize(
    "options",
    [
        {"cache_bytes": 0},
        {"max_parallelism": 0},
        {"max_parallelism": 32_769},
        {"key_groups": range(129)},
        {"key_groups": range(5, 5)},
        {"key_groups": range(0, 10, 2)},
        {"key_groups": 5},
        {"key": pa.list_(pa.null())},
        {"key": "string"},
        {"key": pa.schema([])},
    ],
    ids=str,
)
def test_backends_that_can_not_be_are_refused(
    open_backend: object, options: dict[str, object]
) -> None:
    with pytest.raises(InvalidError):
        open_backend(**options)


def test_there_may_be_many_key_groups(open_backend: object) -> None:
    backend = open_backend(max_parallelism=32_768)
    state = backend.value_state("v", pa.int64())
    for i in range(20):
        backend.set_key(str(i))
        state.update(i)
    assert sorted(map(int, backend.keys("v"))) == list(range(20))


# -- Opening states --------------------------------------------------------------------------------


def test_a_state_can_be_asked_for_again(backend: KeyedBackend) -> None:
    backend.value_state("v", pa.int64(), default=0).update(5)
    assert backend.value_state("v", pa.int64(), default=0).value() == 5


@pytest.mark.parametrize(
    ("again", "words"),
    [
        (lambda b: b.value_state("s", pa.int64()), ["sorted", "value"]),
        (lambda b: b.sorted_state("s", pa.int64(), pa.binary()), ["string", "binary"]),
        (lambda b: b.sorted_state("s", pa.int32(), pa.string()), ["int64", "int32"]),
        (
            lambda b: b.sorted_state("s", pa.int64(), pa.string(), namespace=pa.string()),
            ["namespace"],
        ),
        (
            lambda b: b.sorted_state("s", pa.int64(), pa.string(), descending=True),
            ["descending"],
        ),
    ],
)
def test_a_state_opened_as_another_is_refused_with_both_named(
    backend: KeyedBackend, again: object, words: list[str]
) -> None:
    state = backend.sorted_state("s", pa.int64(), pa.string())
    state.add(1, "a")
    with pytest.raises(InvalidError, match="'s'") as error:
        again(backend)
    assert all(word in str(error.value) for word in words)
    assert state.first_entry() == (1, ["a"])


@pytest.mark.parametrize("type_", ["int64", int, None, pa.field("x", pa.int64())])
def test_a_state_wants_an_arrow_type(backend: KeyedBackend, type_: object) -> None:
    with pytest.raises(InvalidError):
        backend.value_state("v", type_)


@pytest.mark.parametrize("name", ["", None, 5])
def test_a_state_wants_a_name(backend: KeyedBackend, name: object) -> None:
    with pytest.raises(InvalidError):
        backend.value_state(name, pa.int64())


def test_a_state_that_is_not_there_is_not_found(backend: KeyedBackend) -> None:
    with pytest.raises(NotFoundError, match="nothing"):
        list(backend.keys("nothing"))
    with pytest.raises(NotFoundError, match="nothing"):
        backend.entries("nothing")


# -- Closing ---------------------------------------------------------------------------------------


def test_a_closed_backend_refuses_everything(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64())
    words = backend.list_state("l", pa.string())
    seen = backend.map_state("m", pa.string(), pa.int64())
    state.update(1)
    backend.close()
    backend.close()
    assert backend.closed
    for call in (
        lambda: state.value(),
        lambda: state.update(1),
        lambda: words.get(),
        lambda: words.add("x"),
        lambda: seen.get("x"),
        lambda: seen.put("x", 1),
        lambda: backend.set_key("ada"),
        lambda: backend.value_state("w", pa.int64()),
        lambda: backend.register_event_time_timer(1),
        lambda: list(backend.advance_watermark(1)),
        lambda: list(backend.keys("v")),
    ):
        with pytest.raises(ClosedError):
            call()


def test_a_with_block_closes_its_backend(open_backend: object) -> None:
    with open_backend() as backend:
        backend.set_key("ada")
    assert backend.closed


def test_a_cache_may_be_sized_in_words(tmp_path: Path) -> None:
    opened = KeyedBackend.open(tmp_path / "a", key=pa.string(), cache_bytes="16MB")
    opened.close()
    with pytest.raises(InvalidError, match="cache_bytes: 'much' is no size"):
        KeyedBackend.open(tmp_path / "b", key=pa.string(), cache_bytes="much")
