"""Bad input to encode_keys and decode_keys: the error says what is wrong, and where."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flintstate as fs
from key_columns import Keys, keys

INT = pa.schema([pa.field("a", pa.int32(), nullable=False)])


@pytest.mark.parametrize(
    ("type_", "path"),
    [
        (pa.null(), "'k'"),
        (pa.map_(pa.string(), pa.int8()), "'k'"),
        (pa.list_(pa.map_(pa.string(), pa.int8())), r"'k\[\]'"),
        (pa.struct([("x", pa.null())]), r"'k\.x'"),
    ],
    ids=str,
)
def test_types_without_an_order(type_: pa.DataType, path: str) -> None:
    with pytest.raises(fs.InvalidError, match=f"key column {path} .*has no order"):
        fs.encode_keys(pa.table({"k": pa.array([], type_)}))


def test_arrow_types_that_are_not_known() -> None:
    column = pa.array([], pa.month_day_nano_interval())
    with pytest.raises(fs.InvalidError, match=r"column 'k'.*not supported"):
        fs.encode_keys(pa.table({"k": column}))


def test_no_columns() -> None:
    with pytest.raises(fs.InvalidError, match="at least one column"):
        fs.encode_keys(pa.table({}))


def test_two_columns_of_one_name() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(fs.InvalidError, match=r"'a' .*same name"):
        fs.encode_keys(table)


def test_a_null_where_the_schema_says_not_null() -> None:
    table = pa.Table.from_arrays([pa.array([1, None], pa.int32())], schema=INT)
    with pytest.raises(fs.InvalidError, match=r"'a' \(int32\).*not null, but row 1 is null"):
        fs.encode_keys(table)


def test_a_null_deeper_down_where_the_schema_says_not_null() -> None:
    kind = pa.list_(pa.field("item", pa.int8(), nullable=False))
    offsets = pa.array([0, 1], pa.int32()).buffers()[1]
    column = pa.Array.from_buffers(kind, 1, [None, offsets], children=[pa.array([None], pa.int8())])
    with pytest.raises(fs.InvalidError, match=r"'k\[\]' \(int8\).*declared not null"):
        fs.encode_keys(pa.table({"k": column}))


def test_rows_that_are_null_as_a_whole() -> None:
    rows = pa.array([{"a": 1}, None])
    with pytest.raises(fs.InvalidError, match="row 1 of the batch is null as a whole"):
        fs.encode_keys(rows)


def test_what_is_no_table() -> None:
    with pytest.raises(fs.InvalidError, match=r"encode_keys: expected a table.*got dict"):
        fs.encode_keys({"a": [1]})  # type: ignore[arg-type]
    with pytest.raises(fs.InvalidError, match="single column"):
        fs.encode_keys(pa.array([1]))
    with pytest.raises(fs.InvalidError, match=r"expected a schema.*got list"):
        fs.decode_keys(pa.array([b""]), [])  # type: ignore[arg-type]


def test_options_that_name_nothing() -> None:
    table = pa.table({"a": [1]})
    with pytest.raises(fs.InvalidError, match=r"descending names 'b'.*a: int64"):
        fs.encode_keys(table, descending=["b"])
    with pytest.raises(fs.InvalidError, match=r"pass \['a'\]"):
        fs.encode_keys(table, descending="a")
    with pytest.raises(fs.InvalidError, match="'first' or 'last'"):
        fs.encode_keys(table, nulls="middle")  # type: ignore[arg-type]


def test_encoded_keys_that_are_not_binary_or_null() -> None:
    with pytest.raises(fs.InvalidError, match="binary array, got one of int64"):
        fs.decode_keys(pa.array([1]), INT)
    with pytest.raises(fs.InvalidError, match="encoded key 1 of chunk 0 is null"):
        fs.decode_keys(pa.array([b"\x80\0\0\0", None]), INT)


@pytest.mark.parametrize(
    ("field", "key", "message"),
    [
        (pa.field("a", pa.int32(), nullable=False), b"\x80\0\0", "cut short"),
        (pa.field("a", pa.int32(), nullable=False), b"\x80\0\0\0\0", "1 bytes follow"),
        (pa.field("a", pa.int32()), b"", "cut short"),
        (pa.field("a", pa.int32()), b"\x04\x80\0\0\0", "no marker is 4"),
        (pa.field("a", pa.int32()), b"\x03\0\0\0\0", "no marker is 3"),
        (pa.field("a", pa.int32()), b"\x01\0\0\0\1", "padding of a null"),
        (pa.field("a", pa.bool_(), nullable=False), b"\x02", "neither 0 nor 1"),
        (pa.field("a", pa.list_(pa.int8())), b"\x02\x02\x80", "cut short"),
        (pa.field("a", pa.list_(pa.string())), b"\x02\x02a\x01\x03\0\0", "unknown escape"),
        (pa.field("a", pa.list_(pa.string())), b"\x02\x02a\x01", "cut short"),
    ],
)
def test_bytes_that_are_no_keys_are_corruption(field: pa.Field, key: bytes, message: str) -> None:
    with pytest.raises(fs.CorruptionError, match=f"key column 'a.*{message}"):
        fs.decode_keys(pa.array([key]), pa.schema([field]))


@given(keys(max_rows=1), st.data())
def test_damaged_keys_are_refused_or_other_keys(some: Keys, data: st.DataObject) -> None:
    for key in fs.encode_keys(some.table(), **some.options).to_pylist():
        damaged = bytearray(key)
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(damaged)))
            damaged[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
        try:
            rows = fs.decode_keys(pa.array([bytes(damaged)]), some.schema, **some.options)
        except fs.CorruptionError:
            continue
        assert rows.num_rows == 1
