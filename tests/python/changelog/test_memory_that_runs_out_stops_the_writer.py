"""Half a record never gets into a block: a writer that finds no memory stops."""

import os
import subprocess
import sys
from pathlib import Path

from flintstate import changelog

PROGRAM = """
import resource, sys
from pathlib import Path
from flintstate import StorageError, changelog

log = changelog.Writer(sys.argv[1], batch_bytes=64 << 20)
log.append(changelog.PUT, table=1, key=b"synced", value=b"")
log.sync()
value = bytes(40 << 20)
pages = int(Path("/proc/self/statm").read_text().split()[0])
most = pages * resource.getpagesize() + (120 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
try:
    for _ in range(10):
        log.append(changelog.PUT, table=1, key=b"k", value=value)
except StorageError as error:
    assert "out of memory" in str(error) and sys.argv[1] in str(error), error
else:
    raise AssertionError("there was memory for everything")
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
try:
    log.close()
except StorageError as error:
    assert "out of memory" in str(error), error
else:
    raise AssertionError("the lost record was forgotten")
"""


def test_memory_that_runs_out_stops_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "log"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", PROGRAM, path], check=True, env=environment)
    reader = changelog.Reader(path)
    assert reader.torn
    assert set(reader.read_all()["key"].to_pylist()) <= {b"synced", b"k"}
    assert reader.read_all()["key"][0].as_py() == b"synced"
