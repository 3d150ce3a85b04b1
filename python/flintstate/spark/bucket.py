"""One bucket's store: for one call, or for several of the same worker's.

The handle in Spark's state is the truth; the local store is a cache of it. It is brought to exactly
the handle's version before it is used, by what is cheapest: nothing, replaying what it lacks, going
back to its undo point (hard links made when it was last opened), or restoring.

After a call that has committed, the store may stay open (keeping.py). Then `rest` ends the call,
and `resume` begins the next one. Whoever wants it meanwhile rings the bell and waits for the lock.

Directory of a bucket:  lock  bell  db-ID/  undo/  uploads/ID/{files/,plan,steps,done}
private/ID/{lock,db/,uploads/}
A store's directory has a name that no other had: what still writes into one that was removed with
all the rest, such as a store that is kept open, never meets the files of its successor.
"""

from __future__ import annotations

import contextlib
import errno
import resource
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from flintstate import _core
from flintstate.checkpoint.background import in_background
from flintstate.checkpoint.base import copy_store, restore_base
from flintstate.checkpoint.handle import EMPTY_VERSION, Groups, Handle, Segment, new_id
from flintstate.checkpoint.locking import Doorbell, FileLock
from flintstate.checkpoint.retention import delete_superseded
from flintstate.checkpoint.storage import Storage
from flintstate.checkpoint.upload import Upload
from flintstate.errors import (
    CorruptionError,
    FlintError,
    InvalidError,
    NotFoundError,
    StorageError,
)
from flintstate.spark.private import PrivatePlace, remove_abandoned
from flintstate.state.times import system_clock

__all__ = ["ADDRESSES_UNLIMITED", "Bucket", "Limits", "empty_handle"]

_LOCK_WAIT_S = 3.0
_STORES = f"db-{'[0-9a-f]' * 16}"
# Files that lie uncompressed in the kernel's page cache are shared by workers, and outlive them.
# RocksDB maps whole files, which an address space with a limit may not have room for.
ADDRESSES_UNLIMITED = resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
_CORRUPT = (CorruptionError, InvalidError, StorageError)
_OUT_OF_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE)


