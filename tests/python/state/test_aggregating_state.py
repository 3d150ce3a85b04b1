"""Aggregating state: an accumulator of a type of its own."""

from __future__ import annotations

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend

SUM_AND_COUNT = pa.struct([("sum", pa.float64()), ("n", pa.int64())])


class Mean:
    def create_accumulator(self) -> tuple[float, int]:
        return (0.0, 0)

    def add(self, value: float, acc: tuple[float, int]) -> tuple[float, int]:
        return (acc[0] + value, acc[1] + 1)

    def get_result(self, acc: tuple[float, int]) -> float:
        return acc[0] / acc[1]

    def merge(self, a: tuple[float, int], b: tuple[float, int]) -> tuple[float, int]:
        return (a[0] + b[0], a[1] + b[1])


class Collect:
    """Keeps all values in its accumulator, which it changes in place."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: int, acc: list[int]) -> list[int]:
        acc.append(value)
        if value < 0:
            raise ValueError(value)
        return acc

    def get_result(self, acc: list[int]) -> list[int]:
        acc.sort()
        return acc

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        a.extend(b)
        return a


def test_empty_reads_none(backend: KeyedBackend) -> None:
    state = backend.aggregating_state("a", Mean(), accumulator=SUM_AND_COUNT)
    assert state.get() is None
    assert list(backend.keys("a")) == []


def test_the_result_is_made_of_the_accumulator(backend: KeyedBackend) -> None:
    state = backend.aggregating_state("a", Mean(), accumulator=SUM_AND_COUNT)
    state.add(1.0)
    state.add(2.0)
    assert state.get() == 1.5


def test_the_accumulator_comes_as_its_type_gives_it(backend: KeyedBackend) -> None:
    class Named(Mean):
        def add(self, value: float, acc: object) -> tuple[float, int]:
            return (acc.sum + value, acc.n + 1)

    state = backend.aggregating_state("a", Named(), accumulator=SUM_AND_COUNT)
    state.add(4)
    state.add(2)
    assert state.get() == 3.0


def test_none_reaches_the_function(backend: KeyedBackend) -> None:
    class Nones(Mean):
        def add(self, value: object, acc: object) -> tuple[float, int]:
            return (0.0, acc[1] + (value is None))

        def get_result(self, acc: object) -> object:
            return acc[1]

    state = backend.aggregating_state("a", Nones(), accumulator=SUM_AND_COUNT)
    for value in (None, 1.0, None):
        state.add(value)
    assert state.get() == 2


def test_an_accumulator_may_be_mutable(backend: KeyedBackend) -> None:
    state = backend.aggregating_state("a", Collect(), accumulator=pa.list_(pa.int64()))
    for value in (3, 1, 2):
        state.add(value)
    assert state.get() == [1, 2, 3]
    state.get().append(9)
    state.add(0)
    assert state.get() == [0, 1, 2, 3]


def test_a_function_that_raises_changes_nothing(backend: KeyedBackend) -> None:
    state = backend.aggregating_state("a", Collect(), accumulator=pa.list_(pa.int64()))
    state.add(1)
    with pytest.raises(ValueError, match="-1"):
        state.add(-1)
    assert state.get() == [1]


def test_an_accumulator_that_does_not_fit_changes_nothing(backend: KeyedBackend) -> None:
    state = backend.aggregating_state("a", Mean(), accumulator=pa.list_(pa.int64()))
    with pytest.raises(InvalidError, match="a"):
        state.add(1.0)
    assert state.get() is None
    assert list(backend.keys("a")) == []


def test_clear_starts_anew(backend: KeyedBackend) -> None:
    state = backend.aggregating_state("a", Mean(), accumulator=SUM_AND_COUNT)
    state.add(1.0)
    state.clear()
    assert state.get() is None
    state.add(4.0)
    assert state.get() == 4.0


def test_each_key_has_an_accumulator_of_its_own(backend: KeyedBackend) -> None:
    state = backend.aggregating_state("a", Mean(), accumulator=SUM_AND_COUNT)
    state.add(1.0)
    backend.set_key("bob")
    assert state.get() is None
    state.add(5.0)
    backend.set_key("ada")
    assert state.get() == 1.0


def test_what_is_no_aggregate_is_refused_as_the_state_is_opened(backend: KeyedBackend) -> None:
    with pytest.raises(InvalidError, match=r"state 'none'.*has no create_accumulator, add,"):
        backend.aggregating_state("none", object(), accumulator=SUM_AND_COUNT)
