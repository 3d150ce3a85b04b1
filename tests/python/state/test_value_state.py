"""Value state: value, update, clear."""

from __future__ import annotations

import pyarrow as pa
import pytest

from flintstate import InvalidError, KeyedBackend


def test_an_empty_state_reads_none(backend: KeyedBackend) -> None:
    assert backend.value_state("v", pa.int64()).value() is None


def test_an_empty_state_reads_the_declared_default(backend: KeyedBackend) -> None:
    assert backend.value_state("v", pa.int64(), default=7).value() == 7


def test_what_was_written_is_read(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.string(), default="none yet")
    state.update("first")
    state.update("second")
    assert state.value() == "second"


def test_clear_brings_the_default_back(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), default=7)
    state.update(1)
    state.clear()
    assert state.value() == 7


def test_update_with_none_is_clear(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64())
    state.update(1)
    state.update(None)
    assert state.value() is None
    assert list(backend.keys("v")) == []


def test_a_value_may_be_given_by_name(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64())
    state.update(value=5)
    assert state.value() == 5
    for call in (
        lambda: state.update(),  # type: ignore[call-arg]
        lambda: state.update(1, 2),  # type: ignore[call-arg]
        lambda: state.update(v=1),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError):
            call()
    assert state.value() == 5


def test_each_key_has_a_value_of_its_own(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64())
    state.update(1)
    backend.set_key("bob")
    assert state.value() is None
    state.update(2)
    backend.set_key("ada")
    assert state.value() == 1


def test_each_state_has_values_of_its_own(backend: KeyedBackend) -> None:
    one, two = backend.value_state("one", pa.int64()), backend.value_state("two", pa.int64())
    one.update(1)
    assert two.value() is None


def test_reading_never_creates(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.int64(), default=0)
    assert state.value() == 0
    assert list(backend.keys("v")) == []


def test_a_default_is_the_callers_own_copy(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.list_(pa.int64()), default=[1])
    state.value().append(2)
    assert state.value() == [1]


def test_a_value_changed_after_it_was_written_stays_as_written(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.list_(pa.int64()))
    mine = [1, 2]
    state.update(mine)
    mine.append(3)
    assert state.value() == [1, 2]


def test_a_value_changed_after_it_was_read_stays_as_written(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.struct([("tags", pa.list_(pa.string()))]))
    state.update((["a"],))
    state.value().tags.append("b")
    assert state.value().tags == ["a"]


@pytest.mark.parametrize("given", [{"x": 1, "y": "a"}, (1, "a"), [1, "a"], {"y": "a", "x": 1.0}])
def test_a_struct_comes_back_as_a_named_tuple(backend: KeyedBackend, given: object) -> None:
    state = backend.value_state("v", pa.struct([("x", pa.float64()), ("y", pa.string())]))
    state.update(given)
    assert state.value() == (1.0, "a")
    assert state.value().x == 1.0
    assert isinstance(state.value().x, float)
    assert state.value()._fields == ("x", "y")


def test_an_int_comes_back_as_a_float_from_a_float_state(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.float64())
    state.update(3)
    assert isinstance(state.value(), float)
    assert state.value() == 3.0


def test_nested_types_come_back_as_they_were(backend: KeyedBackend) -> None:
    point = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])
    state = backend.value_state("v", pa.struct([("points", pa.list_(point)), ("n", pa.null())]))
    state.update(([(1, ["a", None]), None, (2, [])], None))
    assert state.value() == ([(1, ["a", None]), None, (2, [])], None)


def test_a_map_value_comes_back_as_pairs(backend: KeyedBackend) -> None:
    state = backend.value_state("v", pa.map_(pa.string(), pa.int64()))
    state.update({"b": 1, "a": None})
    assert state.value() == [("b", 1), ("a", None)]


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (pa.int64(), "1"),
        (pa.int64(), 1.0),
        (pa.int64(), True),
        (pa.int8(), 128),
        (pa.uint8(), -1),
        (pa.string(), b"a"),
        (pa.string(), "\ud800"),
        (pa.binary(3), b"ab"),
        (pa.bool_(), 1),
        (pa.float64(), "1"),
        (pa.struct([("x", pa.int64())]), (1, 2)),
        (pa.struct([("x", pa.int64())]), {"z": 1}),
        (pa.list_(pa.int64()), "ab"),
        (pa.list_(pa.int64()), 5),
    ],
)
def test_a_value_of_another_type_is_refused_and_changes_nothing(
    backend: KeyedBackend, type_: pa.DataType, value: object
) -> None:
    state = backend.value_state("v", type_)
    with pytest.raises(InvalidError):
        state.update(value)
    assert state.value() is None


def test_the_field_that_does_not_fit_is_named(backend: KeyedBackend) -> None:
    inner = pa.struct([("price", pa.int64())])
    state = backend.value_state("orders", pa.struct([("lines", pa.list_(inner))]))
    with pytest.raises(InvalidError, match="price") as error:
        state.update(([(1,), ("much",)],))
    assert "orders" in str(error.value)
    assert "lines" in str(error.value)
