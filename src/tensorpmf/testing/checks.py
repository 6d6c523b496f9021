"""What anything that calls itself a PMF is held to, whatever it is made of; for your own kinds, too.

Each check compares queries with sums over all cells and raises an ``AssertionError`` that says what does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import sqrt
from typing import TypeAlias

import numpy as np

from tensorpmf.errors import ImpossibleEvidenceError
from tensorpmf.pmf.base import PMF
from tensorpmf.pmf.io import from_bytes, to_bytes
from tensorpmf.typing import Codes, Floats

MOST_CELLS = 20_000
"""A PMF to be checked should be small."""

N_DRAWS = 4_000

Check: TypeAlias = Callable[[PMF, np.random.Generator], None]


def check_pmf(pmf: PMF, rng: np.random.Generator | None = None) -> None:
    """Hold a PMF of at most 20 000 cells to the contract.

    Parameters
    ----------
    pmf
        The PMF.
    rng
        Where randomness comes from; by default always the same.
    """
    for check in PMF_CHECKS:
        check(pmf, np.random.default_rng(0) if rng is None else rng)


def check_cells_sum_to_one(pmf: PMF, rng: np.random.Generator) -> None:
    """Check that no cell is negative and that together they are one."""
    dense = pmf.to_dense(MOST_CELLS)
    assert dense.shape == pmf.schema.n_levels, f"the tensor has shape {dense.shape}, not {pmf.schema.n_levels}"
    assert dense.min() >= 0, "a probability is negative"
    assert abs(dense.sum() - 1) < 1e-9, f"the cells sum to {dense.sum()}"


def check_missing_cells_are_summed_out(pmf: PMF, rng: np.random.Generator) -> None:
    """Check that the probability of a row with holes is the sum of the cells that agree with it."""
    dense = pmf.to_dense(MOST_CELLS)
    rows = _rows_with_holes(pmf, rng)
    summed = np.array([dense[_agreeing(row)].sum() for row in rows])
    _assert_close(pmf.prob(rows), summed, "rows with holes")
    _assert_close(np.exp(pmf.log_prob(rows)), summed, "log-probabilities of rows with holes")


def check_marginals(pmf: PMF, rng: np.random.Generator) -> None:
    """Check that a marginal sums over the other columns, keeps the order asked for, and can be marginalised again."""
    dense, n_columns = pmf.to_dense(MOST_CELLS), len(pmf.schema)
    for _ in range(5):
        order: list[int] = rng.permutation(n_columns)[: rng.integers(1, n_columns + 1)].tolist()
        names = [pmf.schema.names[ix] for ix in order]
        marginal = pmf.marginal(names)
        assert marginal.schema.names == tuple(names), f"asked for {names}, got {marginal.schema.names}"
        _assert_close(marginal.to_dense(), _summed(dense, order), f"the marginal of {names}")
        _assert_close(marginal.marginal(names[0]).to_dense(), _summed(dense, order[:1]), f"{names}, then {names[0]}")


def check_evidence(pmf: PMF, rng: np.random.Generator) -> None:
    """Check that evidence takes a slice (a level) or restricts (a set), and times its probability is the joint."""
    dense = pmf.to_dense(MOST_CELLS)
    for ix, column in enumerate(pmf.schema.columns):
        masses = _summed(dense, [ix])
        for code, level in enumerate(column.levels):
            if masses[code] > 0 and len(pmf.schema) > 1:
                joint = pmf.given({column.name: level}).to_dense() * masses[code]
                _assert_close(joint, dense.take(code, axis=ix), f"given {column.name}={level!r}")
        allowed = rng.random(column.n_levels) < 0.5
        if masses[allowed].sum() > 0:
            levels = {level for level, is_in in zip(column.levels, allowed, strict=True) if is_in}
            shape = [-1 if axis == ix else 1 for axis in range(dense.ndim)]
            joint = pmf.given({column.name: levels}).to_dense() * masses[allowed].sum()
            _assert_close(joint, dense * allowed.reshape(shape), f"given {column.name} in {levels}")


def check_impossible_evidence(pmf: PMF, rng: np.random.Generator) -> None:
    """Check that every query that conditions refuses evidence of probability zero."""
    dense = pmf.to_dense(MOST_CELLS)
    for ix, column in enumerate(pmf.schema.columns):
        for code in np.flatnonzero(_summed(dense, [ix]) == 0):
            row = np.full((1, len(pmf.schema)), -1)
            row[0, ix] = code
            other = pmf.schema.names[ix - 1]
            _assert_refused(partial(pmf.given, {column.name: [column.levels[code]]}))
            _assert_refused(partial(pmf.complete, row, rng))
            if len(pmf.schema) > 1:
                _assert_refused(partial(pmf.conditional, other, row))
                found = pmf.conditional(other, row, impossible="missing")[0]
                _assert_close(found, pmf.marginal(other).to_dense(), f"{other} given what is impossible")


def check_conditionals(pmf: PMF, rng: np.random.Generator) -> None:
    """Check that a column's distribution given a row's other cells is a slice of the tensor, normalised."""
    dense = pmf.to_dense(MOST_CELLS)
    rows = _rows_with_holes(pmf, rng)
    for ix, name in enumerate(pmf.schema.names):
        found = pmf.conditional(name, rows)
        for row, prob in zip(rows, found, strict=True):
            others = np.where(np.arange(len(row)) == ix, -1, row)
            slab = _summed(np.where(_mask(dense.shape, others), dense, 0.0), [ix])
            _assert_close(prob, slab / slab.sum(), f"{name} given {others}")


def check_one_column_answers(pmf: PMF, rng: np.random.Generator) -> None:
    """Check that expectation, median and most likely level agree with the column's distribution."""
    for name in pmf.schema.names:
        prob, column = pmf.marginal(name).to_dense(), pmf.schema[name]
        values = rng.permutation(column.n_levels).astype(float)
        _assert_close(pmf.expect(name, values=values), float(prob @ values), f"E[{name}]")
        median = pmf.median(name, values=values)
        assert prob[values <= median].sum() > 0.5 - 1e-9, f"less than half of {name} is up to its median"
        assert prob[values < median].sum() < 0.5 + 1e-9, f"more than half of {name} is below its median"
        best = prob[column.code(pmf.most_likely(name))]
        assert best > prob.max() - 1e-9, f"a level of {name} is more likely than the most likely one"


