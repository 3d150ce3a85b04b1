"""A library is built once for each set of inputs; a build that fails or dies leaves nothing."""

import dataclasses
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import build
from build import BuildError, Recipe, Toolchain
from fetch import Source

CMAKE = """
cmake_minimum_required(VERSION 3.22)
project(tiny C)
add_library(tiny STATIC tiny.c)
add_custom_command(TARGET tiny POST_BUILD COMMAND ${CMAKE_COMMAND} -E sleep {seconds})
install(TARGETS tiny DESTINATION lib)
"""

TOOLS = Toolchain(
    cmake=shutil.which("cmake") or "cmake",
    cc="cc",
    cxx="c++",
    compiler="GNU",
    version="12.2.0",
    flags="-O1",
    rocksdb_portable="1",
)

BUILD = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
import build, test_third_party_is_built_once as here
table = here.table(Path({root!r}))
build.ensure("tiny", table, here.TOOLS, Path({root!r}))
"""


def table(root: Path) -> dict[str, Source]:
    """The sources of one tiny library, whose archive lies in the cache at `root`."""
    build.RECIPES["tiny"] = Recipe(licences=("LICENSE",), options={})
    archive = root / "archives" / "tiny-1.0.tar"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return {"tiny": Source("tiny", "1.0", "http://127.0.0.1:9", "none", {digest: archive.name})}


def make_archive(
    root: Path, code: str = "int tiny(void) { return 1; }\n", seconds: int = 0
) -> None:
    source = root / "tiny-1.0"
    source.mkdir(exist_ok=True)
    (source / "CMakeLists.txt").write_text(CMAKE.replace("{seconds}", str(seconds)))
    (source / "tiny.c").write_text(code)
    (source / "LICENSE").write_text("do as you like\n")
    (root / "archives").mkdir(exist_ok=True)
    with tarfile.open(root / "archives" / "tiny-1.0.tar", "w") as tar:
        tar.add(source, "tiny-1.0")


@pytest.fixture(autouse=True)
def only_our_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "RECIPES", dict(build.RECIPES))


def start(root: Path) -> subprocess.Popen[str]:
    path = [str(Path(build.__file__).parent), str(Path(__file__).parent)]
    code = BUILD.format(path=path, root=str(root))
    return subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def prefixes(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "prefixes").iterdir() if path.is_dir())


def test_a_library_is_installed_with_its_licence(tmp_path: Path) -> None:
    make_archive(tmp_path)
    prefix = build.ensure("tiny", table(tmp_path), TOOLS, tmp_path)
    assert (prefix / "lib" / "libtiny.a").is_file()
    assert (prefix / "share" / "licences" / "tiny" / "LICENSE").is_file()
    assert prefixes(tmp_path) == [prefix.name]


def test_a_second_build_takes_the_first_ones_result(tmp_path: Path) -> None:
    make_archive(tmp_path)
    prefix = build.ensure("tiny", table(tmp_path), TOOLS, tmp_path)
    before = (prefix / "lib" / "libtiny.a").stat().st_mtime_ns
    assert build.ensure("tiny", table(tmp_path), TOOLS, tmp_path) == prefix
    assert (prefix / "lib" / "libtiny.a").stat().st_mtime_ns == before


def test_two_builds_at_once_build_it_once(tmp_path: Path) -> None:
    make_archive(tmp_path, seconds=2)
    both = [start(tmp_path), start(tmp_path)]
    said = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted("waiting for another build" in text for text in said) == [False, True]
    assert sorted("building tiny" in text for text in said) == [False, True]


def test_inputs_change_the_prefix_and_paths_of_tools_do_not(tmp_path: Path) -> None:
    make_archive(tmp_path)
    sources = table(tmp_path)

    def key(**changes: str) -> str:
        return build.prefix_key("tiny", sources, dataclasses.replace(TOOLS, **changes))

    same = [key(), key(cmake="/elsewhere/cmake"), key(make_program="/elsewhere/ninja")]
    assert len(set(same)) == 1
    other = [
        key(flags="-O2"),
        key(version="13.1.0"),
        key(sanitizer="thread"),
        key(compiler="Clang"),
    ]
    assert len({*other, key()}) == 5


def test_a_failed_build_shows_why_and_leaves_nothing(tmp_path: Path) -> None:
    make_archive(tmp_path, code="this is not C\n")
    with pytest.raises(BuildError, match=r"tiny 1.0 was not built(.|\n)*this is not C"):
        build.ensure("tiny", table(tmp_path), TOOLS, tmp_path)
    assert prefixes(tmp_path) == []
    make_archive(tmp_path)
    assert build.ensure("tiny", table(tmp_path), TOOLS, tmp_path).is_dir()


def test_a_killed_build_does_not_stop_the_next_one(tmp_path: Path) -> None:
    make_archive(tmp_path, seconds=60)
    process = start(tmp_path)
    assert process.stderr is not None
    process.stderr.readline()  # it is compiling
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    partial = [name for name in prefixes(tmp_path) if not name.endswith(".partial")]
    assert partial == []
    make_archive(tmp_path)
    assert build.ensure("tiny", table(tmp_path), TOOLS, tmp_path).is_dir()


def test_an_archive_that_is_none_is_refused(tmp_path: Path) -> None:
    make_archive(tmp_path)
    (tmp_path / "archives" / "tiny-1.0.tar").write_bytes(b"not an archive")
    with pytest.raises(BuildError, match="can't be unpacked"):
        build.ensure("tiny", table(tmp_path), TOOLS, tmp_path)
    assert prefixes(tmp_path) == []


def run_build(
    compiler: str = "GNU", version: str = "12.2.0", cache: str = ""
) -> subprocess.CompletedProcess[str]:
    """build.py as CMake runs it."""
    given = {"cmake": "cmake", "cc": "cc", "cxx": "/opt/c++", "compiler": compiler}
    return subprocess.run(
        [sys.executable, build.__file__, f"--version={version}"]
        + [f"--{name}={value}" for name, value in given.items()],
        capture_output=True,
        text=True,
        env={**os.environ, "FLINTSTATE_CACHE": cache},
        check=False,
    )


@pytest.mark.parametrize(("compiler", "version"), [("GNU", "9.4.0"), ("Clang", "13.0.1")])
def test_a_compiler_that_is_too_old_is_refused_in_one_line(compiler: str, version: str) -> None:
    told = run_build(compiler, version)
    assert told.returncode != 0
    assert told.stdout == ""
    assert told.stderr.count("\n") == 1
    for part in ("/opt/c++", version, "GCC 11", "Clang 14", "CXX"):
        assert part in told.stderr


def test_an_unwritable_cache_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told = run_build(cache=str(tmp_path / "file" / "cache"))
    assert told.returncode != 0
    assert told.stdout == ""
    assert told.stderr.count("\n") == 1
    assert "set FLINTSTATE_CACHE" in told.stderr
