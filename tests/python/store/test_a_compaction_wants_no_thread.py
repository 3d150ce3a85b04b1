"""Where the system has no thread to give, a compaction is done by whoever asks for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import resource, sys, threading
import pyarrow as pa, flintstate as fs

store = fs.Store.open(sys.argv[1], memory="16MB", threads=1)
table = store.table("t", key=pa.schema([("k", pa.int64())]), value=pa.schema([("v", pa.int64())]))
rows = pa.table({"k": range(1000), "v": range(1000)})
table.put(rows)
table.compact()
table.put(rows)
store.flush()
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (512 << 20), resource.RLIM_INFINITY))
try:
    threading.Thread(target=print).start()
except RuntimeError:
    table.compact()
    print(table.scan().to_table().num_rows)
"""


def test_a_compaction_wants_no_thread_of_its_own(tmp_path: Path) -> None:
    # Threads whose stacks have room for a gigabyte find none under a limit of half of that.
    ended = subprocess.run(
        ["bash", "-c", 'ulimit -s 1048576 && exec "$@"', "bash", sys.executable, "-c", PROGRAM,
         str(tmp_path / "store")],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ended.stdout.strip() == "1000", ended.stderr
