"""Ours against other libraries: ``python -m benchmarks.peers [T ...]``, opt-in, because it installs them first.

The same table (the paper's generator, N=5, I=10, true rank 5), the same 23 components, every library in a process of
its own. Seconds to a common value of the objective, the lower of the two final ones less 1e-6 of it: the bound for
variational Bayes, the log-likelihood for EM. One thread is compared in processor seconds, two in wall seconds. bnpy's
bound is that of another parametrisation, so the bound of its expected counts is worked out here. The target of a
library that was stopped before it converged is what it had reached.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.peers.environment import interpreter
from benchmarks.record import write

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.fit.vb import VBState
from tensorpmf.kernels.estep import Counts, accumulate
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.pmf.rows_of import rows_of

WORKER = Path(__file__).with_name("worker.py")
START = 23
CLOSE = 1e-6


@dataclass(frozen=True)
class Peer:
    """A library and the way it is used; how many iterations it is given for a short table and for a long one."""

    name: str
    environment: str | None
    n_iterations: dict[int, int]
    rival: str | None = None
    threads: tuple[int, ...] = (1,)


OURS = [
    Peer("tensorpmf:vb", None, {0: 10_000}, threads=(1, 2)),
    Peer("tensorpmf:em", None, {0: 1000}, threads=(1, 2)),
    Peer("tensorpmf:squarem", None, {0: 1000}, threads=(1, 2)),
]
PEERS = [
    Peer("bnpy:vb", "bnpy", {10_000: 1600, 100_000: 400}, "tensorpmf:vb"),
    Peer("bnpy:memoized", "bnpy", {10_000: 500, 100_000: 300}, "tensorpmf:vb"),
    Peer("bayespy", "current", {10_000: 400, 100_000: 80}, "tensorpmf:vb", (1, 2)),
    Peer("stepmix", "current", {10_000: 300, 100_000: 100}, "tensorpmf:em", (1, 2)),
    Peer("pomegranate", "current", {10_000: 300, 100_000: 100}, "tensorpmf:em", (1, 2)),
    Peer("sklearn", "current", {10_000: 60, 100_000: 20}, "tensorpmf:em"),
]


@dataclass(frozen=True)
class Run:
    """What a library came to."""

    seconds: np.ndarray
    objective: np.ndarray
    pmf: LowRankPMF
    rank: int
    peak_mb: float

    def reached(self, target: float) -> float:
        """Return the seconds until the objective was reached, infinity for never."""
        there = np.flatnonzero(self.objective >= target)
        return float(self.seconds[there[0]]) if len(there) else float("inf")


def run(peer: Peer, python: str, table: tp.CategoricalTable, seed: int, n_threads: int) -> Run | None:
    """Fit in a process of its own."""
    n_iterations = peer.n_iterations.get(table.n_rows, max(peer.n_iterations.values()))
    with tempfile.TemporaryDirectory() as folder:
        codes, out = Path(folder, "codes.npy"), Path(folder, "out.npz")
        np.save(codes, table.codes)
        settings = [peer.name, str(codes), START, n_iterations, seed, n_threads, str(out)]
        done = subprocess.run([python, str(WORKER), *map(str, settings)], capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{peer.name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            return None
        found = dict(np.load(out))
    objective = found["objective"]
    if "counts_weights" in found:
        pairs = zip(found["counts_weights"], found["counts_factors"], strict=True)
        objective = np.array([bound_of(table, weights, factors.T) for weights, factors in pairs])
    weights = found["weights"] / found["weights"].sum()
    factors = [part / part.sum(axis=0) for part in np.split(found["factors"].T, table.n_columns)]
    holds = weights > 0.5 / table.n_rows
    pmf = LowRankPMF(table.schema, weights[holds] / weights[holds].sum(), [part[:, holds] for part in factors])
    return Run(found["seconds"], objective, pmf, int(holds.sum()), float(found["peak_mb"]))


def bound_of(table: tp.CategoricalTable, weights: np.ndarray, factors: np.ndarray) -> float:
    """Return the bound of variational Bayes with the paper's priors at some expected counts."""
    prior = np.ones(len(factors))
    state = VBState(table.schema, weights + 1e-6, factors + 1.0, 1e-6, prior, n_empty=0)
    tables, _ = state.expectations
    counts: Counts = accumulate(rows_of(table), tables)
    return tp.VB().update(state, counts)[1].objective


def compare(n_rows: int, pythons: dict[str, str | None]) -> list[dict[str, object]]:
    """Print and return how all libraries did on one table."""
    truth = synthetic_pmf(rank=5, seed=0)
    table = sample_table(truth, n_rows, seed=1000)
    ours = {
        (peer.name, threads): [found for seed in range(3) if (found := run(peer, sys.executable, table, seed, threads))]
        for peer in OURS
        for threads in peer.threads
    }
    rows: list[dict[str, object]] = []
    for peer in PEERS:
        python = pythons[peer.environment or ""]
        for threads in peer.threads:
            if python is None or (theirs := run(peer, python, table, 0, threads)) is None:
                continue
            for name in {"tensorpmf:em": ["tensorpmf:em", "tensorpmf:squarem"]}.get(peer.rival or "", [peer.rival]):
                rows.append(compared(peer, theirs, str(name), ours[str(name), threads], truth, n_rows, threads))
                print(rows[-1], flush=True)
    return rows


def compared(
    peer: Peer, theirs: Run, name: str, ours: list[Run], truth: LowRankPMF, n_rows: int, threads: int
) -> dict[str, object]:
    """Return one line of the results: ours is the median of three starts, all of which count."""
    least = min(theirs.objective.max(), *(each.objective.max() for each in ours))
    target = least - CLOSE * abs(least)
    own = sorted(ours, key=lambda each: each.reached(target))[len(ours) // 2]
    return {
        "n_rows": n_rows, "threads": threads, "peer": peer.name, "ours": name.partition(":")[2],
        "ratio": round(theirs.reached(target) / own.reached(target), 1), "target": round(target, 2),
        "our_seconds": round(own.reached(target), 4), "peer_seconds": round(theirs.reached(target), 3),
        "our_objective": round(float(own.objective.max()), 2),
        "peer_objective": round(float(theirs.objective.max()), 2),
        "our_kld": round(float(tp.kl_divergence(truth, own.pmf)), 5),
        "peer_kld": round(float(tp.kl_divergence(truth, theirs.pmf)), 5),
        "our_rank": own.rank, "peer_rank": theirs.rank,
        "our_peak_mb": round(own.peak_mb), "peer_peak_mb": round(theirs.peak_mb),
    }  # fmt: skip


if __name__ == "__main__":
    environments = {name: interpreter(name) for name in ("current", "bnpy")}
    sizes = [int(float(word)) for word in sys.argv[1:]] or [10_000, 100_000]
    kept: list[dict[str, object]] = []
    for size in sizes:
        kept += compare(size, environments)
        write("peers", kept)
