"""Bases: a backend's own files in a storage. docs/format/handle.md specifies the manifest.

An upload works from a directory of hard links, writes down each step there, and can be continued by
another process after any death of the first.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import pyarrow as pa

from flintstate.checkpoint.handle import Base, Groups, Handle, Reference
from flintstate.checkpoint.locking import FileLock
from flintstate.checkpoint.sealed import BASE, seal_json, unseal_json
from flintstate.checkpoint.storage import Storage, storage_errors
from flintstate.errors import CorruptionError, StorageError

__all__ = ["ADOPTION_AGE_MAX_S", "Manifest", "Upload", "restore_base"]

ADOPTION_AGE_MAX_S = 1800.0  # half of what a collector leaves alone

_PIECE = 1 << 20


@dataclass(frozen=True)
class StoredFile:
    """A file of a store's directory, and the object that holds it, compressed with zstd."""

    name: str
    size: int
    digest: str
    object: str
    stored: int


@dataclass(frozen=True)
class Manifest:
    """What a base consists of, and the handle at which it was taken."""

    version: bytes
    last_sequence: int
    files: tuple[StoredFile, ...]
    previous: Handle

    @staticmethod
    def read(storage: Storage, groups: Groups, base: Base) -> Manifest:
        """Raises NotFoundError or CorruptionError, naming the object."""
        data = base.manifest.read(storage, groups, "base")
        name = groups.name("base", base.manifest.id)
        content = unseal_json(BASE, data, name)
        return Manifest(
            bytes.fromhex(content["version"]),
            content["last_sequence"],
            tuple(StoredFile(**file) for file in content["files"]),
            Handle.from_bytes(base64.b64decode(content["previous"]), name),
        )

    def publish(self, storage: Storage, groups: Groups) -> Base:
        content: dict[str, object] = {
            "version": self.version.hex(),
            "last_sequence": self.last_sequence,
            "files": [asdict(file) for file in self.files],
            "previous": base64.b64encode(self.previous.to_bytes()).decode(),
        }
        reference = Reference.publish(storage, groups, "base", seal_json(BASE, content))
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


class Upload:
    """The upload of one base: `files/` with hard links, `plan`, `steps`, and at its end `done`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def files(self) -> Path:
        return self.directory / "files"

    @staticmethod
    def all(parent: Path) -> Iterator[Upload]:
        """Those that were begun there; half-made ones are removed."""
        for directory in sorted(parent.glob("*")):
            if (directory / "plan").exists():
                yield Upload(directory)
            else:
                shutil.rmtree(directory, ignore_errors=True)

    @staticmethod
    def plan(directory: Path, handle: Handle) -> Upload:
        """Begins an upload of what `files/` holds, which is the handle's version."""
        _write_whole(directory / "plan", handle.to_bytes())
        return Upload(directory)

    def handle(self) -> Handle:
        """What is being uploaded."""
        return Handle.from_bytes((self.directory / "plan").read_bytes(), str(self.directory))

    def age_s(self) -> float:
        return time.time() - (self.directory / "plan").stat().st_mtime

    def result(self) -> Base | None:
        """The uploaded base; None while there is still something to do."""
        try:
            content = json.loads((self.directory / "done").read_text())
        except FileNotFoundError:
            return None
        manifest = Reference(bytes.fromhex(content["id"]), content["size"], content["crc"])
        handle = self.handle()
        return Base(manifest, handle.version, handle.last_sequence, content["stored"])

    def run(self, storage: Storage, *, wait_s: float = 0.0) -> Base | None:
        """Uploads what is left to upload; None where another process is at it."""
        with FileLock(self.directory / "lock").held(wait_s) as mine:
            if not mine:
                return None
            return self.result() or self._finish(storage)

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def _finish(self, storage: Storage) -> Base:
        handle = self.handle()
        known = self._known(storage, handle)
        files = []
        with open(self.directory / "steps", "a") as steps:
            for path in sorted(self.files.iterdir()):
                size, digest = path.stat().st_size, _digest(path)
                file = known.get((path.name, size, digest)) or known.get(("", size, digest))
                if file is None:
                    file = _store(storage, handle.groups, path, size, digest)
                    steps.write(json.dumps(asdict(file)) + "\n")
                    steps.flush()
                files.append(StoredFile(path.name, size, digest, file.object, file.stored))
        manifest = Manifest(handle.version, handle.last_sequence, tuple(files), handle)
        base = manifest.publish(storage, handle.groups)
        reference = base.manifest
        content = {"id": reference.id.hex(), "size": reference.size, "crc": reference.crc}
        _write_whole(self.directory / "done", json.dumps(content | {"stored": base.size}).encode())
        return base

    def _known(self, storage: Storage, handle: Handle) -> dict[tuple[str, int, str], StoredFile]:
        """What need not be uploaded: files of the base before, and of this upload's first life."""
        known: dict[tuple[str, int, str], StoredFile] = {}
        if handle.base is not None:
            for file in Manifest.read(storage, handle.groups, handle.base).files:
                known["", file.size, file.digest] = file
        steps = self.directory / "steps"
        for line in steps.read_text().splitlines(keepends=True) if steps.exists() else []:
            if line.endswith("\n"):
                file = StoredFile(**json.loads(line))
                known[file.name, file.size, file.digest] = file
        return known


def _store(storage: Storage, groups: Groups, path: Path, size: int, digest: str) -> StoredFile:
    object_id, stored = secrets.token_bytes(16), 0
    codec = pa.Codec("zstd", compression_level=1)
    with storage.writable(groups.name("file", object_id)) as target, open(path, "rb") as source:
        while piece := source.read(_PIECE):
            stored += target.write(codec.compress(piece, asbytes=True))
    return StoredFile(path.name, size, digest, object_id.hex(), stored)


def _fetch(storage: Storage, groups: Groups, file: StoredFile, directory: Path) -> None:
    name = groups.name("file", bytes.fromhex(file.object))
    if os.sep in file.name or file.name in (".", ".."):
        raise CorruptionError(f"{storage.root}/{name}: its manifest calls it {file.name!r}")
    digest = hashlib.blake2b(digest_size=16)
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
            while piece := unpacked.read(_PIECE):
                yield piece
    except OSError as error:
        if error.errno is not None:  # the system's, and not the decompressor's
            raise StorageError(f"{where}: {error.strerror}") from error
        raise CorruptionError(f"{where}: damaged: {error}") from error


def _write_all(file: io.FileIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _write_whole(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
