"""What a record does to its table."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Literal

__all__ = ["DELETE", "DELETE_RANGE", "MERGE", "METADATA", "PUT", "Operation"]


class Operation(IntEnum):
    """The numbers are those of the `op` column."""

    PUT = 0
    """The key has the value."""
    DELETE = 1
    """The key is gone; there is no value."""
    MERGE = 2
    """The value is an operand for the table's merge."""
    DELETE_RANGE = 3
    """Keys from `key` on are gone, up to the value, which is not."""
    METADATA = 4
    """Whatever the owner of the table noted."""


PUT: Final[Literal[Operation.PUT]] = Operation.PUT
DELETE: Final[Literal[Operation.DELETE]] = Operation.DELETE
MERGE: Final[Literal[Operation.MERGE]] = Operation.MERGE
DELETE_RANGE: Final[Literal[Operation.DELETE_RANGE]] = Operation.DELETE_RANGE
METADATA: Final[Literal[Operation.METADATA]] = Operation.METADATA
