"""Builds the third-party libraries once for each set of inputs, and prints where they are.

CMake calls it when it configures and takes its last line: the libraries' prefixes, separated by
semicolons, fit for CMAKE_PREFIX_PATH. Each library has a prefix of its own in the cache, outside
the checkout, named by a hash of all that goes into it: the library and its pins, its options, the
flags, the compiler and its version, the target, the C library, the sanitizer, and the prefixes
that it was built against. Paths of tools are not in it, since isolated builds change them. So
wheels for other Pythons and later clones don't build it again.

A prefix is built beside its place under a lock, and put there by a rename: it is whole or absent.
Standard library only.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fetch import FetchError, Source, cache_directory, fetch, read_table, say

COMPILER_MINIMUM = {"GNU": 11, "Clang": 14, "AppleClang": 15}
SIZING = "-ffunction-sections -fdata-sections"  # lets the linker drop what nobody calls
JOB_BYTES = 1_500_000_000  # what one compiler may take on a unity unit of RocksDB


class BuildError(Exception):
    """Says what could not be built and what to do about it."""


@dataclass(frozen=True)
class Recipe:
    """How one library is built: where its CMakeLists.txt is, its options, what it needs."""

    licences: tuple[str, ...]
    options: dict[str, str]
    subdirectory: str = "."
    needs: tuple[str, ...] = ()


RECIPES = {
    "lz4": Recipe(
        subdirectory="build/cmake",
        options={"LZ4_BUILD_CLI": "OFF", "LZ4_BUILD_LEGACY_LZ4C": "OFF", "BUILD_STATIC_LIBS": "ON"},
        licences=("lib/LICENSE",),
    ),
    "zstd": Recipe(
        subdirectory="build/cmake",
        options={
            "ZSTD_BUILD_PROGRAMS": "OFF",
            "ZSTD_BUILD_SHARED": "OFF",
            "ZSTD_BUILD_TESTS": "OFF",
            "ZSTD_LEGACY_SUPPORT": "OFF",
        },
        licences=("LICENSE",),
    ),
    "rocksdb": Recipe(
        options={
            "CMAKE_UNITY_BUILD": "ON",
            "CMAKE_UNITY_BUILD_BATCH_SIZE": "12",
            "FAIL_ON_WARNINGS": "OFF",
            "ROCKSDB_BUILD_SHARED": "OFF",
            "USE_RTTI": "ON",
            "WITH_BENCHMARK_TOOLS": "OFF",
            "WITH_CORE_TOOLS": "OFF",
            "WITH_GFLAGS": "OFF",
            "WITH_IOSTATS_CONTEXT": "OFF",  # counted with every step of an iterator, read by nobody
            "WITH_LIBURING": "OFF",
            "WITH_LZ4": "ON",
            "WITH_PERF_CONTEXT": "OFF",
            "WITH_TESTS": "OFF",
            "WITH_TOOLS": "OFF",
            "WITH_TRACE_TOOLS": "OFF",
            "WITH_ZSTD": "ON",
            "CCACHE_FOUND": "OFF",
        },
        licences=("LICENSE.Apache", "LICENSE.leveldb"),
        needs=("lz4", "zstd"),
    ),
    "googletest": Recipe(options={}, licences=("LICENSE",)),
    "benchmark": Recipe(
        options={
            "BENCHMARK_ENABLE_GTEST_TESTS": "OFF",
            "BENCHMARK_ENABLE_TESTING": "OFF",
            "BENCHMARK_ENABLE_WERROR": "OFF",
            "BENCHMARK_INSTALL_DOCS": "OFF",
        },
        licences=("LICENSE",),
    ),
}


@dataclass(frozen=True)
class Toolchain:
    """What compiles, and for what. Only `inputs()` goes into the hash of a prefix."""

    cmake: str
    cc: str
    cxx: str
    compiler: str  # GNU, Clang or AppleClang
    version: str
    flags: str
    rocksdb_portable: str
    sanitizer: str = ""
    generator: str = "Ninja"
    make_program: str = ""
    osx_architectures: str = ""
    environment: dict[str, str] = field(
        default_factory=lambda: {
            name: os.environ[name]
            for name in ("CFLAGS", "CXXFLAGS", "LDFLAGS", "MACOSX_DEPLOYMENT_TARGET", "SDKROOT")
            if name in os.environ
        }
    )

    def compile_flags(self) -> str:
        sanitize = f"-fsanitize={self.sanitizer} -g1" if self.sanitizer else ""
        return " ".join(filter(None, [self.flags, SIZING, sanitize]))

    def inputs(self) -> dict[str, object]:
        target = subprocess.run([self.cxx, "-dumpmachine"], capture_output=True, text=True)
        return {
            "compiler": [self.compiler, self.version],
            "flags": self.compile_flags(),
            "portable": self.rocksdb_portable,
            "target": [target.stdout.strip(), self.osx_architectures],
            "libc": _libc(),
            "environment": self.environment,
        }

    def check(self) -> None:
        """Refuses a compiler that can't compile C++20 as it is used here."""
        minimum = COMPILER_MINIMUM.get(self.compiler)
        if minimum is None or int(self.version.split(".")[0]) < minimum:
            wanted = ", ".join(f"{name} {least}" for name, least in COMPILER_MINIMUM.items())
            raise BuildError(
                f"the compiler {self.cxx} is {self.compiler} {self.version}: flintstate needs at"
                f" least {wanted.replace('GNU', 'GCC')}. Install one, and name it in CXX (and CC)."
            )


def _libc() -> str:
    name, version = platform.libc_ver()
    if name:
        return f"{name} {version}"
    return "musl" if Path("/etc/alpine-release").exists() else platform.mac_ver()[0].split(".")[0]


