"""How far one PMF is from another, and which component of one is which of the other."""

from __future__ import annotations

from math import expm1, inf, isinf, log, log1p

import numpy as np

from tensorpmf._check import generator
from tensorpmf.errors import SchemaMismatchError, SettingError
from tensorpmf.pmf.base import N_DRAWS, PMF
from tensorpmf.pmf.estimate import Estimate, cells
from tensorpmf.pmf.lowrank import LowRankPMF
from tensorpmf.typing import Codes, Floats, Ints


def kl_divergence(
    p: PMF, q: PMF, *, floor: float = 1e-10, n_draws: int = N_DRAWS, rng: np.random.Generator | None = None
) -> Estimate:
    """Return the Kullback-Leibler divergence of ``q`` from ``p`` in nats; lower is better, zero when they are equal.

    It is exact, by enumeration, up to 2·10⁷ cells, and a Monte Carlo mean over draws from ``p``, with its standard
    error, beyond. If ``q`` is zero somewhere ``p`` is not, the divergence is infinite; then ``q`` is mixed with a
    uniform distribution of weight ``floor``, and the answer's ``note`` says so.

    Parameters
    ----------
    p
        The distribution that is averaged over: the truth.
    q
        The distribution that is judged.
    floor
        The weight of the uniform distribution; 0 leaves an infinite divergence infinite.
    n_draws
        How many draws a Monte Carlo answer is made of.
    rng
        Where randomness comes from; by default always the same.

    Examples
    --------
    >>> from tensorpmf import Schema
    >>> schema = Schema.from_n_levels([2])
    >>> fair, loaded = (LowRankPMF(schema, [1], [[[p], [1 - p]]]) for p in (0.5, 0.9))
    >>> print(f"{kl_divergence(fair, loaded):.3f}", kl_divergence(fair, loaded).is_exact)
    0.511 True
    """
    if not 0 <= floor < 1:
        raise SettingError("kl_divergence", "floor", "at least 0 and below 1", floor)
    _require_same_columns(p, q)
    rng = generator("kl_divergence", rng, optional=True)
    divergence = p.average(lambda codes: p.log_prob(codes) - q.log_prob(codes), n_draws=n_draws, rng=rng)
    if not (isinf(divergence) and floor):
        return divergence
    log_uniform = log(floor) - sum(log(n) for n in q.schema.n_levels)

    def floored(codes: Codes) -> Floats:
        return p.log_prob(codes) - np.logaddexp(log1p(-floor) + q.log_prob(codes), log_uniform)

    finite = p.average(floored, n_draws=n_draws, rng=rng)
    return Estimate(finite, finite.standard_error, f"q has cells of probability zero, so it was floored with {floor:g}")


def relative_squared_error(p: PMF, q: PMF) -> Estimate:
    """Return ``||P - Q||² / ||P||²`` over all cells; lower is better, zero when they are equal.

    Always exact: in closed form for two low-rank PMFs of any size, by enumeration, up to 2·10⁷ cells, for others.

    Parameters
    ----------
    p
        The distribution that is measured against: the truth.
    q
        The distribution that is judged.
    """
    _require_same_columns(p, q)
    if isinstance(p, LowRankPMF) and isinstance(q, LowRankPMF):
        pp, pq, qq = _log_inner(p, p), _log_inner(p, q), _log_inner(q, q)
        if qq - pp > 700:  # beyond what a float can say
            return Estimate(inf)
        return Estimate(max(expm1(qq - pp) - 2 * expm1(pq - pp), 0.0))
    squares = np.zeros(2)
    for codes in cells(p.schema.n_levels):
        of_p, of_q = p.prob(codes), q.prob(codes)
        squares += np.sum((of_p - of_q) ** 2), np.sum(of_p**2)
    return Estimate(squares[0] / squares[1])


def align(p: LowRankPMF, q: LowRankPMF) -> Ints:
    """Return (p.rank,) the component of ``q`` that each component of ``p`` is most like, -1 where none is left.

    Each is used once, and the sum of squared Hellinger distances, of the weights and of every column, is the smallest
    there is. For PMFs of one rank, ``q.reordered(align(p, q))`` stands component by component beside ``p``.

    Parameters
    ----------
    p
        The PMF whose components keep their order.
    q
        The PMF whose components are to be matched to them.
    """
    from scipy.optimize import linear_sum_assignment

    _require_same_columns(p, q)
    cost = (np.sqrt(p.weights)[:, None] - np.sqrt(q.weights)) ** 2
    for a, b in zip(p.factors, q.factors, strict=True):
        cost += 2 - 2 * np.sqrt(a).T @ np.sqrt(b)
    partner = np.full(p.rank, -1)
    of_p, of_q = linear_sum_assignment(cost)
    partner[of_p] = of_q
    return partner


def _log_inner(p: LowRankPMF, q: LowRankPMF) -> float:
    """Log of the sum over all cells of P times Q, by way of the factors' Gram matrices."""
    with np.errstate(divide="ignore"):
        log_gram = np.log(np.outer(p.weights, q.weights))
        for a, b in zip(p.factors, q.factors, strict=True):
            log_gram += np.log(a.T @ b)
    return float(np.logaddexp.reduce(log_gram, axis=None))


def _require_same_columns(p: PMF, q: PMF) -> None:
    given: dict[str, object] = {"p": p, "q": q}
    for name, pmf in given.items():
        if not isinstance(pmf, PMF):
            raise SettingError("comparing PMFs", name, "a PMF, such as result.pmf", pmf)
    for of_p, of_q in zip(p.schema.columns, q.schema.columns, strict=False):
        if (of_p.name, of_p.levels) != (of_q.name, of_q.levels):
            raise SchemaMismatchError(
                of_p.name, f"the other has {of_q.name!r} with {of_q.n_levels} levels in its place"
            )
    if len(p.schema) != len(q.schema):
        raise SchemaMismatchError(None, f"one has {len(p.schema)} columns, the other {len(q.schema)}")
