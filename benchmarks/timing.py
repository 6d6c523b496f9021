"""Time, on a machine that others use as well: the least of several tries, what is compared tried in turns."""

from __future__ import annotations

import time
from collections.abc import Callable


def least(
    *tasks: Callable[[], object], n_tries: int = 9, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Return the fewest seconds each task took; processor seconds unless told otherwise."""
    best = [float("inf")] * len(tasks)
    for _ in range(n_tries):
        for ix, task in enumerate(tasks):
            began = clock()
            task()
            best[ix] = min(best[ix], clock() - began)
    return best
