"""One's own objects as state: a codec turns them into bytes."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


@runtime_checkable
class Codec(Protocol[T]):
    """Turns objects into bytes and back; given where a state wants a type.

    The name is stored: it says what the bytes are, and a state is opened again with the same one
    only. `ordered` promises that bytes compare as the objects do, which a sorted state's key needs.

    >>> class Points:
    ...     name, ordered = "point-1", False
    ...     def encode(self, value: Point) -> bytes: return struct.pack("<dd", value.x, value.y)
    ...     def decode(self, data: bytes) -> Point: return Point(*struct.unpack("<dd", data))
    """

    @property
    def name(self) -> str: ...
    @property
    def ordered(self) -> bool: ...
    def encode(self, value: T, /) -> bytes: ...
    def decode(self, data: bytes, /) -> T: ...
