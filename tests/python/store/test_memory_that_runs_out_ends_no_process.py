"""A stream that finds no memory says so to whoever reads it; the process and the store go on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import resource, sys
import pyarrow as pa, flintstate as fs

ROW = 40 << 20
store = fs.Store.open(sys.argv[1], memory="8MB")
table = store.table("t", key=pa.schema([("k", pa.int64())]), value=pa.schema([("v", pa.binary())]))
for i in range(4):
    table.put(pa.table({"k": [i], "v": [b"x" * ROW]}))
store.flush()
reader = pa.RecordBatchReader.from_stream(table.scan())
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + ROW // 2, hard))
try:
    reader.read_all()
    print("read")
except MemoryError as error:
    print("refused:", error)
resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
assert sum(len(row["v"]) for row in table.values()) == 4 * ROW
"""


def test_a_scan_under_a_limit_of_memory_raises_and_the_store_goes_on(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "store")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    assert "refused:" in ended.stdout
    assert "out of memory" in ended.stdout


OPENER = """
import resource, sys
import flintstate as fs
with fs.Store.open(sys.argv[1] + "/first", memory="32MB"):
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + 6_000_000,) * 2)
    for i in range(5):
        try:
            fs.Store.open(f"{sys.argv[1]}/{i}").close()
        except fs.FlintError:
            pass
"""


def test_a_store_that_is_opened_without_room_for_threads_ends_no_process(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", OPENER, str(tmp_path)], check=True, timeout=60)
