"""The changelog against zstd itself, a bare fdatasync and a database's own batches, as tables.

    PYTHONPATH=python python bench/peers/changelog.py

Runs `build/release/changelog_bench` and `replay_bench` (`make bench` builds them; `--build` names
another directory). In each row ours and the peer ran by turns; the ratio is the median over turns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

Row = dict[str, float | str]


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    build = parser.parse_args().build
    rows = run(build / "changelog_bench", "Throughput|Append|Sync") + run(
        build / "replay_bench", ""
    )
    throughput(named(rows, "ThroughputAgainstZstd"))
    appends(rows)
    syncs(named(rows, "SyncAgainstFdatasync"))
    replays(named(rows, "ReplayAgainstBatchPut"))


def run(bench: Path, which: str) -> list[Row]:
    """What the benchmarks of one binary measured."""
    command = [bench, f"--benchmark_filter={which}", "--benchmark_format=json"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(json.loads(said)["benchmarks"])


def named(rows: Iterable[Row], name: str) -> list[Row]:
    """The rows of one benchmark, its arguments added to each as numbers."""
    found = []
    for row in rows:
        first, *arguments = str(row["name"]).split("/")
        if first == name:
            pairs = (argument.split(":") for argument in arguments if ":" in argument)
            found.append(row | {key: float(value) for key, value in pairs})
    return found


def table(heads: str, cells: Iterable[Iterable[str]]) -> None:
    """One table, in Markdown."""
    print(f"\n| {heads} |\n|{' --- |' * (heads.count('|') + 1)}")
    for line in cells:
        print(f"| {' | '.join(line)} |")


def megabytes(row: Row, name: str) -> str:
    """A counter of a row, in MB/s."""
    return f"{row[name]:,.0f} MB/s"


def kind(row: Row) -> str:
    """What records a row of the throughput was measured with."""
    if not row["random"]:
        return "state changes"
    many = ", `append_many`" if row["many"] else ""
    return f"random, {row['random']:,.0f} bytes{many}"


def throughput(rows: list[Row]) -> None:
    """The writer against zstd in memory, zstd into a file, and a file of the blocks as they are."""
    table(
        "records | block | level | ours | zstd | ratio | zstd into a file | ratio"
        " | bare write | of zstd",
        (
            (
                kind(row),
                f"{row['KiB']:.0f} KiB",
                f"{row['level']:.0f}",
                megabytes(row, "ours_MB/s"),
                megabytes(row, "zstd_MB/s"),
                f"**{row['ratio']:.2f}x**",
                megabytes(row, "file_MB/s"),
                f"{row['file_ratio']:.2f}x",
                megabytes(row, "write_MB/s"),
                f"{row['write_ratio']:.2f}x",
            )
            for row in sorted(rows, key=by_kind)
        ),
    )


def by_kind(row: Row) -> tuple[float, ...]:
    """The order of the table: alike records together, then alike blocks."""
    return tuple(float(row[name]) for name in ("random", "many", "KiB", "level"))


def appends(rows: list[Row]) -> None:
    """Latency of single appends, and how many a second there are."""
    (latency,) = named(rows, "AppendLatency")
    (single,) = named(rows, "AppendBackToBack")
    many = named(rows, "AppendManyFromArrow")
    table(
        "append | measured",
        [
            ("64 bytes, median", f"{latency['p50_ns']:.0f} ns"),
            ("99 %", f"{latency['p99_ns']:.0f} ns"),
            ("99.9 %", f"{latency['p99.9_ns']:.0f} ns"),
            ("64 bytes, back to back", f"{float(single['items_per_second']) / 1e6:.1f} M/s"),
            *(
                (
                    f"`append_many` of {'random' if row['random'] else 'state changes,'} "
                    f"{'64' if row['random'] else '26'} bytes",
                    f"{float(row['items_per_second']) / 1e6:.1f} M/s",
                )
                for row in many
            ),
        ],
    )


def syncs(rows: list[Row]) -> None:
    """Sync against write and fdatasync of as many bytes."""
    table(
        "bytes pending | sync | write and fdatasync | ratio | more",
        (
            (
                f"{row['pending']:,.0f}",
                f"{row['ours_us']:,.0f} µs",
                f"{row['fdatasync_us']:,.0f} µs",
                f"**{row['ratio']:.2f}x**",
                f"{float(row['ours_us']) - float(row['fdatasync_us']):+,.0f} µs",
            )
            for row in rows
        ),
    )


def replays(rows: list[Row]) -> None:
    """Replay against batches that are put."""
    table(
        "records in a batch | replay | batches put | ratio",
        (
            (
                "in key order" if row["sorted"] else "in any order",
                f"{row['replay_M/s']:.2f} M/s",
                f"{row['put_M/s']:.2f} M/s",
                f"**{row['ratio']:.2f}x**",
            )
            for row in rows
        ),
    )


if __name__ == "__main__":
    main()
