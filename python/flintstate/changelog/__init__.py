"""The changelog: an append-only log of state changes in zstd-compressed, checksummed batches.

What survives what, in three words: *object* (gone with this object), *process* (survives the death
of the process), *machine* (survives a power cut). After `append` a record is *object* durable,
after `sync`, `roll` and `close` it is *machine* durable.
"""

from flintstate.changelog.operation import (
    DELETE,
    DELETE_RANGE,
    MERGE,
    METADATA,
    PUT,
    Operation,
)
from flintstate.changelog.reader import Reader
from flintstate.changelog.segment import Segment
from flintstate.changelog.writer import Writer

__all__ = [
    "DELETE",
    "DELETE_RANGE",
    "MERGE",
    "METADATA",
    "PUT",
    "Operation",
    "Reader",
    "Segment",
    "Writer",
]
