"""List state: get, add, add_all, update, clear, merge_namespaces."""

from __future__ import annotations

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend


def test_an_empty_list_reads_as_an_empty_list(backend: KeyedBackend) -> None:
    assert backend.list_state("l", pa.int64()).get() == []


def test_elements_come_in_the_order_of_insertion(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.int64())
    state.add(3)
    state.add_all([1, 2])
    state.add(3)
    assert state.get() == [3, 1, 2, 3]


def test_update_replaces_all_elements(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.int64())
    state.add_all([1, 2])
    state.update([3])
    state.add(4)
    assert state.get() == [3, 4]


def test_update_with_an_empty_list_clears(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.int64())
    state.add(1)
    state.update([])
    assert state.get() == []
    assert list(backend.keys("l")) == []


def test_add_all_of_nothing_does_nothing(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.int64())
    state.add_all([])
    assert state.get() == []
    assert list(backend.keys("l")) == []


def test_clear_empties_the_list_of_one_key(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.int64())
    state.add(1)
    backend.set_key("bob")
    state.add(2)
    state.clear()
    assert state.get() == []
    backend.set_key("ada")
    assert state.get() == [1]


def test_a_cleared_list_can_be_filled_again(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.int64())
    state.add_all([1, 2, 3])
    state.clear()
    state.add(4)
    assert state.get() == [4]


def test_none_as_an_element_is_refused(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.int64())
    state.add(1)
    with pytest.raises(InvalidError):
        state.add(None)
    assert state.get() == [1]


@pytest.mark.parametrize("values", [None, [2, None], [2, "x"]])
def test_lists_that_do_not_fit_are_refused_and_change_nothing(
    backend: KeyedBackend, values: object
) -> None:
    state = backend.list_state("l", pa.int64())
    state.add(1)
    with pytest.raises(InvalidError):
        state.add_all(values)
    with pytest.raises(InvalidError):
        state.update(values)
    assert state.get() == [1]


def test_what_get_returns_is_the_callers_own(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.list_(pa.int64()))
    state.add([1])
    got = state.get()
    got[0].append(2)
    got.append([3])
    assert state.get() == [[1]]


def test_an_element_changed_after_it_was_added_stays_as_added(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.list_(pa.int64()))
    mine = [1]
    state.add(mine)
    mine.append(2)
    assert state.get() == [[1]]


def test_long_lists_come_back_whole(backend: KeyedBackend) -> None:
    state = backend.list_state("l", pa.int64())
    state.add_all(range(5_000))
    assert state.get() == list(range(5_000))


def test_reading_never_creates(backend: KeyedBackend) -> None:
    assert backend.list_state("l", pa.int64()).get() == []
    assert list(backend.keys("l")) == []
