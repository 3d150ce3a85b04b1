"""Stores that stay open in a worker between its calls.

Spark gives a bucket's next call to any of its workers. If that is the one that ran the last, the
store is open there, with its caches. If it is another one, it finds the store locked, rings the
bucket's bell until the lock is free, and opens it from its files: a thread of the holder's, the
keeper, sleeps until one of its bells rings, and closes what is wanted. A worker that is using a
store does not listen; it finds out at the end of its call that someone rang. One that hangs does
not listen either: whoever waits for it restores a private copy in the end, as ever.

A kept store serves the plan alone whose function opened its states, so that a query that was
started again with another function does not meet states that are open under old descriptors; and
only at the version that it is asked for, which it is not where Spark runs a batch again.

Stores cost memory: a worker keeps a few, and none that has been idle for a while (Spark ends idle
workers after a minute). What they keep is flushed in the background; what was not when a worker
dies is replayed by whoever opens the store next.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flintstate.checkpoint.handle import Handle
from flintstate.errors import FlintError
from flintstate.spark.bucket import ADDRESSES_UNLIMITED, Bucket
from flintstate.spark.worker import runs_many_tasks

__all__ = ["KEEPER", "Keeper"]

_MOST = 4
_IDLE_S = 10.0
_AFTER_FAILURE_S = 0.1


@dataclass(frozen=True)
class _Kept:
    bucket: Bucket
    operator: bytes
    until: float


class Keeper:
    """Keeps at most so many buckets, each for so many idle seconds; closes them on its thread."""

    def __init__(self, most: int = _MOST, idle_s: float = _IDLE_S) -> None:
        self._most = most
        self._idle_s = idle_s
        self._begin()
        _keepers.add(self)

    def _begin(self) -> None:
        self._mutex = threading.Lock()  # for what follows
        self._kept: dict[Path, _Kept] = {}  # least recently used first
        self._dismissed: list[Bucket] = []
        self._ending = False
        self._thread: threading.Thread | None = None
        self._wakers: tuple[int, ...] = ()

    def take(
        self, local: Path, operator: bytes, handle: Handle, clock: Callable[[], int]
    ) -> Bucket | None:
        """The bucket in that directory, for a call by that operator at that handle.

        None where no such one is kept; the lock is free soon then, as far as it is up to us.
        """
        with self._mutex:
            kept = self._kept.pop(local, None)
        if kept is None:
            return None
        fits = False
        try:
            fits = kept.operator == operator and kept.bucket.resume(handle, clock)
        finally:
            if not fits:
                with self._mutex:
                    self._dismissed.append(kept.bucket)
                self._wake()
        return kept.bucket if fits else None

    def keep(self, bucket: Bucket, operator: bytes) -> None:
        """For a call's end, after its commit: the bucket is kept, or closed in the background."""
        stays = False
        with contextlib.suppress(FlintError, OSError):
            stays = self._most > 0 and self._listens() and bucket.rest()
        if not stays:
            bucket.close(background=True)
            return
        with self._mutex:
            self._kept[bucket.local] = _Kept(bucket, operator, time.monotonic() + self._idle_s)
        self._wake()

    def close(self) -> None:
        """Closes all that is kept, and ends the thread; for the end of a process."""
        with self._mutex:
            thread, self._ending = self._thread, True
        if thread is not None:
            self._wake()
            thread.join()

    def forget(self) -> None:
        """For a forked child, which has neither the thread nor the stores: it begins anew."""
        for descriptor in self._wakers:
            os.close(descriptor)
        self._begin()

    def _listens(self) -> bool:
        """Whether the thread is there, or could be started."""
        with self._mutex:
            if self._thread is None and not self._ending:
                self._wakers = self._wakers or os.pipe()
                thread = threading.Thread(target=self._run, name="flintstate-keeper", daemon=True)
                with contextlib.suppress(RuntimeError):  # the system has none to give
                    thread.start()
                    self._thread = thread
            return self._thread is not None and not self._ending

    def _wake(self) -> None:
        os.write(self._wakers[1], b"!")

    def _run(self) -> None:
        ending = False
        while not ending:
            try:
                ending = self._serve()
            except Exception:  # such as memory that runs out: others wait for what is kept here
                time.sleep(_AFTER_FAILURE_S)

    def _serve(self) -> bool:
        """Closes what is due, or sleeps; whether this was the last time."""
        due, bells, until, ending = self._look()
        for bucket in due:
            with contextlib.suppress(Exception):  # the next one to open it replays
                bucket.close()
        if not due and not ending:
            self._sleep(bells, until)
        return ending

    def _look(self) -> tuple[list[Bucket], list[int], float | None, bool]:
        """What is to be closed now; whose bells to listen to, and until when."""
        with self._mutex:
            now = time.monotonic()
            for local, kept in list(self._kept.items()):
                crowded = len(self._kept) > self._most
                if self._ending or crowded or kept.until <= now or _wanted(kept.bucket):
                    self._dismissed.append(kept.bucket)
                    del self._kept[local]
            bells = [kept.bucket.fileno() for kept in self._kept.values()]
            until = min((kept.until for kept in self._kept.values()), default=None)
            due, self._dismissed = self._dismissed, []
            return due, bells, until, self._ending

    def _sleep(self, bells: list[int], until: float | None) -> None:
        """Until a bell rings or someone wakes us."""
        poller = select.poll()
        for descriptor in (self._wakers[0], *bells):
            poller.register(descriptor, select.POLLIN)
        timeout = None if until is None else max(0.0, until - time.monotonic()) * 1000 + 1
        if any(descriptor == self._wakers[0] for descriptor, _ in poller.poll(timeout)):
            os.read(self._wakers[0], 1 << 16)


def _wanted(bucket: Bucket) -> bool:
    try:
        return bucket.wanted()
    except OSError:  # whoever rings can't be heard
        return True


def _forget_parents() -> None:
    for keeper in _keepers:
        keeper.forget()


_keepers: weakref.WeakSet[Keeper] = weakref.WeakSet()
os.register_at_fork(after_in_child=_forget_parents)

# A worker without room for many addresses has none for stores that it does not use.
KEEPER = Keeper(_MOST if runs_many_tasks() and ADDRESSES_UNLIMITED else 0)
atexit.register(KEEPER.close)
