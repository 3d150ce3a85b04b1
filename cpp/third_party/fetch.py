"""Finds the pinned source archives of sources.toml, and refuses what is not what was pinned.

Roads, in order: a local directory (FLINTSTATE_SOURCES, then archives/ beside this file, which the
source distribution carries), the cache, the upstream release, Debian's source package. What a road
brings is judged by its SHA-256 alone, so it doesn't matter which road it came by.

    python fetch.py [--into DIR] [NAME ...]    fetches, and prints where the archives are

Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import os
import shutil
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import debian

HERE = Path(__file__).resolve().parent
UPSTREAM_TIMEOUT_S = 15


class FetchError(Exception):
    """Says what could not be had and what to do about it."""


@dataclass(frozen=True)
class Source:
    """One row of sources.toml; `archives` maps SHA-256 to file name."""

    name: str
    version: str
    upstream: str
    debian: str
    archives: dict[str, str]
    development: bool = False


def read_table(path: Path = HERE / "sources.toml") -> dict[str, Source]:
    """The sources by name, in the order of the table."""
    rows = tomllib.loads(path.read_text())
    return {
        name: Source(
            name=name,
            version=row["version"],
            upstream=row["upstream"],
            debian=row["debian"],
            archives={archive["sha256"]: archive["file"] for archive in row["archives"]},
            development=row.get("development", False),
        )
        for name, row in rows.items()
    }


def cache_directory() -> Path:
    """FLINTSTATE_CACHE, else ~/.cache/flintstate; made, and known to be writable."""
    cache = Path(os.environ.get("FLINTSTATE_CACHE") or Path.home() / ".cache" / "flintstate")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            pass
    except OSError as error:
        raise FetchError(
            f"the cache {cache} can't be written ({error.strerror}): make it writable, or set"
            " FLINTSTATE_CACHE to a directory that is"
        ) from None
    return cache.resolve()


def local_directories() -> list[Path]:
    """Where archives may lie that nobody has to fetch."""
    named = os.environ.get("FLINTSTATE_SOURCES")
    return [Path(named), HERE / "archives"] if named else [HERE / "archives"]


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(source: Source, cache: Path) -> Path:
    """The archive of `source`, checked against its pins."""
    directories = local_directories()
    for directory in directories:
        if found := _in_local_directory(source, directory):
            return found
    if found := _in_cache(source, cache):
        return found
    tried = [f"  {place}: not there" for place in [*directories, cache / "archives"]]
    for where, road in (
        (source.upstream, _from_upstream),
        (f"Debian's source package {source.debian}", _from_debian),
    ):
        say(f"{source.name} {source.version}: fetching from {where}")
        try:
            with _scratch(cache) as scratch:
                return _keep(source, road(source, scratch), cache)
        except (OSError, http.client.HTTPException, FetchError, debian.DebianError) as error:
            tried.append(f"  {where}: {error}")
    pins = " or ".join(f"{name} (SHA-256 {digest})" for digest, name in source.archives.items())
    raise FetchError(
        "\n".join([f"{source.name} {source.version} could not be had:", *tried])
        + f"\nGo online, or put {pins} into a directory and name it in FLINTSTATE_SOURCES."
    )


def _in_local_directory(source: Source, directory: Path) -> Path | None:
    """The source's archive by any of its usual names. One that isn't what was pinned is refused."""
    for name in (source.name, source.debian):
        for path in sorted(directory.glob(f"{name}[-_]{source.version}*.tar.*")):
            digest = sha256(path)
            if digest in source.archives:
                return path
            pins = " or ".join(source.archives)
            raise FetchError(
                f"{path} is not the {source.name} {source.version} that is pinned: its SHA-256"
                f" is {digest}, and {pins} was expected. Remove or replace it."
            )
    return None


def _in_cache(source: Source, cache: Path) -> Path | None:
    """The cached archive. One that was damaged since is removed, to be fetched anew."""
    for digest, name in source.archives.items():
        path = cache / "archives" / name
        if path.is_file():
            if sha256(path) == digest:
                return path
            say(f"{path} is damaged: it is removed")
            path.unlink()
    return None


def _from_upstream(source: Source, scratch: Path) -> Path:
    path = scratch / "upstream"
    with (
        urllib.request.urlopen(source.upstream, timeout=UPSTREAM_TIMEOUT_S) as answer,
        path.open("wb") as file,
    ):
        shutil.copyfileobj(answer, file)
    return path


def _from_debian(source: Source, scratch: Path) -> Path:
    return debian.download(source.debian, scratch)


def _keep(source: Source, path: Path, cache: Path) -> Path:
    """Moves a fetched file into the cache, if it is what was pinned."""
    digest = sha256(path)
    if digest not in source.archives:
        raise FetchError(
            f"refused: {path.stat().st_size} bytes with SHA-256 {digest}, which is not pinned"
        )
    target = cache / "archives" / source.archives[digest]
    target.parent.mkdir(exist_ok=True)
    path.replace(target)
    return target


@contextmanager
def _scratch(cache: Path) -> Iterator[Path]:
    """A directory on the cache's file system that goes away, whatever happens."""
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetch-") as name:
        yield Path(name)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Fetches the sources that are named (all, if none is)."""
    table = read_table()
    parser = argparse.ArgumentParser(description="Fetches the pinned third-party sources.")
    parser.add_argument("--into", type=Path, help="copy the archives into this directory")
    parser.add_argument("names", nargs="*", choices=[*table, []], help="default: all")
    arguments = parser.parse_args()
    try:
        cache = cache_directory()
        for name in arguments.names or table:
            path = fetch(table[name], cache)
            if arguments.into and arguments.into.resolve() != path.parent.resolve():
                arguments.into.mkdir(parents=True, exist_ok=True)
                path = Path(shutil.copy(path, arguments.into))
            print(path)
    except FetchError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
