"""Passes, measured: ``python -m benchmarks.passes [N_TENSORS]``; what acceleration saves, and that it costs nothing.

Plain coordinate ascent and the accelerated default from the same starts, one thread, one line a table: passes, bound,
rank, processor seconds, and how far the model is from the truth. On the paper's generator (N=5, I=10, start 23) that is
the KLD; on real data (four fifths of the rows, start from the default) minus the mean log-likelihood of the other rows.
``quick_to_plain`` is the pass at which the accelerated fit had the bound that plain ascent ended with, 0 for never.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import tensorpmf as tp
from benchmarks.record import write
from tensorpmf.data import load_dataset, sample_table, synthetic_pmf

SETTINGS = [(10_000, 5, 0.0), (100_000, 5, 0.0), (100_000, 15, 0.0), (100_000, 10, 0.5)]
REAL = ["votes", "movielens_1m"]
N_SPLITS = 20

Case = tuple[str, int, tp.CategoricalTable, int | None, Callable[[tp.FitResult], float]]


def synthetic(n_tensors: int) -> Iterator[Case]:
    for n_rows, rank, outage in SETTINGS:
        for seed in range(n_tensors):
            truth = synthetic_pmf(rank=rank, seed=seed)
            table = sample_table(truth, n_rows, outage=outage, seed=1000 + seed)
            name = f"T={n_rows:.0e} R={rank} p={outage}".replace("e+0", "e")
            yield name, seed, table, 23, lambda result, truth=truth: float(tp.kl_divergence(truth, result.pmf))


def real() -> Iterator[Case]:
    for name in REAL:
        table = load_dataset(name).table
        for seed in range(N_SPLITS):
            held_out = np.random.default_rng(seed).permutation(table.n_rows) % 5 == 0
            test = table.take(np.flatnonzero(held_out))
            missed = partial(mean_surprise, test=test)
            yield name, seed, table.take(np.flatnonzero(~held_out)), None, missed


def mean_surprise(result: tp.FitResult, test: tp.CategoricalTable) -> float:
    return -float(result.pmf.log_prob(test).mean())


def compared(case: Case) -> dict[str, float | str]:
    """Return what both ways came to on one table."""
    name, seed, table, max_rank, badness = case
    row: dict[str, float | str] = {"case": name, "seed": seed}
    for way, accelerate in (("plain", False), ("quick", True)):
        began = time.process_time()
        result = tp.fit(table, tp.VB(max_rank=max_rank, accelerate=accelerate), seed=seed, n_threads=1)
        row |= {
            f"{way}_passes": len(result.trace), f"{way}_elbo": round(result.objective, 4), f"{way}_rank": result.rank,
            f"{way}_badness": round(badness(result), 7), f"{way}_seconds": round(time.process_time() - began, 4),
        }  # fmt: skip
    there = np.flatnonzero(result.trace.elbo >= row["plain_elbo"])
    return row | {"quick_to_plain": int(there[0]) + 1 if len(there) else 0}


def told(rows: list[dict[str, float | str]]) -> str:
    """Return the line that sums up the rows of one case."""
    column = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    share = np.median(column["quick_passes"] / column["plain_passes"])
    gain = column["quick_elbo"] - column["plain_elbo"]
    return (
        f"{rows[0]['case']}: "
        f"passes {np.median(column['plain_passes']):.0f} -> {np.median(column['quick_passes']):.0f}, "
        f"median share {share:.3f}; bound gained {np.median(gain):+.2f} (least {gain.min():+.2f}); "
        f"mean rank {column['plain_rank'].mean():.2f} -> {column['quick_rank'].mean():.2f}; "
        f"badness {column['plain_badness'].mean():.6f} -> {column['quick_badness'].mean():.6f}"
    )


def main(n_tensors: int) -> None:
    """Print a line for each case, and keep all rows."""
    rows: list[dict[str, float | str]] = []
    for case in (*synthetic(n_tensors), *real()):
        rows.append(compared(case))
        if rows[-1]["seed"] == (N_SPLITS if case[0] in REAL else n_tensors) - 1:
            print(told([row for row in rows if row["case"] == case[0]]), flush=True)
    write("passes", rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
