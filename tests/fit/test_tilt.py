"""Tilts against a general optimiser of the penalised likelihood they claim to maximise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from tensorpmf.fit.tilt import Cells, fit_tilt, tilted
from tensorpmf.typing import Floats

VALUES = np.array([1.0, 2.0, 3.0, 5.0])
SHAPE = (30, 6)


@pytest.fixture
def cells(rng: np.random.Generator) -> Cells:
    """Generous rows and dull columns, which the predictions know nothing of."""
    row_ix, column_ix = np.nonzero(rng.random(SHAPE) < 0.7)
    base = rng.dirichlet(np.full(4, 3.0), len(row_ix))
    drift = rng.normal(0.0, 1.5, SHAPE[0])[row_ix] + np.linspace(-1, 1, SHAPE[1])[column_ix]
    prob = tilted(base, drift, VALUES - VALUES.mean())
    codes = (prob.cumsum(axis=1) < rng.random((len(row_ix), 1))).sum(axis=1)
    return Cells(row_ix, column_ix, base, codes, SHAPE)


def log_likelihood(cells: Cells, theta: Floats, scale: Floats) -> float:
    prob = tilted(cells.base, theta, scale)
    return float(np.log(prob[np.arange(len(cells.codes)), cells.codes]).sum())


def test_a_tilt_is_a_distribution_and_no_tilt_changes_nothing(rng: np.random.Generator) -> None:
    base = rng.dirichlet(np.ones(4), 9)
    np.testing.assert_allclose(tilted(base, np.zeros(9), VALUES), base)
    far = tilted(base, np.full(9, 400.0), VALUES)
    np.testing.assert_allclose(far, np.tile([0.0, 0.0, 0.0, 1.0], (9, 1)), atol=1e-12)


def test_offsets_of_rows_and_columns_maximise_the_penalised_likelihood(cells: Cells, rng: np.random.Generator) -> None:
    ridge = 2.0
    tilt = fit_tilt(cells, VALUES, rank=0, ridge=ridge, rng=rng)
    rows = tilt.of_rows(cells)

    def loss(parameters: Floats) -> float:
        of_rows, of_columns = parameters[: SHAPE[0]], parameters[SHAPE[0] :]
        theta = of_rows[cells.row_ix] + of_columns[cells.column_ix]
        return 0.5 * ridge * float(parameters @ parameters) - log_likelihood(cells, theta, tilt.scale)

    ours = np.concatenate([rows[:, 0], tilt.offsets])
    best = minimize(loss, np.zeros(sum(SHAPE)), method="L-BFGS-B", options={"maxiter": 5_000, "ftol": 1e-14})
    assert loss(ours) == pytest.approx(best.fun, abs=1e-3)
    np.testing.assert_allclose(ours, best.x, atol=0.02)


def test_products_explain_more_than_offsets_and_a_new_row_is_placed_like_an_old_one(
    cells: Cells, rng: np.random.Generator
) -> None:
    likelihoods = []
    for rank in (0, 2):
        tilt = fit_tilt(cells, VALUES, rank, 1.0, np.random.default_rng(0))
        theta = tilt.theta(tilt.of_rows(cells), cells.row_ix, cells.column_ix)
        likelihoods.append(log_likelihood(cells, theta, tilt.scale))
    assert log_likelihood(cells, np.zeros(len(cells.codes)), tilt.scale) < likelihoods[0] < likelihoods[1]
    mine = cells.row_ix == 7
    alone = Cells(np.zeros(mine.sum(), int), cells.column_ix[mine], cells.base[mine], cells.codes[mine], (2, SHAPE[1]))
    rows = tilt.of_rows(alone)
    np.testing.assert_allclose(rows[0], tilt.of_rows(cells)[7], rtol=1e-9)
    np.testing.assert_array_equal(rows[1], np.zeros(3))
