"""Reading the changelog."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Literal

import pyarrow as pa

from flintstate import _core
from flintstate.changelog.segment import Segment
from flintstate.errors import InvalidError
from flintstate.paths import PathLike, local_path

__all__ = ["Column", "Reader"]

Column = Literal["sequence", "op", "table", "key", "value", "group"]

_ALL_GROUPS = range(1 << 16)


class Reader:
    """The records of one segment, as Arrow batches, in order. May be read any number of times.

    It answers `__arrow_c_stream__`, so pyarrow, polars, duckdb and others take it as it is; read in
    such a way damage is an error of theirs. Every byte is checked before it is believed: damage
    raises CorruptionError with file and offset, here or as soon as it is reached.

    >>> import tempfile
    >>> from flintstate import changelog
    >>> path = tempfile.mkdtemp() + "/000001.log"
    >>> with changelog.Writer(path) as log:
    ...     _ = log.append(changelog.PUT, table=1, key=b"k", value=b"v")
    >>> changelog.Reader(path).read_all()["key"].to_pylist()
    [b'k']
    """

    def __init__(
        self,
        path: PathLike,
        *,
        from_sequence: int = 0,
        groups: range | None = None,
        columns: Sequence[Column] = ("sequence", "op", "table", "key", "value"),
        expected: Segment | None = None,
    ) -> None:
        """Opens the segment at `path` as it is now.

        Only records from `from_sequence` on and of the key groups `groups` (a range without steps)
        are given; blocks that hold none are not read. With `expected`, what a handle says of the
        segment, a file that differs or lacks its end is damaged.

        Raises NotFoundError, StorageError, CorruptionError, and InvalidError where the file is of a
        newer format or an argument is wrong.
        """
        wanted = _ALL_GROUPS if groups is None else groups
        if wanted.step != 1 or not wanted:
            raise InvalidError(f"groups must be a range of one or more in steps of one: {groups}")
        handle = None
        if expected is not None:
            handle = (expected.length, expected.last_sequence, expected.checksum)
        self._core = _core.ChangelogReader(
            os.fsencode(local_path(path, "path")),
            from_sequence,
            wanted.start,
            wanted.stop - 1,
            handle,
        )
        self._columns: list[str] = list(columns)
        self._schema = self._core.records(self._columns).schema

    @property
    def schema(self) -> pa.Schema:
        """The columns asked for: `sequence` int64, `op` uint8, `table` uint32, `key` binary,
        `value` binary (null for a delete), `group` uint16."""
        return self._schema

    @property
    def torn(self) -> bool:
        """The segment lacks its end: its writer died, or writes still.

        Then it is read up to the last batch that was whole.
        """
        return self._core.torn

    @property
    def segment(self) -> Segment:
        """What the whole file holds, whatever part of it was asked for."""
        return Segment._of(self._core.segment)

    @property
    def written_by(self) -> str:
        """Name and version of the program that wrote it."""
        return self._core.written_by

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The batches, from the beginning. Raises CorruptionError where it comes to damage."""
        records = self._core.records(self._columns)
        while (batch := records.next()) is not None:
            yield pa.record_batch(batch)

    def read_all(self) -> pa.Table:
        """All records at once. Raises CorruptionError where any of them is damaged."""
        return pa.Table.from_batches(list(self), schema=self._schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._core.stream(self._columns).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"Reader({self.segment.path!r}, torn={self.torn})"
