"""Arrow arrays of one row and more that no library would make, each wrong in one way."""

import struct
from collections.abc import Callable

import pyarrow as pa


def batch(**columns: pa.Array) -> pa.Array:
    """What a record batch is to Arrow's C interface, made without a look at its columns."""
    length = min(len(column) for column in columns.values())
    kind = pa.struct([(name, column.type) for name, column in columns.items()])
    return pa.Array.from_buffers(kind, length, [None], children=list(columns.values()))


def offsets(*ends: int) -> pa.Buffer:
    return pa.py_buffer(struct.pack(f"<{len(ends)}i", *ends))


def long_offsets(*ends: int) -> pa.Buffer:
    return pa.py_buffer(struct.pack(f"<{len(ends)}q", *ends))


def text(*ends: int, data: bytes = b"abcdef") -> pa.Array:
    return pa.Array.from_buffers(
        pa.string(), len(ends) - 1, [None, offsets(*ends), pa.py_buffer(data)]
    )


def large_text(*ends: int) -> pa.Array:
    return pa.Array.from_buffers(
        pa.large_string(), len(ends) - 1, [None, long_offsets(*ends), pa.py_buffer(b"abcdef")]
    )


def view(size: int, buffer: int, offset: int) -> pa.Array:
    one = struct.pack("<i4sii", size, b"abcd", buffer, offset)
    good = struct.pack("<i12s", 1, b"a")
    return pa.Array.from_buffers(
        pa.string_view(), 2, [None, pa.py_buffer(good + one), pa.py_buffer(b"x" * 64)]
    )


def names(*indices: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int32()), pa.array(["a", "b"]), safe=False
    )


STRINGS: dict[str, Callable[[], pa.Array]] = {
    "offsets that descend": lambda: text(0, 5, 2),
    "large offsets that descend": lambda: large_text(0, 1 << 40, 2),
    "a view into no buffer": lambda: view(40, 7, 0),
    "a view past its buffer": lambda: view(40, 0, 60),
    "a view of less than nothing": lambda: view(-5, 0, 0),
    "an index past the dictionary": lambda: names(0, 1 << 20),
    "an index before the dictionary": lambda: names(0, -3),
    "bytes that are not UTF-8": lambda: text(0, 2, 4, data=b"ab\xff\xfe"),
    "a character that is cut": lambda: text(0, 3, 4, data="aé".encode() + b"\xc3"),
    "a surrogate": lambda: text(0, 1, 4, data=b"a\xed\xa0\x80"),
}
"""Two strings each, or what passes for them."""


def lists(*ends: int) -> pa.Array:
    return pa.Array.from_buffers(
        pa.list_(pa.int64()), len(ends) - 1, [None, offsets(*ends)], children=[pa.array([1, 2, 3])]
    )


LISTS: dict[str, Callable[[], pa.Array]] = {
    "lists that descend": lambda: lists(0, 3, 1),
    "a string in a list that is not UTF-8": lambda: pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), text(0, 1, 2, data=b"a\xff")
    ),
}
"""Two lists each, of numbers or strings."""
