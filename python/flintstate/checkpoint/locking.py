"""Locks between processes that a death releases, and a bell for those who wait for one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from flintstate.checkpoint.storage import make_directory, storage_errors

__all__ = ["Doorbell", "FileLock"]

_POLL_S = 0.005
_DYING_S = 0.1
_BUSY, _NOT_BUSY, _DAMAGED = b"!", b".", b"x"


class FileLock:
    """An exclusive lock on a file. The kernel releases it when its holder dies.

    The file's one byte says whether its holder is busy, and would not let go if it were asked. It
    stays when the holder goes, and tells the next one how that was. A process that its holder
    forks holds nothing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._holder_busy = False
        self._left = b""
        _held.add(self)

    def acquire(self, wait_s: float, ask: Callable[[], None] | None = None) -> bool:
        """Whether the lock was to be had within that time; `ask` is called while it is waited for.

        A holder that is busy is not waited for, but for a moment in which it may just be dying. It
        is the lock of the file that the path names in the end, whatever was removed meanwhile.
        """
        began = time.monotonic()
        while not self._try():
            if time.monotonic() - began >= (min(wait_s, _DYING_S) if self._holder_busy else wait_s):
                return False
            if ask is not None:
                ask()
            time.sleep(_POLL_S)
        return True

    def say_busy(self, busy: bool) -> None:
        """Tells those who want the lock, which is held, whether waiting for it makes sense."""
        self._say(_BUSY if busy else _NOT_BUSY)

    def say_damaged(self) -> None:
        """Tells whoever has the lock next that what it guards is damaged."""
        self._say(_DAMAGED)

    @property
    def left_busy(self) -> bool:
        """Whether the holder before died while it was busy."""
        return self._left == _BUSY

    @property
    def left_damaged(self) -> bool:
        """Whether a holder before has said so, and none since that it is busy."""
        return self._left == _DAMAGED

    def in_place(self) -> bool:
        """Whether the path still names the file that is locked: nobody else can have it then."""
        if self._descriptor is None:
            return False
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._descriptor))

    def release(self) -> None:
        if self._descriptor is not None:
            # A child that was forked meanwhile has the descriptor too, and would keep the lock.
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            self._close()

    @contextlib.contextmanager
    def held(self, wait_s: float) -> Iterator[bool]:
        """Yields whether it was to be had; releases it at the end."""
        mine = self.acquire(wait_s)
        try:
            yield mine
        finally:
            self.release()

    def _say(self, word: bytes) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # of a full disk: they wait in vain then
                os.pwrite(self._descriptor, word, 0)

    def _try(self) -> bool:
        with storage_errors(self._path):
            make_directory(self._path.parent)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.in_place():
                self._left = os.pread(self._descriptor, 1, 0)
                return True
        except BlockingIOError:
            self._holder_busy = os.pread(self._descriptor, 1, 0) == _BUSY
        except BaseException:
            self._close()
            raise
        self._close()
        return False

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def forget(self) -> None:
        """For a forked child, which is not to keep what its parent lets go of."""
        self._close()


class Doorbell:
    """A named pipe on which those who wait for a lock are heard by its holder, if it listens."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ends: tuple[int, int] | None = None
        _held.add(self)

    def ring(self) -> None:
        """Nothing happens where nobody listens."""
        with contextlib.suppress(OSError):
            pipe = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                os.write(pipe, b"!")
            finally:
                os.close(pipe)

    def listen(self) -> None:
        """For the holder of the lock. Raises OSError where the file system has no named pipes."""
        if self._ends is not None:
            return
        self._path.unlink(missing_ok=True)
        os.mkfifo(self._path, 0o600)
        flags = os.O_NONBLOCK | os.O_CLOEXEC
        reading = os.open(self._path, os.O_RDONLY | flags)
        try:
            # With an end of our own the pipe has no end whenever someone who rang goes away.
            self._ends = reading, os.open(self._path, os.O_WRONLY | flags)
        except BaseException:
            os.close(reading)
            raise

    def fileno(self) -> int:
        """Can be polled while we listen; there is something to read once it has rung."""
        assert self._ends is not None
        return self._ends[0]

    def rung(self) -> bool:
        """Whether someone has rung since the last time."""
        try:
            return self._ends is not None and bool(os.read(self._ends[0], 1 << 16))
        except BlockingIOError:
            return False

    def forget(self) -> None:
        """For a forked child: nobody shall think that it listens."""
        self.close()

    def close(self) -> None:
        """Listens no more."""
        if self._ends is not None:
            reading, writing = self._ends
            self._ends = None
            os.close(reading)
            os.close(writing)


_held: weakref.WeakSet[FileLock | Doorbell] = weakref.WeakSet()


def _forget_parents() -> None:
    for held in _held:
        held.forget()


os.register_at_fork(after_in_child=_forget_parents)
