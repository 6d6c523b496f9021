"""The fused pass in Numba, as well as it can be written there: what the compiled kernel is measured against.

Both loops run on one thread with fastmath, float32 inside, in product form like the kernel's, so that no row needs an
exponential. Numba is told the number of components, padded to whole vectors, so that every inner loop is vectorised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from tensorpmf.kernels.estep import Counts, LogTables

WIDTH = 8
"""Components are padded to a multiple of this; more was slower."""


def any_columns(rank: int) -> Callable[..., Any]:
    """Return the loop for any number of columns, cells missing or not."""

    @numba.njit(fastmath=True)
    def fused(codes, offsets, start, levels, weights, factors):
        gamma = np.empty(rank, np.float32)
        log_norm = 0.0
        for t in range(codes.shape[0]):
            for r in range(rank):
                gamma[r] = start[r]
            for n in range(codes.shape[1]):
                if codes[t, n] >= 0:
                    at = offsets[n] + codes[t, n]
                    for r in range(rank):
                        gamma[r] *= levels[at, r]
            total = np.float32(0)
            for r in range(rank):
                total += gamma[r]
            log_norm += np.log(total)
            share = np.float32(1) / total
            for r in range(rank):
                gamma[r] *= share
                weights[r] += gamma[r]
            for n in range(codes.shape[1]):
                if codes[t, n] >= 0:
                    at = offsets[n] + codes[t, n]
                    for r in range(rank):
                        factors[at, r] += gamma[r]
        return log_norm

    return fused


def five_columns(rank: int) -> Callable[..., Any]:
    """Return the loop written out for five columns without missing cells: the fastest that was found in Numba."""

    @numba.njit(fastmath=True)
    def fused(codes, offsets, start, levels, weights, factors):
        gamma = np.empty(rank, np.float32)
        log_norm = 0.0
        for t in range(codes.shape[0]):
            a, b, c = codes[t, 0], offsets[1] + codes[t, 1], offsets[2] + codes[t, 2]
            d, e = offsets[3] + codes[t, 3], offsets[4] + codes[t, 4]
            total = np.float32(0)
            for r in range(rank):
                g = start[r] * levels[a, r] * levels[b, r] * levels[c, r] * levels[d, r] * levels[e, r]
                gamma[r] = g
                total += g
            log_norm += np.log(total)
            share = np.float32(1) / total
            for r in range(rank):
                rho = gamma[r] * share
                weights[r] += rho
                factors[a, r] += rho
                factors[b, r] += rho
                factors[c, r] += rho
                factors[d, r] += rho
                factors[e, r] += rho
        return log_norm

    return fused


class Twin:
    """A table and a model, ready for passes."""

    def __init__(
        self, loop: Callable[[int], Callable[..., Any]], codes: np.ndarray, n_levels: tuple[int, ...], tables: LogTables
    ) -> None:
        self.rank, self.codes = tables.rank, np.ascontiguousarray(codes)
        self.offsets = np.concatenate([[0], np.cumsum(n_levels)])
        padded = -(-tables.rank // WIDTH) * WIDTH
        self.start = np.zeros(padded, np.float32)
        self.levels = np.zeros((len(tables.log_factors), padded), np.float32)
        self.start[: self.rank] = np.exp(tables.log_weights)
        self.levels[:, : self.rank] = np.exp(tables.log_factors)
        self.fused = loop(padded)
        self()  # compiles

    def __call__(self) -> Counts:
        """Return the statistics of one pass."""
        weights, factors = np.zeros(len(self.start), np.float32), np.zeros_like(self.levels)
        log_norm = self.fused(self.codes, self.offsets, self.start, self.levels, weights, factors)
        return Counts(weights[: self.rank].astype(float), factors[:, : self.rank].astype(float), float(log_norm))
