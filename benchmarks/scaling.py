"""How cost grows: ``python -m benchmarks.scaling``; one axis at a time, slopes fitted on logarithms, and a picture.

Processor seconds of one thread: ``pass`` from log-tables to counts, the least of several; ``cut`` what sorting, merging
and packing take, once a fit; ``fit`` fifty iterations of a fit, all included. Tables are random: hardly any rows
are equal, and of many components most die within a fit, so that fits grow more slowly than passes. ``memory`` is what
the peak of the process grew by in that fit, measured in a process of its own, in multiples of the encoded table.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np

import tensorpmf as tp
from benchmarks.record import RESULTS, write
from benchmarks.test_kernels import one_pass
from benchmarks.timing import least
from tensorpmf.kernels.blocks import cut
from tensorpmf.kernels.estep import LogTables
from tensorpmf.kernels.rows import Rows

BASE = {"rows": 20_000, "columns": 20, "levels": 10, "components": 23, "observed": 1.0}
AXES: dict[str, tuple[dict[str, float], list[float]]] = {
    "rows": ({"columns": 10}, [1e3, 1e4, 1e5, 1e6, 1e7]),
    "columns": ({}, [5, 10, 20, 50, 100, 200, 500, 1000]),
    "levels": ({"columns": 5, "rows": 100_000}, [2, 5, 10, 20, 50, 100, 200, 500, 1000]),
    "components": ({}, [2, 5, 10, 23, 50, 100, 200, 450]),
    "observed": ({"columns": 200}, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]),
}
N_ITERATIONS = 50


def random_codes(rows: int, columns: int, levels: int, observed: float) -> np.ndarray:
    """(rows, columns) codes in the smallest type, drawn a part at a time: little memory is needed beside them."""
    rng = np.random.default_rng(1)
    codes = np.empty((rows, columns), np.int8 if levels < 128 else np.int16)
    for start in range(0, rows, 100_000):
        part = codes[start : start + 100_000]
        part[:] = rng.integers(0, levels, part.shape, dtype=part.dtype)
        if observed < 1:
            part[rng.random(part.shape, dtype=np.float32) >= observed] = -1
    return codes


def measured(axis: str, value: float) -> dict[str, object]:
    """Return what one table costs."""
    size = BASE | AXES[axis][0] | {axis: value}
    n_rows, n_columns, n_levels, rank = (int(size[name]) for name in ("rows", "columns", "levels", "components"))
    codes = random_codes(n_rows, n_columns, n_levels, size["observed"])
    rows = Rows.from_codes(codes, [n_levels] * n_columns)
    began = time.process_time()
    blocks = cut(rows)
    cutting = time.process_time() - began
    rng = np.random.default_rng(2)
    factors = np.log(rng.dirichlet(np.ones(n_levels), (n_columns, rank))).transpose(0, 2, 1).reshape(-1, rank)
    tables = LogTables(np.log(rng.dirichlet(np.ones(rank))), factors)
    n_tries = 3 if n_rows * n_columns * size["observed"] * rank > 1e8 else 9
    (seconds,) = least(partial(one_pass, blocks, tables), n_tries=n_tries)
    fit, memory = fitted(codes, n_levels, rank)
    return {
        "axis": axis, "value": value, "pass_ms": round(1e3 * seconds, 4), "cut_ms": round(1e3 * cutting, 3),
        "fit_ms": round(1e3 * fit, 2), "table_mb": round(codes.nbytes / 2**20, 3), "memory_mb": round(memory, 2),
    }  # fmt: skip


def fitted(codes: np.ndarray, n_levels: int, rank: int) -> tuple[float, float]:
    """Return the processor seconds of some iterations, and by how many MB they raised the peak of a fresh process."""
    path = Path(f"/dev/shm/tensorpmf-scaling-{time.time_ns()}.npy")
    np.save(path, codes)
    try:
        command = [sys.executable, "-m", "benchmarks.scaling", str(path), str(n_levels), str(rank)]
        return tuple(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    finally:
        path.unlink()


def fit_here(path: str, n_levels: int, rank: int) -> None:
    """Print what a fit in this process took."""
    codes = np.load(path)
    table = tp.CategoricalTable.from_codes(codes, n_levels=[n_levels] * codes.shape[1])
    fit = partial(tp.fit, algorithm=tp.VB(max_rank=rank), n_threads=1, tolerance=0.0)
    fit(table.take(slice(0, 100)), max_iterations=2)  # loads what is loaded late
    del codes
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before, began = memory_mb(), time.process_time()
    fit(table, max_iterations=N_ITERATIONS)
    print(json.dumps([time.process_time() - began, memory_mb() - before]))


def memory_mb() -> float:
    """Return the most memory this process has held."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def slope(rows: list[dict[str, object]], cost: str) -> float:
    """Return the exponent of the growth of a cost over the upper half of an axis, where start-up matters least."""
    upper = rows[len(rows) // 2 - 1 :]
    x, y = ([float(row[name]) for row in upper] for name in ("value", cost))
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Draw cost against size, an axis a panel, with the slopes."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(AXES), figsize=(3.1 * len(AXES), 3.2), layout="constrained")
    for panel, (axis, group) in zip(panels, groupby(rows, key=lambda row: row["axis"]), strict=True):
        points = list(group)
        x = [float(row["value"]) for row in points]
        for cost, label, colour in (("fit_ms", "fit", "C1"), ("cut_ms", "cut", "C2"), ("pass_ms", "pass", "C0")):
            y = [float(row[cost]) for row in points]
            panel.loglog(x, y, "o-", color=colour, markersize=3, label=f"{label}: slope {slope(points, cost):.2f}")
        panel.set_title(str(axis))
        panel.legend(fontsize=7, frameon=False)
        panel.grid(alpha=0.25)
    panels[0].set_ylabel("processor milliseconds")
    figure.savefig(path, dpi=110)


def main(measure: Callable[[str, float], dict[str, object]] = measured) -> None:
    """Measure along every axis, keep, and draw."""
    rows = []
    for axis, (_, values) in AXES.items():
        for value in values:
            rows.append(measure(axis, value))
            print(rows[-1], flush=True)
        points = [row for row in rows if row["axis"] == axis]
        print({cost: round(slope(points, cost), 2) for cost in ("pass_ms", "cut_ms", "fit_ms")}, flush=True)
    write("scaling", rows)
    draw(rows, RESULTS / "scaling.png")


if __name__ == "__main__":
    fit_here(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 1 else main()
