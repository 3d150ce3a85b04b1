"""An arrow points from what is known to who knows it; nothing else is included or imported."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from repository import files, text

CPP_KNOWS = {
    "base": set(),
    "key": {"base"},
    "row": {"base"},
    "changelog": {"base"},
    "store": {"base", "key", "row"},
    "scan": {"base", "key", "row", "store"},
    "state": {"base", "key", "row", "store", "changelog"},
    "operators": {"base", "key", "row", "store", "scan", "state"},
    "bindings": {
        "base", "key", "row", "changelog", "store", "scan", "state", "operators", "bindings",
    },
}  # fmt: skip

LIBRARY_HEADERS = {
    r"rocksdb/": {"store", "state"},
    r"zstd\.h|zdict\.h|zstd_errors\.h": {"changelog"},
    r"lz4": set(),
    r"pybind11/|Python\.h": {"bindings"},
}

# Each may import those before it, and itself.
PYTHON_ORDER = [
    "",
    "store",
    "changelog",
    "state",
    "process",
    "testing",
    "checkpoint",
    "spark",
]


def includes(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text(path), re.MULTILINE)


def cpp_parts() -> Iterator[tuple[Path, str]]:
    for path in files(".cc", ".h"):
        if path.parts[0] == "cpp" and path.parts[1] != "third_party":
            yield path, path.parts[1]


def test_every_cpp_part_is_known() -> None:
    assert {part for _, part in cpp_parts()} <= set(CPP_KNOWS)


def test_cpp_parts_include_only_what_they_may_know() -> None:
    wrong = [
        f"{path} includes {header}"
        for path, part in cpp_parts()
        for header in includes(path)
        if header.split("/")[0] in CPP_KNOWS
        and header.split("/")[0] not in CPP_KNOWS[part] | {part}
    ]
    assert not wrong, wrong


def test_library_headers_are_seen_only_where_they_may_be() -> None:
    wrong = [
        f"{path} includes {header}"
        for path, part in cpp_parts()
        for header in includes(path)
        for pattern, parts in LIBRARY_HEADERS.items()
        if re.match(pattern, header) and part not in parts
    ]
    assert not wrong, wrong


def test_bindings_include_pybind11_through_one_header() -> None:
    including = [path.name for path, _ in cpp_parts() if "pybind11/pybind11.h" in includes(path)]
    assert including == ["pybind.h"]


def imports(path: Path, everywhere: bool = True) -> Iterator[str]:
    """The modules that are imported, in full; only at the top level if not `everywhere`."""
    tree = ast.parse(text(path))
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = path.relative_to("python").parts[: -node.level]
                base = ".".join([*package, *filter(None, [base])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def python_modules() -> list[Path]:
    return [path for path in files(".py", ".pyi") if path.parts[:2] == ("python", "flintstate")]


def layer(parts: tuple[str, ...]) -> int | None:
    """The place in PYTHON_ORDER of flintstate.<parts>; modules that are not named come first."""
    name = parts[0].removesuffix(".py") if parts else ""
    return PYTHON_ORDER.index(name) if name in PYTHON_ORDER else 0


def test_python_packages_import_only_what_stands_below_them() -> None:
    wrong = []
    for path in python_modules():
        own = path.parts[2:]
        if own == ("__init__.py",):
            continue  # it offers all of them
        here = layer(own)
        for module in imports(path):
            name = module.split(".")
            if name[0] == "flintstate" and (layer(tuple(name[1:])) or 0) > (here or 0):
                wrong.append(f"{path} imports {module}")
    assert not wrong, wrong


def test_only_the_spark_package_imports_pyspark() -> None:
    wrong = [
        f"{path} imports {module}"
        for path in python_modules()
        if path.parts[2] != "spark"
        for module in imports(path)
        if module.split(".")[0] in ("pyspark", "py4j")
    ]
    assert not wrong, wrong


def test_nothing_that_is_read_from_storage_can_be_executed() -> None:
    wrong = [
        f"{path} imports {module}"
        for path in python_modules()
        for module in imports(path)
        if module.split(".")[0] in ("pickle", "cloudpickle", "marshal", "shelve", "dill")
    ]
    assert not wrong, wrong
