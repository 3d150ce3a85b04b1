"""decode_keys gives back what encode_keys was given."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import flintstate as fs
from key_columns import FLOATS, Keys, keys


@given(keys())
def test_what_is_decoded_encodes_to_the_same_keys(some: Keys) -> None:
    encoded = fs.encode_keys(some.table(), **some.options)
    decoded = fs.decode_keys(encoded, some.schema, **some.options)
    decoded.validate(full=True)
    assert fs.encode_keys(decoded, **some.options).equals(encoded)


@given(keys(exact=True))
def test_what_is_decoded_is_what_was_encoded(some: Keys) -> None:
    table = some.table()
    encoded = fs.encode_keys(table, **some.options)
    assert fs.decode_keys(encoded, some.schema, **some.options).equals(table)


@pytest.mark.parametrize("type_", FLOATS, ids=str)
def test_floats_come_back_but_for_the_sign_of_zero(type_: pa.DataType) -> None:
    values = [1.5, -0.0, 0.0, math.inf, -math.inf, math.nan, None]
    column = pa.array([None if v is None else np.dtype(type_.to_pandas_dtype()).type(v)
                       for v in values], type_)  # fmt: skip
    table = pa.table({"f": column})
    back = fs.decode_keys(fs.encode_keys(table), table.schema)["f"].to_pylist()
    assert [str(v) for v in back] == ["1.5", "0.0", "0.0", "inf", "-inf", "nan", "None"]


def test_no_rows_come_back_as_none() -> None:
    table = pa.table({"a": pa.array([], pa.int32()), "b": pa.array([], pa.string())})
    encoded = fs.encode_keys(table)
    assert len(encoded) == 0
    assert fs.decode_keys(encoded, table.schema).equals(table)


def test_a_long_column_comes_back_over_many_batches() -> None:
    table = pa.table({"n": range(200_001), "s": [str(i) * (i % 5) for i in range(200_001)]})
    assert fs.decode_keys(fs.encode_keys(table), table.schema).equals(table)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
def test_encoded_keys_may_be_of_any_binary_layout_and_chunked(kind: pa.DataType) -> None:
    table = pa.table({"n": [5, None, -7]})
    encoded = fs.encode_keys(table).cast(kind)
    chunked = pa.chunked_array([encoded.slice(0, 1), encoded.slice(1)])
    assert fs.decode_keys(chunked, table.schema).equals(table)


def test_a_key_of_64_kilobytes_comes_back() -> None:
    table = pa.table({"s": ["x" * 65_536, "\0" * 65_536, ""], "n": [1, 2, 3]})
    assert fs.decode_keys(fs.encode_keys(table), table.schema).equals(table)
