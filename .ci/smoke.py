"""What an installed flintstate must do anywhere: run with the Python of a fresh environment."""

import sys
import tempfile
from pathlib import Path

import pyarrow as pa

import flintstate
from flintstate import changelog

here = Path(flintstate.__file__)
assert Path(sys.prefix) in here.parents, f"{here} is not the installed one"
assert not {"pandas", "pyspark", "pyarrow.fs"} & set(sys.modules), "import is not light"

info = flintstate.build_info()
assert info.libraries["rocksdb"] == "9.10.0", info
assert {"none", "lz4", "zstd"} <= set(info.compressions), info
assert set(info.processor_required) <= set(info.processor_available), info

TEXT = pa.schema([("text", pa.string())])

with tempfile.TemporaryDirectory() as home:
    with flintstate.Store.open(f"{home}/store") as store:
        table = store.table("t", key=pa.schema([("id", pa.int64())]), value=TEXT)
        table.put(pa.table({"id": [2, -1], "text": ["b", "a"]}))
        store.checkpoint(f"{home}/copy")
    with flintstate.Store.open(f"{home}/copy", read_only=True) as copy:
        assert copy.table("t").scan().to_table()["text"].to_pylist() == ["a", "b"]

    for kind in ("heap", "rocksdb"):
        with flintstate.KeyedBackend.open(f"{home}/{kind}", kind=kind, key=pa.string()) as backend:
            count = backend.value_state("count", pa.int64(), default=0)
            backend.set_key("ada")
            count.update(count.value() + 1)
            assert count.value() == 1

    with changelog.Writer(f"{home}/1.log") as log:
        log.append(changelog.PUT, table=1, key=b"k", value=b"v")
    assert changelog.Reader(f"{home}/1.log").read_all().num_rows == 1

print(f"ok: flintstate {info.version} on Python {sys.version.split()[0]}")
