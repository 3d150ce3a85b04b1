"""Namespaces, and merging them."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend


class Sum:
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, acc: int) -> int:
        return acc + value

    def get_result(self, acc: int) -> int:
        return acc

    def merge(self, a: int, b: int) -> int:
        return a + b


def test_before_set_namespace_it_is_none(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), namespace=pa.string())
    assert state.namespace is None
    state.update(1)
    state.set_namespace("w")
    assert state.namespace == "w"
    assert state.value() is None
    state.set_namespace(None)
    assert state.value() == 1


def test_each_namespace_holds_its_own(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.int64(), namespace=pa.int64())
    for namespace in (1, 2, 3):
        state.set_namespace(namespace)
        state.add(namespace * 10)
    state.set_namespace(2)
    state.clear()
    got = {}
    for namespace in (1, 2, 3):
        state.set_namespace(namespace)
        got[namespace] = state.get()
    assert got == {1: [10], 2: [], 3: [30]}


def test_the_namespace_stays_when_the_key_changes(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), namespace=pa.string())
    state.set_namespace("w")
    state.update(1)
    backend.set_key("bob")
    assert state.namespace == "w"
    assert state.value() is None
    state.update(2)
    backend.set_key("ada")
    assert state.value() == 1


def test_states_have_namespaces_of_their_own(backend: KeyedBackend) -> None:
    one = backend.value_state("one", pa.int64(), namespace=pa.string())
    two = backend.value_state("two", pa.int64(), namespace=pa.string())
    one.set_namespace("w")
    assert two.namespace is None


def test_maps_and_sorted_states_have_namespaces(backend: KeyedBackend) -> None:
    seen = backend.map_state("m", pa.string(), pa.int64(), namespace=pa.string())
    events = backend.sorted_state("s", pa.int64(), pa.string(), namespace=pa.string())
    for namespace in ("a", "ab"):
        seen.set_namespace(namespace)
        events.set_namespace(namespace)
        seen.put(namespace, 1)
        events.add(1, namespace)
    seen.set_namespace("a")
    events.set_namespace("a")
    assert list(seen.keys()) == ["a"]
    assert events.first_entry() == (1, ["a"])
    seen.clear()
    events.clear()
    seen.set_namespace("ab")
    events.set_namespace("ab")
    assert list(seen.keys()) == ["ab"]
    assert events.last_entry() == (1, ["ab"])


def test_keys_are_those_of_one_namespace(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), namespace=pa.string())
    for key, namespace in (("ada", "w"), ("bob", "w"), ("cyd", "x"), ("dan", None)):
        backend.set_key(key)
        state.set_namespace(namespace)
        state.update(1)
    assert sorted(backend.keys("v", "w")) == ["ada", "bob"]
    assert list(backend.keys("v", "x")) == ["cyd"]
    assert list(backend.keys("v")) == ["dan"]
    assert list(backend.keys("v", "none")) == []


def test_a_namespace_must_fit_its_type(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), namespace=pa.string())
    state.set_namespace("w")
    with pytest.raises(InvalidError, match="namespace"):
        state.set_namespace(5)
    assert state.namespace == "w"


def test_a_state_without_namespaces_refuses_them(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64())
    state.set_namespace(None)
    with pytest.raises(InvalidError, match="namespace"):
        state.set_namespace("w")


# -- Merging ---------------------------------------------------------------------------------------


def test_merging_lists_moves_the_sources_to_the_target(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.string(), namespace=pa.string())
    for namespace, element in (("w1", "x"), ("w2", "y"), ("w3", "z")):
        state.set_namespace(namespace)
        state.add(element)
    state.merge_namespaces("w3", ["w1", "w2"])
    contents = {}
    for namespace in ("w1", "w2", "w3"):
        state.set_namespace(namespace)
        contents[namespace] = state.get()
    assert contents == {"w1": [], "w2": [], "w3": ["z", "x", "y"]}


def test_merging_reducing_states_reduces_the_sources(backend: KeyedBackend) -> None:
    built_in = backend.reducing_state("b", pa.int64(), "sum", namespace=pa.string())
    python = backend.reducing_state("p", pa.int64(), lambda a, b: a + b, namespace=pa.string())
    for state in (built_in, python):
        for namespace, value in (("w1", 1), ("w2", 2), ("w3", 3)):
            state.set_namespace(namespace)
            state.add(value)
        state.merge_namespaces("w3", ["w1", "w2"])
        assert state.get() == 6
        state.set_namespace("w1")
        assert state.get() is None


def test_merging_aggregating_states_merges_the_sources(backend: KeyedBackend) -> None:
    state = backend.aggregating_state("a", Sum(), accumulator=pa.int64(), namespace=pa.string())
    for namespace, value in (("w1", 1), ("w2", 2)):
        state.set_namespace(namespace)
        state.add(value)
    state.merge_namespaces("new", ["w1", "w2"])
    assert state.get() is None
    state.set_namespace("new")
    assert state.get() == 3


def test_missing_and_empty_sources_are_harmless(backend: KeyedBackend) -> None:
    words = backend.list_state("l", pa.string(), namespace=pa.string())
    total = backend.reducing_state("r", pa.int64(), "sum", namespace=pa.string())
    mean = backend.aggregating_state("a", Sum(), accumulator=pa.int64(), namespace=pa.string())
    for state, value in ((words, "x"), (total, 1), (mean, 1)):
        state.set_namespace("w")
        state.add(value)
        state.merge_namespaces("w", ["missing", "also missing"])
        state.merge_namespaces("w", [])
        state.merge_namespaces("nothing", ["missing"])
        assert list(backend.keys(state.name, "nothing")) == []
    assert words.get() == ["x"]
    assert total.get() == 1
    assert mean.get() == 1


def test_the_target_as_a_source_is_harmless(backend: KeyedBackend) -> None:
    words = backend.list_state("l", pa.string(), namespace=pa.string())
    total = backend.reducing_state("r", pa.int64(), "sum", namespace=pa.string())
    mean = backend.aggregating_state("a", Sum(), accumulator=pa.int64(), namespace=pa.string())
    for state, value in ((words, "x"), (total, 1), (mean, 1)):
        state.set_namespace("w")
        state.add(value)
        state.merge_namespaces("w", ["w"])
    assert words.get() == ["x"]
    assert total.get() == 1
    assert mean.get() == 1


def test_the_current_namespace_is_unchanged_by_merging(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.string(), namespace=pa.string())
    state.set_namespace("w1")
    state.add("x")
    state.set_namespace("here")
    state.merge_namespaces("w2", ["w1"])
    assert state.namespace == "here"
    assert state.get() == []


def test_merging_leaves_other_keys_alone(backend: KeyedBackend) -> None:
    state = backend.reducing_state("r", pa.int64(), "sum", namespace=pa.string())
    for key in ("ada", "bob"):
        backend.set_key(key)
        state.set_namespace("w1")
        state.add(1)
    state.merge_namespaces("w2", ["w1"])
    backend.set_key("ada")
    assert state.get() == 1


NOON = dt.datetime(2026, 1, 1, 12)


@pytest.mark.parametrize(
    ("type_", "space"),
    [
        (pa.timestamp("us"), NOON), (pa.date32(), NOON.date()), (pa.float64(), 1.5),
        (pa.struct([("from", pa.int64())]), {"from": 1}), (pa.string(), "w"),
    ],
    ids=str,
)  # fmt: skip
def test_the_first_namespace_is_none_whatever_the_type(
    backend: KeyedBackend, type_: pa.DataType, space: object
) -> None:
    state = backend.value_state("v", pa.int64(), namespace=type_)
    state.update(1)
    assert state.namespace is None
    state.set_namespace(space)
    state.update(2)
    state.set_namespace(None)
    assert state.value() == 1
    assert list(backend.keys("v")) == ["ada"]
    assert backend.entries("v").read_all()["namespace"].to_pylist() == [None, space]
