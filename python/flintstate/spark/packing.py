"""Before the shuffle: rows are packed by bucket, so that few large rows cross it.

A packed row is a bucket's label, a time, where it was made, and Arrow IPC bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from flintstate import _core
from flintstate.spark.worker import settle_worker

__all__ = ["PACKED_ARROW", "PACKED_SPARK", "PACKER", "Packer", "unpack"]

# The time is null: so a packed row is late for Spark at no watermark, however far it went. Lateness
# is judged by us, row by row.
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

PACKER = "Packer_"
"""What all packers' names in Spark's plans begin with."""

# A payload for each bucket comes to about so many bytes, all of them together to no more than the
# second figure. Spark's JVM copies payloads as arrays; its collector has to go over all of its heap
# sooner where they take half a region of it, which may be as small as a megabyte.
_PAYLOAD_BYTES = 384 << 10
_GATHERED_BYTES_MAX = 32 << 20
# At least so many rows a bucket are split at a time, but for very many buckets.
_SPLIT_ROWS = 1 << 11
_SPLIT_ROWS_MAX = 1 << 18


@dataclass(frozen=True)
class Packer:
    """The function that `mapInArrow` runs over the rows of one map partition."""

    key_columns: tuple[str, ...]
    labels: tuple[int, ...]
    max_parallelism: int
    schema: pa.Schema
    name: str = "of_rows"

    @property
    def __name__(self) -> str:
        """What it is called in Spark's plans."""
        return f"{PACKER}{self.name}"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        splitter = _core.KeySplitter(
            pa.schema([self.schema.field(name) for name in self.key_columns]),
            self.max_parallelism,
            len(self.labels),
        )
        settle_worker()
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        ordinal = 0
        payloads = _Payloads(len(self.labels))
        gathered_bytes = min(_PAYLOAD_BYTES * len(self.labels), _GATHERED_BYTES_MAX)
        # Split while Spark makes the next rows, so that little is left to do behind the last one.
        for rows in _gathered(batches, self.schema, _SPLIT_ROWS * len(self.labels)):
            payloads.add(splitter, rows)
            if payloads.size >= gathered_bytes:
                yield self._emit(payloads, partition, ordinal)
                payloads, ordinal = _Payloads(len(self.labels)), ordinal + 1
        if payloads.size:
            yield self._emit(payloads, partition, ordinal)

    def _emit(self, payloads: _Payloads, partition: int, ordinal: int) -> pa.RecordBatch:
        buckets, packed = payloads.finish()
        count = len(buckets)
        columns = [
            [self.labels[b] for b in buckets],
            [None] * count,
            [partition] * count,
            [ordinal] * count,
            packed,
        ]
        return pa.RecordBatch.from_arrays(
            [pa.array(c, f.type) for c, f in zip(columns, PACKED_ARROW, strict=True)],
            schema=PACKED_ARROW,
        )


class _Payloads:
    """A payload for each bucket, under way: an Arrow IPC stream."""

    def __init__(self, buckets: int) -> None:
        self.size = 0
        self._streams: list[tuple[pa.RecordBatchStreamWriter, pa.BufferOutputStream] | None]
        self._streams = [None] * buckets

    def add(self, splitter: _core.KeySplitter, rows: pa.RecordBatch) -> None:
        order, parts = map(pa.array, splitter.by_bucket(rows))
        ordered, starts = rows.take(order), parts.to_pylist()
        self.size += ordered.nbytes
        for bucket, (begin, end) in enumerate(itertools.pairwise(starts)):
            if begin < end:
                self._writer(bucket, rows.schema).write_batch(ordered[begin:end])

    def finish(self) -> tuple[list[int], list[bytes]]:
        """The buckets that have rows, and their payloads."""
        buckets, packed = [], []
        for bucket, stream in enumerate(self._streams):
            if stream is not None:
                writer, sink = stream
                writer.close()
                buckets.append(bucket)
                packed.append(sink.getvalue().to_pybytes())
        return buckets, packed

    def _writer(self, bucket: int, schema: pa.Schema) -> pa.RecordBatchStreamWriter:
        stream = self._streams[bucket]
        if stream is None:
            sink = pa.BufferOutputStream()
            stream = self._streams[bucket] = pa.ipc.new_stream(sink, schema), sink
        return stream[0]


def unpack(payload: bytes) -> list[pa.RecordBatch]:
    """The rows of one payload, in their order."""
    with pa.ipc.open_stream(payload) as reader:
        return list(reader)


def _gathered(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows_min: int
) -> Iterator[pa.RecordBatch]:
    """Spark's small batches, put together so that each bucket's share is worth a batch."""
    rows_min = min(rows_min, _SPLIT_ROWS_MAX)
    pending: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        pending.append(batch.cast(schema))
        rows += batch.num_rows
        if rows >= rows_min:
            yield pa.concat_batches(pending)
            pending, rows = [], 0
    if pending:
        yield pa.concat_batches(pending)
