"""How Spark hands rows to the packer: a setting of our queries' own.

In front of each row Spark adds up the bytes of the Arrow batch that it is filling, column after
column: half of what handing a row over costs. Where no batch can come near the bound it need not.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from flintstate.spark.listening import as_it_starts

__all__ = ["bytes_a_row_max", "hand_over_by_count"]

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNBOUNDED = str((1 << 31) - 1)  # Spark asks for no other number
_BATCH_BYTES_MAX = 64 << 20  # Spark's own bound


def bytes_a_row_max(schema: pa.Schema) -> int | None:
    """What a row takes in Arrow, at most; None where a column's values have any length."""
    widths = [_width(field.type) for field in schema]
    return None if None in widths else sum(filter(None, widths))


def hand_over_by_count(session: SparkSession, schema: pa.Schema, packer: str) -> None:
    """Lets Spark cut batches by rows alone in the query that has this packer, once it starts.

    Only where that keeps them as small, and where the user has not set the bound. The setting goes
    to the copy of the session that the query makes for itself: no other one sees it.
    """
    records = int(session.conf.get(_RECORDS, None) or 10_000)
    width = bytes_a_row_max(schema)
    if width is None or not 0 < records * width <= _BATCH_BYTES_MAX:
        return
    if session.conf.get(_BYTES, None) is None:
        as_it_starts(session, packer, _hand_over_by_count)


def _hand_over_by_count(execution: Any) -> None:
    execution.sparkSessionForStream().conf().set(_BYTES, _UNBOUNDED)


def _width(data_type: pa.DataType) -> int | None:
    """With the bit that says whether it is null counted as a byte."""
    if pa.types.is_struct(data_type):
        inner = bytes_a_row_max(pa.schema(list(data_type)))
        return None if inner is None else inner + 1
    try:
        return int(data_type.bit_width) // 8 + 1
    except ValueError:
        return None
