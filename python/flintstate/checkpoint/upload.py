"""The upload of a base, which the commits after it may adopt.

It works from a directory of hard links, writes down each step there, and can be continued by
another process after any death of the first. All of that is a cache: what is damaged there, or does
not fit the storage any more, is removed and begun anew. In the storage a pin keeps collectors from
the files; docs/format/handle.md (Uploads) says how.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from flintstate import _core
from flintstate.checkpoint.base import PIECE, Manifest, StoredFile, is_table, new_digest
from flintstate.checkpoint.handle import Base, Handle, new_id
from flintstate.checkpoint.locking import FileLock
from flintstate.checkpoint.rivals import newest_epoch, refuse_rivals
from flintstate.checkpoint.sealed import (
    PIN,
    UPLOAD,
    id_of,
    natural,
    seal_json,
    unseal_json,
    unseal_whole_ones,
)
from flintstate.checkpoint.storage import Storage, storage_errors
from flintstate.errors import CorruptionError, FlintError, InvalidError, NotFoundError

__all__ = ["Upload", "pinned_version"]


@dataclass(frozen=True)
class _Plan:
    """What is to be uploaded: the handle's version, as these files (by name) of these sizes."""

    id: bytes
    handle: Handle
    files: dict[str, int]
    digests: dict[str, str]
    """Of all but table files, whose blocks have checksums that are verified instead."""

    @staticmethod
    def read(path: Path) -> _Plan:
        def plan(content: dict[str, Any]) -> _Plan:
            handle = Handle.from_bytes(base64.b64decode(content["handle"]), str(path))
            files = {name: natural(size) for name, size in content["files"].items()}
            digests = {name: str(digest) for name, digest in content.get("digests", {}).items()}
            return _Plan(id_of(content["id"]), handle, files, digests)

        return unseal_json(UPLOAD, path.read_bytes(), str(path), plan)

    def write(self, path: Path) -> None:
        handle = base64.b64encode(self.handle.to_bytes()).decode()
        _write_whole(
            path,
            {"id": self.id.hex(), "handle": handle, "files": self.files, "digests": self.digests},
        )


