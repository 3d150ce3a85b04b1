"""Reducing state: built-in functions and Python's."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend

I64_MAX = 2**63 - 1


def test_empty_reads_none(backend: KeyedBackend) -> None:
    state = backend.reducing_state("r", pa.int64(), "sum")
    assert state.get() is None
    assert list(backend.keys("r")) == []


@pytest.mark.parametrize(
    ("function", "result"),
    [
        ("sum", 13), ("min", 1), ("max", 7), ("count", 3), ("first", 5), ("last", 7),
        ("bit_and", 1), ("bit_or", 7), ("bit_xor", 3),
    ],
)  # fmt: skip
def test_built_in_functions_reduce_integers(
    backend: KeyedBackend, function: str, result: int
) -> None:
    state = backend.reducing_state("r", pa.int64(), function)
    for value in (5, 1, 7):
        state.add(value)
    assert state.get() == result


@pytest.mark.parametrize(
    ("type_", "values", "result"),
    [
        (pa.int64(), [I64_MAX, 1], -(2**63)),
        (pa.int64(), [-(2**63), -1], I64_MAX),
        (pa.int8(), [127, 127, 127], 125),
        (pa.uint8(), [200, 100], 44),
        (pa.uint64(), [2**64 - 1, 2], 1),
    ],
)
def test_integer_sums_wrap(
    backend: KeyedBackend, type_: pa.DataType, values: list[int], result: int
) -> None:
    state = backend.reducing_state("r", type_, "sum")
    for value in values:
        state.add(value)
    assert state.get() == result


def test_float_sums_are_the_types_own(backend: KeyedBackend) -> None:
    double = backend.reducing_state("d", pa.float64(), "sum")
    single = backend.reducing_state("s", pa.float32(), "sum")
    for value in (0.1, 0.2, 1e8, 1):
        double.add(value)
        single.add(value)
    assert double.get() == 0.1 + 0.2 + 1e8 + 1
    assert single.get() == 1e8


def test_nan_is_the_greatest_float(backend: KeyedBackend) -> None:
    low, high = (backend.reducing_state(f, pa.float64(), f) for f in ("min", "max"))
    for value in (math.nan, 1.0, math.inf, math.nan, -3.0):
        low.add(value)
        high.add(value)
    assert low.get() == -3.0
    assert math.isnan(high.get())


@pytest.mark.parametrize(("function", "result"), [("first", "b"), ("last", "c")])
def test_first_and_last_take_any_type(backend: KeyedBackend, function: str, result: str) -> None:
    state = backend.reducing_state("r", pa.string(), function)
    for value in ("b", "a", "c"):
        state.add(value)
    assert state.get() == result


def test_a_python_function_reduces(backend: KeyedBackend) -> None:
    state = backend.reducing_state("r", pa.string(), lambda a, b: f"{a}+{b}")
    for value in ("a", "b", "c"):
        state.add(value)
    assert state.get() == "a+b+c"


def test_none_is_refused(backend: KeyedBackend) -> None:
    state = backend.reducing_state("r", pa.int64(), "sum")
    state.add(1)
    with pytest.raises(InvalidError):
        state.add(None)
    assert state.get() == 1


@pytest.mark.parametrize("result", ["a string", None])
def test_a_function_whose_result_does_not_fit_changes_nothing(
    backend: KeyedBackend, result: object
) -> None:
    state = backend.reducing_state("r", pa.int64(), lambda a, b: result)
    state.add(1)
    with pytest.raises(InvalidError):
        state.add(2)
    assert state.get() == 1


def test_a_function_that_raises_changes_nothing(backend: KeyedBackend) -> None:
    def fail(a: list[int], b: list[int]) -> list[int]:
        a.append(9)
        raise ZeroDivisionError

    state = backend.reducing_state("r", pa.list_(pa.int64()), fail)
    state.add([1])
    with pytest.raises(ZeroDivisionError):
        state.add([2])
    assert state.get() == [1]


def test_a_function_may_change_what_it_is_given(backend: KeyedBackend) -> None:
    def extend(a: list[int], b: list[int]) -> list[int]:
        a.extend(b)
        return a

    state = backend.reducing_state("r", pa.list_(pa.int64()), extend)
    given = [1]
    state.add(given)
    state.add([2])
    state.add([3])
    assert state.get() == [1, 2, 3]
    assert given == [1]


@pytest.mark.parametrize(
    ("type_", "function"),
    [(pa.string(), "sum"), (pa.string(), "max"), (pa.float64(), "bit_or"), (pa.int64(), "median")],
)
def test_functions_that_are_not_defined_are_refused(
    backend: KeyedBackend, type_: pa.DataType, function: str
) -> None:
    with pytest.raises(InvalidError, match=function):
        backend.reducing_state("r", type_, function)


def test_clear_starts_anew(backend: KeyedBackend) -> None:
    state = backend.reducing_state("r", pa.int64(), "sum")
    state.add(5)
    state.clear()
    assert state.get() is None
    state.add(2)
    assert state.get() == 2


def test_each_key_has_a_result_of_its_own(backend: KeyedBackend) -> None:
    state = backend.reducing_state("r", pa.int64(), "sum")
    state.add(5)
    backend.set_key("bob")
    state.add(2)
    assert state.get() == 2
    backend.set_key("ada")
    state.add(1)
    assert state.get() == 6
