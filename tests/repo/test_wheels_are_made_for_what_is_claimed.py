"""Wheels are built for the Pythons and systems that we name, and for no others."""

import ast
import re
import tomllib
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

from repository import text

PROJECT = tomllib.loads(text(Path("pyproject.toml")))
BUILD = PROJECT["tool"]["cibuildwheel"]
WORKFLOW = text(Path(".github/workflows/wheels.yml"))

SYSTEMS = {
    "manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64", "musllinux_aarch64",
    "macosx_x86_64", "macosx_arm64",
}  # fmt: skip
# What cibuildwheel would choose from: versions to come, without the GIL, systems we don't name.
PYTHONS = [f"{kind}3{minor}" for kind in ("cp", "pp") for minor in (*range(8, 17), "13t", "14t")]
OTHERS = {"manylinux_i686", "musllinux_i686", "win_amd64", "win32"}


def claimed() -> set[str]:
    """The versions of Python that the package names, as 311 for 3.11."""
    named = re.compile(r"Programming Language :: Python :: 3\.(\d+)")
    return {
        f"3{found[1]}" for line in PROJECT["project"]["classifiers"] if (found := named.match(line))
    }


def selected() -> set[str]:
    """The identifiers of the builds that cibuildwheel takes, by its own rule for patterns."""

    def matches(name: str, patterns: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in patterns.split())

    names = [f"{python}-{system}" for python, system in product(PYTHONS, SYSTEMS | OTHERS)]
    return {n for n in names if matches(n, BUILD["build"]) and not matches(n, BUILD["skip"])}


def test_each_python_that_is_claimed_has_a_wheel_for_each_system() -> None:
    assert selected() == {f"cp{python}-{system}" for python, system in product(claimed(), SYSTEMS)}


def test_the_workflow_leaves_the_choice_to_the_configuration() -> None:
    assert "CIBW_" not in WORKFLOW


def test_each_processor_has_a_machine_that_builds_for_it() -> None:
    machines = set(re.findall(r"^ +- ((?:ubuntu|macos)-\S+)$", WORKFLOW, re.MULTILINE))
    assert machines == {"ubuntu-24.04", "ubuntu-24.04-arm", "macos-14", "macos-15-intel"}


def test_a_profiler_finds_names_in_a_wheel() -> None:
    assert PROJECT["tool"]["scikit-build"]["install"]["strip"] is False


def test_wheels_by_hand_are_for_the_same_pythons() -> None:
    tree = ast.parse(text(Path(".ci/wheel.py")))
    (versions,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "VERSIONS"
    ]
    assert {version.replace(".", "") for version in versions} == claimed()
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"
