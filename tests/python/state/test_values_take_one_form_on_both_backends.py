"""Both backends bring a value to one form: heap in Python, rocksdb as a row and back."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rounds import ROUNDS

import arrow_strategies as arrow
import flintstate as fs
from flintstate import _core
from flintstate.state.convert import ValueType
from python_objects import REFUSED, TAKEN, name_of


@settings(max_examples=200 * ROUNDS, deadline=None)
@given(st.data())
def test_a_value_takes_the_same_form_on_both_backends(data: st.DataObject) -> None:
    type_ = data.draw(arrow.TYPES.filter(lambda type_: not pa.types.is_null(type_)))
    value = data.draw(arrow.plain_values(type_))
    native = _core.Rows(pa.schema([("value", type_)]), bare=True, named_tuples=True)
    heap = ValueType(type_, "value")
    kept, stored = heap.release(heap.admit(value)), native.unpack(native.pack(value))
    assert arrow.same(kept, stored)
    assert type(kept) is type(stored) or isinstance(kept, tuple)


@pytest.mark.parametrize(("type_", "value", "back"), TAKEN, ids=name_of)
def test_heap_takes_the_objects_that_rocksdb_takes(
    type_: pa.DataType, value: object, back: object
) -> None:
    heap = ValueType(type_, "value")
    assert heap.release(heap.admit(value)) == back


@pytest.mark.parametrize(("type_", "value", "message"), REFUSED, ids=name_of)
def test_heap_refuses_the_objects_that_rocksdb_refuses(
    type_: pa.DataType, value: object, message: str
) -> None:
    with pytest.raises(fs.InvalidError):
        ValueType(type_, "value").admit(value)
