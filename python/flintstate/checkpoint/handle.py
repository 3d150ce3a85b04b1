"""Handles: what names a version of a range of key groups. docs/format/handle.md specifies them."""

from __future__ import annotations

import re
import secrets
import struct
from dataclasses import dataclass, replace

from flintstate import _core
from flintstate.checkpoint.sealed import (
    HANDLE,
    INDEX,
    id_of,
    natural,
    seal,
    seal_json,
    unseal,
    unseal_json,
)
from flintstate.checkpoint.storage import Storage
from flintstate.errors import CorruptionError, InvalidError

__all__ = [
    "EMPTY_VERSION",
    "Base",
    "Groups",
    "Handle",
    "ObjectName",
    "Reference",
    "Segment",
    "epoch_of",
    "new_id",
    "new_state_id",
]

EMPTY_VERSION = bytes(16)
ROOT_BYTES_MAX = 384
SEGMENTS_MAX = 10

_FIXED = struct.Struct("<B16sHHHq16sQH")
_REFERENCE = struct.Struct("<16sQI")
_BASE = struct.Struct("<16sQQ")
_SEGMENT = struct.Struct("<16sQIQ")
_BASE_BIT, _INDEX_BIT = 1, 2
_EPOCH_BYTES = 6
_NAME = re.compile(
    r"(groups/\d{5}-\d{5}/)(log|index|base|pin|file)/([0-9a-f]{32})(?:-[0-9a-f]{16})?"
)


def new_id(epoch: int) -> bytes:
    """A version or an object's id, that no other attempt has: its attempt's epoch, and chance."""
    return epoch.to_bytes(_EPOCH_BYTES, "big") + secrets.token_bytes(16 - _EPOCH_BYTES)


def epoch_of(object_id: bytes) -> int:
    """The epoch of the attempt that made an id."""
    return int.from_bytes(object_id[:_EPOCH_BYTES], "big")


def new_state_id() -> bytes:
    """What tells a state from all others."""
    return secrets.token_bytes(16)


@dataclass(frozen=True)
class Groups:
    """A range of key groups, `last` included, and where its objects are."""

    max_parallelism: int
    first: int
    last: int

    @property
    def prefix(self) -> str:
        return f"groups/{self.first:05d}-{self.last:05d}/"

    def name(self, kind: str, object_id: bytes) -> str:
        """Names an object: `log`, `index`, `base` or `pin`."""
        return f"{self.prefix}{kind}/{object_id.hex()}"

    def file_name(self, part: str) -> str:
        """Names a base's file: `part` is its upload's id, `-`, and 16 digits of its own."""
        return f"{self.prefix}file/{part}"


@dataclass(frozen=True)
class ObjectName:
    """What the name of an object says."""

    prefix: str
    kind: str
    id: bytes
    """Its own, or for a file that of its upload."""

    @staticmethod
    def parse(name: str) -> ObjectName | None:
        """None where it is no name of ours."""
        found = _NAME.fullmatch(name)
        return found and ObjectName(found[1], found[2], bytes.fromhex(found[3]))

    @property
    def epoch(self) -> int:
        """That of the attempt that wrote the object."""
        return epoch_of(self.id)


@dataclass(frozen=True)
class Reference:
    """An object, and what its bytes must be."""

    id: bytes
    size: int
    crc: int

    @staticmethod
    def publish(storage: Storage, groups: Groups, kind: str, data: bytes, epoch: int) -> Reference:
        """Writes a new object under a name of its own."""
        reference = Reference.of(new_id(epoch), data)
        storage.publish(groups.name(kind, reference.id), data)
        return reference

    @staticmethod
    def of(object_id: bytes, data: bytes) -> Reference:
        return Reference(object_id, len(data), _core.crc32c(data))

    def read(self, storage: Storage, groups: Groups, kind: str) -> bytes:
        """The object's bytes, checked."""
        name = groups.name(kind, self.id)
        data = storage.read(name)
        if len(data) != self.size or _core.crc32c(data) != self.crc:
            raise CorruptionError(
                f"{storage.root}/{name}: damaged: {len(data)} bytes, {self.size} were written"
            )
        return data


@dataclass(frozen=True)
class Base:
    """A base manifest, and the version that its files hold."""

    manifest: Reference
    version: bytes
    last_sequence: int
    size: int


@dataclass(frozen=True)
class Segment:
    """One changelog file: what led from the version before it to this one."""

    version: bytes
    size: int
    crc: int
    last_sequence: int

    def as_list(self) -> list[object]:
        return [self.version.hex(), self.size, self.crc, self.last_sequence]

    @staticmethod
    def from_list(parts: list[object]) -> Segment:
        """Raises ValueError or TypeError where it is not what `as_list` gives."""
        version, *numbers = parts
        return Segment(id_of(version), *map(natural, numbers))


