"""The functions that a reducing state can have by name. All are total: integers wrap."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.state.convert import ValueType

Function: TypeAlias = Callable[[Any, Any], object]


def built_in(name: str, arrow: pa.DataType, what: str) -> Function:
    """Raises `InvalidError` where the function is not defined for the type."""
    number = pa.types.is_integer(arrow) or pa.types.is_floating(arrow)
    if name in ("first", "last"):
        return (lambda a, b: a) if name == "first" else (lambda a, b: b)
    if name in ("sum", "count"):
        if pa.types.is_floating(arrow) and name == "sum":
            return _rounded(arrow, what)
        if pa.types.is_integer(arrow):
            return _wrapping(arrow)
    if name in ("min", "max") and number:
        return _lesser if name == "min" else _greater
    if name.startswith("bit_") and pa.types.is_integer(arrow):
        return {"bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor}[name]
    raise InvalidError(f"{what}: '{name}' is not defined for {arrow}")


def _wrapping(arrow: pa.DataType) -> Function:
    bits = arrow.bit_width
    low = -(1 << bits - 1) if pa.types.is_signed_integer(arrow) else 0
    mask = (1 << bits) - 1

    def add(a: Any, b: Any) -> object:
        return (a + b - low & mask) + low

    return add


def _rounded(arrow: pa.DataType, what: str) -> Function:
    if arrow.bit_width == 64:
        return operator.add
    admit = ValueType(arrow, what).admit

    def add(a: Any, b: Any) -> object:
        total = a + b
        try:
            return admit(total)
        except InvalidError:
            return math.copysign(math.inf, total)

    return add


def _greater(a: Any, b: Any) -> object:
    """NaN stands after everything else."""
    return b if b != b or b > a else a


def _lesser(a: Any, b: Any) -> object:
    return b if a != a or b < a else a
