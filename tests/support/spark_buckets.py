"""Buckets without Spark: handles, counts, and what every version of them is to hold."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pyarrow as pa

from flintstate import _core
from flintstate.checkpoint.handle import Groups, Handle, new_state_id
from flintstate.checkpoint.storage import LocalStorage, Storage
from flintstate.spark.bucket import Bucket, Limits, empty_handle
from flintstate.spark.keeping import Keeper
from flintstate.state.times import system_clock

KEY = pa.schema([pa.field("user", pa.int64())])
GROUPS = Groups(128, 0, 127)
SMALL = Limits(log_bytes_min=1, log_segments_max=3)
FOREVER_S = 600.0
HUGE = Limits(log_bytes_min=1 << 40, log_segments_max=1 << 40)


class Home:
    """A storage, and executors' local directories."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.storage: Storage = LocalStorage(path / "storage")
        self.first = empty_handle(new_state_id(), self.storage, GROUPS)

    @contextmanager
    def bucket(
        self, handle: Handle, *, local: str = "local", limits: Limits = HUGE
    ) -> Iterator[Bucket]:
        bucket = Bucket(self.storage, self.path / local, KEY, handle, limits)
        try:
            yield bucket
        finally:
            bucket.close()

    def add(self, handle: Handle, batch: int, *, local: str = "local") -> Handle:
        """Counts user `batch % 5` up by one and everyone's total, and commits."""
        with self.bucket(handle, local=local) as bucket:
            add(bucket, batch % 5)
            add(bucket, 1000)
            return bucket.commit(batch)

    def grow(self, handle: Handle, batches: int) -> list[Handle]:
        return self.grow_from(handle, range(batches))

    def grow_from(self, handle: Handle, batches: range) -> list[Handle]:
        handles = [handle]
        for batch in batches:
            handles.append(self.add(handles[-1], batch))
        return handles

    def read(self, handle: Handle, *, local: str = "local") -> list[int]:
        with self.bucket(handle, local=local) as bucket:
            return counts(bucket)


class Worker:
    """What a worker of Spark's does with buckets, call after call."""

    def __init__(self, home: Home, most: int = 4, idle_s: float = FOREVER_S) -> None:
        self.home = home
        self.keeper = Keeper(most, idle_s)
        self.operator = b"as it was started"

    def begin(
        self, handle: Handle, *, local: str = "local", limits: Limits = HUGE,
        clock: Callable[[], int] = system_clock,
    ) -> Bucket:  # fmt: skip
        directory = self.home.path / local
        kept = self.keeper.take(directory, self.operator, handle, clock)
        return kept or Bucket(self.home.storage, directory, KEY, handle, limits, clock=clock)

    def end(self, bucket: Bucket) -> None:
        self.keeper.keep(bucket, self.operator)

    def add(
        self, handle: Handle, batch: int, *, local: str = "local", limits: Limits = HUGE
    ) -> Handle:
        """A call that counts user `batch % 5` up by one, and everyone's total."""
        bucket = self.begin(handle, local=local, limits=limits)
        add(bucket, batch % 5)
        add(bucket, 1000)
        handle = bucket.commit(batch)
        self.end(bucket)
        return handle

    def grow(self, handle: Handle, batches: range) -> list[Handle]:
        handles = [handle]
        for batch in batches:
            handles.append(self.add(handles[-1], batch))
        return handles


def keep_batches(path: Path, first: bytes, told: Connection) -> None:
    """A process that keeps the store after five batches, none of which was flushed yet.

    It tells their handles, and hangs.
    """
    _core.RocksBackend.rest = lambda self: None  # type: ignore[method-assign]
    handles = Worker(Home(path)).grow(Handle.from_bytes(first), range(5))
    told.send([handle.to_bytes() for handle in handles])
    time.sleep(FOREVER_S)


def remove(directory: Path) -> None:
    """Removes a local directory in which a store may be open, and being flushed."""
    while directory.exists():
        shutil.rmtree(directory, ignore_errors=True)


def add(bucket: Bucket, user: int) -> None:
    state = bucket.backend.value_state("n", pa.int64(), default=0)
    bucket.backend.set_key(user)
    state.update(state.value() + 1)


def counts(bucket: Bucket) -> list[int]:
    state = bucket.backend.value_state("n", pa.int64(), default=0)
    values = []
    for user in (0, 1, 2, 3, 4, 1000):
        bucket.backend.set_key(user)
        values.append(state.value())
    return values


def expected(batches: int) -> list[int]:
    return [len(range(user, batches, 5)) for user in range(5)] + [batches]


def wait_for_background() -> None:
    while left := [t for t in threading.enumerate() if t.name == "flintstate-close"]:
        for thread in left:
            thread.join(30)
