"""build_info() tells versions, compressions and processor features, as they are."""

import re

import fetch
import flintstate


def test_versions_are_those_that_are_pinned() -> None:
    info = flintstate.build_info()
    pinned = {row.name: row.version for row in fetch.read_table().values() if not row.development}
    assert {name: info.libraries[name] for name in pinned} == pinned
    assert info.version == flintstate.__version__
    assert re.fullmatch(r"(GNU|Clang|AppleClang) \d+\.\d+.*", info.compiler)


def test_stored_files_may_be_compressed_with_lz4_and_zstd() -> None:
    assert {"none", "lz4", "zstd"} <= set(flintstate.build_info().compressions)


def test_the_processor_has_what_the_build_requires() -> None:
    info = flintstate.build_info()
    assert info.processor_required
    assert set(info.processor_required) <= set(info.processor_available)
