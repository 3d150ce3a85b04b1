"""The machine's own Debian mirror is found in either style of apt's sources, and no other's."""

from pathlib import Path

import pytest

import debian

OTHERS = """\
Types: deb
URIs: https://tools.example/linux/debian
Suites: stable
Components: extra
"""

STANZAS = """\
# A comment: with a colon.
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""


def etc(root: Path, **sources: str) -> Path:
    (root / "sources.list.d").mkdir()
    for name, text in sources.items():
        (root / "sources.list.d" / name.replace("_", ".")).write_text(text)
    return root


def test_a_stanza_is_read(tmp_path: Path) -> None:
    found = debian.mirror_entry(etc(tmp_path, a_sources=OTHERS, debian_sources=STANZAS))
    assert found == ("http://mirror.example/debian", "/usr/share/keyrings/debian.gpg")


def test_a_line_is_read(tmp_path: Path) -> None:
    lines = "deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian/ bookworm main extra\n"
    assert debian.mirror_entry(etc(tmp_path, debian_list=lines)) == (
        "http://mirror.example/debian/",
        "/k.gpg",
    )


def test_a_line_without_a_keyring_is_read(tmp_path: Path) -> None:
    etc(tmp_path)
    (tmp_path / "sources.list").write_text("# deb no\ndeb http://m.example/debian trixie main\n")
    assert debian.mirror_entry(tmp_path) == ("http://m.example/debian", "")


def test_a_machine_without_a_debian_mirror_is_told(tmp_path: Path) -> None:
    with pytest.raises(debian.DebianError, match="no Debian mirror"):
        debian.mirror_entry(etc(tmp_path, a_sources=OTHERS))
