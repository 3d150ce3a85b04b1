"""Operator state: lists that are split, lists that all get, maps that are the same for all."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from flintstate import InvalidError
from flintstate.state.operator import OperatorBackend, rescale


def test_a_list_keeps_its_elements_in_order() -> None:
    state = OperatorBackend().list_state("l", pa.int64())
    state.add(3)
    state.add_all([1, 2])
    assert state.get() == [3, 1, 2]
    state.update([4])
    assert state.get() == [4]
    state.clear()
    assert state.get() == []


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    backend = OperatorBackend()
    state = backend.list_state("l", pa.int64())
    rules = backend.broadcast_state("b", pa.string(), pa.int64())
    for values in ([1, None], [1, "x"]):
        with pytest.raises(InvalidError):
            state.add_all(values)
    with pytest.raises(InvalidError):
        rules.put_all({"a": 1, "b": None})
    assert state.get() == []
    assert list(rules.items()) == []


@pytest.mark.parametrize("call", ["add_all", "update"])
@pytest.mark.parametrize("inner", ["add", "update", "clear"])
def test_values_that_change_their_own_list_as_they_are_made_are_refused(
    call: str, inner: str
) -> None:
    state = OperatorBackend().list_state("l", pa.int64())
    state.add(1)

    def values() -> Iterator[int]:
        {"add": lambda: state.add(2), "update": lambda: state.update([2]), "clear": state.clear}[
            inner
        ]()
        yield 3

    with pytest.raises(InvalidError, match="was changed while"):
        getattr(state, call)(values())
    assert state.get() == {"add": [1, 2], "update": [2], "clear": []}[inner]


def test_lists_are_the_callers_own() -> None:
    state = OperatorBackend().list_state("l", pa.list_(pa.int64()))
    mine = [1]
    state.add(mine)
    mine.append(2)
    state.get()[0].append(3)
    assert state.get() == [[1]]


def test_broadcast_state_is_a_map_in_order() -> None:
    state = OperatorBackend().broadcast_state("b", pa.string(), pa.int64())
    state.put("b", 2)
    state.put_all({"a": 1, "c": 3})
    state.remove("c")
    state.remove("not there")
    assert list(state.items()) == [("a", 1), ("b", 2)]
    assert state.get("a") == 1
    assert state.get("c") is None
    assert state.contains("b")


def test_a_list_is_split_evenly_and_in_order() -> None:
    backend = OperatorBackend()
    backend.list_state("l", pa.int64()).add_all(range(10))
    parts = [OperatorBackend(part) for part in rescale([backend.snapshot()], 4)]
    lists = [part.list_state("l", pa.int64()).get() for part in parts]
    assert [len(one) for one in lists] == [3, 3, 2, 2]
    assert [element for one in lists for element in one] == list(range(10))


@pytest.mark.parametrize("steps", [[3, 1], [1, 5, 2, 1], [7, 20, 1]])
def test_splitting_and_merging_gives_the_same_list(steps: list[int]) -> None:
    backend = OperatorBackend()
    backend.list_state("l", pa.int64()).add_all(range(10))
    snapshots = [backend.snapshot()]
    for parallelism in steps:
        snapshots = [OperatorBackend(part).snapshot() for part in rescale(snapshots, parallelism)]
    assert OperatorBackend(snapshots[0]).list_state("l", pa.int64()).get() == list(range(10))


def test_everyone_gets_all_of_a_union_list() -> None:
    backends = [OperatorBackend(), OperatorBackend()]
    for n, backend in enumerate(backends):
        backend.union_list_state("u", pa.int64()).add(n)
    for part in rescale([backend.snapshot() for backend in backends], 3):
        assert OperatorBackend(part).union_list_state("u", pa.int64()).get() == [0, 1]


def test_broadcast_state_is_the_same_for_all() -> None:
    backend = OperatorBackend()
    backend.broadcast_state("b", pa.string(), pa.int64()).put("a", 1)
    for part in rescale([backend.snapshot(), backend.snapshot()], 3):
        state = OperatorBackend(part).broadcast_state("b", pa.string(), pa.int64())
        assert list(state.items()) == [("a", 1)]


def test_a_snapshot_is_not_changed_by_what_follows() -> None:
    backend = OperatorBackend()
    state = backend.list_state("l", pa.int64())
    state.add(1)
    snapshot = backend.snapshot()
    state.add(2)
    assert OperatorBackend(snapshot).list_state("l", pa.int64()).get() == [1]


def test_a_restored_state_that_is_not_opened_is_kept() -> None:
    backend = OperatorBackend()
    backend.list_state("l", pa.int64()).add(1)
    again = OperatorBackend(OperatorBackend(backend.snapshot()).snapshot())
    assert again.list_state("l", pa.int64()).get() == [1]


def test_another_kind_or_type_is_refused_with_both_named() -> None:
    backend = OperatorBackend()
    backend.list_state("l", pa.int64())
    with pytest.raises(InvalidError, match=r"list state of int64.*union list state of int64"):
        backend.union_list_state("l", pa.int64())
    with pytest.raises(InvalidError, match=r"int64.*string"):
        OperatorBackend(backend.snapshot()).list_state("l", pa.string())
    other = OperatorBackend()
    other.list_state("l", pa.string())
    with pytest.raises(InvalidError, match=r"int64.*string"):
        rescale([backend.snapshot(), other.snapshot()], 1)


def test_there_is_at_least_one_instance() -> None:
    with pytest.raises(InvalidError):
        rescale([], 0)
