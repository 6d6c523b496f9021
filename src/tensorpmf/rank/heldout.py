"""What a model is worth on rows it has not seen. Both scores are costs: lower is better."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal, cast

import numpy as np

from tensorpmf.errors import InputError, SettingError, WeightError
from tensorpmf.pmf.base import PMF
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Codes, Floats, Ints

Loss = Literal["zero-one", "squared"]

FLOOR = 1e-10
"""The share of a uniform distribution that is mixed in, so that a row a model thinks impossible costs 23 nats more than
a row at random does, not infinitely many."""


def split_rows(table: CategoricalTable, fraction: float, seed: int) -> tuple[CategoricalTable, CategoricalTable]:
    """Return the rows to learn from and the rows held out, both in the table's order.

    Parameters
    ----------
    table
        All rows.
    fraction
        How much of them is held out.
    seed
        Where randomness comes from.
    """
    n_held_out = (
        round(fraction * table.n_rows) if isinstance(cast("object", fraction), Real) and 0 < fraction < 1 else 0
    )
    if not 0 < n_held_out < table.n_rows:
        raise SettingError("select_rank", "validation", f"a fraction that divides {table.n_rows} rows", fraction)
    held_out = np.zeros(table.n_rows, dtype=bool)
    held_out[np.random.default_rng(seed).permutation(table.n_rows)[:n_held_out]] = True
    parts = table.take(~held_out), table.take(held_out)
    for part, name in zip(parts, ("learnt from", "held out"), strict=True):
        if not part.total_weight:
            raise WeightError(f"of the rows that would be {name} sum to zero")
    return parts


def log_loss(pmf: PMF, table: CategoricalTable) -> float:
    """Return minus the mean log-probability of rows, in nats a row.

    Parameters
    ----------
    pmf
        The model.
    table
        Rows it has not seen.
    """
    observed = (table.codes >= 0).astype(np.float64)
    log_uniform = -(observed @ np.log(np.asarray(table.n_levels, dtype=np.float64)))
    log_prob = np.logaddexp(np.log1p(-FLOOR) + pmf.log_prob(table), np.log(FLOOR) + log_uniform)
    return -float(np.average(log_prob, weights=table.row_weights))


@dataclass(frozen=True, eq=False)
class Questions:
    """One cell of each held-out row, hidden; the other cells are what is known.

    Parameters
    ----------
    table
        The rows.
    row_ix, column_ix
        (n_questions,) which cells are hidden.
    """

    table: CategoricalTable
    row_ix: Ints
    column_ix: Ints

    @classmethod
    def of(cls, table: CategoricalTable, target: str | None, seed: int) -> Questions:
        """Return questions about one column, or about an observed cell of every row, drawn at random.

        Parameters
        ----------
        table
            The rows.
        target
            The column asked for; None for a random cell.
        seed
            Where randomness comes from.
        """
        observed = table.codes >= 0
        can_ask = observed.any(axis=1) if target is None else observed[:, table.schema.ix(target)]
        counts = can_ask if table.row_weights is None else can_ask & (table.row_weights > 0)
        if not counts.any():
            asked = "anything" if target is None else f"column {target!r}"
            raise InputError(f"no row that is held out observes {asked}.", hint="hold out more: validation=0.3.")
        row_ix = np.flatnonzero(can_ask)
        if target is not None:
            return cls(table, row_ix, np.full(len(row_ix), table.schema.ix(target)))
        order = np.random.default_rng(seed).random(observed.shape)
        return cls(table, row_ix, np.where(observed, order, -1.0).argmax(axis=1)[row_ix])

    def require_numbers(self) -> None:
        """Refuse squared errors of a column whose levels are not numbers."""
        for ix in np.unique(self.column_ix):
            column = self.table.schema.columns[int(ix)]
            try:
                _ = column.values
            except InputError:
                must = f'"zero-one" for column {column.name!r}, whose levels are not numbers'
                raise SettingError("select_rank", "loss", must, "squared") from None

    def error(self, pmf: PMF, loss: Loss) -> float:
        """Return how wrong a model's answers are: the share of wrong levels, or the root of the mean squared error.

        Parameters
        ----------
        pmf
            The model.
        loss
            ``"zero-one"`` asks for the most likely level, ``"squared"`` for the mean of numeric levels.
        """
        errors, known = np.empty(len(self.row_ix)), self.table.codes[self.row_ix]
        for ix in np.unique(self.column_ix):
            asked = self.column_ix == ix
            prob, truth = _answers(pmf, known[asked], int(ix)), known[asked, ix]
            if loss == "zero-one":
                errors[asked] = prob.argmax(axis=1) != truth
            else:
                values: Floats = self.table.schema.columns[int(ix)].values
                errors[asked] = (prob @ values - values[truth]) ** 2
        weights = self.table.row_weights
        mean = float(np.average(errors, weights=None if weights is None else weights[self.row_ix]))
        return mean if loss == "zero-one" else float(np.sqrt(mean))


def _answers(pmf: PMF, codes: Codes, column_ix: int) -> Floats:
    """(n, I) probabilities of a column given the other cells; uniform where the model thinks those impossible."""
    column = pmf.schema.columns[column_ix]
    known = codes.copy()
    known[:, column_ix] = -1
    prob = np.full((len(codes), column.n_levels), 1 / column.n_levels)
    possible = np.isfinite(pmf.log_prob(known))
    prob[possible] = pmf.conditional(column.name, known[possible])
    return prob
