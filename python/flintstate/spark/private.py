"""Places for what one call has for itself, since someone else holds its bucket."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

from flintstate.checkpoint.locking import FileLock

__all__ = ["PrivatePlace", "remove_abandoned"]

_LOCK_WAIT_S = 3.0


class PrivatePlace:
    """A directory in a bucket's that goes with its call; `remove` in the end, whatever happened."""

    def __init__(self, bucket: Path) -> None:
        self.directory = bucket / "private" / secrets.token_hex(8)
        self._lock = FileLock(self.directory / "lock")
        self._lock.acquire(_LOCK_WAIT_S)

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
        self._lock.release()


def remove_abandoned(bucket: Path) -> None:
    """Removes the places of calls that died: nobody holds their locks."""
    for directory in (bucket / "private").glob("*"):
        with FileLock(directory / "lock").held(0.0) as mine:
            if mine:
                shutil.rmtree(directory, ignore_errors=True)
