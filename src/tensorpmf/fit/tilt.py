"""Tilts: what a mixture misses of a person, as a low-rank correction of the distributions that it predicts.

A mixture knows groups of rows. Within a group rows still differ: one rater is generous, another prefers slow films. For
cells on a common ordered scale x, the predicted distribution of row t in column n is tilted exponentially,

    P(x | t, n)  ∝  base_tn(x) exp(theta_tn x),    theta_tn = b_t + c_n + p_t · q_n,

so that it stays a distribution. The likelihood is that of an exponential family in theta, with ridge penalties on b, c,
p and q. It is maximised by alternating ridge regressions on a working response (iteratively reweighted least squares);
the columns' part (c, q) is learnt once, and the part of any row, new ones included, is a small regression of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tensorpmf.typing import Floats, Ints

LEAST_VARIANCE = 0.05
"""A cell whose distribution is nearly certain says no more about theta than one of this variance."""

N_OUTER, N_INNER = 4, 12
"""Rounds of new working responses, and of alternations in the first of them; later ones need half as many."""

LOUDNESS = 0.3
"""Standard deviation of the random start of the columns' loadings."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Some cells of a table, and the distributions that were predicted for them without looking at them.

    Parameters
    ----------
    row_ix, column_ix
        (n_cells,) where they are.
    base
        (n_cells, I) predicted distributions.
    codes
        (n_cells,) what was observed.
    shape
        (n_rows, n_columns) of the table.
    """

    row_ix: Ints
    column_ix: Ints
    base: Floats
    codes: Ints
    shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Tilt:
    """The columns' part of a tilt.

    Parameters
    ----------
    scale
        (I,) the number each level stands for, centred and of unit spread.
    offsets
        (n_columns,) c.
    loadings
        (n_columns, 1 + rank) a one for b, then q.
    ridge
        The penalty on every squared parameter.
    """

    scale: Floats
    offsets: Floats
    loadings: Floats
    ridge: float

    def of_rows(self, cells: Cells) -> Floats:
        """Return (n_rows, 1 + rank) b and p of each row, from the cells that are known of it.

        Parameters
        ----------
        cells
            The known cells; a row without any gets zeros.
        """
        rows = np.zeros((cells.shape[0], self.loadings.shape[1]))
        for _ in range(N_OUTER):
            response, weight = _working(cells, self.theta(rows, cells.row_ix, cells.column_ix), self.scale)
            rows = _ridge(cells, response - self.offsets[cells.column_ix], weight, self.loadings, self.ridge)
        return rows

    def theta(self, rows: Floats, row_ix: Ints, column_ix: Ints) -> Floats:
        """Return (n_cells,) how far each cell is tilted.

        Parameters
        ----------
        rows
            (n_rows, 1 + rank) b and p.
        row_ix, column_ix
            (n_cells,) where the cells are.
        """
        products = np.einsum("ck,ck->c", rows[row_ix], self.loadings[column_ix])
        return np.asarray(products + self.offsets[column_ix])


def fit_tilt(cells: Cells, values: Floats, rank: int, ridge: float, rng: np.random.Generator) -> Tilt:
    """Return the tilt that explains observed cells best.

    Parameters
    ----------
    cells
        Observed cells, and what was predicted for each from the other cells of its row.
    values
        (I,) the number each level stands for.
    rank
        How many products p q there are beside the offsets.
    ridge
        The penalty on every squared parameter.
    rng
        Where the start comes from.
    """
    n_columns = cells.shape[1]
    scale = (values - values.mean()) / (values.std() or 1.0)  # a single level has no spread
    across = Cells(cells.column_ix, cells.row_ix, cells.base, cells.codes, (n_columns, cells.shape[0]))
    loadings = np.c_[np.ones(n_columns), rng.normal(0.0, LOUDNESS, (n_columns, rank))]
    tilt = Tilt(scale, np.zeros(n_columns), loadings, ridge)
    theta, rows = np.zeros(len(cells.codes)), np.zeros((cells.shape[0], 1 + rank))
    for outer in range(N_OUTER):
        response, weight = _working(cells, theta, scale)
        for _ in range(N_INNER if outer == 0 else N_INNER // 2):
            rows = _ridge(cells, response - tilt.offsets[cells.column_ix], weight, tilt.loadings, ridge)
            of_rows = np.c_[np.ones(cells.shape[0]), rows[:, 1:]]
            columns = _ridge(across, response - rows[cells.row_ix, 0], weight, of_rows, ridge)
            tilt = Tilt(scale, columns[:, 0], np.c_[np.ones(n_columns), columns[:, 1:]], ridge)
        theta = tilt.theta(rows, cells.row_ix, cells.column_ix)
    return tilt


def tilted(base: Floats, theta: Floats, scale: Floats) -> Floats:
    """Return (n_cells, I) distributions, tilted.

    Parameters
    ----------
    base
        (n_cells, I) distributions.
    theta
        (n_cells,) how far.
    scale
        (I,) what the levels stand for.
    """
    exponent = theta[:, None] * scale
    prob = base * np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return np.asarray(prob / prob.sum(axis=1, keepdims=True))


def _working(cells: Cells, theta: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return the working response and its weight: Newton's step for each cell, by the mean and variance where it is."""
    prob = tilted(cells.base, theta, scale)
    mean = prob @ scale
    variance = np.maximum(prob @ scale**2 - mean**2, LEAST_VARIANCE)
    return theta + (scale[cells.codes] - mean) / variance, variance


def _ridge(cells: Cells, response: Floats, weight: Floats, regressors: Floats, ridge: float) -> Floats:
    """Return (n_rows, K) the ridge regression of each row's cells on the regressors of their columns."""
    k = regressors.shape[1]
    indices = (cells.row_ix, cells.column_ix)
    squares = (regressors[:, :, None] * regressors[:, None, :]).reshape(-1, k * k)
    gram = np.asarray(csr_array((weight, indices), shape=cells.shape) @ squares).reshape(-1, k, k)
    moment = np.asarray(csr_array((weight * response, indices), shape=cells.shape) @ regressors)
    return np.linalg.solve(gram + ridge * np.eye(k), moment[:, :, None])[:, :, 0].astype(np.float64, copy=False)
