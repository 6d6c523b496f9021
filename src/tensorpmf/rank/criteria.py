"""What a model is worth once its size is paid for. Every criterion is a cost, in nats or twice that: lower is better.

Sources: AIC (Akaike 1974), BIC (Schwarz 1978), SABIC (Sclove 1987), CAIC (Bozdogan 1987), ICL (Biernacki et al. 2000),
DNML (T. Wu, S. Sugawara and K. Yamanishi 2017; Yamanishi et al., "The decomposed normalized maximum likelihood
code-length criterion for selecting hierarchical latent variable models", Data Min. Knowl. Discov., 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from types import MappingProxyType

import numpy as np
from scipy.special import xlogy

from tensorpmf.fit.oracle import completed_counts
from tensorpmf.kernels.estep import Counts, accumulate, responsibilities
from tensorpmf.kernels.rows import Rows
from tensorpmf.kernels.stacked import column_sums
from tensorpmf.pmf.lowrank import LowRankPMF, drawn_from
from tensorpmf.pmf.rows_of import blocks_of
from tensorpmf.rank.complexity import log_complexity
from tensorpmf.typing import Floats

N_DRAWS = 10
"""How many times the hidden components are drawn for DNML, as the authors do."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model and the rows it was fitted to.

    Parameters
    ----------
    pmf
        The model.
    rows
        The rows.
    seed
        Where the randomness of criteria that draw comes from.
    """

    pmf: LowRankPMF
    rows: Rows
    seed: int = 0

    @cached_property
    def counts(self) -> Counts:
        """Expected counts of every component and level, and the log-likelihood."""
        return accumulate(self.rows, self.pmf.log_tables)

    @property
    def log_likelihood(self) -> float:
        """Of the observed cells."""
        return self.counts.log_norm

    @property
    def n_parameters(self) -> int:
        """Free parameters, an upper bound on what a mixture really has: ``(R - 1) + R sum(I_n - 1)``."""
        return (self.pmf.rank - 1) + self.pmf.rank * sum(n - 1 for n in self.pmf.schema.n_levels)

    @property
    def n(self) -> float:
        """How many rows there are, by weight; holes in them do not count against it."""
        return self.rows.total_weight

    @property
    def entropy(self) -> float:
        """How unsure the components of all rows are: the sum of the entropies of their responsibilities."""
        tables = self.pmf.log_tables
        expected = _expected(self.counts.weights, tables.log_weights)
        return self.log_likelihood - expected - _expected(self.counts.factors, tables.log_factors)

    def drawn_counts(self) -> list[tuple[Floats, Floats]]:
        """Return the counts of :data:`N_DRAWS` completions, every row's component drawn given its observed cells."""
        rng = np.random.default_rng(self.seed)
        return [self._completed(lambda resp, weights: _drawn(resp, weights, rng)) for _ in range(N_DRAWS)]

    def likeliest_counts(self) -> tuple[Floats, Floats]:
        """Return the counts of the completion in which every row has its likeliest component."""
        return self._completed(_likeliest)

    def _completed(self, complete: Callable[[Floats, Floats], Floats]) -> tuple[Floats, Floats]:
        """Return counts, given (n_rows, R) how much of each row's weight goes to each component."""
        weights, factors = np.zeros_like(self.counts.weights), np.zeros_like(self.counts.factors)
        for piece in blocks_of(self.rows.n_rows):
            block = self.rows.take(piece)
            block_weights = np.ones(block.n_rows) if block.weights is None else block.weights
            shares = complete(responsibilities(block, self.pmf.log_tables), block_weights)
            row_ix, states = np.nonzero(shares)
            copies = replace(block.take(row_ix), weights=shares[row_ix, states])
            of_weights, of_factors = completed_counts(copies, states, self.pmf.rank)
            weights += of_weights
            factors += of_factors
        return weights, factors


def aic(fitted: Fitted) -> float:
    """Akaike's: ``-2 l + 2 d``."""
    return -2 * fitted.log_likelihood + 2 * fitted.n_parameters