def prefix_key(name: str, table: dict[str, Source], tools: Toolchain) -> str:
    """The name of the library's prefix: the same inputs, the same key."""
    recipe = RECIPES[name]
    inputs = {
        "source": [name, table[name].version, sorted(table[name].archives)],
        "recipe": [recipe.options, recipe.subdirectory, recipe.licences],
        "tools": tools.inputs(),
        "needs": [prefix_key(need, table, tools) for need in recipe.needs],
    }
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    return f"{name}-{table[name].version}-{digest[:16]}"


def ensure(name: str, table: dict[str, Source], tools: Toolchain, cache: Path) -> Path:
    """The library's prefix, built if it isn't there."""
    needs = [ensure(need, table, tools, cache) for need in RECIPES[name].needs]
    key = prefix_key(name, table, tools)
    prefix = cache / "prefixes" / key
    if prefix.is_dir():
        return prefix
    prefix.parent.mkdir(exist_ok=True)
    with _locked(prefix.with_name(f"{key}.lock")):
        if prefix.is_dir():
            return prefix
        partial = prefix.with_name(f"{key}.partial")
        shutil.rmtree(partial, ignore_errors=True)  # of a build that was killed
        try:
            _build(table[name], fetch(table[name], cache), partial, needs, tools)
            (partial / "prefix").rename(prefix)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return prefix


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another build of {path.stem}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(
    source: Source, archive: Path, directory: Path, needs: list[Path], tools: Toolchain
) -> None:
    """Unpacks, configures, builds and installs into `directory`/prefix."""
    recipe = RECIPES[source.name]
    root = _unpack(archive, directory / "source")
    log, build, prefix = (directory / name for name in ("log", "build", "prefix"))
    configure = _configure(source.name, root / recipe.subdirectory, prefix, needs, tools)
    install = [tools.cmake, "--build", str(build), "--target", "install"]
    _run([*configure, "-B", str(build)], log, source)
    _run([*install, "--parallel", str(parallel_jobs())], log, source)
    licences = prefix / "share" / "licences" / source.name
    licences.mkdir(parents=True)
    for licence in recipe.licences:
        shutil.copy(root / licence, licences)


def _unpack(archive: Path, directory: Path) -> Path:
    """The one directory that the archive holds."""
    try:
        with tarfile.open(archive) as tar:
            # Pythons before 3.11.4 have no filters; the archive's hash is the one we know.
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(directory)
    except tarfile.TarError as error:
        raise BuildError(f"{archive} can't be unpacked: {error}") from None
    (root,) = directory.iterdir()
    return root


def _configure(
    name: str, source: Path, prefix: Path, needs: list[Path], tools: Toolchain
) -> list[str]:
    options = {
        "BUILD_SHARED_LIBS": "OFF",
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_COMPILER": tools.cxx,
        "CMAKE_CXX_FLAGS": tools.compile_flags(),
        "CMAKE_CXX_VISIBILITY_PRESET": "hidden",
        "CMAKE_C_COMPILER": tools.cc,
        "CMAKE_C_FLAGS": tools.compile_flags(),
        "CMAKE_C_VISIBILITY_PRESET": "hidden",
        "CMAKE_INSTALL_LIBDIR": "lib",
        "CMAKE_INSTALL_PREFIX": str(prefix),
        "CMAKE_OSX_ARCHITECTURES": tools.osx_architectures,
        "CMAKE_POSITION_INDEPENDENT_CODE": "ON",
        "CMAKE_PREFIX_PATH": ";".join(map(str, needs)),
        "CMAKE_VISIBILITY_INLINES_HIDDEN": "ON",
        "PORTABLE": tools.rocksdb_portable if name == "rocksdb" else "",
        "CMAKE_MAKE_PROGRAM": tools.make_program,
        **RECIPES[name].options,
    }
    given = [f"-D{key}={value}" for key, value in options.items() if value]
    return [tools.cmake, "-S", str(source), "-G", tools.generator, *given]


def parallel_jobs() -> int:
    """As many compilers as there are processors, or as memory holds."""
    if asked := os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL"):
        return int(asked)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(os.cpu_count() or 1, memory // JOB_BYTES))


def _run(command: list[str], log: Path, source: Source) -> None:
    """Runs one step; shows how far it is; on failure says what its last lines were."""
    with (
        log.open("a") as file,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            if step := re.match(r"\[ *(\d+/\d+|\d+%)\]", line):
                say(f"building {source.name} {source.version} {step[0]}")
    if process.returncode != 0:
        tail = "".join(log.read_text(errors="replace").splitlines(keepends=True)[-30:])
        raise BuildError(
            f"{source.name} {source.version} was not built: `{' '.join(command[:2])}` ended with"
            f" {process.returncode}. Its last lines:\n{tail}"
        )


def parse_arguments() -> tuple[Toolchain, list[str]]:
    """What CMake says: the tools, and the libraries for development that are wanted, too."""
    parser = argparse.ArgumentParser(description="Builds the third-party libraries.")
    parser.add_argument("--also", action="append", default=[])
    for name in ("cmake", "cc", "cxx", "compiler", "version"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("flags", "rocksdb-portable", "sanitizer", "make-program", "osx-architectures"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--generator", default="Ninja")
    arguments = vars(parser.parse_args())
    also = arguments.pop("also")
    return Toolchain(**arguments), also


def main() -> None:
    """Prints the prefixes of all libraries, for CMake."""
    tools, also = parse_arguments()
    try:
        tools.check()
        cache = cache_directory()
        table = read_table()
        wanted = [name for name in RECIPES if name in also or not table[name].development]
        print(";".join(str(ensure(name, table, tools, cache)) for name in wanted))
    except (BuildError, FetchError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
