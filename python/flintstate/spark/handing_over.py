"""How Spark hands rows to the packer: a setting of our queries' own.

In front of each row Spark adds up the bytes of the Arrow batch that it is filling, column after
column: half of what handing a row over costs. Where no batch can come near the bound it need not.
"""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from flintstate.spark.listening import StartListener

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
        session.streams.addListener(_Starting(session, packer))


class _Starting(StartListener):
    """Waits for one query to start."""

    def __init__(self, session: SparkSession, packer: str) -> None:
        self._session = session
        self._packer = packer

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        java: Any = self._session._jsparkSession
        # Where it has ended already, or Spark has these under other names, it runs as it would.
        with contextlib.suppress(Py4JError, AttributeError):
            execution = java.streams().get(str(event.id)).streamingQuery()
            if f" {self._packer}(" in execution.analyzedPlan().toString():
                execution.sparkSessionForStream().conf().set(_BYTES, _UNBOUNDED)
                self._session.streams.removeListener(self)


def _width(data_type: pa.DataType) -> int | None:
    """With the bit that says whether it is null counted as a byte."""
    if pa.types.is_struct(data_type):
        inner = bytes_a_row_max(pa.schema(list(data_type)))
        return None if inner is None else inner + 1
    try:
        return int(data_type.bit_width) // 8 + 1
    except ValueError:
        return None