class Upload:
    """The upload of one base: `files/` with hard links, `plan`, `steps`, and at its end `done`."""

    def __init__(self, directory: Path, plan: _Plan) -> None:
        self.directory = directory
        self.damaged = False
        """Whether a file of the store's was found to be."""
        self._plan = plan

    @property
    def files(self) -> Path:
        return self.directory / "files"

    @property
    def handle(self) -> Handle:
        """What is being uploaded."""
        return self._plan.handle

    @staticmethod
    def all(parent: Path) -> Iterator[Upload]:
        """Those that were begun there; half-made and damaged ones are removed."""
        for directory in sorted(parent.glob("*")):
            try:
                yield Upload(directory, _Plan.read(directory / "plan"))
            except (CorruptionError, InvalidError, OSError):
                shutil.rmtree(directory, ignore_errors=True)

    @staticmethod
    def begin(directory: Path, handle: Handle) -> Upload:
        """Begins an upload of what `files/` holds, which is the handle's version."""
        paths = sorted((directory / "files").iterdir())
        sizes = {path.name: path.stat().st_size for path in paths}
        digests = {path.name: _digest(path) for path in paths if not is_table(path.name)}
        plan = _Plan(new_id(handle.batch), handle, sizes, digests)
        with storage_errors(directory):
            plan.write(directory / "plan")
        return Upload(directory, plan)

    def continues(self, handle: Handle, versions: set[bytes]) -> bool:
        """Whether a commit after `handle`, with these versions behind its base, may adopt it.

        Over another base it may not: that names no longer all of the files that this one shares.
        """
        return self.handle.version in versions and self.handle.base == handle.base

    def done(self) -> bool:
        """Whether nothing is left to upload."""
        return self._result() is not None

    def run(self, storage: Storage, *, wait_s: float = 0.0) -> bool:
        """Uploads what is left to upload; False where another process is at it.

        Raises CorruptionError or NotFoundError where it can't be finished; it is removed then.
        """
        with FileLock(self.directory / "lock").held(wait_s) as mine:
            if not mine:
                return False
            try:
                if not self.done():
                    with storage_errors(self.directory):
                        self._finish(storage)
            except (CorruptionError, NotFoundError):
                self.remove(storage)
                raise
            return True

    def adopt(self, storage: Storage, committed: Handle, epoch: int) -> Base | None:
        """The base, for a commit after `committed`, by an attempt of that epoch.

        None where it is not done, or not (or no longer) all in this storage. Raises InvalidError
        where another query commits to the same state.
        """
        files = self._result()
        if files is None:
            return None
        groups = self.handle.groups
        found = list(storage.list(groups.prefix))
        refuse_rivals(storage, [committed], found, newest_epoch(found))
        stored = {info.name: info.size for info in found}
        if any(stored.get(groups.file_name(file.object)) != file.stored for file in files):
            return None
        manifest = Manifest(self.handle.version, self.handle.last_sequence, files, self.handle)
        # The manifest, which is of our epoch, keeps collectors from the files from now on. Whoever
        # did not see it had removed the pin before, which is why this is asked for last.
        base = manifest.publish(storage, groups, epoch)
        try:
            storage.read(self._pin)
        except NotFoundError:
            return None
        return base

    def remove(self, storage: Storage) -> None:
        """Gives it up, or ends it once its base is committed."""
        with contextlib.suppress(FlintError):  # a pin too much costs some room
            storage.delete(self._pin)
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def _pin(self) -> str:
        return self.handle.groups.name("pin", self._plan.id)

    def _result(self) -> tuple[StoredFile, ...] | None:
        try:
            path = self.directory / "done"
            return unseal_json(UPLOAD, path.read_bytes(), str(path), _files)
        except (CorruptionError, InvalidError, OSError):
            return None

    def _finish(self, storage: Storage) -> None:
        steps = self._steps()
        self._hold_pin(storage, begun=bool(steps))
        known = self._known(storage, steps)
        files = []
        with open(self.directory / "steps", "wb") as log:  # without what is damaged in it
            log.write(b"".join(_step(file) for file in steps))
            for name, size in self._plan.files.items():
                digest = self._check(name, size)
                file = known.get((name, size, digest)) or known.get(("", size, digest))
                if file is None:
                    file = self._store(storage, name, size, digest)
                    log.write(_step(file))
                    log.flush()
                files.append(StoredFile(name, size, digest, file.object, file.stored))
        _write_whole(self.directory / "done", {"files": [asdict(file) for file in files]})

    def _hold_pin(self, storage: Storage, *, begun: bool) -> None:
        try:
            storage.read(self._pin)
        except NotFoundError:
            if begun:
                raise
            content: dict[str, object] = {"version": self.handle.version.hex()}
            storage.publish(self._pin, seal_json(PIN, content))

    def _steps(self) -> list[StoredFile]:
        """What the upload's lives before this one have uploaded."""
        path = self.directory / "steps"
        data = path.read_bytes() if path.exists() else b""
        return list(unseal_whole_ones(UPLOAD, data, str(path), StoredFile.from_dict))

    def _known(
        self, storage: Storage, steps: list[StoredFile]
    ) -> dict[tuple[str, int, str], StoredFile]:
        """What need not be uploaded: files of the base before, and of this upload's steps."""
        known: dict[tuple[str, int, str], StoredFile] = {}
        if self.handle.base is not None:
            for file in Manifest.read(storage, self.handle.groups, self.handle.base).files:
                known["", file.size, file.digest] = file
        return known | {(step.name, step.size, step.digest): step for step in steps}

    def _check(self, name: str, size: int) -> str:
        """The digest of a file that is as it was planned."""
        path = self.files / name
        try:
            found, digest = path.stat().st_size, _digest(path)
        except FileNotFoundError:
            raise CorruptionError(f"{path}: it is gone, and its base can't be uploaded") from None
        if found != size:
            raise CorruptionError(f"{path}: {found} bytes, {size} were planned")
        if self._plan.digests.get(name, digest) != digest:
            raise CorruptionError(f"{path}: damaged: it was another one when it was planned")
        if is_table(name):
            self._verify(path)
        return digest

    def _verify(self, path: Path) -> None:
        """What is damaged here shall not become what everyone restores from."""
        try:
            _core.verify_table_file(str(path))
        except CorruptionError:
            self.damaged = True
            raise

    def _store(self, storage: Storage, name: str, size: int, digest: str) -> StoredFile:
        part = f"{self._plan.id.hex()}-{secrets.token_hex(8)}"
        stored = 0
        codec = pa.Codec("zstd", compression_level=1)
        with (
            storage.writable(self.handle.groups.file_name(part)) as target,
            open(self.files / name, "rb") as source,
        ):
            while piece := source.read(PIECE):
                stored += target.write(codec.compress(piece, asbytes=True))
        return StoredFile(name, size, digest, part, stored)


def pinned_version(storage: Storage, name: str) -> bytes | None:
    """The version that a pin's upload holds; None where the pin is gone."""
    try:
        data = storage.read(name)
    except NotFoundError:
        return None
    return unseal_json(
        PIN, data, f"{storage.root}/{name}", lambda content: id_of(content["version"])
    )


def _files(content: dict[str, Any]) -> tuple[StoredFile, ...]:
    return tuple(StoredFile.from_dict(file) for file in content["files"])


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, new_digest).hexdigest()


def _step(file: StoredFile) -> bytes:
    return seal_json(UPLOAD, asdict(file))


def _write_whole(path: Path, content: dict[str, object]) -> None:
    temporary = path.with_name(f".{path.name}")
    with open(temporary, "wb") as file:
        file.write(seal_json(UPLOAD, content))
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
