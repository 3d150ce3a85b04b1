"""Keyed streams on the driver: what is asked for is checked, and the plan is made."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.streaming.state import GroupStateTimeout

from flintstate.checkpoint.handle import ROOT_BYTES_MAX
from flintstate.checkpoint.rivals import newest_epoch
from flintstate.checkpoint.storage import open_storage
from flintstate.errors import InvalidError
from flintstate.paths import PathLike, absolute_path
from flintstate.process import (
    Context,
    KeyedProcessFunction,
    TimeMode,
    check_function,
    check_time_mode,
)
from flintstate.spark.bucket import Limits
from flintstate.spark.carrier import HANDLE_SPARK, Carrier
from flintstate.spark.claim import Claim
from flintstate.spark.frames import carried_schema, unfolded
from flintstate.spark.handing_over import hand_over_by_count
from flintstate.spark.packing import PACKED_SPARK, PACKER, Packer
from flintstate.spark.reading import batches_to_retain
from flintstate.spark.runner import BatchRunner, Pickled, RowRunner, Runner
from flintstate.spark.schemas import (
    arrow_schema,
    event_time_column,
    key_schema,
    output_schema,
    watermark_metadata,
)
from flintstate.spark.starting import claim_as_it_starts
from flintstate.spark.triggers import watch_triggers

__all__ = ["Keyed", "keyed"]

SchemaLike: TypeAlias = str | T.StructType
BatchFunction: TypeAlias = Callable[[pa.RecordBatch, Context], Iterable[pa.RecordBatch]]
R = TypeVar("R")


def keyed(
    df: DataFrame,
    *key_columns: str,
    state: PathLike,
    buckets: int | None = None,
    local_dir: PathLike | None = None,
) -> Keyed:
    """A stream keyed by columns, whose state lives under the directory `state`.

    `state` must be seen by all executors, belongs to one query, and stays with its
    `checkpointLocation`: both or neither are kept. `buckets` (fixed on first use) is how many
    stores the state is split into: at most so many tasks work at a time. `local_dir` is where
    executors keep their copies; it is a cache, and should be a fast disk that outlives executors.

    Raises InvalidError for a key or a column of a type that can't pass, and for a state directory
    that was made with another key.

    >>> counts = keyed(events, "user", state="/data/state")
    >>> out = counts.process(Count(), schema="user long, n long")
    """
    root = absolute_path(state, "state")
    local = None if local_dir is None else absolute_path(local_dir, "local_dir")
    if not isinstance(df, DataFrame):
        raise InvalidError(f"keyed() needs a stream of Spark's, not {df!r:.100}")
    schema = arrow_schema(df.schema, "input")
    return Keyed(df, schema, key_schema(schema, key_columns), root, buckets, local)


@dataclass(frozen=True)
class Keyed:
    """What `keyed` returns: a stream and its key, waiting for what is to be done with it."""

    df: DataFrame
    schema: pa.Schema
    key: pa.Schema
    state: str
    buckets: int | None
    local_dir: str | None

    def process(
        self,
        function: KeyedProcessFunction[R],
        *,
        schema: SchemaLike,
        time_mode: TimeMode | None = None,
    ) -> DataFrame:
        """Runs a function for each row; `schema` is that of the tuples it yields.

        `time_mode` (fixed on first use) is whose timers fire in time for keys without rows: event
        time where the stream has a watermark, unless "processing" is asked for. Then no row is
        late, and the query wants a trigger with an interval: each one runs a batch.

        Raises InvalidError where the function can't be pickled, the schema has a type that can't
        pass, or "event" is asked for without a watermark.
        """
        check_function(function)
        time = self._event_time(time_mode)
        mode: TimeMode | None = time_mode if time is None else "event"
        return self._run(RowRunner(function, self._names, time and time[0], mode), schema, time)

    def process_batches(self, function: BatchFunction, *, schema: SchemaLike) -> DataFrame:
        """Runs `function(batch, ctx)` for the rows of each bucket at once; it yields batches.

        Raises InvalidError as `process` does.
        """
        if not callable(function):
            raise InvalidError(
                f"{function!r} given: a function of a batch and a context is expected; process() "
                "takes a KeyedProcessFunction"
            )
        time = event_time_column(self.df)
        mode: TimeMode | None = None if time is None else "event"
        return self._run(BatchRunner(function, self._names, time and time[0], mode), schema, time)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.key.names)

    def _event_time(self, mode: TimeMode | None) -> tuple[str, int] | None:
        """The event-time column and its delay; None where the query has no event time."""
        if mode is not None:
            check_time_mode(mode)
        if mode == "processing":
            return None
        time = event_time_column(self.df)
        if mode == "event" and time is None:
            raise InvalidError(
                "time_mode='event': the stream has no watermark: give it one by withWatermark"
            )
        return time

    def _run(self, runner: Runner, schema: SchemaLike, time: tuple[str, int] | None) -> DataFrame:
        session = self.df.sparkSession
        output = _struct(schema)
        runner.output = output_schema(output)
        _check_pickles(runner)
        _check_stream(self.df)
        storage = open_storage(self.state)
        if len(storage.root.encode()) > ROOT_BYTES_MAX:
            raise InvalidError(f"state={storage.root}: longer than {ROOT_BYTES_MAX} bytes")
        claim = Claim.open(
            storage,
            self.key,
            buckets=self.buckets,
            partitions=_number(session, "spark.sql.shuffle.partitions", 200),
            cores=session.sparkContext.defaultParallelism,
            processing_time=runner.mode == "processing",
        )
        limits = Limits(batches_retained=batches_to_retain(session))
        carrier = Carrier(
            storage.root, claim, self.local_dir, Pickled(runner), limits,
            operator=secrets.token_bytes(16), epoch_seen=newest_epoch(storage.list("groups/")),
        )  # fmt: skip
        packer = Packer(
            self._names, claim.labels, claim.max_parallelism, self.schema, claim.state_id.hex()
        )
        claim_as_it_starts(session, packer.__name__, storage)
        hand_over_by_count(session, self.schema, packer.__name__)
        packed = self.df.mapInArrow(packer, PACKED_SPARK)
        timeout = GroupStateTimeout.NoTimeout
        if time is not None:
            mark = F.col("time").alias("time", metadata=watermark_metadata(time[1]))
            packed = packed.select("bucket", mark, "partition", "ordinal", "payload")
            timeout = GroupStateTimeout.EventTimeTimeout
        elif runner.mode == "processing":
            watch_triggers(session)
            timeout = GroupStateTimeout.ProcessingTimeTimeout
        carried = packed.groupBy("bucket").applyInPandasWithState(
            carrier, carried_schema(output), HANDLE_SPARK, "append", timeout
        )
        return unfolded(carried)


def _check_pickles(runner: Runner) -> None:
    try:
        cloudpickle.dumps(runner)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise InvalidError(
            f"the function can't be sent to workers: {error}. Make what can't be pickled (a "
            "session, a lock, a connection) in open(ctx), which runs there"
        ) from error


def _check_stream(df: DataFrame) -> None:
    if not df.isStreaming:
        raise InvalidError("keyed() needs a stream: this DataFrame is not one (readStream)")
    java: Any = df._jdf
    if f" {PACKER}" in java.queryExecution().analyzed().toString():
        raise InvalidError(
            "keyed() over what another keyed() puts out: a query has one. Write the first one's "
            "rows to a table (writeStream), and read them from there in a query of its own"
        )


def _number(session: SparkSession, name: str, default: int) -> int:
    return int(session.conf.get(name, None) or default)


def _struct(schema: SchemaLike) -> T.StructType:
    """Raises InvalidError where the text is no schema."""
    if isinstance(schema, T.StructType):
        return schema
    if not isinstance(schema, str):
        raise InvalidError(f"schema={schema!r}: give Spark's StructType, or text 'user long'")
    try:
        parsed = T.StructType.fromDDL(schema)
    except Exception as error:
        raise InvalidError(f"schema={schema!r}: {error}") from error
    if not isinstance(parsed, T.StructType):
        raise InvalidError(f"schema={schema!r}: columns are expected, such as 'user long, n long'")
    return parsed
