"""Random programs of appends, syncs, rolls and reopenings, against a plain list."""

import tempfile
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)
from rounds import ROUNDS

from flintstate import changelog


class Row(NamedTuple):
    sequence: int
    op: int
    group: int
    table: int
    key: bytes
    value: bytes | None


OPERATIONS = st.sampled_from(changelog.Operation)
GROUPS = st.one_of(st.integers(0, 3), st.integers(0, (1 << 16) - 1))
TABLES = st.one_of(st.integers(0, 3), st.integers(0, (1 << 32) - 1))
BYTES = st.one_of(st.binary(max_size=20), st.integers(0, 5000).map(lambda n: b"ab" * n))
COLUMNS: list[changelog.reader.Column] = ["sequence", "op", "group", "table", "key", "value"]


class Log(RuleBasedStateMachine):
    """Segments 0, 1, 2, ... in a directory; the last one may still be written, or be torn."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.rows: list[Row] = []
        self.durable = 0  # this many of them survive whatever comes
        self.paths: list[Path] = []
        self.closed: dict[Path, changelog.Segment] = {}
        self.log: changelog.Writer | None = None

    def next_path(self) -> Path:
        self.paths.append(Path(self.directory.name) / f"{len(self.paths)}")
        return self.paths[-1]

    @initialize(level=st.sampled_from([-1, 1, 3]), batch_bytes=st.sampled_from([1 << 10, 1 << 18]))
    def start(self, level: int, batch_bytes: int) -> None:
        self.level, self.batch_bytes = level, batch_bytes
        self.open()

    def open(self) -> None:
        self.log = changelog.Writer(
            self.next_path(),
            level=self.level,
            batch_bytes=self.batch_bytes,
            first_sequence=len(self.rows) + 1,
        )

    @rule(op=OPERATIONS, group=GROUPS, table=TABLES, key=BYTES, value=BYTES)
    def append(
        self, op: changelog.Operation, group: int, table: int, key: bytes, value: bytes
    ) -> None:
        kept = None if op is changelog.DELETE else value
        sequence = self.log.append(op, table=table, key=key, value=kept, group=group)
        assert sequence == len(self.rows) + 1
        self.rows.append(Row(sequence, op, group, table, key, kept))

    @rule(op=OPERATIONS, table=TABLES, rows=st.lists(st.tuples(GROUPS, BYTES, BYTES), max_size=50))
    def append_many(
        self, op: changelog.Operation, table: int, rows: list[tuple[int, bytes, bytes]]
    ) -> None:
        values = None if op is changelog.DELETE else pa.array([r[2] for r in rows], pa.binary())
        last = self.log.append_many(
            op,
            table=table,
            keys=pa.array([row[1] for row in rows], pa.binary()),
            values=values,
            group=pa.array([row[0] for row in rows], pa.uint16()),
        )
        for group, key, value in rows:
            kept = None if op is changelog.DELETE else value
            self.rows.append(Row(len(self.rows) + 1, op, group, table, key, kept))
        assert last == len(self.rows)

    @rule()
    def sync(self) -> None:
        assert self.log.sync() == len(self.rows)
        self.durable = len(self.rows)

    @rule()
    def roll(self) -> None:
        old = self.paths[-1]
        self.closed[old] = self.log.roll(self.next_path())
        self.durable = len(self.rows)

    @rule()
    def close_and_go_on(self) -> None:
        self.closed[self.paths[-1]] = self.log.close()
        self.durable = len(self.rows)
        self.open()

    @rule()
    def crash_and_go_on(self) -> None:
        """What is in the file stays; what was only in memory is lost."""
        self.log = None
        found = self.read()
        assert self.durable <= len(found)
        assert found == self.rows[: len(found)]
        self.rows = found
        self.durable = len(found)
        self.open()

    def read(self) -> list[Row]:
        rows: list[Row] = []
        for path in self.paths:
            segment = self.closed.get(path)
            reader = changelog.Reader(path, columns=COLUMNS, expected=segment)
            assert reader.torn == (segment is None)
            for batch in reader:
                rows += map(Row._make, zip(*batch.to_pydict().values(), strict=True))
        return rows

    @invariant()
    def every_durable_row_is_there_and_nothing_else(self) -> None:
        found = self.read()
        assert self.durable <= len(found)
        assert found == self.rows[: len(found)]

    @rule(share=st.floats(0, 1), low=GROUPS, high=GROUPS)
    def read_a_part(self, share: float, low: int, high: int) -> None:
        low, high = min(low, high), max(low, high)
        start = int(share * len(self.rows))
        segment = changelog.Reader(self.paths[0], columns=COLUMNS).read_all().to_pylist()
        part = changelog.Reader(
            self.paths[0], columns=COLUMNS, from_sequence=start, groups=range(low, high + 1)
        )
        assert part.read_all().to_pylist() == [
            row for row in segment if row["sequence"] >= start and low <= row["group"] <= high
        ]

    def teardown(self) -> None:
        self.log = None
        self.directory.cleanup()


Log.TestCase.settings = settings(max_examples=25 * ROUNDS, stateful_step_count=25, deadline=None)
TestLog = Log.TestCase
