"""What a state is: what opening it again is compared with."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa

from flintstate.errors import InvalidError
from flintstate.state.codec import Codec

BUILT_IN = ("sum", "min", "max", "count", "first", "last", "bit_and", "bit_or", "bit_xor")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ttl:
    """How long a value, a list's element or a map's entry lives: it is expired at time + `ttl`.

    A duration alone means `Ttl(ttl=duration)`. The time is processing time. It is taken when
    something is created or written, with `refresh_on_read` also when it is read. `return_expired`
    lets a read return what has expired and is not yet cleaned up: once, since it goes with that.

    With `event_time` it is that of the row (`KeyedBackend.set_event_time`; a stream knows it), and
    never becomes an earlier one by a write. A value is seen until the row's time, or the
    watermark if that is later, has come to time + `ttl`.

    >>> backend.value_state("seen", pa.int64(), ttl=datetime.timedelta(hours=1))
    """

    ttl: dt.timedelta
    refresh_on_read: bool = False
    return_expired: bool = False
    event_time: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.ttl, dt.timedelta) or self.ttl <= dt.timedelta(0):
            raise InvalidError(f"a time to live must be a positive timedelta, not {self.ttl!r}")

    @property
    def millis(self) -> int:
        whole, rest = divmod(self.ttl, dt.timedelta(milliseconds=1))
        return whole + bool(rest)

    @staticmethod
    def of(ttl: TtlLike | None) -> Ttl | None:
        return ttl if ttl is None or isinstance(ttl, Ttl) else Ttl(ttl=ttl)


TtlLike: TypeAlias = Ttl | dt.timedelta


@dataclasses.dataclass(frozen=True, kw_only=True)
class StateDescriptor:
    """Kind, name and types of a state.

    Defaults, time to live and functions written in Python are the opener's affair, and no part of
    what must be the same when a state is opened again.
    """

    kind: str
    name: str
    value: pa.DataType
    user_key: pa.DataType | None = None
    descending: tuple[str, ...] = ()
    namespace: pa.DataType | None = None
    function: str = ""
    value_codec: str = ""
    key_codec: str = ""

    @staticmethod
    def of(
        kind: str,
        name: str,
        value: StateType,
        *,
        user_key: StateType | None = None,
        descending: tuple[str, ...] = (),
        namespace: pa.DataType | None = None,
        function: str = "",
    ) -> StateDescriptor:
        """The description of a state as its opener speaks of it."""
        if not isinstance(name, str) or not name:
            raise InvalidError(f"a state's name is a string that is not empty, not {name!r}")
        return StateDescriptor(
            kind=kind,
            name=name,
            value=stored_type(value, f"state '{name}'"),
            user_key=None if user_key is None else stored_type(user_key, f"state '{name}'"),
            descending=descending,
            namespace=None if namespace is None else stored_type(namespace, f"state '{name}'"),
            function=function,
            value_codec=_codec_name(value),
            key_codec=_codec_name(user_key),
        )

    def __str__(self) -> str:
        text = f"{self.kind} state '{self.name}' of "
        if self.user_key is not None:
            text += f"{_type_name(self.user_key, self.key_codec)} to "
        text += _type_name(self.value, self.value_codec)
        text += "".join(f", {column} descending" for column in self.descending)
        if self.function:
            text += f", by {self.function}"
        if self.namespace is not None:
            text += f", namespace {self.namespace}"
        return text

    def check_same(self, wanted: StateDescriptor) -> None:
        """Raises `InvalidError`, with both named, where `wanted` is another kind or type."""
        if self != wanted:
            raise InvalidError(f"there is a {self}; it can't be opened as a {wanted}")


def _type_name(arrow: pa.DataType, codec: str) -> str:
    return f"codec '{codec}' over {arrow}" if codec else str(arrow)


def descending_columns(key: pa.DataType, descending: bool | Sequence[str]) -> tuple[str, ...]:
    """The names of a sorted state's descending key columns: "key" where it is no struct."""
    columns = [field.name for field in key] if pa.types.is_struct(key) else ["key"]
    if isinstance(descending, bool):
        return tuple(columns) if descending else ()
    unknown = [name for name in descending if name not in columns]
    if unknown:
        raise InvalidError(f"the sorted key has no column '{unknown[0]}'; it has {columns}")
    return tuple(name for name in columns if name in descending)


StateType: TypeAlias = pa.DataType | pa.Schema | Codec[object]


def stored_type(given: StateType, what: str) -> pa.DataType:
    """The Arrow type that is stored: a schema is the struct of its fields, a codec makes bytes."""
    if isinstance(given, pa.DataType):
        return given
    if isinstance(given, pa.Schema):
        return pa.struct(list(given))
    if isinstance(given, Codec):
        return pa.binary()
    raise InvalidError(f"{what}: {given!r} is neither an Arrow type nor a codec")


def _codec_name(given: StateType | None) -> str:
    if given is None or isinstance(given, pa.DataType | pa.Schema):
        return ""
    return given.name
