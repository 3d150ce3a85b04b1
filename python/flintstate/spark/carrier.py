"""What Spark calls for each bucket and batch: payloads in, rows and a new handle out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.state import GroupState

from flintstate.checkpoint.handle import Handle
from flintstate.checkpoint.rivals import refuse_if_behind
from flintstate.checkpoint.storage import Storage, open_storage
from flintstate.errors import InvalidError
from flintstate.spark.bucket import Bucket, Limits, empty_handle
from flintstate.spark.claim import Claim, claim_query, who_am_i
from flintstate.spark.frames import frame
from flintstate.spark.keeping import KEEPER
from flintstate.spark.packing import unpack
from flintstate.spark.runner import Clock, Pickled, Runner
from flintstate.spark.triggers import refuse_endless_trigger
from flintstate.spark.worker import settle_worker
from flintstate.state.rocksdb import RocksDbBackend

__all__ = ["HANDLE_SPARK", "Carrier"]

HANDLE_SPARK = "handle binary"

_CHUNK_ROWS = 1 << 19


@dataclass(frozen=True)
class Carrier:
    """The function that `applyInPandasWithState` runs."""

    state: str
    claim: Claim
    local_dir: str | None
    pickled: Pickled
    limits: Limits
    operator: bytes
    """No other plan's carrier has it, not even one with the same function."""
    epoch_seen: int
    """Up to which batch the state directory had gone on when the query was made."""

    def __call__(
        self, key: tuple[int], frames: Iterable[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        settle_worker()
        runner = self.pickled.runner()
        if runner.mode == "processing":
            refuse_endless_trigger()
        storage = open_storage(self.state)
        batch_id, query_id = who_am_i()
        refuse_if_behind(storage, batch_id, self.epoch_seen)
        handle = self._handle(storage, key[0], state)
        if not state.exists:
            claim_query(storage, query_id, batch_id)
        payloads = _in_order(frames)
        event_time = runner.mode == "event"
        clock = Clock(_watermark(state, event_time), state.getCurrentProcessingTimeMs())
        bucket = self._bucket(storage, handle, clock)
        try:
            groups = range(handle.groups.first, handle.groups.last + 1)
            backend = RocksDbBackend(bucket.backend, handle.groups.max_parallelism, groups)
            runner.begin(backend, clock)
            for batch in runner.call(_chunks(payloads)):
                yield frame(batch)
            self._finish(bucket.commit(batch_id), runner, state)
        except BaseException as error:  # the end of a generator that Spark gives up, too
            bucket.close(after=error)
            raise
        KEEPER.keep(bucket, self.operator)

    def _bucket(self, storage: Storage, handle: Handle, clock: Clock) -> Bucket:
        """Open at the handle's version: kept from the last call, or anew."""
        local = self._local(handle)

        def ask() -> int:
            return clock.processing_time

        kept = KEEPER.take(local, self.operator, handle, ask)
        return kept or Bucket(storage, local, self.claim.key_schema, handle, self.limits, clock=ask)

    def _handle(self, storage: Storage, label: int, state: GroupState) -> Handle:
        groups = self.claim.groups_of(label)
        if not state.exists:
            return empty_handle(self.claim.state_id, storage, groups)
        handle = Handle.from_bytes(bytes(state.get[0]), f"Spark's state for bucket {label}")
        if handle.state_id != self.claim.state_id or handle.groups != groups:
            raise InvalidError(
                f"state directory {storage.root}: Spark's checkpoint points to another one, made "
                f"at {handle.root}: was it emptied or replaced? Put it back, or begin anew with "
                "another checkpointLocation"
            )
        return handle

    def _finish(self, handle: Handle, runner: Runner, state: GroupState) -> None:
        state.update((handle.to_bytes(),))
        earliest = runner.next_timer()
        if earliest is None:
            return
        # Spark's time-outs come strictly after their time, timers at theirs.
        if runner.mode == "event":
            state.setTimeoutTimestamp(max(earliest - 1, 1))
        else:
            state.setTimeoutDuration(max(earliest - 1 - state.getCurrentProcessingTimeMs(), 1))

    def _local(self, handle: Handle) -> Path:
        parent = self.local_dir or os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
        groups = handle.groups
        return (
            Path(parent or tempfile.gettempdir())
            / f"flintstate-{self.claim.state_id.hex()}"
            / f"{groups.first:05d}-{groups.last:05d}"
        )


def _watermark(state: GroupState, event_time: bool) -> int | None:
    """In milliseconds since 1970; None without one, or before the first."""
    watermark = state.getCurrentWatermarkMs() if event_time else 0
    return watermark if watermark > 0 else None


def _in_order(frames: Iterable[pd.DataFrame]) -> list[bytes]:
    """The payloads, in the order of their map partitions, whatever the shuffle did."""
    arrived = [
        row
        for part in frames
        for row in zip(part["partition"], part["ordinal"], part["payload"], strict=True)
    ]
    return [payload for _, _, payload in sorted(arrived, key=lambda row: row[:2])]


def _chunks(payloads: list[bytes]) -> Iterator[pa.RecordBatch]:
    """The payloads' rows in batches large enough to be worth a prefetch, and no larger."""
    pending: list[pa.RecordBatch] = []
    rows = 0
    for payload in payloads:
        for batch in unpack(payload):
            pending.append(batch)
            rows += batch.num_rows
            if rows >= _CHUNK_ROWS:
                yield pa.concat_batches(pending)
                pending, rows = [], 0
    if pending:
        yield pa.concat_batches(pending)
