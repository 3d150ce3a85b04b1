"""What is live in a storage, what was superseded, and what was orphaned.

docs/format/handle.md (What may be deleted) gives the rules and the reasons.
"""

from __future__ import annotations

import contextlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from flintstate.checkpoint.base import Manifest
from flintstate.checkpoint.handle import Groups, Handle, ObjectName, Reference, read_index
from flintstate.checkpoint.rivals import newest_epoch, refuse_if_behind, refuse_rivals
from flintstate.checkpoint.storage import ObjectInfo, Storage
from flintstate.checkpoint.upload import pinned_version
from flintstate.errors import InvalidError, NotFoundError

__all__ = ["ORPHAN_AGE_MIN_S", "collect_orphans", "delete_superseded"]

ORPHAN_AGE_MIN_S = 3600.0


def delete_superseded(storage: Storage, handle: Handle, batches_retained: int) -> int:
    """Deletes what only handles name that are older than the retained batches.

    `handle` must be committed. Safe beside anything that others do, however late they wake: what
    is deleted can't be named again. Returns the number of objects. Raises InvalidError where
    another query commits to the same state, NotFoundError where something live is not there.
    """
    found = list(storage.list(handle.groups.prefix))
    with _nothing_missing(storage):
        refuse_rivals(storage, [handle], found, newest_epoch(found))
    live, dead = _split(storage, handle, handle.batch - batches_retained)
    doomed = _names_that_are_left(storage, dead) - _live_names(storage, live)
    indexes = [info.name for info in found if "/index/" in info.name]
    doomed |= {name for name in indexes if _last_segment(storage, name) in doomed}
    doomed |= _dead_pins(storage, [handle], found, last_epoch=handle.batch)
    _delete(storage, doomed)
    return len(doomed)


def collect_orphans(
    storage: Storage,
    handles: Sequence[Handle],
    *,
    last_batch: int,
    epoch_seen: int,
    batches_retained: int,
    age_min_s: float = ORPHAN_AGE_MIN_S,
    rolled_back: bool = False,
) -> list[str]:
    """Deletes what no retained handle reaches, and gives the names.

    `handles` are all that the coordinator has committed, one a range, at its batch `last_batch`.
    What later batches wrote is theirs. `epoch_seen` is the greatest epoch that the storage had
    before the handles were read: an attempt's may be one above theirs, and no more. `rolled_back`
    says that there are no later batches, since the coordinator was put back to that one: what they
    left goes, too, whatever its age.

    Raises NotFoundError where something live is not there, and InvalidError where the storage has
    gone on without these handles; nothing is deleted then.
    """
    if age_min_s < 0:
        raise InvalidError(f"age_min_s={age_min_s}: an age is not negative")
    found = list(storage.list("groups/"))
    if not rolled_back:
        refuse_if_behind(storage, last_batch + 1, epoch_seen)
        with _nothing_missing(storage):
            refuse_rivals(storage, handles, found, last_batch)
    live = set[str]().union(
        *(
            _live_names(storage, _split(storage, handle, last_batch - batches_retained)[0])
            for handle in handles
        )
    )
    _check_all_there(storage, live - {info.name for info in found})

    # Pins that are of no use go first. Whoever adopts a base asks for its pin once its manifest is
    # there: so either we see the manifest, or it sees that the pin is gone.
    last_epoch = newest_epoch(found) if rolled_back else last_batch
    pins = _dead_pins(storage, handles, found, last_epoch=last_epoch)
    _delete(storage, pins)
    found = [info for info in found if info.name not in pins]
    # A pin that is gone by now was of no use, or its base is adopted, and the manifest there.
    live |= _pinned_names(storage, found)
    live |= _named_by_later_manifests(storage, [*found, *storage.list("groups/")], last_epoch)
    until = math.inf if rolled_back else storage.now() - age_min_s
    orphans = {
        info.name
        for info in found
        if _is_old(info, until) and _is_orphan(storage, info, live, last_epoch)
    }
    _delete(storage, orphans)
    return sorted(pins | orphans)


def _check_all_there(storage: Storage, names: set[str]) -> None:
    """Those that a listing did not show: another process may have written them since."""
    with _nothing_missing(storage):
        for name in sorted(names):
            storage.readable(name).close()


def _is_old(info: ObjectInfo, until: float) -> bool:
    if ObjectName.parse(info.name) is None:  # what a writer left that died, or has not named yet
        until -= ORPHAN_AGE_MIN_S
    return info.modified <= until


def _is_orphan(storage: Storage, info: ObjectInfo, live: set[str], last_epoch: int) -> bool:
    name = ObjectName.parse(info.name)
    if info.name in live:
        return False
    if name is None:  # a temporary file, or nothing of our making
        return info.name.rpartition("/")[2].startswith(".")
    if name.epoch > last_epoch or name.kind == "pin":
        return False
    if name.kind != "index":
        return True
    last = _last_segment(storage, info.name)
    return last is not None and last not in live