def check_samples(pmf: PMF, rng: np.random.Generator) -> None:
    """Check that draws follow the tensor, by a chi-square test that a right sampler fails once in a million."""
    counts = _counted(pmf.sample(N_DRAWS, rng).codes, pmf.schema.n_levels)
    _assert_fits(counts, pmf.to_dense(MOST_CELLS), "samples")


def check_completions(pmf: PMF, rng: np.random.Generator) -> None:
    """Check that completing a row keeps what it has and draws the rest given that."""
    row = _rows_with_holes(pmf, rng)[0]
    drawn = pmf.complete(np.tile(row, (N_DRAWS, 1)), rng).codes
    assert np.all(drawn[:, row >= 0] == row[row >= 0]), "an observed cell was changed"
    dense = pmf.to_dense(MOST_CELLS)
    agreeing = np.where(_mask(dense.shape, row), dense, 0.0)
    _assert_fits(_counted(drawn, pmf.schema.n_levels), agreeing / agreeing.sum(), f"completions of {row}")


def check_information(pmf: PMF, rng: np.random.Generator) -> None:
    """Check that entropy sums -p log p, and that two groups' entropies exceed the whole's by what they share."""
    dense = pmf.to_dense(MOST_CELLS)
    positive = dense[dense > 0]
    _assert_close(pmf.entropy(), -float(positive @ np.log(positive)), "the entropy")
    if len(pmf.schema) > 1:
        a, b = pmf.schema.names[:1], pmf.schema.names[1:]
        parts = pmf.marginal(a).entropy() + pmf.marginal(b).entropy() - pmf.entropy()
        _assert_close(pmf.mutual_information(a, b), parts, f"the information of {a} about {b}")


