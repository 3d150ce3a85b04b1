"""Python objects at a heap state's border: checked by an Arrow type, brought to one form, copied.

What goes in may be looser than what comes out: an int fits a float64 and comes back as a float, a
dict fits a struct and comes back as a named tuple. The rules are those of rows, which this goes
through for all but the plainest values, so that every backend takes and gives the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa

from flintstate import _core
from flintstate.errors import InvalidError

Admit: TypeAlias = Callable[[object], object]
Around: TypeAlias = Callable[..., Any]
"""Makes a call that may run code of the user's, with its arguments behind it."""

_PLAIN = frozenset([int, float, bool, str, bytes])
"""To convert these runs nobody's code."""


def directly(call: Callable[[object], object], value: object) -> Any:
    return call(value)


VALUE_BYTES_MAX = 127 << 20
"""So many bytes may a value's row have, on every backend: a changelog's record holds no more."""


def _too_large(size: int) -> InvalidError:
    return InvalidError(
        f"a value of {size} bytes can't be kept: a value may have {VALUE_BYTES_MAX}"
    )


class ValueType:
    """A type of values: `admit` takes an object in, `release` gives what was admitted out again.

    What `admit` returns is the backend's own: nothing that the caller holds can change it. Where
    that may run code of the user's, it is done by `around`.
    """

    __slots__ = ("_around", "_label", "_rows", "admit", "arrow", "immutable", "release")

    def __init__(self, arrow: pa.DataType, label: str, around: Around = directly) -> None:
        self.arrow = arrow
        self._around = around
        self._label = label
        try:
            schema = pa.schema([pa.field("value", arrow)])
            self._rows = _core.Rows(schema, named_tuples=True, bare=True)
        except InvalidError as error:
            raise InvalidError(f"{label}: {error}") from None
        self.immutable = _immutable(arrow)
        self.admit: Admit = _fast_path(arrow, self._through_a_row)
        self.release: Admit = _same if self.immutable else self._rows.copy

    def _through_a_row(self, value: object) -> object:
        try:
            if value.__class__ in _PLAIN:
                return self._copied(value)
            return self._around(self._copied, value)
        except InvalidError as error:
            raise InvalidError(f"{self._label}: {error}") from None

    def _copied(self, value: object) -> object:
        row = self._rows.pack(value)
        if len(row) > VALUE_BYTES_MAX:
            raise _too_large(len(row))
        return self._rows.unpack(row)

    def admit_some(self, value: object) -> object:
        """As `admit`, but None is an error."""
        if value is None:
            raise InvalidError(f"{self._label} ({self.arrow}): None is no value")
        return self.admit(value)


def _same(value: object) -> object:
    return value


def _fast_path(arrow: pa.DataType, admit: Admit) -> Admit:
    """`admit` with a short cut for what needs no change and can't be wrong."""
    if pa.types.is_integer(arrow):
        return _integers(arrow, admit)
    if pa.types.is_float64(arrow):
        return lambda value: value if value.__class__ is float else admit(value)
    if pa.types.is_string(arrow) or pa.types.is_large_string(arrow):
        return lambda value: (
            value
            if value.__class__ is str and value.isascii() and len(value) < VALUE_BYTES_MAX
            else admit(value)
        )
    if pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow):
        return lambda value: (
            value if value.__class__ is bytes and len(value) < VALUE_BYTES_MAX else admit(value)
        )
    return admit


def _integers(arrow: pa.DataType, admit: Admit) -> Admit:
    bits = arrow.bit_width
    signed = pa.types.is_signed_integer(arrow)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def admit_integer(value: object) -> object:
        if value.__class__ is int and low <= value <= high:
            return value
        return admit(value)

    return admit_integer


def _immutable(arrow: pa.DataType) -> bool:
    if pa.types.is_struct(arrow):
        return all(_immutable(field.type) for field in arrow)
    return not pa.types.is_nested(arrow)
