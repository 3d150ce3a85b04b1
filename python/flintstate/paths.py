"""Paths as people write them: one rule for every directory and file that a user names."""

from __future__ import annotations

import os
import re
from typing import TypeAlias

from flintstate.errors import InvalidError

__all__ = ["PathLike", "absolute_path", "local_path", "path_text"]

PathLike: TypeAlias = str | os.PathLike[str]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_FILE = re.compile(r"file:(?://(?:localhost)?)?(/.*)", re.IGNORECASE | re.DOTALL)


def local_path(given: PathLike, option: str) -> str:
    """The path in the local file system that is meant, relative where it was given so.

    `~` is the home of whoever runs this, and `file:` may stand in front of an absolute path. Raises
    InvalidError, naming the option, for what is no path here: other schemes, nothing at all, bytes.

    >>> local_path("file:///data/state", "state")
    '/data/state'
    """
    path = path_text(given, option)
    if scheme := _SCHEME.match(path):
        return _without_scheme(path, scheme[1], option)
    return _at_home(path, option) if path.startswith("~") else path


def path_text(given: PathLike, option: str) -> str:
    """The path as text, of whatever file system. Raises InvalidError where it can't be one."""
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(path, str):
        raise InvalidError(f"{option}={given!r}: no path: give a str or a pathlib.Path")
    if not path.strip():
        raise InvalidError(f"{option}={path!r}: an empty path: name a directory or file")
    if "\0" in path:
        raise InvalidError(f"{option}={path!r}: a path can't hold a NUL character: leave it out")
    return path


def absolute_path(given: PathLike, option: str) -> str:
    """As `local_path`, but from the root on: what means the same in another process."""
    return os.path.abspath(local_path(given, option))


def _without_scheme(path: str, scheme: str, option: str) -> str:
    if scheme.lower() != "file":
        raise InvalidError(
            f"{option}={path!r}: there is no storage for '{scheme}:': give a path of a file system "
            f"that is mounted here ('./{path}' if that is a file's name)"
        )
    found = _FILE.fullmatch(path)
    if found is None or found[1].startswith("//"):
        raise InvalidError(
            f"{option}={path!r}: an absolute path of this machine is expected behind 'file:', "
            "as in 'file:///data/state'"
        )
    if "%" in path:
        raise InvalidError(
            f"{option}={path!r}: Spark takes a '%' as it stands, others decode it: give the path "
            "without 'file:'"
        )
    return found[1]


def _at_home(path: str, option: str) -> str:
    expanded = os.path.expanduser(path)
    if expanded.startswith("~"):
        user = path.partition("/")[0]
        raise InvalidError(
            f"{option}={path!r}: there is no home directory '{user}' here: give the path in full "
            f"('./{path}' if that is a file's name)"
        )
    return expanded
