from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from spark_streams import Feed

from flintstate.errors import InvalidError, NotFoundError
from flintstate.spark import KeyedProcessFunction, keyed, read_state

FILES = [[i * j % 40 for i in range(200)] for j in (1, 3)]


class Most:
    """Keeps the greatest; its accumulator is changed in place."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def add(self, value: int, acc: list[int]) -> list[int]:
        acc[0] = max(acc[0], value)
        return acc

    def get_result(self, acc: list[int]) -> int:
        return acc[0]

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        return [max(a[0], b[0])]


class AllKinds(KeyedProcessFunction[Any]):
    def open(self, ctx: Any) -> None:
        self.n = ctx.value_state("n", pa.int64(), default=0)
        self.sum = ctx.reducing_state("sum", pa.int64(), "sum")
        self.most = ctx.aggregating_state("most", Most(), accumulator=pa.list_(pa.int64()))
        self.list = ctx.list_state("list", pa.string())
        self.map = ctx.map_state("map", pa.int64(), pa.string())
        self.sorted = ctx.sorted_state("sorted", pa.int64(), pa.string())

    def process_element(self, row: Any, ctx: Any) -> Any:
        self.n.update(self.n.value() + 1)
        self.sum.add(row.user)
        self.most.add(self.n.value())
        text = f"{row.user}#{self.n.value()}"
        self.list.add(text)
        self.map.put(self.n.value() % 3, text)
        self.sorted.add(-self.n.value(), text)
        yield row.user, self.n.value()


def test_every_kind_of_every_batch(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path, "user long")
    for users in FILES:
        feed.add(user=users)
    out = keyed(feed.stream(), "user", state=feed.state).process(
        AllKinds(), schema="user long, n long"
    )
    feed.drain(out)
    moved = tmp_path / "moved"
    Path(feed.state).rename(moved)

    def read(state: str, batch_id: int | None = None) -> list[tuple[Any, ...]]:
        df = read_state(
            spark, checkpoint=tmp_path / "checkpoint", state=state, root=moved, batch_id=batch_id
        )
        assert df.columns[0] == "user"
        return sorted(map(tuple, df.collect()))

    with pytest.raises(NotFoundError, match=r"batch_id=77: the last batch committed is [0-9]"):
        read("n", batch_id=77)
    for wrong in (-1, "x"):
        with pytest.raises(InvalidError, match=f"batch_id={wrong!r}: the number of a batch"):
            read("n", batch_id=wrong)
    with pytest.raises(InvalidError, match="state=None: the name of a state"):
        read(None)

    first, both = Counter(FILES[0]), Counter(FILES[0] + FILES[1])
    assert read("n", batch_id=0) == sorted(first.items())
    assert read("n") == sorted(both.items())
    assert read("sum") == sorted((user, user * n) for user, n in both.items())
    assert read("most") == sorted((user, [n]) for user, n in both.items())
    texts = {user: [f"{user}#{i}" for i in range(1, n + 1)] for user, n in both.items()}
    assert Counter(read("list")) == Counter((u, t) for u, all_ in texts.items() for t in all_)
    assert len(read("map")) == sum(min(n, 3) for n in both.values())
    assert read("sorted") == sorted(
        (u, -i, t) for u, all_ in texts.items() for i, t in enumerate(all_, 1)
    )
