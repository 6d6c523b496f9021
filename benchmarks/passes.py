"""Passes, measured: ``python benchmarks/passes.py [N_TENSORS]``; what acceleration saves, and that it costs nothing.

For each setting of the paper's generator (N=5, I=10, start 23), plain coordinate ascent and the accelerated default on
the same tensors from the same starts: passes, ELBO, rank, KLD and seconds, one thread. Printed as CSV; the ratios are
medians over tensors.
"""

from __future__ import annotations

import csv
import sys
import time

import numpy as np

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf

SETTINGS = [(10_000, 5, 0.0), (100_000, 5, 0.0), (100_000, 15, 0.0), (100_000, 10, 0.5)]


def one(n_rows: int, rank: int, outage: float, seed: int, *, accelerate: bool) -> dict[str, float]:
    """Return what one fit came to."""
    truth = synthetic_pmf(rank=rank, seed=seed)
    table = sample_table(truth, n_rows, outage=outage, seed=1000 + seed)
    began = time.perf_counter()
    result = tp.fit(table, tp.VB(max_rank=23, accelerate=accelerate), seed=seed, n_threads=1)
    seconds = time.perf_counter() - began
    kld = float(tp.kl_divergence(truth, result.pmf))
    right = float(result.rank == rank)
    return {"passes": len(result.trace), "elbo": result.objective, "right": right, "kld": kld, "seconds": seconds}


def main(n_tensors: int) -> None:
    """Print one line for each setting."""
    names = [
        "n_rows",
        "rank",
        "outage",
        "n_tensors",
        "plain_passes",
        "quick_passes",
        "pass_ratio",
        "time_ratio",
        "elbo_gain",
        "least_elbo_gain",
        "plain_kld",
        "quick_kld",
        "kld_ratio",
        "plain_right",
        "quick_right",
    ]
    out = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    out.writeheader()
    for n_rows, rank, outage in SETTINGS:
        runs = {
            accelerate: [one(n_rows, rank, outage, seed, accelerate=accelerate) for seed in range(n_tensors)]
            for accelerate in (False, True)
        }
        plain, quick = ({name: np.array([run[name] for run in runs[a]]) for name in runs[a][0]} for a in (False, True))
        out.writerow({
            "n_rows": n_rows, "rank": rank, "outage": outage, "n_tensors": n_tensors,
            "plain_passes": np.median(plain["passes"]), "quick_passes": np.median(quick["passes"]),
            "pass_ratio": round(float(np.median(plain["passes"] / quick["passes"])), 2),
            "time_ratio": round(float(np.median(plain["seconds"] / quick["seconds"])), 2),
            "elbo_gain": round(float(np.median(quick["elbo"] - plain["elbo"])), 3),
            "least_elbo_gain": round(float((quick["elbo"] - plain["elbo"]).min()), 3),
            "plain_kld": round(float(plain["kld"].mean()), 6), "quick_kld": round(float(quick["kld"].mean()), 6),
            "kld_ratio": round(float(np.median(quick["kld"] / plain["kld"])), 4),
            "plain_right": int(plain["right"].sum()), "quick_right": int(quick["right"].sum()),
        })  # fmt: skip
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
