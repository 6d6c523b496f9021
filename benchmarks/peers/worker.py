"""One library, one table, one fit: ``python worker.py LIBRARY CODES.npy RANK N_ITERATIONS SEED N_THREADS OUT.npz``.

Run by the interpreter of the environment that has the library; only tensorpmf's needs tensorpmf. Each function fits and
returns arrays: ``seconds`` and ``objective`` after some iterations, and of the last model ``weights`` (R,) and
``factors`` (R, all levels). bnpy's bound is that of another parametrisation, so it returns the expected
``counts_weights`` and ``counts_factors`` after those iterations in place of it. Seconds are the processor's, or wall
time with several threads.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import warnings

N_THREADS = int(sys.argv[6]) if __name__ == "__main__" else 1
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[variable] = str(N_THREADS)

import numpy as np  # noqa: E402

warnings.filterwarnings("ignore")
N_LEVELS = 10
clock = time.process_time if N_THREADS == 1 else time.perf_counter


def few_then_many(most):
    """Numbers of iterations that grow by two fifths at a time, for libraries that do not tell how they get on."""
    numbers = [10]
    while numbers[-1] < most:
        numbers.append(min(most, int(numbers[-1] * 1.4)))
    return numbers


def tensorpmf(codes, rank, n_iterations, seed, algorithm):
    import tensorpmf as tp

    table = tp.CategoricalTable.from_codes(codes.astype(np.int8), n_levels=[N_LEVELS] * codes.shape[1])
    seconds, objective = [], []

    def watch(progress):
        seconds.append(clock() - began)
        objective.append(progress.info.objective)

    fit = tp.fit  # imported now, as the others are, and what the first fit would import
    np.random.default_rng(0)
    chosen = {"vb": tp.VB(max_rank=rank), "em": tp.EM(rank), "squarem": tp.SQUAREM(tp.EM(rank))}[algorithm]
    limits = {} if algorithm == "vb" else {"tolerance": 0.0}
    began = clock()
    result = fit(table, chosen, seed=seed, max_iterations=n_iterations, n_threads=N_THREADS, callback=watch, **limits)
    factors = np.concatenate([np.asarray(factor).T for factor in result.pmf.factors], axis=1)
    return {"seconds": seconds, "objective": objective, "weights": result.pmf.weights, "factors": factors}


def bayespy(codes, rank, n_iterations, seed):
    from bayespy.inference import VB
    from bayespy.nodes import Categorical, Dirichlet, Mixture

    weights = Dirichlet(np.full(rank, 1e-6))
    hidden = Categorical(weights, plates=(len(codes),))
    hidden.initialize_from_value(np.random.default_rng(seed).integers(0, rank, len(codes)))
    factors = [Dirichlet(np.ones(N_LEVELS), plates=(rank,)) for _ in codes.T]
    observed = [Mixture(hidden, Categorical, factor) for factor in factors]
    for node, column in zip(observed, codes.T):  # noqa: B905
        node.observe(column)
    model = VB(*observed, *factors, weights, hidden)
    seconds, objective, began = [], [], clock()
    for _ in range(n_iterations):
        model.update(*factors, weights, hidden, repeat=1, verbose=False, tol=None)
        objective.append(float(model.L[model.iter - 1]))
        seconds.append(clock() - began)
    counts = np.asarray(hidden.get_moments()[0]).sum(axis=0)
    alphas = [np.asarray(factor.get_parameters()[0]) for factor in factors]
    means = np.concatenate([alpha / alpha.sum(axis=-1, keepdims=True) for alpha in alphas], axis=1)
    return {"seconds": seconds, "objective": objective, "weights": counts / counts.sum(), "factors": means}


def bnpy(codes, rank, n_iterations, seed, way):
    import inspect
    import logging
    import tempfile

    inspect.getargspec = lambda function: inspect.getfullargspec(function)[
        :4
    ]  # gone from Python 3.11, asked for by bnpy
    import bnpy

    logging.disable(logging.CRITICAL)
    n_columns = codes.shape[1]
    words = (codes + N_LEVELS * np.arange(n_columns)).ravel().astype(np.int32)
    data = bnpy.data.BagOfWordsData(
        words, np.ones(words.size), np.arange(0, words.size + 1, n_columns), N_LEVELS * n_columns
    )
    ways = {"vb": {}, "memoized": {"nBatch": 10, "moves": "merge", "m_startLap": 10}}
    settings = {"gamma": 1e-6 * rank, "lam": 1.0, "initname": "randexamples", "convergeThr": 1e-12, **ways[way]}
    learn = "memoVB" if way == "memoized" else "VB"
    seconds, counts_weights, counts_factors = [], [], []
    for laps in few_then_many(n_iterations):
        with tempfile.TemporaryDirectory() as folder:
            began = clock()
            _, info = bnpy.run(
                data, "FiniteMixtureModel", "Mult", learn, K=rank, nLap=laps, output_path=folder, taskid=1 + seed,
                printEvery=10**6, saveEvery=10**6, traceEvery=10**6, doFullPassBeforeMstep=1, **settings,
            )  # fmt: skip
            seconds.append(clock() - began)
        stats = info["SS"]
        empty = rank - len(stats.N)
        counts_weights.append(np.pad(np.asarray(stats.N), (0, empty)))
        counts_factors.append(np.pad(np.asarray(stats.WordCounts), ((0, empty), (0, 0))))
        if "not converged" not in str(info["status"]) and "max" not in str(info["status"]):
            break
    factors = counts_factors[-1] + 1.0
    factors = factors.reshape(rank, n_columns, N_LEVELS)
    factors = (factors / factors.sum(axis=2, keepdims=True)).reshape(rank, -1)
    return {
        "seconds": seconds, "objective": [np.nan] * len(seconds),
        "weights": counts_weights[-1] / counts_weights[-1].sum(), "factors": factors,
        "counts_weights": counts_weights, "counts_factors": counts_factors,
    }  # fmt: skip


def stepmix(codes, rank, n_iterations, seed):
    from stepmix.stepmix import StepMix

    seconds, objective = [], []
    for n in few_then_many(n_iterations):
        model = StepMix(
            rank, measurement="categorical", max_iter=n, abs_tol=0, rel_tol=0, n_init=1, random_state=seed,
            verbose=0, progress_bar=0,
        )  # fmt: skip
        began = clock()
        model.fit(codes)
        seconds.append(clock() - began)
        objective.append(model.score(codes) * len(codes))
    pis = model.get_parameters()["measurement"]["pis"]  # (R, columns * levels)
    return {"seconds": seconds, "objective": objective, "weights": model.get_parameters()["weights"], "factors": pis}


def pomegranate(codes, rank, n_iterations, seed):
    import torch
    from pomegranate.distributions import Categorical
    from pomegranate.gmm import GeneralMixtureModel

    torch.set_num_threads(N_THREADS)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    components = [Categorical([rng.dirichlet(np.ones(N_LEVELS)) for _ in codes.T]) for _ in range(rank)]
    data = torch.tensor(codes)
    model = GeneralMixtureModel(components)
    seconds, objective, began = [], [], clock()
    for _ in range(n_iterations):  # what its `fit` does in every iteration
        objective.append(float(model.summarize(data).double().sum()))
        model.from_summaries()
        seconds.append(clock() - began)
    factors = np.concatenate([np.stack([d.probs[n].numpy() for d in model.distributions]) for n in range(5)], axis=1)
    return {"seconds": seconds, "objective": objective, "weights": model.priors.numpy(), "factors": factors}


def sklearn(codes, rank, n_iterations, seed):
    """EM whose M-step is scikit-learn's naive Bayes: what its users write, for it has no mixture of categoricals."""
    from scipy.special import logsumexp
    from sklearn.naive_bayes import CategoricalNB

    resp = np.random.default_rng(seed).dirichlet(np.ones(rank), len(codes))
    copies, labels = np.tile(codes, (rank, 1)), np.repeat(np.arange(rank), len(codes))
    seconds, objective, began = [], [], clock()
    for _ in range(n_iterations):
        model = CategoricalNB(alpha=1e-10, force_alpha=True, min_categories=N_LEVELS)
        model.fit(copies, labels, sample_weight=resp.T.ravel())
        joint = model.predict_joint_log_proba(codes)
        log_norm = logsumexp(joint, axis=1, keepdims=True)
        resp = np.exp(joint - log_norm)
        objective.append(float(log_norm.sum()))
        seconds.append(clock() - began)
    factors = np.concatenate([np.exp(column) for column in model.feature_log_prob_], axis=1)
    return {"seconds": seconds, "objective": objective, "weights": np.exp(model.class_log_prior_), "factors": factors}


if __name__ == "__main__":
    name, _, variant = sys.argv[1].partition(":")
    found = globals()[name](
        np.load(sys.argv[2]).astype(np.int64), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]),
        *([variant] if variant else []),
    )  # fmt: skip
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    np.savez(sys.argv[7], peak_mb=peak, **{key: np.asarray(value, dtype=float) for key, value in found.items()})
