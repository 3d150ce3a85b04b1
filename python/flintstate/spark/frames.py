"""Arrow rows that pass through pandas untouched.

Spark takes the carrier's output as pandas frames and turns them into Arrow. Columns of our own type
cost no conversion on the way and lose nothing: nulls in arrays, structs and maps stay. For each row
of a frame Spark adds columns of its own, in Python: half a microsecond. So some output rows are
folded into one row of a frame, a list of structs, which Spark unfolds in generated code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.extensions import ExtensionArray, ExtensionDtype
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

__all__ = ["ArrowColumn", "carried_schema", "frame", "unfolded"]

_FOLDED = "rows"
# Spark keeps a worker's output until it has spark.sql.execution.arrow.maxRecordsPerBatch (10,000)
# rows of frames: 64 MB of them at the second figure.
_FOLDED_ROWS_MAX = 32
_FOLDED_BYTES_MAX = 6400


def carried_schema(output: T.StructType) -> T.StructType:
    """What the carrier puts out, for output rows of this schema."""
    return T.StructType([T.StructField(_FOLDED, T.ArrayType(output))])


def unfolded(carried: DataFrame) -> DataFrame:
    """The output rows in what the carrier put out."""
    return carried.select(F.inline(_FOLDED))


def frame(batch: pa.RecordBatch) -> pd.DataFrame:
    """The batch's rows as a frame of the carried schema."""
    rows = batch.num_rows
    bytes_a_row = max(1, batch.nbytes // max(1, rows))
    step = min(_FOLDED_ROWS_MAX, max(1, _FOLDED_BYTES_MAX // bytes_a_row))
    ends = np.append(np.arange(0, rows, step, dtype=np.int32), np.int32(rows))
    folded = pa.ListArray.from_arrays(pa.array(ends), batch.to_struct_array())
    return pd.DataFrame({_FOLDED: ArrowColumn(folded)}, copy=False)


class _ArrowColumnType(ExtensionDtype):  # type: ignore[misc]
    type: Any = object
    kind = "O"
    name = "flintstate_arrow"
    na_value = None

    @classmethod
    def construct_array_type(cls) -> Any:
        return ArrowColumn

    def _get_common_dtype(self, dtypes: list[Any]) -> ExtensionDtype:
        return self  # Spark appends frames of no rows, or of nulls, whose columns are objects


class ArrowColumn(ExtensionArray):  # type: ignore[misc]
    """What Spark does with a column of its user's frames, and no more."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values

    @classmethod
    def _from_sequence(
        cls, scalars: Sequence[object], *, dtype: object = None, copy: bool = False
    ) -> ArrowColumn:
        return cls(pa.nulls(len(scalars)))

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[ArrowColumn]) -> ArrowColumn:
        kind = next((c._values.type for c in to_concat if c._values.type != pa.null()), pa.null())
        parts = [c.__arrow_array__(kind) for c in to_concat if len(c)]
        if len(parts) == 1:
            return cls(parts[0])
        return cls(pa.concat_arrays(parts) if parts else pa.nulls(0, kind))

    @property
    def dtype(self) -> ExtensionDtype:
        return _ArrowColumnType()

    @property
    def nbytes(self) -> int:
        return int(self._values.nbytes)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (int, np.integer)):
            return self._values[int(item)].as_py()
        if isinstance(item, slice):
            return ArrowColumn(self._values[item])
        return ArrowColumn(self._values.take(pa.array(np.arange(len(self))[item])))

    def isna(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.asarray(self._values.is_null().to_numpy(zero_copy_only=False))

    def take(
        self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None
    ) -> ArrowColumn:
        rows = np.asarray(indices)
        return ArrowColumn(self._values.take(pa.array(rows, mask=(rows < 0) & allow_fill)))

    def copy(self) -> ArrowColumn:
        return self  # immutable

    def map(self, mapper: Any, na_action: Any = None) -> ArrowColumn:
        return self  # Spark's conversion of arrays, structs and maps, which are converted already

    def __arrow_array__(self, type: pa.DataType | None = None) -> pa.Array:  # noqa: A002
        same = type is None or type == self._values.type
        return self._values if same else self._values.cast(type)