def bic(fitted: Fitted) -> float:
    """Schwarz's: ``-2 l + d log n`` with n the total row weight."""
    return -2 * fitted.log_likelihood + fitted.n_parameters * log(fitted.n)


def sabic(fitted: Fitted) -> float:
    """BIC with n adjusted to (n + 2) / 24."""
    return -2 * fitted.log_likelihood + fitted.n_parameters * log((fitted.n + 2) / 24)


def caic(fitted: Fitted) -> float:
    """AIC made consistent: ``-2 l + d (log n + 1)``."""
    return -2 * fitted.log_likelihood + fitted.n_parameters * (log(fitted.n) + 1)


def icl(fitted: Fitted) -> float:
    """BIC plus twice the entropy of the hidden components: for telling clusters apart, not for densities."""
    return bic(fitted) + 2 * fitted.entropy


def dnml(fitted: Fitted) -> float:
    """Code length of rows *and* hidden components, as published: these are drawn, and the code lengths averaged.

    Components must pay for the description of who belongs to whom, so it prefers one component whenever they overlap
    more than the columns depend on each other. Where a column is not observed, a row does not count for it.
    """
    return float(np.mean([_code_length(fitted, *counts) for counts in fitted.drawn_counts()]))


def dnml_argmax(fitted: Fitted) -> float:
    """Like :func:`dnml`, but every row has its likeliest component; nothing is drawn."""
    return _code_length(fitted, *fitted.likeliest_counts())


def dnml_observed(fitted: Fitted) -> float:
    """Code length of the rows alone: minus the log-likelihood, plus the complexities at the expected counts.

    Not the published criterion, but a consistent one that behaves as it is described.
    """
    return _complexity(fitted, fitted.counts.weights, fitted.counts.factors) - fitted.log_likelihood


CRITERIA: Mapping[str, Callable[[Fitted], float]] = MappingProxyType(
    {
        "aic": aic,
        "bic": bic,
        "sabic": sabic,
        "caic": caic,
        "icl": icl,
        "dnml": dnml,
        "dnml-argmax": dnml_argmax,
        "dnml-observed": dnml_observed,
    }
)
"""Criteria by name."""


def _code_length(fitted: Fitted, weights: Floats, factors: Floats) -> float:
    """Minus the maximised log-likelihood of completed rows, plus the complexity of every distribution learnt."""
    sums = column_sums(factors, fitted.pmf.schema.offsets)
    of_states = _times_log(weights) - _times_log(np.asarray(weights.sum()))
    return _complexity(fitted, weights, factors) - of_states - (_times_log(factors) - _times_log(sums))


def _complexity(fitted: Fitted, weights: Floats, factors: Floats) -> float:
    """Log-complexity of the weights, learnt from all rows, and of each factor, from the rows that observe it."""
    sums = column_sums(factors, fitted.pmf.schema.offsets)
    of_factors = sum(log_complexity(n, s).sum() for n, s in zip(fitted.pmf.schema.n_levels, sums, strict=True))
    return float(log_complexity(fitted.pmf.rank, weights.sum()) + of_factors)


def _times_log(counts: Floats) -> float:
    return float(np.sum(xlogy(counts, counts)))


def _expected(counts: Floats, logarithms: Floats) -> float:
    """Sum of counts times logarithms; what was never counted has none."""
    return float((counts * np.where(counts > 0, logarithms, 0.0)).sum())


def _drawn(resp: Floats, weights: Floats, rng: np.random.Generator) -> Floats:
    """Draw a component as often as a row counts; what remains below one is drawn together."""
    whole = np.floor(weights)
    likely = resp / resp.sum(axis=1, keepdims=True)
    shares = rng.multinomial(whole.astype(np.int64), likely).astype(np.float64)
    shares[np.arange(len(resp)), drawn_from(resp.T, rng)] += weights - whole
    return shares


def _likeliest(resp: Floats, weights: Floats) -> Floats:
    shares = np.zeros_like(resp)
    shares[np.arange(len(resp)), resp.argmax(axis=1)] = weights
    return shares
