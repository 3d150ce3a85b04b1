"""Locks between processes that a death releases."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["FileLock"]

_POLL_S = 0.005


class FileLock:
    """An exclusive lock on a file. The kernel releases it when its holder dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self, wait_s: float) -> bool:
        """Whether the lock was to be had within that time."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    os.close(descriptor)
                    return False
                time.sleep(_POLL_S)
            else:
                self._descriptor = descriptor
                return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @contextlib.contextmanager
    def held(self, wait_s: float) -> Iterator[bool]:
        """Yields whether it was to be had; releases it at the end."""
        mine = self.acquire(wait_s)
        try:
            yield mine
        finally:
            self.release()
