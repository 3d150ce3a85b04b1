"""Threads that are in the middle of something when the program ends do it no harm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, threading
import pyarrow as pa, flintstate as fs

store = fs.Store.open(sys.argv[1], memory="16MB")
table = store.table("t", key=pa.schema([("k", pa.int64())]), value=pa.schema([("v", pa.binary())]))
rows = pa.table({"k": range(20_000), "v": [b"v" * 100] * 20_000})
table.put(rows)
at_it = threading.Event()


def work(step):
    while True:
        step()
        at_it.set()


threading.Thread(target=work, args=(STEP,), daemon=True).start()
at_it.wait()
"""

STEPS = {
    "scan": "lambda: table.scan().to_table()",
    "put": "lambda: table.put(rows)",
    "get_many": "lambda: table.get_many(rows)",
    "flush": "store.flush",
    "open": "lambda: fs.Store.open(sys.argv[1] + '2').close()",
}


@pytest.mark.parametrize("step", STEPS)
def test_in_a_daemon_thread_that(tmp_path: Path, step: str) -> None:
    for _ in range(3):
        program = PROGRAM.replace("STEP", STEPS[step])
        command = [sys.executable, "-c", program, str(tmp_path / "store")]
        out = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert (out.returncode, out.stderr) == (0, "")
