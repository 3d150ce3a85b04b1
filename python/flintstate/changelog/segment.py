"""One changelog file, in the few words that a handle keeps."""

from __future__ import annotations

import os
from dataclasses import dataclass

from flintstate import _core

__all__ = ["NO_VERSION", "Segment"]

NO_VERSION = bytes(16)


@dataclass(frozen=True, kw_only=True)
class Segment:
    """What is in a closed segment. Length, last sequence number and checksum name its content.

    `version` and `parent` are None where none was given. `groups` is the range from the lowest to
    the highest key group of any record. Of a torn segment it says what can be read; its checksum
    is then 0.
    """

    path: str
    version: bytes | None
    parent: bytes | None
    length: int
    first_sequence: int
    last_sequence: int
    records: int
    checksum: int
    groups: range

    @classmethod
    def _of(cls, core: _core.ChangelogSegment) -> Segment:
        return cls(
            path=os.fsdecode(core.path),
            version=None if core.version == NO_VERSION else core.version,
            parent=None if core.parent == NO_VERSION else core.parent,
            length=core.length,
            first_sequence=core.first_sequence,
            last_sequence=core.last_sequence,
            records=core.records,
            checksum=core.checksum,
            groups=range(core.first_group, core.last_group + 1) if core.records else range(0),
        )
