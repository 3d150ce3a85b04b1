"""What an installed flintstate must do anywhere: run with the Python of a fresh environment."""

import sys
from pathlib import Path

import flintstate

here = Path(flintstate.__file__)
assert Path(sys.prefix) in here.parents, f"{here} is not the installed one"
assert not {"pandas", "pyspark", "pyarrow.fs"} & set(sys.modules), "import is not light"

info = flintstate.build_info()
assert info.libraries["rocksdb"] == "9.10.0", info
assert {"none", "lz4", "zstd"} <= set(info.compressions), info
assert set(info.processor_required) <= set(info.processor_available), info

print(f"ok: flintstate {info.version} on Python {sys.version.split()[0]}")
