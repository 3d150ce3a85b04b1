"""Map state: get, put, remove, contains, iteration, and the mapping protocol on top."""

from __future__ import annotations

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend


def test_an_absent_key_reads_none(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    assert state.get("a") is None
    assert not state.contains("a")


def test_what_was_put_is_got(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    state.put("a", 1)
    state.put("a", 2)
    state.put_all({"b": 3})
    state.put_all([("c", 4)])
    assert list(state.items()) == [("a", 2), ("b", 3), ("c", 4)]


def test_remove_takes_one_entry(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    state.put_all({"a": 1, "b": 2})
    state.remove("a")
    state.remove("not there")
    assert list(state.items()) == [("b", 2)]


def test_a_none_value_is_there(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    state.put("a", None)
    assert state.contains("a")
    assert state.get("a") is None
    assert state.get("a", 7) is None
    assert list(state.items()) == [("a", None)]
    assert not state.is_empty()


def test_a_none_key_is_refused(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    with pytest.raises(InvalidError):
        state.put(None, 1)
    assert state.is_empty()


def test_clear_empties_the_map_of_one_key(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    state.put("a", 1)
    backend.set_key("bob")
    state.put("b", 2)
    state.clear()
    assert state.is_empty()
    assert list(state.keys()) == []
    backend.set_key("ada")
    assert list(state.items()) == [("a", 1)]


@pytest.mark.parametrize(
    ("type_", "keys"),
    [
        (pa.int64(), [-(2**63), -5, 0, 3, 2**40]),
        (pa.uint64(), [0, 1, 2**64 - 1]),
        (pa.string(), ["", "a", "a\0", "a\0b", "ab", "b", "é", "\U0001f600"]),
        (pa.binary(), [b"", b"\0", b"\0\xff", b"a", b"\xff"]),
        (pa.float64(), [float("-inf"), -1.5, 0.0, 1e-300, 2.0, float("inf")]),
        (pa.bool_(), [False, True]),
        (pa.struct([("x", pa.int64()), ("y", pa.string())]), [(-1, "b"), (1, "a"), (1, "b")]),
    ],
    ids=str,
)
def test_keys_come_in_encoded_order(
    backend: KeyedBackend, type_: pa.DataType, keys: list[object]
) -> None:
    state = backend.map_state("m", type_, pa.int64())
    for i, key in reversed(list(enumerate(keys))):
        state.put(key, i)
    assert list(state.keys()) == keys
    assert list(state.values()) == list(range(len(keys)))


def test_floats_are_the_same_key_where_their_bytes_are(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.float64(), pa.int64())
    state.put(-0.0, 1)
    state.put(0.0, 2)
    state.put(float("nan"), 3)
    state.put(-float("nan"), 4)
    assert list(state.values()) == [2, 4]
    assert str(next(state.keys())) == "0.0"


def test_entries_already_returned_may_change_during_iteration(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.int64(), pa.int64())
    state.put_all({i: i for i in range(100)})
    seen = []
    for key, value in state.items():
        seen.append(value)
        if key % 3 == 0:
            state.remove(key)
        elif key % 3 == 1:
            state.put(key, -value)
    assert seen == list(range(100))
    assert list(state.items()) == [(i, -i if i % 3 == 1 else i) for i in range(100) if i % 3]


def test_an_iterator_removes_the_entry_it_returned_last(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.int64(), pa.int64())
    state.put_all({i: i for i in range(10)})
    entries = state.items()
    for key, _ in entries:
        if key % 2:
            entries.remove()
    assert list(state.keys()) == [0, 2, 4, 6, 8]


def test_an_iterator_removes_an_entry_once(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.int64(), pa.int64())
    state.put_all({1: 1, 2: 2})
    keys = state.keys()
    with pytest.raises(InvalidError):
        keys.remove()
    next(keys)
    keys.remove()
    with pytest.raises(InvalidError):
        keys.remove()
    assert list(state.keys()) == [2]


def test_an_entry_can_be_written_through_the_iterator(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.int64(), pa.int64())
    state.put_all({1: 1, 2: 2})
    entries = state.items()
    for _, value in entries:
        entries.set_value(value * 10)
    assert list(state.items()) == [(1, 10), (2, 20)]


def test_an_iterator_stays_with_its_key(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.int64(), pa.int64())
    state.put_all({1: 1, 2: 2, 3: 3})
    keys = state.keys()
    next(keys)
    backend.set_key("bob")
    assert list(keys) == [2, 3]
    assert backend.current_key == "bob"
    assert state.is_empty()


def test_maps_longer_than_a_page_come_whole(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.int64(), pa.int64())
    state.put_all((i, -i) for i in range(10_000))
    assert list(state.items()) == [(i, -i) for i in range(10_000)]


def test_put_all_that_does_not_fit_changes_nothing(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    with pytest.raises(InvalidError):
        state.put_all([("a", 1), ("b", "two")])
    with pytest.raises(InvalidError):
        state.put_all([("a", 1), (2, 2)])
    assert state.is_empty()


def test_values_changed_after_they_were_put_or_got_stay_as_put(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.list_(pa.int64()))
    mine = [1]
    state.put("a", mine)
    mine.append(2)
    state.get("a").append(3)
    next(state.values()).append(4)
    assert state.get("a") == [1]


def test_the_mapping_protocol_is_there(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    state["a"] = 1
    state["b"] = state.get("b", 0) + 5
    assert state["b"] == 5
    assert "a" in state
    assert "z" not in state
    assert len(state) == 2
    del state["a"]
    assert list(state) == ["b"]
    assert state.setdefault("b", 9) == 5
    assert state.setdefault("c", 9) == 9
    assert state.pop("c") == 9
    assert state.pop("c", 0) == 0
    state.update({"d": 4})
    assert dict(state.items()) == {"b": 5, "d": 4}


def test_absent_keys_of_the_mapping_protocol_are_key_errors(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    with pytest.raises(KeyError):
        state["a"]
    with pytest.raises(KeyError):
        del state["a"]
    with pytest.raises(KeyError):
        state.pop("a")


def test_reading_never_creates(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    assert state.get("a") is None
    assert state.is_empty()
    assert list(state.items()) == []
    assert list(backend.keys("m")) == []


def test_a_map_whose_last_entry_is_removed_is_gone(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    state.put("a", 1)
    state.remove("a")
    assert list(backend.keys("m")) == []
