"""What this build of flintstate is made of."""

from __future__ import annotations

from typing import NamedTuple

from flintstate import _core
from flintstate._version import __version__

__all__ = ["BuildInfo", "build_info"]


class BuildInfo(NamedTuple):
    """What was built, with what, and for which processors."""

    version: str
    compiler: str
    libraries: dict[str, str]
    compressions: tuple[str, ...]
    processor_required: tuple[str, ...]
    processor_available: tuple[str, ...]


def build_info() -> BuildInfo:
    """Says what this build is made of; put it into a bug report.

    >>> import flintstate
    >>> flintstate.build_info().libraries["rocksdb"]
    '9.10.0'
    """
    return BuildInfo(
        version=__version__,
        compiler=_core.compiler(),
        libraries=_core.library_versions(),
        compressions=tuple(_core.compressions()),
        processor_required=tuple(_core.processor_required()),
        processor_available=tuple(_core.processor_available()),
    )
