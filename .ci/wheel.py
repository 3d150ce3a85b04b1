"""Builds a wheel for every CPython that is here, and proves each as its users will meet it.

    python .ci/wheel.py DIRECTORY

A wheel is built in isolation, made portable by auditwheel, read for what it holds and needs, and
installed into a fresh virtual environment outside the checkout, where the smoke test runs. The
third-party libraries come from the cache: they do not depend on the version of Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
MEGABYTES_MAX = 6
SYSTEM_LIBRARIES = re.compile(r"(ld-linux|lib(c|dl|gcc_s|m|pthread|rt|stdc\+\+))[.-]")
LICENCES = ("LICENSE", "lz4/LICENSE", "zstd/LICENSE", "rocksdb/LICENSE.Apache", "pybind11/LICENSE")


def main() -> None:
    """Builds, checks and tries a wheel for each interpreter."""
    directory = Path(sys.argv[1]).resolve()
    found = dict(interpreters())
    if not found:
        sys.exit(f"error: no CPython {VERSIONS[0]} to {VERSIONS[-1]} was found on the PATH")
    for version, python in found.items():
        print(f"== a wheel for CPython {version}", flush=True)
        with tempfile.TemporaryDirectory(prefix="flintstate-wheel-") as scratch:
            raw = build(python, Path(scratch))
            wheel = make_portable(raw, directory)
            check(wheel)
            smoke(python, wheel, Path(scratch))


def interpreters() -> Iterator[tuple[str, str]]:
    """(version, path) of each supported CPython with the GIL, on the PATH or among pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    for version in VERSIONS:
        on_path = shutil.which(f"python{version}") or "false"
        for candidate in [*map(str, pyenv.glob(f"{version}.*/bin/python{version}")), on_path]:
            code = "import ensurepip, sysconfig as s; print(s.get_config_var('Py_GIL_DISABLED'))"
            answer = subprocess.run([candidate, "-c", code], capture_output=True, text=True)
            if answer.returncode == 0 and answer.stdout.strip() in ("None", "0"):
                yield version, candidate
                break


def build(python: str, scratch: Path) -> Path:
    """The wheel as the build backend makes it."""
    pip = make_venv(python, scratch / "build")
    run(pip, "wheel", "--no-deps", "--wheel-dir", scratch / "raw", ROOT)
    (wheel,) = (scratch / "raw").glob("*.whl")
    return wheel


def make_venv(python: str, directory: Path) -> Path:
    """A fresh virtual environment; returns its pip."""
    run(python, "-m", "venv", directory)
    return directory / "bin" / "pip"


def make_portable(wheel: Path, directory: Path) -> Path:
    """The wheel with the tag of the oldest systems that it runs on, in `directory`."""
    directory.mkdir(exist_ok=True)
    if sys.platform != "linux":
        return Path(shutil.copy(wheel, directory))
    with tempfile.TemporaryDirectory(dir=directory) as repaired:
        run("auditwheel", "repair", "--wheel-dir", repaired, wheel)
        (made,) = Path(repaired).glob("*.whl")
        return made.replace(directory / made.name)


def check(wheel: Path) -> None:
    """Its size, that it needs nothing from the system, that the licences are in it."""
    size = wheel.stat().st_size / 1e6
    print(f"{wheel.name}: {size:.2f} MB")
    assert size <= MEGABYTES_MAX, f"{wheel.name} is larger than {MEGABYTES_MAX} MB"
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as scratch:
        names = archive.namelist()
        (core,) = (name for name in names if "/_core." in name and name.endswith(".so"))
        assert not [name for name in names if ".libs/" in name], f"libraries were grafted: {names}"
        for licence in LICENCES:
            assert any(name.endswith(f"licenses/{licence}") for name in names), f"no {licence}"
        extension = archive.extract(core, scratch)
        if sys.platform == "linux":
            check_extension(extension)


def check_extension(extension: str) -> None:
    """It needs system libraries only, exports its init function only, and has its names."""
    dynamic = output("readelf", "--dynamic", "--wide", extension)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert all(SYSTEM_LIBRARIES.match(name) for name in needed), needed
    exported = output("nm", "--dynamic", "--defined-only", extension).split()[2::3]
    assert exported == ["PyInit__core"], exported
    assert "rocksdb::DB" in output("nm", "--demangle", extension), "no names for a profiler"


def smoke(python: str, wheel: Path, scratch: Path) -> None:
    """Installs the wheel where the checkout can't be seen, and runs the smoke test there."""
    pip = make_venv(python, scratch / "user")
    run(pip, "install", wheel)
    run(pip.with_name("python"), "-I", ROOT / ".ci" / "smoke.py", cwd=scratch)


def run(*command: str | Path, cwd: Path | None = None) -> None:
    """Runs it; what it says is shown only when it fails, but for what the smoke test says."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\nerror: {' '.join(map(str, command))} failed")
    print(done.stdout.strip().splitlines()[-1] if cwd else "", end="\n" if cwd else "")


def output(*command: str) -> str:
    """What the command says."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
