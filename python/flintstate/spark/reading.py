"""Reading back what Spark has committed, and collecting what it has not."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from flintstate.checkpoint.handle import Handle
from flintstate.checkpoint.retention import ORPHAN_AGE_MIN_S, collect_orphans
from flintstate.checkpoint.rivals import newest_epoch
from flintstate.checkpoint.storage import Storage, open_storage
from flintstate.errors import InvalidError, NotFoundError
from flintstate.paths import PathLike, absolute_path, path_text
from flintstate.spark.bucket import Bucket
from flintstate.spark.claim import Claim
from flintstate.state.rocksdb import read_entries

__all__ = ["collect_garbage", "committed", "read_state"]

_OPERATOR = "applyInPandasWithState"


def read_state(
    spark: SparkSession,
    *,
    checkpoint: PathLike,
    state: str,
    root: PathLike | None = None,
    batch_id: int | None = None,
) -> DataFrame:
    """What Spark has committed of a state: the last batch's, or that of `batch_id`.

    The query may be running or stopped. The columns are the key's, `namespace` where the state has
    one, then what the kind has: `value` for value, reducing and list states, `map_key` and
    `map_value`, `sort_key` and `value`, `accumulator`. `root` is where the state directory is now,
    if it was moved. Raises NotFoundError where there is no such checkpoint, batch or
    state.

    >>> read_state(spark, checkpoint="/data/checkpoint", state="n").where("user = 3").show()
    """
    if not isinstance(state, str):
        raise InvalidError(f"state={state!r}: the name of a state is expected")
    handles = committed(spark, path_text(checkpoint, "checkpoint"), batch_id)
    storage = _storage_of(handles, root)
    reader = _Reader(storage.root, _claim(storage, handles).key_schema, state)
    schema = _schema_of(reader, storage, handles)
    rows = [(handle.to_bytes(),) for handle in handles]
    pointers = spark.createDataFrame(rows, "handle binary").repartition(len(rows))
    return pointers.mapInArrow(reader, from_arrow_schema(schema))


def collect_garbage(
    spark: SparkSession,
    *,
    checkpoint: PathLike,
    root: PathLike | None = None,
    batches_retained: int = 0,
    age_min_s: float = ORPHAN_AGE_MIN_S,
    rolled_back: bool = False,
) -> list[str]:
    """Deletes what attempts that lost have left in the state directory, and gives the names.

    Safe beside a running query, whatever its batches take: what is of a batch that Spark has not
    committed, or of a base that a batch may still adopt, is left alone, and what is younger than
    `age_min_s` too, for those who may be reading it. What Spark retains stays readable:
    `batches_retained` is raised to this session's `spark.sql.streaming.minBatchesToRetain`; give it
    where the query's session retains more. `root` is where the state directory is now, if it was
    moved.

    `rolled_back=True` is for a query that was put back to an older batch on purpose, before it runs
    again: what the batches after it have left in the directory `root` is deleted, too. No query may
    use it meanwhile.

    Raises InvalidError where the state directory is another one than the checkpoint's, or has gone
    on without it (a copied checkpoint's has), NotFoundError where something that the checkpoint
    needs is not there; nothing is deleted then.
    """
    where = path_text(checkpoint, "checkpoint")
    if rolled_back and root is None:
        raise InvalidError("rolled_back=True: say with root= in which state directory")
    storage = _storage_of(committed(spark, where, None), root)
    epoch_seen = newest_epoch(storage.list("groups/"))
    batch = _last_batch(spark, where)
    handles = committed(spark, where, batch)
    _claim(storage, handles)
    return collect_orphans(
        storage,
        handles,
        last_batch=batch,
        epoch_seen=epoch_seen,
        batches_retained=max(batches_retained, batches_to_retain(spark)),
        age_min_s=age_min_s,
        rolled_back=rolled_back,
    )


def batches_to_retain(spark: SparkSession) -> int:
    """For how many batches Spark, and so a state directory, keeps what they point to."""
    return int(spark.conf.get("spark.sql.streaming.minBatchesToRetain", None) or 100)


@dataclass(frozen=True)
class _Reader:
    """The function that restores buckets on executors, and gives what a state holds."""

    root: str
    key_schema: pa.Schema
    state: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        storage = open_storage(self.root)
        for batch in batches:
            for data in batch.column("handle").to_pylist():
                yield from self.entries(storage, Handle.from_bytes(data))

    def entries(self, storage: Storage, handle: Handle) -> Iterator[pa.RecordBatch]:
        """Restores a bucket to a directory that goes with the last row."""
        with tempfile.TemporaryDirectory(prefix="flintstate-read-") as directory:
            bucket = Bucket(storage, Path(directory), self.key_schema, handle)
            try:
                yield from self._stream(bucket)
            finally:
                bucket.close()

    def schema(self, storage: Storage, handle: Handle) -> pa.Schema:
        """The columns of the state; none where the bucket has never had it."""
        with tempfile.TemporaryDirectory(prefix="flintstate-read-") as directory:
            bucket = Bucket(storage, Path(directory), self.key_schema, handle)
            try:
                return self._stream(bucket).schema
            finally:
                bucket.close()

    def _stream(self, bucket: Bucket) -> pa.RecordBatchReader:
        try:
            return read_entries(bucket.backend, self.state)
        except NotFoundError:
            return pa.RecordBatchReader.from_batches(pa.schema([]), [])


def _schema_of(reader: _Reader, storage: Storage, handles: list[Handle]) -> pa.Schema:
    """Of the state, as the bucket that is quickest to restore has it."""

    def size(handle: Handle) -> int:
        log = sum(segment.size for segment in handle.segments(storage))
        return log + (handle.base.size if handle.base else 0)

    for handle in sorted(handles, key=size):
        schema = reader.schema(storage, handle)
        if len(schema):
            return schema
    raise NotFoundError(f"state '{reader.state}': none of the buckets at {storage.root} has it")


def _last_batch(spark: SparkSession, checkpoint: str) -> int:
    """The last batch that Spark has committed."""
    return int(_operator(spark, checkpoint)["maxBatchId"])


def _operator(spark: SparkSession, checkpoint: str) -> Row:
    """What Spark says of the query's keyed operator."""
    operators = spark.read.format("state-metadata").load(checkpoint)
    found = operators.where(F.col("operatorName") == _OPERATOR).first()
    if found is None:
        raise NotFoundError(f"checkpoint {checkpoint}: no keyed query has committed a batch there")
    return found


def committed(spark: SparkSession, checkpoint: str, batch_id: int | None) -> list[Handle]:
    """The handles in Spark's state, one for each bucket that was called.

    Raises NotFoundError where there is none, InvalidError where the query is not one of keyed().
    """
    operator = _operator(spark, checkpoint)
    reader = spark.read.format("statestore").option("operatorId", operator["operatorId"])
    if batch_id is not None:
        _check_batch(batch_id, int(operator["maxBatchId"]), checkpoint)
        reader = reader.option("batchId", batch_id)
    pointers = reader.load(checkpoint).select("value.groupState.*")
    if pointers.columns[:1] != ["handle"]:
        raise InvalidError(f"checkpoint {checkpoint}: its query was not made by keyed()")
    where = f"Spark's state in {checkpoint}"
    handles = [Handle.from_bytes(bytes(row[0]), where) for row in pointers.collect()]
    if not handles:
        raise NotFoundError(f"checkpoint {checkpoint}: no bucket has state yet")
    return handles


def _check_batch(batch_id: object, last: int, checkpoint: str) -> None:
    if not isinstance(batch_id, int) or batch_id < 0:
        raise InvalidError(f"batch_id={batch_id!r}: the number of a batch is expected")
    if batch_id > last:
        raise NotFoundError(
            f"checkpoint {checkpoint}: batch_id={batch_id}: the last batch committed is {last}"
        )


def _storage_of(handles: list[Handle], root: PathLike | None) -> Storage:
    """Where the newest of them was written, unless the caller knows better."""
    newest = max(handles, key=lambda handle: handle.batch)
    return open_storage(newest.root if root is None else absolute_path(root, "root"))


def _claim(storage: Storage, handles: list[Handle]) -> Claim:
    """The claim of the state directory that the handles speak of."""
    claim = Claim.read(storage)
    if claim is None:
        raise NotFoundError(
            f"state directory {storage.root}: there is none that the checkpoint could point to: "
            "say with root= where it is now"
        )
    strange = {handle.state_id for handle in handles} - {claim.state_id}
    if strange:
        raise InvalidError(
            f"state directory {storage.root}: it holds state {claim.state_id.hex()}, the "
            f"checkpoint points to {strange.pop().hex()}: say with root= where that is now"
        )
    return claim
