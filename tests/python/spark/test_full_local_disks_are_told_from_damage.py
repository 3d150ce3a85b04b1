"""Where files may grow no further, it is the local disk that is to blame, by name."""

import subprocess
import sys
from pathlib import Path

import pytest
from spark_buckets import Home

PROGRAM = """
import os, pathlib, resource, signal, sys
import pyarrow as pa
from spark_buckets import Home
from flintstate.checkpoint.handle import Handle
from flintstate.errors import CorruptionError, StorageError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
home = Home(pathlib.Path(sys.argv[1]))


def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def put(bucket, users):
    state = bucket.backend.value_state("blob", pa.binary())
    for user in users:
        bucket.backend.set_key(user)
        state.update(os.urandom(1000))
    return bucket.commit(0)
"""

RESTORE = """
with home.bucket(home.first) as bucket:
    handle = put(bucket, range(500))
    upload = bucket._begin_upload()
    upload.run(home.storage)
    handle = handle.with_base(home.storage, upload.adopt(home.storage, handle, 0), 0)
limit(100_000)
try:
    home.read(handle, local="other")
except StorageError as error:
    assert str(home.path / "other") in str(error), error
    assert error.errno in (27, 28), error.errno
else:
    raise AssertionError("a full disk went unnoticed")
limit(resource.RLIM_INFINITY)
assert home.read(handle, local="other") == [0] * 6
"""

COMMIT = """
limit(100_000)
try:
    with home.bucket(home.first) as bucket:
        put(bucket, range(500))
except StorageError as error:
    assert str(home.path / "storage") in str(error), error
else:
    raise AssertionError("a full disk went unnoticed")
assert list(home.storage.list("")) == []
"""


@pytest.mark.parametrize("work", [RESTORE, COMMIT], ids=["restore", "commit"])
def test_while(tmp_path: Path, work: str) -> None:
    support = Path(sys.modules[Home.__module__].__file__ or "").parent
    program = f"import sys; sys.path.insert(0, {str(support)!r})\n" + PROGRAM + work
    command = [sys.executable, "-c", program, str(tmp_path)]
    out = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert out.returncode == 0, out.stderr
