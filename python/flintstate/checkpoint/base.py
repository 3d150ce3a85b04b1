"""Bases: a backend's own files in a storage. docs/format/handle.md specifies the manifest."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from flintstate.checkpoint.handle import Base, Groups, Handle, Reference
from flintstate.checkpoint.sealed import BASE, id_of, natural, seal_json, unseal_json
from flintstate.checkpoint.storage import Storage, storage_errors
from flintstate.errors import CorruptionError, StorageError

__all__ = [
    "PIECE",
    "Manifest",
    "StoredFile",
    "copy_store",
    "is_table",
    "new_digest",
    "restore_base",
]

PIECE = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OBJECT = re.compile("[0-9a-f]{32}-[0-9a-f]{16}")
_DIGEST = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True)
class StoredFile:
    """A file of a store's directory, and the object that holds it, compressed with zstd."""

    name: str
    size: int
    digest: str
    object: str
    stored: int

    @staticmethod
    def from_dict(parts: dict[str, Any]) -> StoredFile:
        """Raises ValueError, TypeError or KeyError where it is not one, or leads elsewhere."""
        file = StoredFile(**parts)
        for text, wanted in ((file.name, _NAME), (file.object, _OBJECT), (file.digest, _DIGEST)):
            if not wanted.fullmatch(text):
                raise ValueError(f"{text!r} names no file of a base")
        natural(file.size), natural(file.stored)
        return file


@dataclass(frozen=True)
class Manifest:
    """What a base consists of, and the handle at which it was taken."""

    version: bytes
    last_sequence: int
    files: tuple[StoredFile, ...]
    previous: Handle

    def file_names(self, groups: Groups) -> set[str]:
        """The objects that it names."""
        return {groups.file_name(file.object) for file in self.files}

    @staticmethod
    def read(storage: Storage, groups: Groups, base: Base) -> Manifest:
        """Raises NotFoundError or CorruptionError, naming the object."""
        data = base.manifest.read(storage, groups, "base")
        return Manifest.from_bytes(data, f"{storage.root}/{groups.name('base', base.manifest.id)}")

    @staticmethod
    def from_bytes(data: bytes, name: str) -> Manifest:
        """Raises CorruptionError or InvalidError, naming the object."""

        def read(content: dict[str, Any]) -> Manifest:
            files = tuple(StoredFile.from_dict(file) for file in content["files"])
            if len({file.name for file in files}) < len(files):
                raise ValueError("two files have one name")
            previous = Handle.from_bytes(base64.b64decode(content["previous"]), name)
            last_sequence = natural(content["last_sequence"])
            return Manifest(id_of(content["version"]), last_sequence, files, previous)

        return unseal_json(BASE, data, name, read)

    def publish(self, storage: Storage, groups: Groups, epoch: int) -> Base:
        content: dict[str, object] = {
            "version": self.version.hex(),
            "last_sequence": self.last_sequence,
            "files": [asdict(file) for file in self.files],
            "previous": base64.b64encode(self.previous.to_bytes()).decode(),
        }
        reference = Reference.publish(storage, groups, "base", seal_json(BASE, content), epoch)
        size = sum(file.stored for file in self.files)
        return Base(reference, self.version, self.last_sequence, size)


def restore_base(storage: Storage, handle: Handle, target: Path) -> None:
    """Makes the store's directory from the handle's base; it does not exist before.

    Raises NotFoundError or CorruptionError, naming the object; nothing is left at `target` then.
    """
    assert handle.base is not None
    manifest = Manifest.read(storage, handle.groups, handle.base)
    building = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    building.mkdir(parents=True)
    try:
        for file in manifest.files:
            _fetch(storage, handle.groups, file, building)
        building.rename(target)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def _fetch(storage: Storage, groups: Groups, file: StoredFile, directory: Path) -> None:
    name = groups.file_name(file.object)
    digest = new_digest()
    size = 0
    path = directory / file.name
    with (
        storage.readable(name) as source,
        storage_errors(path),
        open(path, "xb", buffering=0) as target,
    ):
        for piece in _unpacked(source, f"{storage.root}/{name}"):
            size += len(piece)
            if size > file.size:
                break
            digest.update(piece)
            _write_all(target, piece)
    if size != file.size or digest.hexdigest() != file.digest:
        raise CorruptionError(f"{storage.root}/{name}: damaged: its content is not {file.name}")


def _unpacked(source: IO[bytes], where: str) -> Iterator[bytes]:
    """The content in pieces. What goes wrong on the reader's side is none of this one's errors."""
    try:
        with pa.CompressedInputStream(pa.PythonFile(source, "r"), "zstd") as unpacked:
            while piece := unpacked.read(PIECE):
                yield piece
    except OSError as error:
        if error.errno is not None:  # the system's, and not the decompressor's
            raise StorageError(f"{where}: {error.strerror}") from error
        raise CorruptionError(f"{where}: damaged: {error}") from error


def _write_all(file: io.FileIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def copy_store(directory: Path, target: Path) -> None:
    """Copies a closed store; its table files, which never change, are linked where that works."""
    with storage_errors(target):
        target.mkdir()
        for path in directory.iterdir():
            _link_or_copy(path, target / path.name)


def _link_or_copy(source: Path, target: Path) -> None:
    if is_table(source.name):
        with contextlib.suppress(OSError):  # no hard links here
            return os.link(source, target)
    shutil.copyfile(source, target)


def is_table(name: str) -> bool:
    """Whether a store's file is one whose every block has a checksum, and that never changes."""
    return name.endswith(".sst")


def new_digest() -> hashlib.blake2b:
    """What a file's digest is made with."""
    return hashlib.blake2b(digest_size=16)
