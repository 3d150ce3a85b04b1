"""The extension exports its init function alone, and needs no library that a system may lack."""

import re
import subprocess
import sys

from flintstate import _core

MAC = sys.platform == "darwin"
SYSTEM = r"(ld-linux|ld-musl|lib(c|c\+\+|dl|gcc_s|m|pthread|rt|stdc\+\+|System))[.-]"


def said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_only_the_init_function_is_exported() -> None:
    scope = "--extern-only" if MAC else "--dynamic"
    symbols = said("nm", scope, "--defined-only", _core.__file__)
    assert [line.split()[-1].lstrip("_") for line in symbols.splitlines()] == ["PyInit__core"]


def test_only_system_libraries_are_needed() -> None:
    if MAC:
        needed = re.findall(r"^\t\S*/(\S+) \(", said("otool", "-L", _core.__file__), re.MULTILINE)
        needed = [name for name in needed if not name.startswith("_core")]
    else:
        dynamic = said("readelf", "--dynamic", "--wide", _core.__file__)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert needed
    assert [name for name in needed if not re.match(SYSTEM, name)] == []
