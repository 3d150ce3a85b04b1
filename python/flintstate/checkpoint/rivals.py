"""Whether somebody else commits to the same state: a query that runs from a copied checkpoint.

An attempt starts from what is committed. So two commits in succession that are not on a handle's
chain are no attempts that lost: there someone goes on whom the handle does not know.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable

from flintstate import _core
from flintstate.checkpoint.handle import Handle, ObjectName, epoch_of
from flintstate.checkpoint.storage import ObjectInfo, Storage
from flintstate.errors import InvalidError, NotFoundError

__all__ = ["newest_epoch", "refuse_if_behind", "refuse_rivals"]

_HEADER = struct.Struct("<8sIHH16s16s24x")  # docs/format/changelog.md
_MAGIC = b"\x89FLCH\r\n\x1a"


def newest_epoch(found: Iterable[ObjectInfo]) -> int:
    """The greatest epoch of an attempt that left something there; -1 where none did."""
    names = (ObjectName.parse(info.name) for info in found)
    return max((name.epoch for name in names if name is not None), default=-1)


def refuse_if_behind(storage: Storage, next_epoch: int, epoch_seen: int) -> None:
    """Raises InvalidError where the storage had seen a later epoch than the one that comes next."""
    if next_epoch < epoch_seen:
        raise InvalidError(
            f"state directory {storage.root}: it has gone on to batch {epoch_seen}, and this "
            f"query's checkpoint is before batch {next_epoch}. If the checkpoint is a copy, the "
            "directory is its original's: copy it as well, and give the query the copy as state= "
            "(and collect_garbage as root=). If the query was put back to an older batch on "
            "purpose, and no other one uses the directory, call collect_garbage(spark, "
            f"checkpoint=..., root='{storage.root}', rolled_back=True) once, while it is stopped"
        )


def refuse_rivals(
    storage: Storage, committed: Iterable[Handle], found: Iterable[ObjectInfo], last_epoch: int
) -> None:
    """Raises InvalidError where someone else has committed to what is `found` in the storage.

    `committed` are the handles of the ranges in question, and `last_epoch` up to which one nobody
    but their coordinator may have committed. What is older than their bases is not looked at: it
    was when they were adopted.
    """
    segments = defaultdict[str, dict[bytes, str]](dict)
    for info in found:
        name = ObjectName.parse(info.name)
        if name is not None and name.kind == "log" and name.epoch <= last_epoch:
            segments[name.prefix][name.id] = info.name
    for handle in committed:
        strangers = _strangers(storage, handle, segments.pop(handle.groups.prefix, {}))
        _refuse_successors(storage, strangers)
    for strangers in segments.values():  # of ranges of which nothing is committed
        _refuse_successors(storage, strangers)


def _strangers(storage: Storage, handle: Handle, segments: dict[bytes, str]) -> dict[bytes, str]:
    """The segments since the handle's base that are not on its chain, by their versions."""
    since = epoch_of(handle.base_version) if handle.base else -1
    newer = {version: name for version, name in segments.items() if epoch_of(version) > since}
    if newer:
        for segment in handle.segments(storage):
            newer.pop(segment.version, None)
    return newer


def _refuse_successors(storage: Storage, strangers: dict[bytes, str]) -> None:
    oldest = min(map(epoch_of, strangers), default=0)
    for version, name in strangers.items():
        parent = _parent(storage, name) if epoch_of(version) > oldest else None
        if parent in strangers and epoch_of(parent) < epoch_of(version):
            raise InvalidError(
                f"state directory {storage.root}: another query has gone on with it, to batch "
                f"{epoch_of(version)} at least ({name}), and this one's checkpoint does not know "
                "that. If the checkpoint was copied, copy the state directory as well, and give "
                "the query the copy as state=. If no other query uses it, and this one was put "
                "back to an older batch: call collect_garbage(spark, checkpoint=..., "
                f"root='{storage.root}', rolled_back=True) once, while it is stopped"
            )


def _parent(storage: Storage, name: str) -> bytes | None:
    """The version that a segment goes on from; None where it can't be told."""
    try:
        with storage.readable(name) as file:
            header = file.read(_HEADER.size)
    except NotFoundError:
        return None
    if len(header) < _HEADER.size or header[:8] != _MAGIC:
        return None
    _, checksum, _, _, _, parent = _HEADER.unpack(header)
    return parent if _core.crc32c(header[12:]) == checksum else None
