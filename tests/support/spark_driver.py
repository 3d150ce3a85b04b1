"""A driver of its own, for tests to kill:  python spark_driver.py HOME [BATCH]

Runs `Count` over HOME/in, and writes the rows of each batch to HOME/rows/BATCH.json. Where BATCH is
given it dies in that batch, after our commit and before that of Spark.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from pyspark.sql import DataFrame
from spark_functions import OUT, Count
from spark_streams import Feed, make_session

from flintstate.spark import keyed


def main(home: Path, dies_in: int) -> None:
    spark = make_session()
    feed = Feed(spark, home, "user long")

    def write(rows: DataFrame, batch: int) -> None:
        found = [tuple(row) for row in rows.collect()]  # all tasks are done, and have committed
        (home / "rows" / f"{batch}.json").write_text(json.dumps(found))
        if batch == dies_in:
            os.killpg(os.getpgid(0), signal.SIGKILL)

    out = keyed(feed.stream(), "user", state=feed.state, local_dir=str(home / "local"))
    query = (
        out.process(Count(), schema=OUT)
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", str(home / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else -1)
