"""Two ways to do one piece of work, measured by turns in one run, compared by their ratio.

Absolute figures move with the machine and with what else it does; a ratio of neighbours moves much
less. Each round runs both, and the order changes from round to round. What is reported is the
median of the rounds' ratios, with its extremes.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """What one comparison gave. Ratios above 1 say that ours is faster."""

    work: str
    peer: str
    units: str
    ours: float  # units a second, median
    theirs: float
    ratios: tuple[float, ...]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    def row(self) -> str:
        spread = f"{min(self.ratios):.2f}-{max(self.ratios):.2f}"
        return (
            f"| {self.work} | {self.peer} | {_rate(self.ours)} {self.units} "
            f"| {_rate(self.theirs)} {self.units} | **{self.ratio:.2f}x** | {spread} |"
        )


HEADER = (
    "| work | against | ours | theirs | ratio | rounds |\n| --- | --- | --- | --- | --- | --- |"
)


def _rate(rate: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{rate / size:.2f} {unit}"
    return f"{rate:.1f} "


def seconds(work: Callable[[], object]) -> float:
    """How long the work takes, without the garbage collector of Python."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    finally:
        gc.enable()


def compare(
    work: str,
    peer: str,
    ours: Callable[[], float],
    theirs: Callable[[], float],
    *,
    amount: int,
    units: str = "rows/s",
    rounds: int = 5,
) -> Comparison:
    """Runs both by turns. Each gives the seconds that its `amount` of work took."""
    times: list[tuple[float, float]] = []
    for number in range(rounds):
        if number % 2 == 0:
            mine = ours()
            times.append((mine, theirs()))
        else:
            other = theirs()
            times.append((ours(), other))
    comparison = Comparison(
        work=work,
        peer=peer,
        units=units,
        ours=amount / statistics.median(mine for mine, _ in times),
        theirs=amount / statistics.median(other for _, other in times),
        ratios=tuple(other / mine for mine, other in times),
    )
    print(comparison.row(), flush=True)
    return comparison
