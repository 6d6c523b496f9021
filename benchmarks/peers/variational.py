"""Variational Bayes, measured: ``python benchmarks/peers/variational.py PYTHON [N_ROWS ...]``.

Seconds to a common ELBO on the paper's generator (N=5, I=10, true rank 5, start 23, one thread), ours against BayesPy,
which the interpreter PYTHON has installed in an environment of its own. The model is the same, so the bounds compare.
Each line records ELBO, rank, passes and KLD beside seconds, so that a faster wrong answer is visible.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf

START = 23
CLOSE = 1e-6
"""Two bounds are the same if they differ by less than this, relative."""

BAYESPY = """
import json, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
from bayespy.inference import VB
from bayespy.nodes import Categorical, Dirichlet, Mixture
codes, n_iterations, rank = np.load(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
weights = Dirichlet(np.full(rank, 1e-6))
hidden = Categorical(weights, plates=(len(codes),))
rng = np.random.default_rng(0)
hidden.initialize_from_value(rng.integers(0, rank, len(codes)))
observed, factors = [], []
for column in codes.T:
    factor = Dirichlet(np.ones(10), plates=(rank,))
    node = Mixture(hidden, Categorical, factor)
    node.observe(column)
    factors.append(factor)
    observed.append(node)
model = VB(*observed, *factors, weights, hidden)
began, elbo, seconds = time.perf_counter(), [], []
for _ in range(n_iterations):
    model.update(*factors, weights, hidden, repeat=1, verbose=False, tol=None)
    elbo.append(float(model.loglikelihood_lowerbound()))
    seconds.append(time.perf_counter() - began)
counts = np.asarray(hidden.get_moments()[0]).sum(axis=0)
print(json.dumps({"elbo": elbo, "seconds": seconds, "rank": int((counts > 0.5).sum())}))
"""


def bayespy(python: str, codes: np.ndarray, n_iterations: int) -> dict[str, list[float]]:
    """Return the bound and the time after each of BayesPy's iterations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.npy"
        np.save(path, codes.astype(np.int64))
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        run = subprocess.run(
            [python, "-c", BAYESPY, str(path), str(n_iterations), str(START)],
            capture_output=True, text=True, check=True, env=environment,
        )  # fmt: skip
    return json.loads(run.stdout.splitlines()[-1])


def reached(elbo: np.ndarray, seconds: np.ndarray, target: float) -> tuple[int, float]:
    """Return the pass at which a bound was reached, and the time; never is minus one and infinity."""
    there = np.flatnonzero(elbo >= target)
    return (int(there[0]) + 1, float(seconds[there[0]])) if len(there) else (-1, float("inf"))


def compare(python: str, n_rows: int, n_iterations: int) -> dict[str, float]:
    """Print and return one comparison."""
    truth = synthetic_pmf(rank=5, seed=0)
    table = sample_table(truth, n_rows, seed=1000)
    runs = [tp.fit(table, tp.VB(max_rank=START), n_threads=1) for _ in range(5)]
    ours = min(runs, key=lambda run: run.trace.seconds[-1])
    began = time.perf_counter()
    theirs = bayespy(python, table.codes, n_iterations)
    wall = time.perf_counter() - began
    elbo, seconds = np.array(theirs["elbo"]), np.array(theirs["seconds"])
    target = min(elbo.max(), ours.objective) - CLOSE * abs(ours.objective)
    our_passes, our_seconds = reached(ours.trace.elbo, ours.trace.seconds, target)
    their_passes, their_seconds = reached(elbo, seconds, target)
    row = {
        "n_rows": n_rows, "target_elbo": target, "our_seconds": our_seconds, "our_passes": our_passes,
        "our_elbo": ours.objective, "our_rank": ours.rank, "our_kld": float(tp.kl_divergence(truth, ours.pmf)),
        "bayespy_seconds": their_seconds, "bayespy_passes": their_passes, "bayespy_elbo": float(elbo[-1]),
        "bayespy_rank": theirs["rank"], "bayespy_seconds_a_pass": float(seconds[-1] / len(seconds)),
        "ratio": their_seconds / our_seconds, "bayespy_wall": wall,
    }  # fmt: skip
    print(json.dumps(row))
    return row


if __name__ == "__main__":
    for size in [int(float(word)) for word in sys.argv[2:]] or [10_000, 100_000]:
        compare(sys.argv[1], size, n_iterations=450 if size <= 10_000 else 150)
