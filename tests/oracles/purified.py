"""Locally purified states, cell by cell from their definition: purified wave functions, squared and summed."""

from __future__ import annotations

from itertools import product

import numpy as np


def tensor(cores: list[np.ndarray]) -> np.ndarray:
    """Unnormalised: for every cell, the sum over all purification indices of the squared product of matrices."""
    dense = np.zeros([len(core) for core in cores])
    for cell in np.ndindex(*dense.shape):
        for purification in product(*(range(core.shape[3]) for core in cores)):
            amplitude = np.eye(1)
            for core, code, m in zip(cores, cell, purification, strict=True):
                amplitude = amplitude @ core[code, :, :, m]
            dense[cell] += abs(amplitude[0, 0]) ** 2
    return dense


def log_likelihood(cores: list[np.ndarray], codes: np.ndarray, weights: np.ndarray) -> float:
    """The weighted sum over rows of the log of the share of all cells that agree with what was observed."""
    dense = tensor(cores)
    total = 0.0
    for row, weight in zip(codes, weights, strict=True):
        agreeing = dense[tuple(slice(None) if code < 0 else int(code) for code in row)].sum()
        total += weight * np.log(agreeing / dense.sum())
    return total


def random_cores(
    rng: np.random.Generator, n_levels: list[int], bonds: list[int], purification: int, is_complex: bool
) -> list[np.ndarray]:
    """Cores of normal numbers; the bonds are those between the columns."""
    cores = []
    for n, left, right in zip(n_levels, [1, *bonds], [*bonds, 1], strict=True):
        core = rng.normal(size=(n, left, right, purification))
        cores.append(core + 1j * rng.normal(size=core.shape) if is_complex else core)
    return cores
