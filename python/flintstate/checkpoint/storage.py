"""Where checkpoints are kept: every access to it goes through one interface.

Objects are written once, whole, under a name of their own, and never changed: a reader finds an
object complete or not at all, and two attempts never share a name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, cast

from flintstate.errors import InvalidError, NotFoundError, StorageError
from flintstate.paths import PathLike, absolute_path

__all__ = [
    "LocalStorage",
    "ObjectInfo",
    "Storage",
    "make_directory",
    "open_storage",
    "storage_errors",
]

_TEMPORARY = ".writing-"
_FULL = " (the disk is full: free some space, or choose another directory)"
_HINTS = {errno.ENOSPC: _FULL, errno.EDQUOT: _FULL}


@dataclass(frozen=True)
class ObjectInfo:
    """An object as a listing shows it."""

    name: str
    size: int
    modified: float
    """When it was written, by the storage's clock."""


class Storage(Protocol):
    """Named immutable objects. Names are relative, with `/` between their parts."""

    @property
    def root(self) -> str:
        """What `open_storage` opens again, from another process or machine."""

    def publish(self, name: str, data: bytes) -> None:
        """Writes a whole object; it is there, `machine` durable, when this returns.

        Raises InvalidError where the name is taken, StorageError where the system refuses.
        """

    def publish_file(self, name: str, source: str) -> None:
        """Moves a local file into the storage, as `publish` does."""

    def read(self, name: str) -> bytes:
        """A whole object. Raises NotFoundError, with the name."""

    def fetch(self, name: str, target: str) -> None:
        """Copies an object to a local file that does not exist yet."""

    def writable(self, name: str) -> contextlib.AbstractContextManager[IO[bytes]]:
        """A file to write an object into; it is published when the context ends without error."""

    def readable(self, name: str) -> IO[bytes]:
        """An object to read in pieces; the caller closes it."""

    def local_path(self, name: str) -> str | None:
        """Where the object lies in the local file system, or None where it does not."""

    def staging_path(self, name: str) -> str | None:
        """Where to write a local file that `publish_file` then moves at no cost.

        None where any place is as good. Left there, it is collected as an object that lost.
        """

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """All objects whose names begin with `prefix`, which ends in `/` or is empty."""

    def delete(self, name: str) -> None:
        """Removes an object; one that is not there is no error."""

    def now(self) -> float:
        """What the storage's clock says, by which objects are dated: seconds since 1970."""


def open_storage(location: PathLike) -> Storage:
    """Opens a storage by its location: a local directory, made where it does not exist.

    Raises InvalidError for a location of any other kind.
    """
    return LocalStorage(absolute_path(location, "storage"))


class LocalStorage:
    """A directory of a file system that all who use it see.

    Files are written beside their names, synced, put in place by a link or rename, and the
    directory synced.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = Path(os.path.abspath(root))

    @property
    def root(self) -> str:
        return str(self._root)

    def publish(self, name: str, data: bytes) -> None:
        with self.writable(name) as file:
            file.write(data)

    def publish_file(self, name: str, source: str) -> None:
        target = self._path(name)
        with storage_errors(target):
            make_directory(target.parent)
            _sync_path(source)  # where that fails, what a copy would read may not be what we wrote
            try:
                os.link(source, target)
            except FileExistsError:
                raise InvalidError(f"{target}: exists already; a name is written once") from None
            except OSError:  # another device, or no hard links here
                with self.writable(name) as file, open(source, "rb") as content:
                    shutil.copyfileobj(content, file, 1 << 20)
            else:
                _sync_path(target.parent)
            os.unlink(source)

    def read(self, name: str) -> bytes:
        with self.readable(name) as file:
            return file.read()

    def fetch(self, name: str, target: str) -> None:
        with (
            self.readable(name) as source,
            storage_errors(Path(target)),
            open(target, "xb") as file,
        ):
            shutil.copyfileobj(source, file, 1 << 20)

    @contextlib.contextmanager
    def writable(self, name: str) -> Iterator[IO[bytes]]:
        target = self._path(name)
        with storage_errors(target):
            make_directory(target.parent)
            temporary = target.parent / f"{_TEMPORARY}{secrets.token_hex(8)}"
            try:
                with open(temporary, "xb") as file:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                _put_in_place(temporary, target)
            finally:
                temporary.unlink(missing_ok=True)
            _sync_path(target.parent)

    def readable(self, name: str) -> IO[bytes]:
        target = self._path(name)
        with storage_errors(target):
            return cast(IO[bytes], open(target, "rb"))

    def local_path(self, name: str) -> str:
        return str(self._path(name))

    def staging_path(self, name: str) -> str:
        target = self._path(name)
        with storage_errors(target):
            make_directory(target.parent)
        return str(target.parent / f"{_TEMPORARY}{target.name}")

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        for path in sorted(_paths_below(self._root / prefix)):
            with storage_errors(path), contextlib.suppress(FileNotFoundError):
                status = path.stat()
                if stat.S_ISREG(status.st_mode):
                    name = path.relative_to(self._root).as_posix()
                    yield ObjectInfo(name, status.st_size, status.st_mtime)

    def delete(self, name: str) -> None:
        target = self._path(name)
        with storage_errors(target):
            target.unlink(missing_ok=True)

    def now(self) -> float:
        with storage_errors(self._root), tempfile.TemporaryFile(dir=self._root) as file:
            return os.fstat(file.fileno()).st_mtime

    def _path(self, name: str) -> Path:
        parts = name.split("/")
        if any(part in ("", ".", "..") for part in parts):
            raise InvalidError(f"'{name}' is no object's name: it would leave {self._root}")
        return self._root.joinpath(*parts)


def _paths_below(directory: Path) -> Iterator[Path]:
    """All but directories. What can't be looked into is an error, and not empty."""
    with storage_errors(directory):
        for parent, _, names in os.walk(directory, onerror=_refuse_unless_gone):
            yield from (Path(parent, name) for name in names)


def _refuse_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _put_in_place(temporary: Path, target: Path) -> None:
    """Gives the file its name, which no one else may have taken."""
    try:
        try:
            os.link(temporary, target)
        except FileExistsError:
            raise
        except OSError:  # no hard links here: names are random, or claimed by the next line
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.replace(temporary, target)
    except FileExistsError:
        raise InvalidError(f"{target}: exists already; a name is written once") from None


def make_directory(path: Path) -> None:
    """Makes a directory with its parents; their names are `machine` durable when this returns."""
    if path.is_dir():
        return
    make_directory(path.parent)
    with contextlib.suppress(FileExistsError):  # someone was faster
        path.mkdir()
    _sync_path(path.parent)


def _sync_path(path: str | Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turns what the system says into what the caller can do about it."""
    try:
        yield
    except (InvalidError, NotFoundError, StorageError):
        raise
    except FileNotFoundError:
        raise NotFoundError(
            f"{path}: there is no such object; was it deleted, or the storage moved?"
        ) from None
    except OSError as error:
        hint = _HINTS.get(error.errno or 0, "")
        raise StorageError(f"{path}: {error.strerror or error}{hint}", error.errno) from error
