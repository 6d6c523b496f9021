"""Maximum likelihood, measured: ``python benchmarks/squarem.py [passes] [peers PYTHON]``.

passes  passes that EM and SQUAREM(EM) need to the same log-likelihood on the paper's generator, every scheme
peers   seconds to a log-likelihood, one thread: our EM and SQUAREM(EM) against stepmix and pomegranate, which the
        interpreter PYTHON has installed (an environment of its own, because they pin other libraries)

Each line records log-likelihood and passes beside seconds, so that a faster wrong answer is visible.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.fit.contract import Algorithm

CLOSE = 1e-6
"""Two log-likelihoods are the same if they differ by less than this, relative."""


def passes(n_tensors: int = 10, n_rows: int = 10_000, rank: int = 5) -> None:
    print(f"T={n_rows} R={rank} N=5 I=10, {n_tensors} tensors: passes to within {CLOSE:g} and 1e-8 of the optimum")
    variants = [("s1", "log"), ("s2", "log"), ("s3", "log"), ("s1", "simplex"), ("s3", "simplex")]
    ratios: dict[tuple[str, str], list[tuple[float, float]]] = {variant: [] for variant in variants}
    for seed in range(n_tensors):
        table = sample_table(synthetic_pmf(rank=rank, seed=seed), n_rows, seed=100 + seed)
        plain = climbed(table, tp.EM(rank), seed)
        fast = {variant: climbed(table, tp.SQUAREM(tp.EM(rank), *variant), seed) for variant in variants}
        line = [f"tensor {seed}: log-likelihood {plain[-1]:.4f}, EM {needed(plain, plain[-1])}"]
        for variant, objective in fast.items():
            best = min(plain[-1], objective[-1])
            here, there = needed(objective, best), needed(plain, best)
            ratios[variant].append((here[0] / there[0], here[1] / there[1]))
            line.append(f"{'/'.join(variant)} {here} ({objective[-1] - plain[-1]:+.4f})")
        print("  " + ", ".join(line))
    for variant, each in ratios.items():
        medians = np.median(each, axis=0)
        print(f"  {'/'.join(variant):12s} median share of EM's passes: {medians[0]:.3f} and {medians[1]:.3f}")


def climbed(table: tp.CategoricalTable, algorithm: Algorithm, seed: int) -> np.ndarray:
    """The objective pass by pass, followed until nothing is left to gain."""
    return tp.fit(table, algorithm, seed=seed, tolerance=1e-13, max_iterations=20_000, n_threads=1).trace.objective


def needed(objective: np.ndarray, best: float) -> tuple[int, int]:
    """Passes to 1e-6 and to 1e-8 of a log-likelihood."""
    return tuple(int(np.argmax(objective >= best - abs(best) * share)) + 1 for share in (CLOSE, 1e-8))


PEERS = """
import json, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
name, path, rank, n_iterations, seed = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
codes = np.load(path)
if name == "stepmix":
    from stepmix.stepmix import StepMix
    nan = "_nan" if (codes < 0).any() else ""
    data = np.where(codes < 0, np.nan, codes) if nan else codes
    model = StepMix(rank, measurement="categorical" + nan, max_iter=n_iterations, abs_tol=0, rel_tol=0, n_init=1,
                    random_state=seed, verbose=0, progress_bar=0)
    began = time.perf_counter()
    model.fit(data)
    seconds, log_likelihood, n_done = time.perf_counter() - began, model.score(data) * len(data), model.n_iter_
else:
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    from pomegranate.distributions import Categorical
    from pomegranate.gmm import GeneralMixtureModel
    rng = np.random.default_rng(seed)
    levels = codes.max(axis=0) + 1
    components = [Categorical([rng.dirichlet(np.ones(n)) for n in levels]) for _ in range(rank)]
    data = torch.tensor(codes)
    if (codes < 0).any():
        data = torch.masked.MaskedTensor(data.clamp(min=0), mask=data >= 0)
    model = GeneralMixtureModel(components, max_iter=n_iterations, tol=-1.0)
    began = time.perf_counter()
    model.fit(data)
    seconds, n_done = time.perf_counter() - began, n_iterations
    log_likelihood = float(model.log_probability(data).double().sum())
print(json.dumps([seconds, log_likelihood, n_done]))
"""


def peers(python: str) -> None:
    cases = [("T=1e4 N=5 I=10 R=5", 10_000, 5, 10, 0.0, 5), ("T=1e5 N=5 I=10 R=5", 100_000, 5, 10, 0.0, 5)]
    cases += [
        ("T=1e4 N=30 I=2 R=8", 10_000, 30, 2, 0.0, 8),
        ("T=1e4 N=20 I=5 R=6, 30 % missing", 10_000, 20, 5, 0.3, 6),
    ]
    for title, n_rows, n_columns, n_levels, outage, rank in cases:
        table = sample_table(synthetic_pmf(n_columns, n_levels, rank, seed=1), n_rows, outage, seed=2)
        print(title)
        for name in ("stepmix", "pomegranate"):
            few, many = (ask(python, name, table, rank, n, seed=0) for n in (10, 60))
            if few is None or many is None:
                print(f"  {name:14s} cannot")
                continue
            print(f"  {name:14s} {1000 * (many[0] - few[0]) / 50:8.3f} ms a pass; {told(*many)}")
            for algorithm in (tp.EM(rank), tp.SQUAREM(tp.EM(rank))):
                print(f"    {type(algorithm).__name__:12s} to that: {told(*reach(table, algorithm, many[1]))}")
        seconds, log_likelihood, n_passes = reach(table, tp.EM(rank), np.inf, most=60)
        print(f"  {'our EM':14s} {1000 * seconds / n_passes:8.3f} ms a pass; {told(seconds, log_likelihood, n_passes)}")


def ask(
    python: str, name: str, table: tp.CategoricalTable, rank: int, n_iterations: int, seed: int
) -> tuple[float, float, int] | None:
    """Seconds, log-likelihood and passes of a peer; the faster of two runs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "codes.npy")
        np.save(path, table.codes.astype(np.int64))
        command = [python, "-c", PEERS, name, str(path), str(rank), str(n_iterations), str(seed)]
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        runs = [subprocess.run(command, capture_output=True, text=True, env=threads, check=False) for _ in range(2)]
    if any(run.returncode for run in runs):
        print(runs[0].stderr.strip().splitlines()[-1])
        return None
    return tuple(min(json.loads(run.stdout.splitlines()[-1]) for run in runs))


def reach(
    table: tp.CategoricalTable, algorithm: Algorithm, target: float, most: int = 5000
) -> tuple[float, float, int]:
    """Seconds, log-likelihood and passes of ours until a log-likelihood is reached, reading the table included.

    The fastest of three runs of the best of three starts, so that nobody waits for a poor optimum.
    """
    best = (np.inf, -np.inf, 0)
    for seed in range(3):
        for _ in range(3):
            began = time.perf_counter()
            trace = tp.fit(table, algorithm, seed=seed, tolerance=0, max_iterations=most, n_threads=1).trace
            start_up = time.perf_counter() - began - trace.seconds[-1]
            enough = trace.objective >= target - CLOSE * abs(target)
            at = int(np.argmax(enough)) if enough.any() else len(trace) - 1
            if enough.any() or target == np.inf:
                best = min(best, (start_up + float(trace.seconds[at]), float(trace.objective[at]), at + 1))
    return best


def told(seconds: float, log_likelihood: float, n_passes: int) -> str:
    return f"{seconds:8.3f} s, {n_passes:5d} passes, log-likelihood {log_likelihood:.4f}"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["peers", python]:
            peers(python)
        case _:
            passes()
