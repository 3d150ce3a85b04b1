"""Order-preserving keys: bytes that sort exactly as the rows they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pyarrow as pa

from flintstate import _core
from flintstate.errors import InvalidError
from flintstate.types import ArrowArrayLike, ArrowSchemaLike, ArrowStreamLike, TableLike

__all__ = ["decode_keys", "encode_keys"]


def encode_keys(
    data: TableLike, *, descending: Sequence[str] = (), nulls: Literal["first", "last"] = "first"
) -> pa.Array:
    """The key of each row: bytes that compare as the rows do.

    Rows compare column by column, in the order of the schema, ascending but for the columns named
    in `descending`. Nulls stand first or last in every column, whatever its direction. Columns that
    the schema declares not null take a byte less each. What the bytes are is specified in
    docs/format/key.md.

    Args:
        data: the key columns, and no others: a table, batch, data frame or reader.
        descending: names of columns that sort from large to small.
        nulls: where nulls stand.

    Returns:
        A binary array; a large binary one where the keys take more than 2 GiB.

    Raises:
        InvalidError: for a column whose type has no order (maps, unions, nulls), a null in a column
            declared not null, a name in `descending` that is no column.

    Example:
        >>> import flintstate as fs, pyarrow as pa
        >>> keys = fs.encode_keys(pa.table({"n": [3, -1]}))
        >>> keys[1].as_py() < keys[0].as_py()
        True
    """
    return pa.array(_core.encode_keys(data, _names(descending), _nulls_last(nulls)))


def decode_keys(
    encoded: ArrowArrayLike | ArrowStreamLike,
    schema: ArrowSchemaLike,
    *,
    descending: Sequence[str] = (),
    nulls: Literal["first", "last"] = "first",
) -> pa.Table:
    """The rows that `encode_keys` was given: its reverse, with the same schema and options.

    Dictionary and view columns come back as plain ones of their values. `-0.0` comes back as `0.0`.

    Args:
        encoded: a binary array, chunked or not.
        schema: of the rows that were encoded.
        descending: as they were encoded.
        nulls: as they were encoded.

    Raises:
        CorruptionError: for bytes that are no keys of this schema.
        InvalidError: as for `encode_keys`; for an array that is not binary or has nulls.

    Example:
        >>> import flintstate as fs, pyarrow as pa
        >>> rows = pa.table({"n": [3, -1]})
        >>> fs.decode_keys(fs.encode_keys(rows), rows.schema).equals(rows)
        True
    """
    return pa.table(_core.decode_keys(encoded, schema, _names(descending), _nulls_last(nulls)))


def _names(descending: Sequence[str]) -> list[str]:
    if isinstance(descending, str):
        raise InvalidError(f"descending is a list of column names: pass [{descending!r}]")
    return list(descending)


def _nulls_last(nulls: str) -> bool:
    if nulls not in ("first", "last"):
        raise InvalidError(f"nulls is {nulls!r}: choose 'first' or 'last'")
    return nulls == "last"
