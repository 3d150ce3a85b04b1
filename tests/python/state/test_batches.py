"""Many keys at once, and all entries, in Arrow."""

from __future__ import annotations

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend

KEYS = pa.array(["ada", "bob", "cyd"])


def test_get_many_gives_values_in_the_order_of_the_keys(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), default=-1)
    state.update(1)
    got = state.get_many(pa.array(["bob", "ada", "ada"]))
    assert got.type == pa.int64()
    assert got.to_pylist() == [-1, 1, 1]
    assert list(backend.keys("v")) == ["ada"]


def test_put_many_sets_values_and_the_last_of_equal_keys_wins(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64())
    state.put_many(pa.array(["ada", "bob", "ada"]), pa.array([1, 2, 3]))
    assert state.get_many(KEYS).to_pylist() == [3, 2, None]


def test_a_null_in_put_many_clears(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64())
    state.put_many(KEYS, pa.array([1, 2, 3]))
    state.put_many(KEYS, pa.array([None, 5, None], pa.int64()))
    assert state.get_many(KEYS).to_pylist() == [None, 5, None]
    assert list(backend.keys("v")) == ["bob"]


def test_batches_are_of_the_current_namespace(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), namespace=pa.string())
    state.set_namespace("w")
    state.put_many(KEYS, pa.array([1, 2, 3]))
    state.set_namespace(None)
    assert state.get_many(KEYS).null_count == 3
    assert sorted(backend.keys("v", "w")) == ["ada", "bob", "cyd"]


def test_batches_leave_the_current_key_alone(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64())
    state.put_many(KEYS, pa.array([1, 2, 3]))
    state.get_many(KEYS)
    state.clear_many(KEYS)
    assert backend.current_key == "ada"


def test_batches_need_no_current_key(open_backend: object) -> None:
    backend = open_backend()
    state = backend.value_state("v", pa.int64())
    state.put_many(KEYS, pa.array([1, 2, 3]))
    assert state.get_many(KEYS).to_pylist() == [1, 2, 3]
    with pytest.raises(InvalidError, match="current key"):
        state.value()


def test_clear_many_empties_all_keys(backend: KeyedBackend) -> None:
    count = backend.value_state("v", pa.int64())
    words = backend.list_state("l", pa.string())
    seen = backend.map_state("m", pa.string(), pa.int64())
    total = backend.reducing_state("r", pa.int64(), "sum")
    events = backend.sorted_state("s", pa.int64(), pa.string())
    for key in KEYS.to_pylist():
        backend.set_key(key)
        count.update(1)
        words.add("x")
        seen.put("x", 1)
        total.add(1)
        events.add(1, "x")
    for state in (count, words, seen, total, events):
        state.clear_many(pa.array(["ada", "cyd", "not there"]))
        assert list(backend.keys(state.name)) == ["bob"]


def test_add_many_appends_to_lists_in_order(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.int64())
    state.add(0)
    state.add_many(pa.array(["ada", "bob", "ada"]), pa.array([1, 2, 3]))
    got = state.get_many(KEYS)
    assert got.type == pa.list_(pa.int64())
    assert got.to_pylist() == [[0, 1, 3], [2], []]


def test_add_many_reduces(backend: KeyedBackend) -> None:
    state = backend.reducing_state("r", pa.int64(), "sum")
    python = backend.reducing_state("p", pa.int64(), lambda a, b: max(a, b))
    for one in (state, python):
        one.add_many(pa.array(["ada", "bob", "ada"]), pa.array([1, 2, 3]))
    assert state.get_many(KEYS).to_pylist() == [4, 2, None]
    assert python.get_many(KEYS).to_pylist() == [3, 2, None]


def test_maps_are_put_and_got_in_batches(backend: KeyedBackend) -> None:
    state = backend.map_state("m", pa.string(), pa.int64())
    state.put_many(
        pa.array(["ada", "ada", "bob"]), pa.array(["x", "y", "x"]), pa.array([1, None, 3])
    )
    assert list(state.items()) == [("x", 1), ("y", None)]
    assert state.get_many(KEYS, pa.array(["x", "x", "x"])).to_pylist() == [1, 3, None]


def test_sorted_states_take_batches(backend: KeyedBackend) -> None:
    state = backend.sorted_state("s", pa.int64(), pa.string())
    state.add_many(pa.array(["ada", "bob", "ada"]), pa.array([5, 1, -5]), pa.array(["a", "b", "c"]))
    assert list(state.read_range_from(-10)) == [(-5, ["c"]), (5, ["a"])]


