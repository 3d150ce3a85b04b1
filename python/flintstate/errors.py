"""What can go wrong, as what you can do about it.

Every error of flintstate is a `FlintError`; its subclass says what to do, its message says what was
wrong and where. All of them survive pickling, so they cross from a worker to you as they are.
"""

from __future__ import annotations

import os

__all__ = [
    "BusyError",
    "ClosedError",
    "CorruptionError",
    "FlintError",
    "InternalError",
    "InvalidError",
    "NotFoundError",
    "StorageError",
]


class FlintError(Exception):
    """Anything that flintstate refuses or fails to do."""


class InvalidError(FlintError, ValueError):
    """The request is wrong: mend it."""


class NotFoundError(FlintError, KeyError):
    """What was named is not there."""

    __str__ = Exception.__str__  # a KeyError would show its message in quotes


class BusyError(FlintError):
    """Someone else holds it: try again later."""


class StorageError(FlintError, OSError):
    """The system refused (a full disk, a missing permission): mend the system.

    `errno` is the system's number, where it gave one: `errno.ENOSPC` for a full disk.
    """

    __str__ = Exception.__str__  # an OSError would put the number before its message

    def __init__(self, message: str = "", errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno
        self.strerror = None if errno is None else os.strerror(errno)

    def __reduce__(self) -> tuple[type[StorageError], tuple[str, int | None], dict[str, object]]:
        return type(self), (str(self), self.errno), self.__dict__


class CorruptionError(FlintError):
    """Stored bytes are damaged: restore from elsewhere."""


class ClosedError(FlintError):
    """The object was closed: open it again."""


class InternalError(FlintError):
    """A bug in flintstate: report it."""
