"""No file is dead, no document names one that isn't there, and nothing names a single machine."""

import os
import re
from pathlib import Path

from repository import ROOT, files, text
from test_layers import includes

HOSTS = {
    "arrow.apache.org",
    "cwiki.apache.org",
    "docs.github.com",
    "facebook.github.io",
    "github.com",
    "json.schemastore.org",
    "nightlies.apache.org",
    "keepachangelog.com",
    "packaging.python.org",
    "rocksdb.org",
    "semver.org",
    "spark.apache.org",
    "www.apache.org",
}

TOP = {
    ".ci", ".clang-format", ".clang-tidy", ".github", ".gitignore", ".pre-commit-config.yaml",
    "bench", "CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md", "cpp", "docs", "examples", "LICENSE", "Makefile", "pyproject.toml",
    "python", "README.md", "SECURITY.md", "tests",
}  # fmt: skip


def test_the_top_level_holds_what_belongs_there() -> None:
    assert {path.parts[0] for path in files()} <= TOP


def test_every_header_is_included() -> None:
    included = {header for path in files(".cc", ".h") for header in includes(path)}
    dead = [
        path
        for path in files(".h")
        if path.parts[0] == "cpp" and path.relative_to("cpp").as_posix() not in included
    ]
    assert not dead, dead


def test_every_cpp_file_is_built() -> None:
    def built(path: Path) -> bool:
        match path.parts:
            case ["cpp", _, _] | ["tests", "cpp", _, _]:
                return True
            case ["bench", "cpp", name]:
                return name.endswith("_bench.cc")
            case ["bench", "python", name]:
                return any(name in text(script) for script in scripts)
        return False

    scripts = [path for path in files(".py") if path.parts[:2] == ("bench", "python")]
    dead = [path for path in files(".cc") if not built(path)]
    assert not dead, dead


def unmentioned(of: list[Path], among: list[Path]) -> list[Path]:
    """The Python files that no other file speaks of, be it by import or in a string."""
    words = {path: set(re.findall(r"\w+", text(path))) for path in among}
    return [
        path
        for path in of
        if not any(path.stem in said for other, said in words.items() if other != path)
    ]


def test_every_python_module_is_used() -> None:
    modules = [path for path in files(".py") if path.parts[0] == "python"]
    entries = ("__init__", "__main__")
    of = [path for path in modules if path.stem not in entries]
    assert not unmentioned(of, [*modules, Path("pyproject.toml")])


def test_every_test_file_is_run() -> None:
    tests = [path for path in files(".py") if path.parts[0] == "tests"]
    helpers = [path for path in tests if not re.match(r"test_|conftest|__init__", path.name)]
    assert not unmentioned(helpers, tests)


def test_every_document_is_linked() -> None:
    links = {
        os.path.normpath(path.parent / link)
        for path in files(".md")
        for link in re.findall(r"\]\(([^)#\s]+)", text(path))
    }
    dead = [path for path in files(".md") if path.parts[0] == "docs" and str(path) not in links]
    assert not dead, dead


def test_every_decision_stands_in_the_index() -> None:
    index = text(Path("docs/decisions/README.md"))
    pages = [path for path in files(".md") if path.parent == Path("docs/decisions")]
    titles = {
        path: text(path).splitlines()[0].lstrip("# 0123456789.:")
        for path in pages
        if path.stem != "README"
    }
    missing = [
        str(path)
        for path, title in titles.items()
        if f"[{title[0].upper()}{title[1:]}]({path.name})" not in index
    ]
    assert not missing, missing


def test_documents_name_files_that_exist() -> None:
    known = ("cpp", "python", "tests", "bench", "docs", "examples", ".github", ".ci")
    named = re.compile(rf"`((?:{'|'.join(map(re.escape, known))})/[\w./-]+)`")
    missing = [
        f"{path} names {name}"
        for path in files(".md")
        for name in named.findall(text(path))
        if not (ROOT / name).exists()
    ]
    assert not missing, missing


def test_links_of_documents_lead_somewhere() -> None:
    missing = [
        f"{path} links {link}"
        for path in files(".md")
        for link in re.findall(r"\]\(([^)#\s]+)", text(path))
        if "://" not in link and not (ROOT / path.parent / link).exists()
    ]
    assert not missing, missing


def test_addresses_are_of_projects_not_of_registries() -> None:
    wrong = [
        f"{path}: {host}"
        for path in files()
        for host in re.findall(r"https?://([\w.-]+\w)", text(path))
        if host not in HOSTS and not re.fullmatch(r"localhost|127\.0\.0\.1|example\.\w+", host)
        and not host.endswith(".example")
    ]  # fmt: skip
    assert not wrong, wrong


def test_no_path_of_one_machine_is_written() -> None:
    wrong = [
        f"{path}: {found}"
        for path in files()
        for found in re.findall(r"(?<![\w.:])/(?:root|home|Users|work)/\w+", text(path))
    ]
    assert not wrong, wrong
