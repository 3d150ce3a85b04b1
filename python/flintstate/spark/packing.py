"""Before the shuffle: rows are packed by bucket, so that few large rows cross it.

A packed row is a bucket's label, a time, where it was made, and Arrow IPC bytes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from flintstate import _core
from flintstate.checkpoint.storage import open_storage
from flintstate.spark.claim import claim_query, who_am_i

__all__ = ["FAR_FUTURE", "PACKED_ARROW", "PACKED_SPARK", "Packer", "unpack"]

# A packed row is never late for Spark: lateness is judged by us, row by row.
# (Later times overflow the nanoseconds of pandas.)
FAR_FUTURE = dt.datetime(2200, 1, 1, tzinfo=dt.UTC)

PACKED_SPARK = "bucket int, time timestamp, partition int, ordinal int, payload binary"
PACKED_ARROW = pa.schema(
    [
        pa.field("bucket", pa.int32()),
        pa.field("time", pa.timestamp("us", "UTC")),
        pa.field("partition", pa.int32()),
        pa.field("ordinal", pa.int32()),
        pa.field("payload", pa.binary()),
    ]
)

_GATHERED_BYTES = 32 << 20


@dataclass(frozen=True)
class Packer:
    """The function that `mapInArrow` runs over the rows of one map partition."""

    key_columns: tuple[str, ...]
    labels: tuple[int, ...]
    max_parallelism: int
    schema: pa.Schema
    state: str | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        splitter = _core.KeySplitter(
            pa.schema([self.schema.field(name) for name in self.key_columns]),
            self.max_parallelism,
            len(self.labels),
        )
        self._claim_in_first_batch()
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        for ordinal, rows in enumerate(_gathered(batches, self.schema)):
            yield self._pack(splitter, rows, partition, ordinal)

    def _claim_in_first_batch(self) -> None:
        """Here, since the carrier is not called for a first batch without rows."""
        if self.state is not None:
            batch, query = who_am_i()
            if batch == 0:
                claim_query(open_storage(self.state), query, batch)

    def _pack(
        self, splitter: _core.KeySplitter, rows: pa.RecordBatch, partition: int, ordinal: int
    ) -> pa.RecordBatch:
        order, parts = map(pa.array, splitter.by_bucket(rows))
        ordered, starts = rows.take(order), parts.to_pylist()
        filled = [b for b in range(len(self.labels)) if starts[b] < starts[b + 1]]
        payloads = [_to_ipc(ordered[starts[b] : starts[b + 1]]) for b in filled]
        count = len(filled)
        columns = [
            [self.labels[b] for b in filled],
            [FAR_FUTURE] * count,
            [partition] * count,
            [ordinal] * count,
            payloads,
        ]
        return pa.RecordBatch.from_arrays(
            [pa.array(c, f.type) for c, f in zip(columns, PACKED_ARROW, strict=True)],
            schema=PACKED_ARROW,
        )


def unpack(payload: bytes) -> pa.RecordBatch:
    """The rows of one payload."""
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_next_batch()


def _to_ipc(rows: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _gathered(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Spark's small batches, put together so that payloads stay large with many buckets."""
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        pending.append(batch.cast(schema))
        size += batch.nbytes
        if size >= _GATHERED_BYTES:
            yield pa.concat_batches(pending)
            pending, size = [], 0
    if pending:
        yield pa.concat_batches(pending)
