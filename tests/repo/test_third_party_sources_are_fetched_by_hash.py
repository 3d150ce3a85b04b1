"""What a road brings is taken when its hash is pinned, refused otherwise; nothing bad is kept."""

import functools
import hashlib
import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import fetch
from fetch import FetchError, Source

GOOD = b"the archive" * 1000
PIN = hashlib.sha256(GOOD).hexdigest()


class Upstream(http.server.BaseHTTPRequestHandler):
    """Serves the archive whole, cut off in the middle, or another one."""

    def do_GET(self) -> None:
        body = b"another archive" if self.path == "/other" else GOOD
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:100] if self.path == "/cut" else body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, on a machine without apt and without archives of its own."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("FLINTSTATE_SOURCES", raising=False)
    monkeypatch.setattr(fetch, "HERE", tmp_path / "checkout")
    monkeypatch.setenv("FLINTSTATE_CACHE", str(tmp_path / "cache"))
    return fetch.cache_directory()


source = functools.partial(
    Source, name="lib", version="1.0", debian="libx", archives={PIN: "lib-1.0.tar.gz"}
)
NOWHERE = "http://127.0.0.1:9/lib-1.0.tar.gz"  # nobody listens there


def kept(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


def test_a_download_with_the_pinned_hash_is_kept(cache: Path, upstream: str) -> None:
    path = fetch.fetch(source(upstream=f"{upstream}/good"), cache)
    assert path.read_bytes() == GOOD
    assert kept(cache) == ["archives/lib-1.0.tar.gz"]


def test_the_cache_spares_the_next_download(cache: Path, upstream: str) -> None:
    fetch.fetch(source(upstream=f"{upstream}/good"), cache)
    assert fetch.fetch(source(upstream=NOWHERE), cache).read_bytes() == GOOD


def test_a_local_directory_comes_first(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "sources" / "libx_1.0.orig.tar.xz"  # Debian's name for it
    archive.parent.mkdir()
    archive.write_bytes(GOOD)
    monkeypatch.setenv("FLINTSTATE_SOURCES", str(archive.parent))
    assert fetch.fetch(source(upstream=NOWHERE), cache) == archive


def test_archives_in_the_source_distribution_are_taken(cache: Path, tmp_path: Path) -> None:
    archive = tmp_path / "checkout" / "archives" / "lib-1.0.tar.gz"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(GOOD)
    assert fetch.fetch(source(upstream=NOWHERE), cache) == archive


def test_archives_are_gathered_for_the_source_distribution_again_and_again(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, upstream: str
) -> None:
    monkeypatch.setattr(fetch, "read_table", lambda: {"lib": source(upstream=f"{upstream}/good")})
    archives = tmp_path / "checkout" / "archives"
    monkeypatch.setattr(sys, "argv", ["fetch.py", "--into", str(archives), "lib"])
    for _ in range(2):
        fetch.main()
        assert (archives / "lib-1.0.tar.gz").read_bytes() == GOOD


def test_a_local_archive_with_a_wrong_hash_is_refused_by_name(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, upstream: str
) -> None:
    archive = tmp_path / "lib-1.0.tar.gz"
    archive.write_bytes(b"another")
    monkeypatch.setenv("FLINTSTATE_SOURCES", str(tmp_path))
    with pytest.raises(FetchError) as refused:
        fetch.fetch(source(upstream=f"{upstream}/good"), cache)
    said = str(refused.value)
    assert str(archive) in said
    assert PIN in said
    assert "Remove or replace it" in said


def test_a_download_with_a_wrong_hash_is_refused_and_not_kept(cache: Path, upstream: str) -> None:
    with pytest.raises(FetchError, match="not pinned"):
        fetch.fetch(source(upstream=f"{upstream}/other"), cache)
    assert kept(cache) == []


def test_half_a_download_is_not_kept_and_the_next_try_succeeds(cache: Path, upstream: str) -> None:
    with pytest.raises(FetchError):
        fetch.fetch(source(upstream=f"{upstream}/cut"), cache)
    assert kept(cache) == []
    assert fetch.fetch(source(upstream=f"{upstream}/good"), cache).read_bytes() == GOOD


def test_a_damaged_cache_is_mended(cache: Path, upstream: str) -> None:
    path = fetch.fetch(source(upstream=f"{upstream}/good"), cache)
    path.write_bytes(GOOD[:50])
    assert fetch.fetch(source(upstream=f"{upstream}/good"), cache).read_bytes() == GOOD


def test_without_network_and_cache_one_message_says_what_to_do(cache: Path) -> None:
    with pytest.raises(FetchError) as refused:
        fetch.fetch(source(upstream=NOWHERE), cache)
    said = str(refused.value)
    assert "lib 1.0 could not be had" in said
    assert NOWHERE in said
    assert "apt-get is not on this machine" in said
    assert f"put lib-1.0.tar.gz (SHA-256 {PIN}) into a directory" in said
    assert "FLINTSTATE_SOURCES" in said
    assert kept(cache) == []


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FLINTSTATE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(FetchError, match=r"can't be written.*set FLINTSTATE_CACHE"):
        fetch.cache_directory()


def test_the_table_pins_every_archive() -> None:
    table = fetch.read_table()
    assert list(table) == ["lz4", "zstd", "rocksdb", "googletest", "benchmark"]
    for row in table.values():
        assert row.version in row.upstream
        assert all(len(digest) == 64 and int(digest, 16) for digest in row.archives)
        assert all(name.startswith(f"{row.name}-{row.version}") for name in row.archives.values())
