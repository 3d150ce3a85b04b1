from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import flintstate as fs
from store_tables import KEY, VALUE


def test_live_scans_and_snapshots_say_that_the_store_was_closed(path: Path, rows) -> None:
    store = fs.Store.open(path)
    table = store.table("rows", key=KEY, value=VALUE)
    table.put(rows(range(1000)))
    scan, snapshot = table.scan(batch_rows=10), store.snapshot()
    next(iter(scan))
    batch = store.batch()
    batch.put(table, rows([1]))
    store.close()
    store.close()
    assert store.closed
    for use in (
        lambda: next(iter(scan)),
        lambda: table.scan(),
        lambda: table[1],
        lambda: table.put(rows([1])),
        lambda: table.get_many(rows([1])),
        lambda: table.statistics(),
        lambda: 1 in table,
        lambda: batch.commit(),
        lambda: store.snapshot(),
        lambda: store.statistics(),
        lambda: store.checkpoint(path / "copy"),
    ):
        with pytest.raises(fs.ClosedError, match="was closed"):
            use()
    with fs.Store.open(path) as again:  # while what is left of the first one lives on
        assert len(again.table("rows")) == 1000
    snapshot.close()


def test_closing_while_other_threads_read_and_write(path: Path, rows) -> None:
    store = fs.Store.open(path)
    table = store.table("rows", key=KEY, value=VALUE)
    table.put(rows(range(20_000)))
    started, errors = threading.Barrier(5), []

    def work(step) -> None:
        started.wait()
        try:
            while True:
                step()
        except fs.ClosedError:
            pass
        except BaseException as error:
            errors.append(error)

    steps = [
        lambda: table.scan().to_table(),
        lambda: table.put(rows(range(500))),
        lambda: table.get_many(rows(range(500))),
        lambda: table[7],
    ]
    threads = [threading.Thread(target=work, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    started.wait()
    store.close()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert errors == []


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_refused_and_the_parent_goes_on(path: Path, rows) -> None:
    with fs.Store.open(path) as store:
        table = store.table("rows", key=KEY, value=VALUE)
        table.put(rows(range(1000)))
        scan = table.scan()
        child = os.fork()
        if child == 0:
            refused = 0
            uses = (
                lambda: table[1],
                lambda: table.put(rows([5000])),
                lambda: scan.to_table(),
                lambda: store.flush(),
            )
            for use in uses:
                try:
                    use()
                except fs.ClosedError as error:
                    refused += "forked" in str(error)
            store.close()
            del table, scan, store
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
        assert scan.to_table().num_rows == 1000
        table.put(rows([5000]))
        store.flush()
    with fs.Store.open(path) as again:
        assert len(again.table("rows")) == 1001


def test_what_has_no_log_is_flushed_by_closing(path: Path, rows) -> None:
    with fs.Store.open(path, durability="none") as store:
        store.table("rows", key=KEY, value=VALUE).put(rows(range(10)))
    with fs.Store.open(path) as store:
        assert len(store.table("rows")) == 10
