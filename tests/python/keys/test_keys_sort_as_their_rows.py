"""For any two rows of any key schema, the keys compare as bytes exactly as the rows do."""

import itertools

import pyarrow as pa
from hypothesis import given

import flintstate as fs
import key_reference
from key_columns import Keys, keys

END = pa.field("end", pa.bool_(), nullable=False)


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


@given(keys())
def test_keys_compare_as_their_rows(some: Keys) -> None:
    encoded = fs.encode_keys(some.table(), **some.options).to_pylist()
    for i, j in itertools.combinations(range(len(some.rows)), 2):
        by_value = key_reference.compare_rows(some.columns, some.rows[i], some.rows[j], some.nulls)
        by_bytes = (encoded[i] > encoded[j]) - (encoded[i] < encoded[j])
        assert by_bytes == sign(by_value), (some.rows[i], some.rows[j], encoded[i], encoded[j])


@given(keys())
def test_keys_are_what_the_document_says(some: Keys) -> None:
    encoded = fs.encode_keys(some.table(), **some.options).to_pylist()
    assert encoded == [key_reference.encode_row(some.columns, row, some.nulls) for row in some.rows]


@given(keys(max_columns=4))
def test_the_first_columns_are_a_prefix(some: Keys) -> None:
    table = some.table()
    whole = fs.encode_keys(table, **some.options).to_pylist()
    end = pa.array([True] * len(some.rows), pa.bool_())
    for n in range(1, len(some.columns)):
        # With a column more, so that no string has an open end; its byte is taken off again.
        few = table.select(range(n)).append_column(END, [end])
        descending = [name for name in some.descending if name in few.column_names]
        prefixes = fs.encode_keys(few, descending=descending, nulls=some.nulls).to_pylist()
        for prefix, key in zip(prefixes, whole, strict=True):
            assert key.startswith(prefix[:-1])
