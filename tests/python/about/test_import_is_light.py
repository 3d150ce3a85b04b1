"""`import flintstate` takes nothing along that its user may not need."""

import subprocess
import sys

HEAVY = ["pandas", "pyspark", "pyarrow.fs", "pyarrow.dataset", "fsspec", "hypothesis"]


def test_heavy_packages_are_not_imported() -> None:
    code = f"import sys, flintstate; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    code = """
import flintstate
for name in flintstate.__all__:
    getattr(flintstate, name)
assert set(flintstate.__all__) <= set(dir(flintstate))
"""
    subprocess.run([sys.executable, "-c", code], check=True)
