"""Keys, namespaces, map keys and sorted keys as a heap backend holds them.

A token stands for a key: hashable, and equal to another exactly where the encoded bytes are. For
plain types it is the Python object itself, which also sorts as its bytes do; for all others it is
the bytes, so that heap and rocksdb can't disagree about equality and order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Any, TypeAlias, cast

import pyarrow as pa

from flintstate import _core
from flintstate.errors import InvalidError
from flintstate.state.convert import Around, ValueType, directly

Token: TypeAlias = Any


class KeyType:
    """A type of keys: one column, or the columns of a struct, given and got as a tuple.

    `canonical` is the form of a backend's own keys and of namespaces, which have key groups. There
    a column may be None where `columns` says so; None is no key of a map or a sorted state.
    """

    __slots__ = (
        "_around",
        "_codec",
        "_label",
        "_value",
        "columns",
        "group",
        "is_row",
        "plain",
        "release",
        "token",
    )

    def __init__(
        self,
        columns: pa.Schema,
        label: str,
        *,
        canonical: bool = False,
        descending: Sequence[str] = (),
        max_parallelism: int = 1,
        around: Around = directly,
    ) -> None:
        self.columns = columns
        self._around = around
        self.is_row = len(columns) > 1
        self._label = label
        try:
            self._codec = _core.KeyCodec(
                columns,
                descending=list(descending),
                canonical=canonical,
                max_parallelism=max_parallelism,
            )
        except InvalidError as error:
            raise InvalidError(f"{label}: {error}") from None
        self.plain = not self.is_row and not descending and _sorts_as_its_bytes(columns[0].type)
        self._value = ValueType(columns[0].type, label, around) if self.plain else None
        self.token: Callable[[object], Token] = self._plain_token if self.plain else self._encode
        self.release: Callable[[Token], object] = _same if self.plain else self._codec.decode
        # The key group of the key that a token stands for.
        self.group: Callable[[Token], int] = (
            self._codec.group if self.plain else self._codec.group_of_bytes
        )

    @staticmethod
    def of_user(
        arrow: pa.DataType,
        label: str,
        descending: Sequence[str] = (),
        around: Around = directly,
    ) -> KeyType:
        """The keys of a map or a sorted state: a struct's fields, or one that can't be None."""
        return KeyType(user_columns(arrow), label, descending=descending, around=around)

    @staticmethod
    def of_namespace(arrow: pa.DataType, label: str) -> KeyType:
        return KeyType(pa.schema([pa.field("namespace", arrow)]), label, canonical=True)

    def _plain_token(self, key: object) -> Token:
        if key is None:
            if not self.columns[0].nullable:
                raise InvalidError(f"{self._label} ({self.columns[0].type}): None can't be a key")
            return None
        assert self._value is not None
        return self._value.admit(key)

    def _encode(self, key: object) -> bytes:
        try:
            return cast(bytes, self._around(self._codec.encode, key))
        except InvalidError as error:
            raise InvalidError(f"{self._label}: {error}") from None

    def encoded(self, token: Token) -> bytes:
        """The bytes that a token stands for."""
        return self._codec.encode(token) if self.plain else token

    def tokens(self, keys: object, *, like: object = None) -> list[Token]:
        """Of all rows of an Arrow array or, where a key is several columns, of a batch or table."""
        arrow = pa.struct(list(self.columns)) if self.is_row else self.columns[0].type
        given = rows(keys, arrow, self._label, like=like)
        if self.is_row:
            names = self.columns.names
            given = [tuple(cast(dict[str, object], row)[name] for name in names) for row in given]
        return [self.token(key) for key in given]


def user_columns(arrow: pa.DataType) -> pa.Schema:
    """The columns of a map's or a sorted state's own keys."""
    if pa.types.is_struct(arrow):
        return pa.schema(list(arrow))
    return pa.schema([pa.field("key", arrow, nullable=False)])


def rows(array: object, arrow: pa.DataType, label: str, *, like: object = None) -> list[object]:
    """The rows of an Arrow array of that type as Python objects; a batch or table is of structs.

    Raises `InvalidError` for another type, with both named, and where there are not as many as in
    `like`.
    """
    if isinstance(array, pa.Table | pa.RecordBatch):
        names = [field.name for field in arrow] if pa.types.is_struct(arrow) else array.column_names
        missing = [name for name in names if name not in array.column_names]
        if missing:
            raise InvalidError(f"{label}: column '{missing[0]}' is missing")
        array = array.select(names).to_struct_array()
    try:
        given = array if isinstance(array, pa.Array | pa.ChunkedArray) else pa.array(array)
        given.validate(full=True)
    except pa.ArrowException as error:
        raise InvalidError(f"{label}: malformed Arrow array: {error}") from None
    if like is not None and len(given) != len(cast(Sized, like)):
        raise InvalidError(f"{label}: {len(given)} given for {len(cast(Sized, like))} keys")
    if given.type != arrow:
        if not _same_values(given.type, arrow):
            raise InvalidError(f"{label}: {given.type} given, {arrow} wanted")
        given = given.cast(arrow)
    return cast(list[object], given.to_pylist())


def _same_values(a: pa.DataType, b: pa.DataType) -> bool:
    """Whether two types are but two layouts of the same values."""
    if pa.types.is_dictionary(a):
        return _same_values(a.value_type, b)
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        return a.num_fields == b.num_fields and all(
            x.name == y.name and _same_values(x.type, y.type) for x, y in zip(a, b, strict=True)
        )
    return a == b or {str(a), str(b)} <= _STRINGS or {str(a), str(b)} <= _BINARIES


_STRINGS = {"string", "large_string", "string_view"}
_BINARIES = {"binary", "large_binary", "binary_view"}


def array_of(values: list[object], arrow: pa.DataType) -> pa.Array:
    """An Arrow array of what a state gave."""
    return pa.array(values, arrow)


def _same(token: Token) -> object:
    return token


def _sorts_as_its_bytes(arrow: pa.DataType) -> bool:
    types = pa.types
    tests: list[Callable[[pa.DataType], bool]] = [
        types.is_integer,
        types.is_boolean,
        types.is_string,
        types.is_large_string,
        types.is_binary,
        types.is_large_binary,
        types.is_fixed_size_binary,
    ]
    return any(test(arrow) for test in tests)
