"""Debian's source packages as a road to an archive: apt, with a configuration of our own.

Where the upstream address can't be reached, a Debian machine usually still reaches its mirror. This
asks that mirror for the original archive of a source package. It needs no root and changes nothing
on the machine: apt's lists, cache and sources are private ones in a directory that goes away.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

SUITE = "trixie"  # its versions are the ones that sources.toml pins
TIMEOUT_S = 300


class DebianError(Exception):
    """Says why this road is closed."""


def download(package: str, directory: Path) -> Path:
    """The original archive of the source package, downloaded into `directory`."""
    private = _private_apt()
    _run(private, directory, "apt-get", "source", "--download-only", "--tar-only", package)
    archives = list(directory.glob("*.orig.tar.*"))
    if len(archives) != 1:
        raise DebianError(f"the source package {package} has {len(archives)} original archives")
    return archives[0]


def mirror_entry(etc: Path = Path("/etc/apt")) -> tuple[str, str]:
    """(address, keyring) of the machine's own Debian mirror; the keyring may be empty."""
    files = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]
    for path in files:
        if not path.is_file() or path.suffix not in (".list", ".sources"):
            continue
        read = _stanzas if path.suffix == ".sources" else _lines
        for address, components, keyring in read(path.read_text()):
            if re.search(r"/debian/?$", address) and "main" in components.split():
                return address, keyring
    raise DebianError("the machine has no Debian mirror among its apt sources")


def _stanzas(text: str) -> list[tuple[str, str, str]]:
    """(address, components, keyring) of each stanza of a deb822 file."""
    found = []
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(re.findall(r"^([A-Za-z-]+):\s*(.*)$", stanza, re.MULTILINE))
        addresses = fields.get("URIs", "").split()
        if addresses:
            found.append((addresses[0], fields.get("Components", ""), fields.get("Signed-By", "")))
    return found


def _lines(text: str) -> list[tuple[str, str, str]]:
    """(address, components, keyring) of each line of a one-line-style file."""
    pattern = r"^deb(?:-src)?\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+\S+\s+(.*)$"
    return [
        (address, components, (re.search(r"signed-by=(\S+)", options) or ["", ""])[1])
        for options, address, components in re.findall(pattern, text, re.MULTILINE)
    ]


@functools.cache
def _private_apt() -> tempfile.TemporaryDirectory[str]:
    """A directory with an apt configuration of our own and fresh lists, once a process."""
    if not shutil.which("apt-get"):
        raise DebianError("apt-get is not on this machine")
    address, keyring = mirror_entry()
    private = tempfile.TemporaryDirectory(prefix="flintstate-apt-")
    root = Path(private.name)
    for name in ("lists/partial", "cache/archives/partial", "sources.list.d"):
        (root / name).mkdir(parents=True)
    source = f"Types: deb-src\nURIs: {address}\nSuites: {SUITE}\nComponents: main\n"
    if keyring:
        source += f"Signed-By: {keyring}\n"
    (root / "sources.list.d" / "debian.sources").write_text(source)
    (root / "apt.conf").write_text(_configuration(root))
    _run(private, root, "apt-get", "update")
    return private


def _configuration(root: Path) -> str:
    settings = {
        "Dir::State::lists": root / "lists",
        "Dir::Cache": root / "cache",
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": root / "sources.list.d",
        "Acquire::Languages": "none",
        "Acquire::http::Timeout": 20,
        "Acquire::https::Timeout": 20,
    }
    if os.geteuid() == 0:
        settings["APT::Sandbox::User"] = "root"  # else apt warns that _apt can't write here
    return "".join(f'{key} "{value}";\n' for key, value in settings.items())


def _run(private: tempfile.TemporaryDirectory[str], directory: Path, *command: str) -> None:
    environment = {**os.environ, "APT_CONFIG": f"{private.name}/apt.conf", "LC_ALL": "C"}
    try:
        subprocess.run(
            command,
            cwd=directory,
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise DebianError(f"{' '.join(command[:2])} took more than {TIMEOUT_S} s") from None
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stdout.splitlines() if line.startswith("E:")]
        raise DebianError(" ".join(lines) or error.stdout[-300:]) from None
