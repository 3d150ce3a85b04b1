"""What is live in a storage, what was superseded, and what was orphaned.

docs/format/handle.md (What may be deleted) gives the rules and the reasons.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from flintstate.checkpoint.base import Manifest
from flintstate.checkpoint.handle import Groups, Handle, Reference, read_index
from flintstate.checkpoint.storage import Storage
from flintstate.errors import InvalidError, NotFoundError

__all__ = ["ORPHAN_AGE_MIN_S", "collect_orphans", "delete_superseded"]

ORPHAN_AGE_MIN_S = 3600.0


def delete_superseded(storage: Storage, handle: Handle, batches_retained: int) -> int:
    """Deletes what only handles name that are older than the retained batches.

    `handle` must be committed. Safe beside anything that others do, however late they wake: what
    is deleted can't be named again. Returns the number of objects.
    """
    live, dead = _split(storage, handle, handle.batch - batches_retained)
    live_names = _names_of(storage, live)
    doomed = _names_of(storage, dead) - live_names
    doomed |= _dead_indexes(storage, handle.groups, doomed)
    for name in sorted(doomed):
        storage.delete(name)
    return len(doomed)


def collect_orphans(
    storage: Storage,
    handles: Iterable[Handle],
    *,
    last_batch: int,
    batches_retained: int,
    age_min_s: float = ORPHAN_AGE_MIN_S,
) -> list[str]:
    """Deletes what no retained handle reaches, and gives the names.

    `handles` are all that are committed last, one a range. With a smaller minimum age than the
    default no query may be running on the state.
    """
    if age_min_s < 0:
        raise InvalidError(f"age_min_s={age_min_s}: an age is not negative")
    live: set[str] = set()
    for handle in handles:
        live |= _names_of(storage, _split(storage, handle, last_batch - batches_retained)[0])
    deleted = []
    for found in list(storage.list("groups/")):
        if found.name in live or found.age_s < age_min_s:
            continue
        if "/index/" in found.name and _last_segment(storage, found.name) in live:
            continue
        storage.delete(found.name)
        deleted.append(found.name)
    return deleted


def _split(storage: Storage, handle: Handle, before: int) -> tuple[list[Handle], list[Handle]]:
    """The handles that lead to all that is still pointed at, and the older ones."""
    live, dead = [handle], list[Handle]()
    for older in _history(storage, handle):
        # Pointers made since the newer one's base was taken may need the older one's base; the
        # newer one itself has adopted that base, and all pointers after it.
        (live if not dead and live[-1].batch > before else dead).append(older)
    return live, dead


def _history(storage: Storage, handle: Handle) -> Iterator[Handle]:
    """The handles at which the bases before this one's were taken, newest first."""
    with contextlib.suppress(NotFoundError):  # deleted long ago, as it should be
        while handle.base is not None:
            handle = Manifest.read(storage, handle.groups, handle.base).previous
            yield handle


def _names_of(storage: Storage, handles: Iterable[Handle]) -> set[str]:
    """All objects that the handles name; indexes and manifests that are gone name nothing."""
    names: set[str] = set()
    for handle in handles:
        groups = handle.groups
        with contextlib.suppress(NotFoundError):
            if handle.index is not None:
                names.add(groups.name("index", handle.index.id))
            names |= {groups.name("log", s.version) for s in handle.segments(storage)}
        with contextlib.suppress(NotFoundError):
            if handle.base is not None:
                names.add(groups.name("base", handle.base.manifest.id))
                files = Manifest.read(storage, groups, handle.base).files
                names |= {groups.name("file", bytes.fromhex(file.object)) for file in files}
    return names


def _dead_indexes(storage: Storage, groups: Groups, doomed: set[str]) -> set[str]:
    found = (info.name for info in storage.list(f"{groups.prefix}index/"))
    return {name for name in found if _last_segment(storage, name) in doomed}


def _last_segment(storage: Storage, index_name: str) -> str:
    """The name of the newest segment that an index object lists."""
    prefix, _, object_id = index_name.rpartition("/index/")
    _, _, span = prefix.rpartition("/")
    first, _, last = span.partition("-")
    groups = Groups(0, int(first), int(last))
    data = storage.read(index_name)
    segments = read_index(storage, groups, Reference.of(bytes.fromhex(object_id), data))
    return groups.name("log", segments[-1].version)
