"""Signal handlers run while a long call is under way; what one raises ends the call."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import flintstate as fs

ROWS = 1_000_000
BIG = pa.table(
    {
        "id": np.random.default_rng(7).permutation(ROWS),
        "n": np.arange(ROWS),
        "text": pa.repeat("some text that takes its time to be written", ROWS),
    }
)


@pytest.fixture
def big(store: fs.Store) -> fs.Table:
    return store.table(
        "big",
        key=pa.schema([("id", pa.int64())]),
        value=pa.schema([("n", pa.int64()), ("text", pa.string())]),
        merge={"n": "sum"},
    )


class Ticking:
    """A signal each 20 ms, in a `with`."""

    def __init__(self, handler: Callable[..., None]) -> None:
        self.handler = handler

    def __enter__(self) -> None:
        self.before = signal.signal(signal.SIGALRM, self.handler)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)

    def __exit__(self, *raised: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.before)


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[Callable[[], bool]], None]]:
    """ctrl_c(begun): presses Ctrl-C as soon as begun() is true."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.main_thread().ident
    assert main is not None
    threads = []

    def press_when(begun: Callable[[], bool]) -> None:
        def wait_and_press() -> None:
            while not begun():
                pass
            signal.pthread_kill(main, signal.SIGINT)

        threads.append(threading.Thread(target=wait_and_press))
        threads[-1].start()

    yield press_when
    for thread in threads:
        thread.join()
    signal.signal(signal.SIGINT, before)


def test_put_leaves_its_first_rows(store: fs.Store, big: fs.Table, ctrl_c) -> None:
    before = store.statistics()["sequence"]
    ctrl_c(lambda: store.statistics()["sequence"] > before)
    with pytest.raises(KeyboardInterrupt):
        big.put(BIG)
    kept = len(big)
    assert 0 < kept < ROWS
    found = big.get_many(BIG.select(["id"]).slice(0, kept), found="there")["there"]
    assert found.to_pylist() == [True] * kept
    big.put(BIG.slice(kept, 1000))
    assert len(big) == kept + 1000


def test_ingest_leaves_nothing(path: Path, big: fs.Table, ctrl_c) -> None:
    ctrl_c(lambda: any(path.glob("ingest-*")))
    with pytest.raises(KeyboardInterrupt):
        big.ingest(BIG)
    assert len(big) == 0
    assert not list(path.glob("ingest-*"))
    assert big.ingest(BIG.slice(0, 1000)) == 1000


def test_a_batch_that_was_ended_writes_nothing(store: fs.Store, big: fs.Table) -> None:
    def handler(*_: object) -> None:
        raise TimeoutError

    with Ticking(handler), pytest.raises(TimeoutError), store.batch() as batch:
        batch.put(big, BIG)
    assert len(big) == 0


@pytest.mark.parametrize("call", ["put", "merge", "ingest", "get_many", "delete"])
def test_a_handler_that_returns_lets_the_call_go_on(big: fs.Table, call: str) -> None:
    inside = []

    def handler(_: int, frame: object) -> None:
        inside.append(1)

    if call in ("get_many", "delete"):
        big.ingest(BIG)
    argument = BIG.select(["id"]) if call == "delete" else BIG
    with Ticking(handler):
        getattr(fs.Table, call)(big, argument)
    assert len(inside) > 1  # a call that lets no handler in has it run once, behind it
    assert len(big) == (0 if call == "delete" else ROWS)


def test_another_threads_call_is_not_ended(store: fs.Store, big: fs.Table, ctrl_c) -> None:
    before = store.statistics()["sequence"]
    done = threading.Event()

    def write() -> None:
        big.put(BIG)
        done.set()

    ctrl_c(lambda: store.statistics()["sequence"] > before)
    threading.Thread(target=write).start()
    with pytest.raises(KeyboardInterrupt):
        done.wait()
    done.wait()
    assert len(big) == ROWS
