"""Work that goes on beside its caller, in threads of its own.

A process that ends waits for what was begun with `awaited`: a thread that is in the middle of
native code when the interpreter goes is not ended, it is cut off.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable

__all__ = ["in_background"]

_awaited: set[threading.Thread] = set()


def in_background(work: Callable[[], None], *, awaited: bool) -> None:
    """Begins the work; where no thread is to be had, awaited work is done here and now.

    Other work is left out then: it is such that someone else will do it later.
    """
    thread = threading.Thread(
        target=_work_awaited if awaited else work,
        args=(work,) if awaited else (),
        name="flintstate-close",
        daemon=True,
    )
    if awaited:
        _awaited.add(thread)
    try:
        thread.start()
    except RuntimeError:  # the system has none, or the interpreter is ending
        _awaited.discard(thread)
        if awaited:
            work()


def _work_awaited(work: Callable[[], None]) -> None:
    try:
        work()
    finally:
        _awaited.discard(threading.current_thread())


def _wait() -> None:
    for thread in list(_awaited):
        with contextlib.suppress(RuntimeError):  # it was never started
            thread.join()


atexit.register(_wait)
os.register_at_fork(after_in_child=_awaited.clear)
