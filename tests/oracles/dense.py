"""Every query of a PMF, answered by enumerating every cell of its tensor with plain sums."""

from __future__ import annotations

from itertools import product

import numpy as np

from tensorpmf.pmf.lowrank import LowRankPMF


def tensor(pmf: LowRankPMF) -> np.ndarray:
    """The probability tensor, cell by cell from its definition."""
    dense = np.zeros(pmf.schema.n_levels)
    for cell in product(*map(range, pmf.schema.n_levels)):
        for r in range(len(pmf.weights)):
            term = pmf.weights[r]
            for n, code in enumerate(cell):
                term *= pmf.factors[n][code, r]
            dense[cell] += term
    return dense


def prob(dense: np.ndarray, codes: np.ndarray) -> float:
    """The sum of all cells that agree with the observed codes of one row."""
    return sum(
        dense[cell] for cell in np.ndindex(*dense.shape) if all(c in (-1, k) for c, k in zip(codes, cell, strict=True))
    )


def marginal(dense: np.ndarray, axes: list[int]) -> np.ndarray:
    """The sum over all other axes, the axes in the order given."""
    out = np.zeros([dense.shape[axis] for axis in axes])
    for cell in np.ndindex(*dense.shape):
        out[tuple(cell[axis] for axis in axes)] += dense[cell]
    return out


def restricted(dense: np.ndarray, allowed: dict[int, set[int]]) -> np.ndarray:
    """The tensor with everything outside the evidence set to zero, divided by what is left."""
    out = np.zeros_like(dense)
    for cell in np.ndindex(*dense.shape):
        if all(cell[axis] in codes for axis, codes in allowed.items()):
            out[cell] = dense[cell]
    return out / out.sum()


def conditional(dense: np.ndarray, axis: int, codes: np.ndarray) -> np.ndarray:
    """The distribution of one column given the observed codes of the others in one row."""
    masses = []
    for level in range(dense.shape[axis]):
        asked = np.array(codes)
        asked[axis] = level
        masses.append(prob(dense, asked))
    return np.array(masses) / sum(masses)


def entropy(dense: np.ndarray) -> float:
    """Minus the sum of p log p."""
    return -sum(float(p * np.log(p)) for p in dense.ravel() if p > 0)


def kl(p: np.ndarray, q: np.ndarray) -> float:
    """The sum of p log p/q; infinite where q vanishes and p does not."""
    return sum(
        float(a * np.log(a / b)) if b > 0 else np.inf for a, b in zip(p.ravel(), q.ravel(), strict=True) if a > 0
    )
