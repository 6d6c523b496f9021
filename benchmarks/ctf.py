"""Coupled factorisation, measured: ``python benchmarks/ctf.py [mirror] [large] [accuracy]``.

mirror      seconds to the authors' objective value: their mirror descent, our EM, our EM under SQUAREM, same starts
large       a table of MovieLens' shape, a quarter of all triplets: counting, one sweep, memory
accuracy    KLD from the truth on the paper's generator: orders 2, 3 and "full" against EM

Processor seconds are given beside wall seconds: they mean something on a machine that others use, too.
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass

import numpy as np

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.fit.em import EM
from tensorpmf.fit.squarem import SQUAREM
from tensorpmf.kernels.marginals import accumulate_marginals, count_marginals
from tensorpmf.pmf.rows_of import rows_of


@dataclass
class Clock:
    """Wall and processor seconds of a block."""

    wall: float = 0.0
    processor: float = 0.0

    def __enter__(self) -> Clock:
        self._began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall, self.processor = time.perf_counter() - self._began[0], time.process_time() - self._began[1]

    def __str__(self) -> str:
        return f"{self.wall:8.4f} s wall {self.processor:8.4f} s processor"


def mirror(n_tensors: int = 5, n_rounds: int = 100) -> None:
    print("the authors' mirror descent, and how long ours takes to the objective it ends at (processor seconds)")
    for rank in (5, 15):
        ratios = []
        for seed in range(n_tensors):
            table = sample_table(synthetic_pmf(rank=rank, seed=seed), 10_000, seed=seed)
            theirs, seconds = reach(tp.CTF(rank, method="mirror"), table, n_rounds, np.inf)
            ours = [reach(a, table, 20_000, theirs) for a in (tp.CTF(rank), SQUAREM(tp.CTF(rank)))]
            ratios.append([own / seconds for _, own in ours])
            print(
                f"  R={rank} tensor {seed}: objective {theirs:.8f}: mirror {seconds:.3f}, "
                + ", ".join(
                    f"{name} {own:.3f} (ends at {value:.8f})"
                    for name, (value, own) in zip(("EM", "SQUAREM(EM)"), ours, strict=True)
                )
            )
        em, squarem = np.median(ratios, axis=0)
        print(f"  R={rank}: median ratio to mirror descent: EM {em:.2f}, SQUAREM(EM) {squarem:.2f}")


def reach(algorithm: object, table: tp.CategoricalTable, most: int, wanted: float) -> tuple[float, float]:
    """Return the objective reached, and the processor seconds until it was at least ``wanted``."""
    began = time.process_time()
    seen: list[tuple[float, float]] = []

    def watch(progress: object) -> None:
        seen.append((progress.info.objective, time.process_time() - began))
        if progress.info.objective >= wanted:
            raise KeyboardInterrupt

    result = tp.fit(table, algorithm, seed=1, max_iterations=most, tolerance=0.0, n_threads=1, callback=watch)
    return max(result.objective, max(objective for objective, _ in seen)), seen[-1][1]


def large(n_rows: int = 67_741, n_columns: int = 100, rank: int = 50) -> None:
    pmf = synthetic_pmf(n_columns=n_columns, rank=rank, seed=0)
    rows = rows_of(sample_table(pmf, n_rows, outage=0.72, seed=0))
    algorithm = tp.CTF(rank, triplets=0.25)
    with Clock() as choosing:
        state = algorithm.start(pmf.schema, np.random.default_rng(0))
        n_parts = len(state.subsets.parts)
    n_triplets, n_cells = state.subsets.n_subsets, state.subsets.n_cells
    print(f"{n_rows} x {n_columns}, 72 % missing, {n_triplets} triplets, {n_cells} cells, R={rank}")
    print(f"  choosing  {choosing}   ({len(state.subsets.groups)} leads in {n_parts} parts)")
    for _ in range(3):
        with Clock() as counting:
            count_marginals(rows, state.subsets)
        print(f"  counting  {counting}")
    with Clock() as first:
        state, _ = algorithm.update(state, algorithm.summarise(rows, state))
    print(f"  first step, counting included {first}")
    for _ in range(4):
        with Clock() as sweep:
            accumulate_marginals(state.target.cells, state.subsets, state.weights, state.factors)
        print(f"  sweep     {sweep}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  peak memory of the process {peak:.2f} GiB; estimated for the marginals {24 * n_cells / 2**30:.2f}")


def accuracy(n_tensors: int = 5) -> None:
    print("KLD from the truth, N=5, I=10, R=5, T=10 000 (mean over tensors; passes or sweeps; seconds)")
    for outage in (0.0, 0.3):
        tables = [
            (pmf := synthetic_pmf(seed=seed), sample_table(pmf, 10_000, outage=outage, seed=100 + seed))
            for seed in range(n_tensors)
        ]
        for name, algorithm in [("EM", EM(5)), *((f"CTF {order}", tp.CTF(5, order=order)) for order in (2, 3, "full"))]:
            results = [tp.fit(table, SQUAREM(algorithm), n_starts=3) for _, table in tables]
            kld = [float(tp.kl_divergence(pmf, result.pmf)) for (pmf, _), result in zip(tables, results, strict=True)]
            steps = np.mean([len(result.trace) for result in results])
            seconds = np.mean([result.trace.seconds[-1] for result in results])
            summary = f"KLD {np.mean(kld):.5f}, {steps:4.0f} steps, {seconds:.3f} s"
            print(f"  p={outage}: {name:8s} {summary}  {np.round(kld, 4)}")


if __name__ == "__main__":
    for part in sys.argv[1:] or ["mirror", "large", "accuracy"]:
        {"mirror": mirror, "large": large, "accuracy": accuracy}[part]()