def _dead_pins(
    storage: Storage, handles: Iterable[Handle], found: Iterable[ObjectInfo], *, last_epoch: int
) -> set[str]:
    """The pins of uploads that no commit will adopt: their versions are on no handle's chain."""
    chains = {handle.groups.prefix: handle for handle in handles}
    dead = set()
    for info in found:
        name = ObjectName.parse(info.name)
        if name is None or name.kind != "pin" or name.epoch > last_epoch:
            continue
        handle = chains.get(name.prefix)
        chain = [s.version for s in handle.segments(storage)] if handle else []
        if pinned_version(storage, info.name) not in chain:
            dead.add(info.name)
    return dead


def _pinned_names(storage: Storage, found: Iterable[ObjectInfo]) -> set[str]:
    """The files of uploads whose pins are there, whether a listing showed them or not."""
    files = defaultdict[str, set[str]](set)
    for info in found:
        name = ObjectName.parse(info.name)
        if name is not None and name.kind == "file":
            files[f"{name.prefix}pin/{name.id.hex()}"].add(info.name)
    return set().union(*(names for pin, names in files.items() if _is_there(storage, pin)))


def _is_there(storage: Storage, name: str) -> bool:
    try:
        storage.readable(name).close()
    except NotFoundError:
        return False
    return True


def _named_by_later_manifests(
    storage: Storage, found: Iterable[ObjectInfo], last_epoch: int
) -> set[str]:
    """What attempts have adopted of which nobody knows yet whether they will be committed."""
    named = set[str]()
    for text in {info.name for info in found}:
        name = ObjectName.parse(text)
        if name is not None and name.kind == "base" and name.epoch > last_epoch:
            with _nothing_missing(storage):
                manifest = Manifest.from_bytes(storage.read(text), f"{storage.root}/{text}")
            named |= manifest.file_names(manifest.previous.groups)
    return named


def _split(storage: Storage, handle: Handle, before: int) -> tuple[list[Handle], list[Handle]]:
    """The handles that lead to all that is still pointed at, and the older ones."""
    live, dead = [handle], list[Handle]()
    while (newer := (dead or live)[-1]).base is not None:
        # Pointers made since the newer one's base was taken may need the older one's base; the
        # newer one itself has adopted that base, and all pointers after it.
        if not dead:
            with _nothing_missing(storage):
                older = _previous(storage, newer)
            (live if newer.batch > before else dead).append(older)
            continue
        try:
            dead.append(_previous(storage, newer))
        except NotFoundError:  # deleted long ago, as it should be
            break
    return live, dead


def _previous(storage: Storage, handle: Handle) -> Handle:
    """The handle at which the handle's base was taken."""
    assert handle.base is not None
    return Manifest.read(storage, handle.groups, handle.base).previous


def _live_names(storage: Storage, handles: Iterable[Handle]) -> set[str]:
    """All objects that the handles name, which must be there."""
    names = set[str]()
    with _nothing_missing(storage):
        for handle in handles:
            names |= _names_in_log(storage, handle) | _names_in_base(storage, handle)
    return names


def _names_that_are_left(storage: Storage, handles: Iterable[Handle]) -> set[str]:
    """The same of handles that are not needed: indexes and manifests that are gone name nothing."""
    names = set[str]()
    for handle in handles:
        for part in (_names_in_log, _names_in_base):
            with contextlib.suppress(NotFoundError):
                names |= part(storage, handle)
    return names


def _names_in_log(storage: Storage, handle: Handle) -> set[str]:
    groups = handle.groups
    names = {groups.name("log", segment.version) for segment in handle.segments(storage)}
    return names | ({groups.name("index", handle.index.id)} if handle.index else set())


def _names_in_base(storage: Storage, handle: Handle) -> set[str]:
    if handle.base is None:
        return set()
    manifest = Manifest.read(storage, handle.groups, handle.base)
    own = handle.groups.name("base", handle.base.manifest.id)
    return manifest.file_names(handle.groups) | {own}


def _last_segment(storage: Storage, index_name: str) -> str | None:
    """The name of the newest segment that an index lists; None where the index is gone."""
    name = ObjectName.parse(index_name)
    assert name is not None
    first, _, last = name.prefix.removeprefix("groups/").rstrip("/").partition("-")
    groups = Groups(0, int(first), int(last))
    try:
        data = storage.read(index_name)
    except NotFoundError:
        return None
    segments = read_index(storage, groups, Reference.of(name.id, data))
    return groups.name("log", segments[-1].version)


def _delete(storage: Storage, names: set[str]) -> None:
    """Manifests first: a base whose manifest is there is whole."""
    for name in sorted(names, key=lambda name: ("/base/" not in name, name)):
        storage.delete(name)


@contextlib.contextmanager
def _nothing_missing(storage: Storage) -> Iterator[None]:
    """For reading what is live: that it is not there is no reason to call what it names dead."""
    try:
        yield
    except NotFoundError as error:
        raise NotFoundError(
            f"state directory {storage.root}: nothing was deleted, since not all that is committed "
            f"is there ({error}). If it is being restored, or a disk was away, try again; if more "
            "batches are retained than were before, that many have to pass first"
        ) from error