@dataclass(frozen=True)
class Limits:
    """When a bucket's log is long enough for a new base, and how many batches stay readable."""

    log_bytes_min: int = 16 << 20
    log_segments_max: int = 100
    batches_retained: int = 100

    def log_outgrown(self, handle: Handle, segments: list[Segment], times: int = 1) -> bool:
        """Whether the log since the base is above `times` its bound."""
        base_bytes = handle.base.size if handle.base else 0
        log_bytes = sum(segment.size for segment in segments)
        return (
            log_bytes > times * max(self.log_bytes_min, base_bytes // 2)
            or len(segments) > times * self.log_segments_max
        )


class _Clock:
    """The clock of the call that is under way, for a store that outlives it."""

    def __init__(self) -> None:
        self.ask: Callable[[], int] = system_clock

    def __call__(self) -> int:
        return self.ask()


class Bucket:
    """An open bucket. One thread at a time; `close` in the end, whatever happened."""

    def __init__(
        self, storage: Storage, local: Path, key_schema: pa.Schema, handle: Handle,
        limits: Limits | None = None, *, clock: Callable[[], int] | None = None,
    ) -> None:  # fmt: skip
        self._storage = storage
        self._local = local
        self._key_schema = key_schema
        self._handle = handle
        self._opened_at = handle.version
        self._limits = limits or Limits()
        self._clock = _Clock()
        self._clock.ask = clock or system_clock
        self._segments: list[Segment] | None = None
        self._lock = FileLock(local / "lock")
        self._bell = Doorbell(local / "bell")
        self._shared = self._lock.acquire(_LOCK_WAIT_S, self._bell.ring)
        self._own: PrivatePlace | None = None
        try:
            if self._shared:
                self._clear_damage()
                remove_abandoned(local)
                self._lock.say_busy(True)
            else:
                self._own = PrivatePlace(local)
            self.backend = self._open() if self._own is None else self._open_privately(self._own)
            with _closed_if_it_fails(self.backend):
                self._adopted = self._find_upload() if self._shared else None
        except BaseException:
            self._lock.say_busy(self._lock.left_busy)
            self._leave()
            raise

    @property
    def handle(self) -> Handle:
        """What is committed, as far as this call knows."""
        return self._handle

    @property
    def local(self) -> Path:
        """Its directory."""
        return self._local

    @property
    def private(self) -> bool:
        """Whether someone else held the local store, so that this is a copy of our own."""
        return not self._shared

    def commit(self, batch: int) -> Handle:
        """Writes what has changed to a new segment, and says what names all of it.

        What this returns counts only once Spark has committed it.
        """
        committed = self._handle
        groups, handle = committed.groups, replace(committed, root=self._storage.root)
        version = new_id(batch)
        name = groups.name("log", version)
        path = self._storage.staging_path(name) or str(self._local / f"segment-{version.hex()}")
        try:
            written = self.backend.commit(path, version=version, parent=handle.version)
            if written is not None:
                self._storage.publish_file(name, path)
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise
        if written is not None:
            segment = Segment(version, written.size, written.checksum, written.last_sequence)
            handle = handle.with_segment(self._storage, segment, batch)
            if self._segments is not None:
                self._segments = [*self._segments, segment]
        self._handle = handle
        if self._adopted is not None and self._adopted.done():
            self._adopt(self._adopted, committed, batch)
        return self._rebased_if_overdue(committed, batch)

    def rest(self) -> bool:
        """Ends a call that has committed; False where the bucket is to be closed, and not kept.

        That is so where a base is due, the undo point is before the base, or the store is not in
        the bucket's directory. Whoever rang during the call is heard by the keeper.
        """
        if not self._shared or not self._lock.in_place() or self.backend.damaged:
            return False
        if self._wants_base() or self._opened_at not in self._versions():
            return False
        try:
            self._bell.listen()
        except OSError:
            return False
        self.backend.rest()
        self._lock.say_busy(False)
        if self._adopted is not None and not self._adopted.done():
            in_background(partial(self._upload, self._adopted), awaited=False)
        return True

    def resume(self, handle: Handle, clock: Callable[[], int]) -> bool:
        """Begins another call after `rest`; False where the store is to be closed, not used.

        It is used at the handle's version alone, and while it lies in the bucket's directory.
        """
        if self.backend.version != handle.version or not self._lock.in_place():
            return False
        if self.backend.damaged:
            return False
        if handle != self._handle:
            self._handle = handle
            self._segments = None
        self._lock.say_busy(True)
        self._clock.ask = clock
        self._adopted = self._find_upload()
        return True

    def fileno(self) -> int:
        """The bell's, to be polled while the bucket rests."""
        return self._bell.fileno()

    def wanted(self) -> bool:
        """Whether another process has asked for it."""
        return self._bell.rung()

    def close(self, *, background: bool = False, after: BaseException | None = None) -> None:
        """Lets go of the store. In the background it does not hold up the caller; then a new base
        is uploaded too, where one is due. `after` is what ended the call, where it failed.

        Where damage was met, by the call or by the store itself, the next opening restores.
        """
        if isinstance(after, CorruptionError):
            self._lock.say_damaged()
        elif self._shared:
            self._lock.say_busy(False)
        if background and self._shared:
            in_background(self._wind_up, awaited=True)
        else:
            self._let_go()

    # Opening.

    def _clear_damage(self) -> None:
        """Removes the stores in which damage was met: their files, which may be links to each
        other's, are good for nothing."""
        if self._lock.left_damaged:
            for found in (*self._local.glob("db-*"), self._local / "undo"):
                shutil.rmtree(found, ignore_errors=True)

    def _open(self) -> _core.RocksBackend:
        """The local store, at the handle's version."""
        for found in (*self._local.glob(_STORES), self._local / "undo"):
            if found.exists():
                place = found.rename(self._new_place())
                backend = self._try_local(place)
                if backend is not None:
                    self._make_undo_point(backend)
                    return backend
                shutil.rmtree(place, ignore_errors=True)
        for half_restored in self._local.glob("db-*"):
            shutil.rmtree(half_restored, ignore_errors=True)
        backend = self._restore(self._new_place())
        if self._handle.version != EMPTY_VERSION:
            self._make_undo_point(backend)
        return backend

    def _try_local(self, directory: Path) -> _core.RocksBackend | None:
        """The store that is there; None where it can't be brought to the handle's version."""
        try:
            if self._lock.left_busy:
                _verify(directory)
            backend = self._open_backend(directory)
        except _CORRUPT as error:
            if getattr(error, "errno", None) in _OUT_OF_ROOM:
                raise
            return None  # a damaged cache: what it cached is restored
        there = False
        try:
            there = self._catch_up(backend)
        except FlintError:
            if not backend.damaged:
                raise  # a segment is, and restoring would need it too
        finally:
            if not there:
                backend.close()
        return backend if there else None

    def _catch_up(self, backend: _core.RocksBackend) -> bool:
        """Replays what the store lacks; False where it is not on the handle's chain."""
        if backend.version == self._handle.version:
            self._check_storage()
            return True
        versions = self._versions()
        if backend.version not in versions:
            return False
        for segment in self._chain()[versions.index(backend.version) :]:
            self._replay(backend, segment)
        return True

    def _check_storage(self) -> None:
        """The local store needs nothing of the storage now, but goes on from what is there."""
        name = self._handle.newest_object
        if name is None:
            return
        try:
            self._storage.readable(name).close()
        except NotFoundError:
            raise NotFoundError(
                f"{self._storage.root}/{name}: it is not there, and the checkpoint points to it: "
                "was an older copy of the state directory put back, or a part of it removed? Put "
                "all of it back, or go back with the checkpoint, too"
            ) from None

    def _restore(self, target: Path) -> _core.RocksBackend:
        """A new store at `target` from base and segments."""
        if self._handle.base is not None:
            restore_base(self._storage, self._handle, target)
        backend = self._open_backend(target)
        with _closed_if_it_fails(backend):
            if not self._catch_up(backend):
                raise CorruptionError(
                    f"{self._storage.root}/{self._handle.groups.prefix}: the base holds version "
                    f"{backend.version!r}, which its handle does not name"
                )
        return backend

    def _open_privately(self, own: PrivatePlace) -> _core.RocksBackend:
        return self._restore(own.directory / "db")

    def _open_backend(self, directory: Path) -> _core.RocksBackend:
        groups = self._handle.groups
        return _core.RocksBackend.open(
            str(directory), self._key_schema, groups.max_parallelism, groups.first, groups.last,
            compression="none", mmap=ADDRESSES_UNLIMITED, clock=self._clock,
        )  # fmt: skip

    def _replay(self, backend: _core.RocksBackend, segment: Segment) -> None:
        name = self._handle.groups.name("log", segment.version)
        path = self._storage.local_path(name)
        fetched = None
        if path is None:
            fetched = self._local / f"segment-{secrets.token_hex(8)}"
            self._storage.fetch(name, str(fetched))
        try:
            backend.replay(
                path or str(fetched), size=segment.size, checksum=segment.crc,
                last_sequence=segment.last_sequence,
            )  # fmt: skip
        finally:
            if fetched is not None:
                fetched.unlink(missing_ok=True)

    def _chain(self) -> list[Segment]:
        if self._segments is None:
            self._segments = self._handle.segments(self._storage)
        return self._segments

    def _versions(self) -> list[bytes]:
        """Those from which the handle's own can be reached by replaying."""
        base = self._handle.base.version if self._handle.base else EMPTY_VERSION
        return [base, *(segment.version for segment in self._chain())]

    def _make_undo_point(self, backend: _core.RocksBackend) -> None:
        """Hard links of the store as it is before this call changes it."""
        undo = self._local / "undo"
        with _closed_if_it_fails(backend):
            shutil.rmtree(undo, ignore_errors=True)
            backend.checkpoint(str(undo))

    # Bases.

    def _find_upload(self) -> Upload | None:
        """The upload that the next commit may adopt; others that are of no use are removed."""
        for upload in Upload.all(self._local / "uploads"):
            if upload.continues(self._handle, {s.version for s in self._chain()}):
                return upload
            if self._handle.base is not None and upload.handle.version == self._handle.base.version:
                # Spark has committed it. Tidying up is never worth a failure.
                with contextlib.suppress(FlintError):
                    delete_superseded(self._storage, self._handle, self._limits.batches_retained)
            upload.remove(self._storage)
        return None

    def _adopt(self, upload: Upload, committed: Handle, batch: int) -> None:
        base = upload.adopt(self._storage, committed, batch)
        if base is None:  # its files are not in this storage: another one will be made
            upload.remove(self._storage)
            self._adopted = None
            return
        self._handle = self._handle.with_base(self._storage, base, batch)
        self._segments = None

    def _rebased_if_overdue(self, committed: Handle, batch: int) -> Handle:
        """Uploads a base in the foreground where the log has outgrown twice its bound."""
        if self._limits.log_outgrown(self._handle, self._chain(), times=2):
            upload = self._begin_upload()
            try:
                if upload.run(self._storage):
                    self._adopt(upload, committed, batch)
            finally:
                if self.private:  # nobody else knows of it
                    upload.remove(self._storage)
        return self._handle

    def _begin_upload(self) -> Upload:
        # What the bucket's directory has is the affair of whoever holds its lock.
        parent = self._local if self._own is None else self._own.directory
        directory = parent / "uploads" / secrets.token_hex(8)
        directory.mkdir(parents=True)
        try:
            self.backend.checkpoint(str(directory / "files"))
            self._try_out(directory / "files", directory / "trial")
            return Upload.begin(directory, self._handle)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise

    def _try_out(self, files: Path, trial: Path) -> None:
        """Opens a copy: what can't be opened here shall not become what everyone restores from."""
        copy_store(files, trial)
        backend = self._open_backend(trial)
        version = backend.version
        backend.discard()
        if version != self._handle.version:
            raise CorruptionError(
                f"{files}: damaged: version {version!r} where {self._handle.version!r} was"
            )

    def _wants_base(self) -> bool:
        if self._adopted is not None or self.backend.damaged:
            return False
        return self._limits.log_outgrown(self._handle, self._chain())

    def _wind_up(self) -> None:
        """What may happen after the caller has gone on; whoever opens next does what is left."""
        upload = self._adopted
        with contextlib.suppress(FlintError, OSError):
            try:
                if self._wants_base():
                    upload = self._begin_upload()
            except CorruptionError:
                self._lock.say_damaged()
                raise
            finally:
                self._let_go()
        if upload is not None:
            in_background(partial(self._upload, upload), awaited=False)

    def _upload(self, upload: Upload) -> None:
        # Should it fail, the next call continues; an overdue base fails in the open.
        with contextlib.suppress(FlintError, OSError):
            upload.run(self._storage)
        if upload.damaged:
            lock = FileLock(self._local / "lock")
            if lock.acquire(_LOCK_WAIT_S, self._bell.ring):
                lock.say_damaged()
                lock.release()

    def _let_go(self) -> None:
        with contextlib.ExitStack() as ends:
            ends.callback(self._leave)
            if not self._shared:
                return self.backend.discard()
            try:
                self.backend.close()
            finally:
                if self.backend.damaged:
                    self._lock.say_damaged()

    def _leave(self) -> None:
        with contextlib.ExitStack() as ends:  # the lock is let go of whatever fails
            ends.callback(self._lock.release)
            ends.callback(self._bell.close)
            if self._own is not None:
                self._own.remove()

    def _new_place(self) -> Path:
        return self._local / f"db-{secrets.token_hex(8)}"


@contextlib.contextmanager
def _closed_if_it_fails(backend: _core.RocksBackend) -> Iterator[None]:
    """Nobody else will: its bucket is never there, and the error may outlive the lock."""
    try:
        yield
    except BaseException:
        backend.close()
        raise


def _verify(directory: Path) -> None:
    """Reads the table files of a store that a call died with: what killed it may be in one of them.

    They are not mapped for that, so that what can't be read is an error, and not another death.
    """
    for path in directory.glob("*.sst"):
        _core.verify_table_file(str(path))


def empty_handle(state_id: bytes, storage: Storage, groups: Groups) -> Handle:
    """What a bucket has before its first commit."""
    return Handle(
        state_id=state_id, root=storage.root, groups=groups, batch=-1, version=EMPTY_VERSION,
        last_sequence=0,
    )  # fmt: skip
