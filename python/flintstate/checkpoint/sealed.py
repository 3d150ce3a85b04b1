"""The envelope of everything small that is stored; docs/format/handle.md specifies it."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from flintstate import _core
from flintstate.errors import CorruptionError, InvalidError

__all__ = [
    "BASE",
    "CLAIM",
    "HANDLE",
    "INDEX",
    "PIN",
    "UPLOAD",
    "id_of",
    "natural",
    "seal",
    "seal_json",
    "unseal",
    "unseal_json",
    "unseal_whole_ones",
]

HANDLE, BASE, INDEX, CLAIM, PIN = b"HNDL", b"BASE", b"INDX", b"CLAM", b"PINS"
UPLOAD = b"UPLD"  # in local directories only

_T = TypeVar("_T")

_MAGIC = b"flnt"
_VERSION = 1
_HEAD = struct.Struct("<4s4sBII")
_ID = re.compile("[0-9a-f]{32}")
_COVERED = slice(4, 13)  # what the checksum covers, besides the body


def seal(kind: bytes, body: bytes) -> bytes:
    """The body in its envelope."""
    head = _HEAD.pack(_MAGIC, kind, _VERSION, len(body), 0)
    crc = _core.crc32c(body, _core.crc32c(head[_COVERED]))
    return head[:-4] + struct.pack("<I", crc) + body


def unseal(kind: bytes, data: bytes, where: str) -> bytes:
    """The body; raises CorruptionError or InvalidError, naming `where`."""
    if len(data) < _HEAD.size or data[:4] != _MAGIC:
        raise CorruptionError(f"{where}: not an object of flintstate ({len(data)} bytes)")
    _, found, version, size, crc = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    if len(body) != size or _core.crc32c(body, _core.crc32c(data[_COVERED])) != crc:
        raise CorruptionError(
            f"{where}: damaged: length or checksum do not fit its {len(data)} bytes"
        )
    if version > _VERSION:
        raise InvalidError(
            f"{where}: format {version}, this flintstate reads {_VERSION}: update it"
        )
    if found != kind:
        raise CorruptionError(f"{where}: holds {found!r} where {kind!r} is expected")
    return body


def seal_json(kind: bytes, content: dict[str, object]) -> bytes:
    """JSON in an envelope."""
    return seal(kind, json.dumps(content, separators=(",", ":")).encode())


def unseal_json(kind: bytes, data: bytes, where: str, read: Callable[[Any], _T]) -> _T:
    """What `read` makes of JSON out of its envelope.

    A right checksum says who wrote the bytes, and no more: what `read` stumbles on (a part that is
    missing, or another than it should be) is a CorruptionError that names `where`, as damage is.
    """
    body = unseal(kind, data, where)
    try:
        return read(json.loads(body))
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as e:
        raise CorruptionError(
            f"{where}: its content is not that of {kind.decode()!r}: {type(e).__name__}: {e}"
        ) from e


def unseal_whole_ones(
    kind: bytes, data: bytes, where: str, read: Callable[[Any], _T]
) -> Iterator[_T]:
    """What `read` makes of envelopes in a row, up to the first that is damaged or cut short."""
    while len(data) >= _HEAD.size:
        end = _HEAD.size + _HEAD.unpack_from(data)[3]
        try:
            yield unseal_json(kind, data[:end], where, read)
        except (CorruptionError, InvalidError):
            return
        data = data[end:]


def natural(value: object) -> int:
    """A number that has room in 8 bytes; raises ValueError for anything else."""
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise ValueError(f"{value!r} is no number from 0 to 2^64 - 1")
    return value


def id_of(value: object) -> bytes:
    """An id out of its hexadecimal digits; raises ValueError for anything else."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError(f"{value!r} is no id")
    return bytes.fromhex(value)