@dataclass(frozen=True, kw_only=True)
class Handle:
    """A committed version of one range of key groups."""

    state_id: bytes
    root: str
    groups: Groups
    batch: int
    version: bytes
    last_sequence: int
    base: Base | None = None
    index: Reference | None = None
    recent: tuple[Segment, ...] = ()

    def to_bytes(self) -> bytes:
        root = self.root.encode()
        if len(root) > ROOT_BYTES_MAX:
            raise InvalidError(
                f"state directory {self.root}: its path is above 384 bytes: shorten it"
            )
        flags = (self.base is not None) * _BASE_BIT | (self.index is not None) * _INDEX_BIT
        g = self.groups
        parts = [
            _FIXED.pack(
                flags, self.state_id, g.max_parallelism, g.first, g.last, self.batch,
                self.version, self.last_sequence, len(root),
            ),
            root,
        ]  # fmt: skip
        if self.base is not None:
            parts.append(_pack(self.base.manifest))
            parts.append(_BASE.pack(self.base.version, self.base.last_sequence, self.base.size))
        if self.index is not None:
            parts.append(_pack(self.index))
        parts.append(struct.pack("<H", len(self.recent)))
        parts += [_SEGMENT.pack(s.version, s.size, s.crc, s.last_sequence) for s in self.recent]
        return seal(HANDLE, b"".join(parts))

    @staticmethod
    def from_bytes(data: bytes, where: str = "handle") -> Handle:
        """Raises CorruptionError where the bytes are damaged, InvalidError where they are newer."""
        body = unseal(HANDLE, data, where)
        try:
            return _parse(body)
        except (struct.error, UnicodeDecodeError, ValueError):
            raise CorruptionError(f"{where}: its parts do not fit its {len(data)} bytes") from None

    @property
    def base_version(self) -> bytes:
        """Where its chain begins."""
        return self.base.version if self.base else EMPTY_VERSION

    @property
    def newest_object(self) -> str | None:
        """The name of the object that was written last of those it names."""
        if self.recent:
            return self.groups.name("log", self.recent[-1].version)
        if self.index is not None:
            return self.groups.name("index", self.index.id)
        return self.groups.name("base", self.base.manifest.id) if self.base else None

    def segments(self, storage: Storage) -> list[Segment]:
        """All segments since the base, in order."""
        indexed = read_index(storage, self.groups, self.index) if self.index else []
        return [*indexed, *self.recent]

    def with_segment(self, storage: Storage, segment: Segment, batch: int) -> Handle:
        """The next version. Writes an index object where the handle is full."""
        handle = self
        if len(self.recent) == SEGMENTS_MAX:
            index = _write_index(storage, self.groups, self.segments(storage), batch)
            handle = replace(self, index=index, recent=())
        return replace(
            handle,
            recent=(*handle.recent, segment),
            version=segment.version,
            last_sequence=segment.last_sequence,
            batch=batch,
        )

    def with_base(self, storage: Storage, base: Base, batch: int) -> Handle:
        """The same version over another base, whose version is on this handle's chain."""
        left = self.segments(storage)
        while left and base.version in (segment.version for segment in left):
            left.pop(0)
        index = None
        if len(left) > SEGMENTS_MAX:
            index, left = _write_index(storage, self.groups, left, batch), []
        return replace(self, base=base, index=index, recent=tuple(left), batch=batch)


def read_index(storage: Storage, groups: Groups, index: Reference) -> list[Segment]:
    """The segments that an index object lists."""
    data = index.read(storage, groups, "index")
    where = f"{storage.root}/{groups.name('index', index.id)}"
    return unseal_json(
        INDEX, data, where, lambda content: [Segment.from_list(s) for s in content["segments"]]
    )


def _write_index(
    storage: Storage, groups: Groups, segments: list[Segment], epoch: int
) -> Reference:
    content: dict[str, object] = {"segments": [s.as_list() for s in segments]}
    return Reference.publish(storage, groups, "index", seal_json(INDEX, content), epoch)


def _pack(reference: Reference) -> bytes:
    return _REFERENCE.pack(reference.id, reference.size, reference.crc)


def _parse(body: bytes) -> Handle:
    flags, state_id, parallelism, first, last, batch, version, sequence, size = _FIXED.unpack_from(
        body
    )
    at = _FIXED.size + size
    root = body[_FIXED.size : at].decode()
    base = index = None
    if flags & _BASE_BIT:
        manifest = Reference(*_REFERENCE.unpack_from(body, at))
        at += _REFERENCE.size
        base = Base(manifest, *_BASE.unpack_from(body, at))
        at += _BASE.size
    if flags & _INDEX_BIT:
        index = Reference(*_REFERENCE.unpack_from(body, at))
        at += _REFERENCE.size
    (count,) = struct.unpack_from("<H", body, at)
    if len(body) != at + 2 + count * _SEGMENT.size:
        raise ValueError("trailing bytes")
    if flags > _BASE_BIT | _INDEX_BIT or count > SEGMENTS_MAX or not first <= last < parallelism:
        raise ValueError("no handle has such numbers")
    return Handle(
        state_id=state_id, root=root, groups=Groups(parallelism, first, last), batch=batch,
        version=version, last_sequence=sequence, base=base, index=index,
        recent=tuple(Segment(*fields) for fields in _SEGMENT.iter_unpack(body[at + 2 :])),
    )  # fmt: skip
