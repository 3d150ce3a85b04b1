"""Slices, chunks, dictionaries, large and view layouts: the values count, not their place."""

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flintstate as fs
from key_columns import Keys, keys

WORDS = ["b", None, "", "a\0", "b", "longer than the twelve bytes of a view", "\1", None] * 3
NUMBERS = [3, None, -1, 3, 2**40, 0, None, 7] * 3


def keys_of(column: pa.Array | pa.ChunkedArray, nullable: bool = True) -> list[bytes]:
    schema = pa.schema([pa.field("c", column.type, nullable=nullable), pa.field("n", pa.int64())])
    table = pa.Table.from_arrays([column, pa.array(range(len(column)))], schema=schema)
    return fs.encode_keys(table).to_pylist()


@given(keys(max_rows=8), st.data())
def test_slices_and_chunks(some: Keys, data: st.DataObject) -> None:
    table = some.table()
    whole = fs.encode_keys(table, **some.options).to_pylist()
    start = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, len(whole) - start))
    part = table.slice(start, length)
    assert fs.encode_keys(part, **some.options).to_pylist() == whole[start : start + length]
    pieces = pa.concat_tables([table.slice(0, start), table.slice(start)])
    assert fs.encode_keys(pieces, **some.options).to_pylist() == whole


@pytest.mark.parametrize(
    "layout",
    [
        pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.uint32(), pa.large_string()), pa.dictionary(pa.int64(), pa.string()),
    ],
    ids=str,
)  # fmt: skip
def test_strings(layout: pa.DataType) -> None:
    plain = pa.array(WORDS)
    assert keys_of(plain.cast(layout)) == keys_of(plain)
    assert keys_of(plain.cast(layout).slice(3, 9)) == keys_of(plain.slice(3, 9))


@pytest.mark.parametrize("layout", [pa.large_binary(), pa.binary_view()], ids=str)
def test_binaries(layout: pa.DataType) -> None:
    plain = pa.array([word and word.encode() for word in WORDS])
    assert keys_of(plain.cast(layout).slice(2)) == keys_of(plain.slice(2))


@pytest.mark.parametrize("values", [pa.int64(), pa.float64(), pa.decimal128(25, 2)], ids=str)
def test_dictionaries_of_numbers(values: pa.DataType) -> None:
    plain = pa.array(NUMBERS).cast(values)
    assert keys_of(plain.dictionary_encode().slice(1)) == keys_of(plain.slice(1))


def test_dictionaries_of_bools_and_of_structs() -> None:
    index = pa.array([1, None, 0, 2])
    bools = pa.DictionaryArray.from_arrays(index, pa.array([True, False, None]))
    assert keys_of(bools) == keys_of(pa.array([False, None, True, None]))
    rows = pa.array([{"x": 1}, {"x": None}, None])
    structs = pa.DictionaryArray.from_arrays(index, rows)
    assert keys_of(structs) == keys_of(rows.take(index))


def test_a_dictionary_that_holds_a_null() -> None:
    index = pa.array([0, 1, 0])
    column = pa.DictionaryArray.from_arrays(index, pa.array(["a", None]))
    assert keys_of(column) == keys_of(pa.array(["a", None, "a"]))
    with pytest.raises(fs.InvalidError, match=r"'c'.*not null, but row 1 is null"):
        keys_of(column, nullable=False)


def test_lists_of_dictionaries_and_large_lists() -> None:
    plain = pa.array([["a", None], [], None, ["b"]])
    nested = plain.cast(pa.large_list(pa.dictionary(pa.int32(), pa.string())))
    assert keys_of(nested.slice(1)) == keys_of(plain.slice(1))


def test_fixed_size_lists_and_structs_in_slices() -> None:
    fixed = pa.array([[1, 2], None, [3, None], [5, 6]], pa.list_(pa.int16(), 2))
    assert keys_of(fixed.slice(2)) == keys_of(pa.array([[3, None], [5, 6]], fixed.type))
    structs = pa.array([{"x": [1], "y": "a"}, None, {"x": None, "y": None}])
    assert keys_of(structs.slice(1)) == keys_of(pa.array([None, {"x": None, "y": None}],
                                                         structs.type))  # fmt: skip


def test_objects_of_other_libraries() -> None:
    table = pa.table({"n": NUMBERS, "s": WORDS})
    expected = fs.encode_keys(table)
    assert fs.encode_keys(pl.DataFrame({"n": NUMBERS, "s": WORDS})).equals(expected)
    assert fs.encode_keys(table.to_reader(max_chunksize=5)).equals(expected)
    assert fs.encode_keys(table.to_batches()[0]).equals(expected)


def test_more_rows_than_go_through_at_once() -> None:
    rows = 5_000
    table = pa.table({
        "a": pa.array([None if i % 7 == 0 else i for i in range(rows)]),
        "s": pa.array([None if i % 5 == 0 else "xy\0z" * (i % 9) for i in range(rows)]),
        "t": pa.array([[i] * (i % 3) for i in range(rows)]),
    })  # fmt: skip
    one_by_one = [fs.encode_keys(table.slice(i, 1))[0].as_py() for i in range(rows)]
    assert fs.encode_keys(table).to_pylist() == one_by_one
