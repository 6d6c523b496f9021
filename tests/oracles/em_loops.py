"""Maximum likelihood by the plainest EM: loops over rows, components and observed cells."""

from __future__ import annotations

import numpy as np


def log_likelihood(codes: np.ndarray, weights: np.ndarray, factors: list[np.ndarray]) -> float:
    """The sum over rows of the log-probability of what was observed."""
    return float(sum(np.log(_joint(row, weights, factors).sum()) for row in codes))


def em(
    codes: np.ndarray, weights: np.ndarray, factors: list[np.ndarray], n_steps: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Weights and factors after some steps of EM from those given; missing cells (-1) are left out."""
    for _ in range(n_steps):
        mass = np.zeros_like(weights)
        shown = [np.zeros_like(factor) for factor in factors]
        for row in codes:
            joint = _joint(row, weights, factors)
            resp = joint / joint.sum()
            mass += resp
            for n, code in enumerate(row):
                if code >= 0:
                    shown[n][code] += resp
        weights, factors = mass / mass.sum(), [counts / counts.sum(axis=0) for counts in shown]
    return weights, factors


def _joint(row: np.ndarray, weights: np.ndarray, factors: list[np.ndarray]) -> np.ndarray:
    joint = weights.copy()
    for n, code in enumerate(row):
        if code >= 0:
            joint = joint * factors[n][code]
    return joint