def test_keys_of_several_columns_come_as_batches(open_backend: object) -> None:
    schema = pa.schema([("user", pa.int64()), ("city", pa.string())])
    backend = open_backend(key=schema)
    state = backend.value_state("v", pa.int64())
    keys = pa.table({"user": [1, 1], "city": ["a", None]}, schema=schema)
    state.put_many(keys, pa.array([5, 6]))
    backend.set_key((1, None))
    assert state.value() == 6
    assert state.get_many(keys.to_batches()[0]).to_pylist() == [5, 6]


def test_batches_of_nothing_are_harmless(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64())
    none = pa.array([], pa.string())
    state.put_many(none, pa.array([], pa.int64()))
    assert len(state.get_many(none)) == 0


@pytest.mark.parametrize(
    ("keys", "values"),
    [
        (pa.array(["ada", "bob"]), pa.array([1])),
        (pa.array([1, 2]), pa.array([1, 2])),
        (pa.array(["ada", "bob"]), pa.array(["x", "y"])),
    ],
)
def test_batches_that_do_not_fit_change_nothing(
    backend: KeyedBackend, keys: pa.Array, values: pa.Array
) -> None:
    state = backend.value_state("v", pa.int64())
    with pytest.raises(InvalidError):
        state.put_many(keys, values)
    assert list(backend.keys("v")) == []


def test_nulls_among_elements_are_refused(backend: KeyedBackend) -> None:
    words = backend.list_state("l", pa.string())
    total = backend.reducing_state("r", pa.int64(), "sum")
    with pytest.raises(InvalidError):
        words.add_many(KEYS, pa.array(["x", None, "y"]))
    with pytest.raises(InvalidError):
        total.add_many(KEYS, pa.array([1, None, 2]))
    assert list(backend.keys("l")) == list(backend.keys("r")) == []


# -- All entries -----------------------------------------------------------------------------------


def entries(backend: KeyedBackend, name: str) -> list[dict[str, object]]:
    rows = pa.RecordBatchReader.from_stream(backend.entries(name)).read_all().to_pylist()
    return sorted(rows, key=lambda row: [str(row["key"]), str(row.get("namespace"))])


def test_entries_of_a_value_state_are_keys_and_values(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), namespace=pa.string())
    state.update(1)
    state.set_namespace("w")
    state.update(2)
    assert entries(backend, "v") == [
        {"key": "ada", "namespace": None, "value": 1},
        {"key": "ada", "namespace": "w", "value": 2},
    ]


def test_entries_of_other_states_are_a_row_each(backend: KeyedBackend) -> None:
    words = backend.list_state("l", pa.string())
    seen = backend.map_state("m", pa.string(), pa.int64())
    total = backend.reducing_state("r", pa.int64(), "sum")
    events = backend.sorted_state("s", pa.int64(), pa.string())
    words.add_all(["b", "a"])
    seen.put_all({"y": 1, "x": None})
    total.add(4)
    events.put(2, ["c", "d"])
    events.add(1, "e")
    assert entries(backend, "l") == [{"key": "ada", "value": v} for v in ("b", "a")]
    assert entries(backend, "m") == [
        {"key": "ada", "map_key": "x", "map_value": None},
        {"key": "ada", "map_key": "y", "map_value": 1},
    ]
    assert entries(backend, "r") == [{"key": "ada", "value": 4}]
    assert entries(backend, "s") == [
        {"key": "ada", "sort_key": k, "value": v} for k, v in ((1, "e"), (2, "c"), (2, "d"))
    ]


def test_entries_of_keys_of_several_columns_have_those_columns(open_backend: object) -> None:
    backend = open_backend(key=pa.schema([("user", pa.int64()), ("city", pa.string())]))
    state = backend.value_state("v", pa.float64())
    backend.set_key((1, "a"))
    state.update(2.5)
    table = pa.RecordBatchReader.from_stream(backend.entries("v")).read_all()
    assert table.to_pylist() == [{"user": 1, "city": "a", "value": 2.5}]


def test_entries_and_keys_come_in_the_same_order(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64())
    for i in range(500):
        backend.set_key(str(i))
        state.update(i)
    table = pa.RecordBatchReader.from_stream(backend.entries("v")).read_all()
    assert table.num_rows == 500
    assert table["key"].to_pylist() == list(backend.keys("v"))
