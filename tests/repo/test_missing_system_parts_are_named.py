"""What the system lacks is said in one line, with what to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from repository import ROOT


def environment(part: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """.ci/environment.py on a machine where only what is in `variables` can be found."""
    return subprocess.run(
        [sys.executable, ROOT / ".ci" / "environment.py", part],
        capture_output=True,
        text=True,
        env=variables,
        check=False,
    )


def program(path: Path, says: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("part", "named"), [("java", "openjdk-17-jre-headless"), ("compiler", "build-essential")]
)
def test_what_is_missing_is_named_with_what_to_install(part: str, named: str) -> None:
    told = environment(part, PATH="")
    assert told.returncode != 0
    assert told.stderr.count("\n") == 1
    assert named in told.stderr


def test_an_old_java_is_refused_with_its_version(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "java", 'openjdk version "11.0.20" 2023-07-18')
    told = environment("java", JAVA_HOME=str(tmp_path), PATH="")
    assert told.returncode != 0
    assert "is version 11: install" in told.stderr


@pytest.mark.parametrize("version", ["17.0.9", "21", "25.0.1"])
def test_a_new_enough_java_is_taken(tmp_path: Path, version: str) -> None:
    program(tmp_path / "bin" / "java", f'openjdk version "{version}" 2023-07-18')
    told = environment("java", JAVA_HOME=str(tmp_path), PATH="")
    assert (told.returncode, told.stderr) == (0, "")


def test_a_compiler_that_was_named_and_is_not_there_is_told() -> None:
    told = environment("compiler", CXX="no-such-compiler -O2", PATH=os.environ["PATH"])
    assert told.returncode != 0
    assert "no-such-compiler" in told.stderr


def test_an_old_python_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    told = subprocess.run(
        ["make", "build", "PYTHON=false", f"FLINT_VENV={tmp_path / 'venv'}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode != 0
    assert "install Python 3.11 or later" in told.stderr
    assert not (tmp_path / "venv").exists()