def check_model_file(pmf: PMF, rng: np.random.Generator) -> None:
    """Check that a PMF that was saved and loaded gives the same answers, and the same bytes."""
    raw = to_bytes(pmf)
    loaded = from_bytes(raw, "a model file")
    assert to_bytes(loaded) == raw, "saving what was loaded gives other bytes"
    assert np.array_equal(loaded.to_dense(MOST_CELLS), pmf.to_dense(MOST_CELLS)), "loaded cells differ"


PMF_CHECKS: tuple[Check, ...] = (
    check_cells_sum_to_one,
    check_missing_cells_are_summed_out,
    check_marginals,
    check_evidence,
    check_impossible_evidence,
    check_conditionals,
    check_one_column_answers,
    check_samples,
    check_completions,
    check_information,
    check_model_file,
)


def _rows_with_holes(pmf: PMF, rng: np.random.Generator, n: int = 20) -> Codes:
    """(n, n_columns) possible rows; the first half of them have holes."""
    rows = pmf.sample(n, rng).codes.copy()
    rows[: n // 2][rng.random((n // 2, rows.shape[1])) < 0.5] = -1
    return rows


def _agreeing(row: Codes) -> tuple[int | slice, ...]:
    return tuple(slice(None) if code < 0 else int(code) for code in row)


def _mask(shape: tuple[int, ...], row: Codes) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    mask = np.zeros(shape, dtype=bool)
    mask[_agreeing(row)] = True
    return mask


def _summed(dense: Floats, axes: Sequence[int]) -> Floats:
    """Sum over all axes but these, and put these in this order."""
    summed = np.asarray(dense.sum(axis=tuple(axis for axis in range(dense.ndim) if axis not in axes)))
    return summed.transpose([sorted(axes).index(axis) for axis in axes])


def _counted(codes: Codes, n_levels: tuple[int, ...]) -> Floats:
    flat = np.ravel_multi_index(tuple(codes.T.astype(np.int64)), n_levels)
    return np.bincount(flat, minlength=int(np.prod(n_levels))).reshape(n_levels).astype(np.float64)


def _assert_close(found: Floats | float, expected: Floats | float, what: str) -> None:
    worst = float(np.max(np.abs(found - expected), initial=0.0))
    assert worst < 1e-9, f"{what}: off by {worst:.3g} from the sum over cells"


def _assert_refused(question: Callable[[], object]) -> None:
    try:
        question()
    except ImpossibleEvidenceError:
        return
    raise AssertionError("evidence of probability zero was not refused")


def _assert_fits(counts: Floats, prob: Floats, what: str) -> None:
    """Require that no impossible cell was drawn, and a chi-square that happens by chance more than once in a million.

    Cells are taken together, the likely ones first, until ten draws are expected in each group.
    """
    assert counts[prob < 1e-12].sum() == 0, f"{what}: an impossible cell was drawn"
    expected = counts.sum() * prob.ravel()
    order = np.argsort(-expected)
    group = (np.minimum(np.cumsum(expected[order]), counts.sum() - 10) // 10).astype(np.int64)
    seen, hoped = np.bincount(group, counts.ravel()[order]), np.bincount(group, expected[order])
    seen, hoped = seen[hoped > 0], hoped[hoped > 0]
    statistic, freedom = float(np.sum((seen - hoped) ** 2 / hoped)), len(hoped) - 1
    if freedom > 0:  # Wilson and Hilferty: the cube root of chi-square over its degrees of freedom is close to normal
        z = ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / sqrt(2 / (9 * freedom))
        assert z < 4.9, f"{what}: chi-square {statistic:.1f} with {freedom} degrees of freedom"
