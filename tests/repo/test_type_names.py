"""A type's name means one type: two of one name are one to the linker, which keeps either."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from repository import files, text

NOISE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'|^\s*#(?:[^\n]*\\\n)*[^\n]*",
    re.DOTALL | re.MULTILINE,
)
NAMESPACE = re.compile(r"namespace(?:\s+([\w:]+))?\s*$")
TYPE = re.compile(
    r"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:\[\[\w+\]\]\s*)?(\w+)"
    r"(?:\s+final)?\s*(?::[^:].*)?$",
    re.DOTALL,
)


def defined_types(source: str, file: str) -> Iterator[str]:
    """The names, with their namespaces, of types that are defined outside of any other block. What
    is in a namespace without name is its file's own."""
    open_blocks: list[str | None] = []
    statement = ""
    for token in re.split(r"([{};])", NOISE.sub(" ", source)):
        if token == "{":
            namespace, defined = NAMESPACE.search(statement), TYPE.search(statement)
            if namespace:
                open_blocks.append(namespace[1] or f"<{file}>")
            else:
                if defined and None not in open_blocks:
                    yield "::".join([*(block or "" for block in open_blocks), defined[1]])
                open_blocks.append(None)
            statement = ""
        elif token == "}":
            if open_blocks:
                open_blocks.pop()
            statement = ""
        else:
            statement = "" if token == ";" else token


def test_types_are_found_in_their_namespaces() -> None:
    source = """
    namespace flint::part {
    struct Declared;
    class [[nodiscard]] One { struct Inner {}; };  // class Comment {
    namespace { enum class Two : int { kA }; }
    void Function() { struct Local {}; }
    class Three : public One {};
    }
    """
    assert list(defined_types(source, "a.h")) == [
        "flint::part::One",
        "flint::part::<a.h>::Two",
        "flint::part::Three",
    ]


def test_no_type_is_defined_twice_under_one_name() -> None:
    places: defaultdict[str, list[Path]] = defaultdict(list)
    for path in files(".cc", ".h"):
        if path.parts[0] == "cpp" and path.parts[1] != "third_party":
            for name in defined_types(text(path), str(path)):
                places[name].append(path)
    assert len(places) > 200
    twice = {name: paths for name, paths in places.items() if len(paths) > 1}
    assert not twice, twice
