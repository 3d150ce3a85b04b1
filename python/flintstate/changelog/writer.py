"""Appending to the changelog."""

from __future__ import annotations

import contextlib
import os
from typing import Protocol, Self

import pyarrow as pa

from flintstate import _core
from flintstate._version import __version__
from flintstate.changelog.operation import Operation
from flintstate.changelog.segment import NO_VERSION, Segment
from flintstate.errors import ClosedError
from flintstate.paths import PathLike, local_path

__all__ = ["ArrowColumn", "Writer"]


class _HasArray(Protocol):
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...


class _HasStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


ArrowColumn = _HasArray | _HasStream
"""Any Arrow array, of any library; chunks are put together first."""


class Writer:
    """Writes one segment after another. Any number of threads may call anything.

    An append copies the record; full batches are compressed and written by a thread of their own,
    and appends wait when it falls behind. After an error in writing, that error is the answer to
    every later call: nothing is retried into success. A writer that is neither closed nor used in
    a `with` statement loses what was not synced, as in a crash.

    >>> import tempfile
    >>> from flintstate import changelog
    >>> path = tempfile.mkdtemp() + "/000001.log"
    >>> with changelog.Writer(path) as log:
    ...     log.append(changelog.PUT, table=1, key=b"k", value=b"v")
    ...     log.sync()
    1
    1
    """

    def __init__(
        self,
        path: PathLike,
        *,
        level: int = 1,
        batch_bytes: int = 1 << 18,
        first_sequence: int = 1,
        version: bytes | None = None,
        parent: bytes | None = None,
        written_by: str = f"flint {__version__}",
    ) -> None:
        """Makes the file `path`, which must not exist: to go on after a crash, start another one.

        `level` is zstd's; `batch_bytes` (1 KiB to 64 MiB) is how much is compressed at a time;
        `first_sequence` is the number of the first record; `version` and `parent` are the ids (16
        bytes each) of what the segment leads to and starts from; `written_by` has up to 16 bytes.

        Raises InvalidError where one of them is out of range, StorageError or NotFoundError where
        the file can't be made.
        """
        self._core = _core.ChangelogWriter(
            os.fsencode(local_path(path, "path")),
            version or NO_VERSION,
            parent or NO_VERSION,
            first_sequence,
            level,
            batch_bytes,
            written_by,
        )

    @property
    def path(self) -> str:
        """The segment that is being written, or was last."""
        return os.fsdecode(self._core.path)

    @property
    def last_sequence(self) -> int:
        """The number of the last record; one less than the first one's where there is none."""
        return self._core.last_sequence

    def append(
        self, op: Operation, *, table: int, key: bytes, value: bytes | None = None, group: int = 0
    ) -> int:
        """Appends one record and returns its sequence number.

        `value` is left out for DELETE, and only there. `group` is the key group.

        Raises InvalidError where something is out of range (key and value together may have
        128 MiB), ClosedError after `close`, and whatever error stopped the writer before.
        """
        return self._core.append(op, group, table, key, value)

    def append_many(
        self,
        op: Operation,
        *,
        table: int,
        keys: ArrowColumn,
        values: ArrowColumn | None = None,
        group: int | ArrowColumn = 0,
    ) -> int:
        """Appends a record for each row and returns the last one's sequence number.

        `keys` and `values` are binary or string arrays of any layout without nulls; `group` is one
        key group for all or a uint16 array. The records follow each other, whoever else appends.

        Raises as `append` does, and then nothing was appended, unless it is the disk that failed.
        """
        return self._core.append_many(
            op,
            group if isinstance(group, int) else 0,
            table,
            _one_array(keys),
            None if values is None else _one_array(values),
            None if isinstance(group, int) else _one_array(group),
        )

    def sync(self) -> int:
        """Waits until all records so far are *machine* durable; returns the last one's number.

        Raises StorageError where the device refuses, and ever after.
        """
        return self._core.sync()

    def roll(
        self,
        path: PathLike,
        *,
        version: bytes | None = None,
        parent: bytes | None = None,
    ) -> Segment:
        """Closes the segment, *machine* durable, and goes on in a new one; returns the closed one.

        Where the new file can't be made, raises StorageError and goes on in the old one.
        """
        core = self._core.roll(
            os.fsencode(local_path(path, "path")), version or NO_VERSION, parent or NO_VERSION
        )
        return Segment._of(core)

    def close(self, *, sync: bool = True) -> Segment:
        """Closes the segment and returns what a handle needs to know of it.

        It is *machine* durable then, or *process* durable with `sync=False`. Every later call, this
        one too, raises ClosedError.
        """
        return Segment._of(self._core.close(sync))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        with contextlib.suppress(ClosedError):  # closed within the statement
            self.close()

    def __repr__(self) -> str:
        return f"Writer({self.path!r}, last_sequence={self.last_sequence})"


def _one_array(column: ArrowColumn) -> object:
    if hasattr(column, "__arrow_c_array__"):
        return column
    return pa.chunked_array(column).combine_chunks()
