"""What anything that calls itself an algorithm or a reducer is held to; for your own, too.

Each check raises an ``AssertionError`` that says what does not hold.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from functools import reduce as fold
from itertools import pairwise
from operator import add
from typing import Any, TypeAlias

import numpy as np

from tensorpmf.fit.contract import Algorithm, Info, Reducer
from tensorpmf.fit.em import EM
from tensorpmf.fit.run import fit
from tensorpmf.kernels.estep import accumulate
from tensorpmf.kernels.rows import Rows
from tensorpmf.pmf.base import PMF
from tensorpmf.pmf.posterior import DirichletPosterior
from tensorpmf.pmf.rows_of import rows_of
from tensorpmf.table.table import CategoricalTable
from tensorpmf.typing import Floats

N_STEPS = 12

CLOSE = 1e-6
"""How far two orders of the same additions may lead apart in a dozen steps, relative to what is compared."""

AlgorithmCheck: TypeAlias = Callable[[Algorithm[Any, Any], CategoricalTable], None]


def check_algorithm(algorithm: Algorithm[Any, Any], table: CategoricalTable | None = None) -> None:
    """Hold an algorithm to the contract, on one table.

    Parameters
    ----------
    algorithm
        The algorithm, with settings that make it quick.
    table
        A small table of at most 20 000 cells in its tensor; by default one with holes and weights.
    """
    for check in ALGORITHM_CHECKS:
        check(algorithm, example_table() if table is None else table)


def example_table(outage: float = 0.2, seed: int = 0) -> CategoricalTable:
    """Return 200 rows of two groups that differ in four columns, weighted.

    Parameters
    ----------
    outage
        The probability that a cell is missing.
    seed
        Where randomness comes from.
    """
    rng = np.random.default_rng(seed)
    n_levels = np.array([2, 3, 4, 2])
    codes = (rng.random((200, 4)) ** rng.choice([0.3, 2.0], size=(200, 1)) * n_levels).astype(np.int64)
    codes[rng.random(codes.shape) < outage] = -1
    return CategoricalTable.from_codes(codes, n_levels.tolist(), weights=rng.integers(1, 4, 200))


def check_settings_are_fixed(algorithm: Algorithm[Any, Any], table: CategoricalTable) -> None:
    """Check that settings are a frozen dataclass that can be compared and sent to another process."""
    settings: Any = algorithm
    assert is_dataclass(settings), "settings should be a dataclass"
    changed = [field.name for field in fields(settings) if _can_be_set(settings, field.name)]
    assert not changed, f"the settings {changed} can be changed"
    assert pickle.loads(pickle.dumps(settings)) == settings, "settings do not survive pickling"


def check_start_is_random_by_its_generator(algorithm: Algorithm[Any, Any], table: CategoricalTable) -> None:
    """Check that equal generators give equal starts, and others other ones."""
    one, same, other = (_walk(algorithm, [rows_of(table)], table, seed, 0)[1] for seed in (1, 1, 2))
    assert np.array_equal(_dense(one), _dense(same)), "equal generators led to different starts"
    assert not np.array_equal(_dense(one), _dense(other)), "the generator makes no difference"


def check_methods_are_pure(algorithm: Algorithm[Any, Any], table: CategoricalTable) -> None:
    """Check that a step leaves its state as it was: taken again, and from a pickled copy, it leads to the same."""
    runner, rows = algorithm.runner(), rows_of(table)
    state = runner.start(table.schema, np.random.default_rng(0))
    copy = pickle.loads(pickle.dumps(state))
    first, *others = (runner.update(each, _statistics(runner, [rows], each)) for each in (state, state, copy))
    for after, info in others:
        assert info == first[1], "the same step gave other information"
        assert np.array_equal(_dense(runner.finish(after)), _dense(runner.finish(first[0]))), "it led elsewhere"


def check_statistics_add(algorithm: Algorithm[Any, Any], table: CategoricalTable) -> None:
    """Check that blocks of rows lead where all rows together do."""
    rows = rows_of(table)
    cuts = np.linspace(0, rows.n_rows, 6).astype(int)
    blocks = [rows.take(slice(start, stop)) for start, stop in pairwise(cuts)]
    _assert_same_way(algorithm, table, [rows], blocks, "blocks of rows")


def check_weights_count_rows(algorithm: Algorithm[Any, Any], table: CategoricalTable) -> None:
    """Check that a row of weight two is two rows."""
    rows = replace(rows_of(table), weights=None)
    counts = np.random.default_rng(0).integers(1, 4, rows.n_rows)
    copies = rows.take(np.repeat(np.arange(rows.n_rows), counts))
    weighted = replace(rows, weights=counts.astype(np.float64))
    _assert_same_way(algorithm, table, [copies], [weighted], "rows of a weight")


def check_dense_and_compressed_rows_agree(algorithm: Algorithm[Any, Any], table: CategoricalTable) -> None:
    """Check that it makes no difference how rows are held."""
    dense = Rows.from_codes(table.codes, table.n_levels, table.row_weights)
    compressed = rows_of(replace(table, cells=table.cells.compressed()))
    _assert_same_way(algorithm, table, [dense], [compressed], "compressed rows")


def check_refused_steps_are_told(algorithm: Algorithm[Any, Any], table: CategoricalTable) -> None:
    """Check that the objective is finite, never falls where that is promised, and that a refused step gains nothing."""
    infos, _ = _walk(algorithm, [rows_of(table)], table, 0, 5 * N_STEPS)
    objectives = np.array([info.objective for info in infos])
    assert np.all(np.isfinite(objectives)), "an objective is not finite"
    if all(info.validation is None for info in infos):  # who holds rows out judges by these
        falls = -np.diff(objectives).min()
        assert falls <= CLOSE * np.abs(objectives).max(), f"the objective fell by {falls}"
    for before, info in pairwise(infos):
        assert not info.rejected or info.objective == before.objective, "a refused step changed the objective"


def check_every_state_can_be_finished(algorithm: Algorithm[Any, Any], table: CategoricalTable) -> None:
    """Check that there is a proper model at the start and after every step."""
    for n_steps in range(N_STEPS):
        _, model = _walk(algorithm, [rows_of(table)], table, 0, n_steps)
        dense = _dense(model)
        assert dense.shape == table.n_levels, f"the tensor has shape {dense.shape}, not {table.n_levels}"
        assert dense.min() >= 0, "a probability is negative"
        assert abs(dense.sum() - 1) < 1e-9, f"after {n_steps} steps the cells sum to {dense.sum()}"


def check_a_fit_has_the_common_shape(algorithm: Algorithm[Any, Any], table: CategoricalTable) -> None:
    """Check that a fit returns what every fit does, and the same again from the same seed."""
    result, again = (fit(table, algorithm, seed=3, n_starts=2, max_iterations=N_STEPS) for _ in range(2))
    assert isinstance(result.pmf, PMF), f"the model is a {type(result.pmf).__name__}"
    assert result.algorithm == algorithm, "the settings in the result are others"
    assert result.pmf.schema == table.schema, "the model has another schema"
    assert result.rank >= 1, f"the rank is {result.rank}"
    assert len(result.starts) == 2, f"two starts gave {len(result.starts)} results"
    assert len(result.trace) <= N_STEPS, f"{len(result.trace)} steps were taken where {N_STEPS} are allowed"
    assert np.array_equal(result.pmf.to_dense(), again.pmf.to_dense()), "the same seed gave another model"
    assert np.all(np.diff(result.trace.seconds) >= 0), "time ran backwards"


ALGORITHM_CHECKS: Sequence[AlgorithmCheck] = (
    check_settings_are_fixed,
    check_start_is_random_by_its_generator,
    check_methods_are_pure,
    check_statistics_add,
    check_weights_count_rows,
    check_dense_and_compressed_rows_agree,
    check_refused_steps_are_told,
    check_every_state_can_be_finished,
    check_a_fit_has_the_common_shape,
)


def check_reducer(reducer: Reducer, table: Any, rows: Rows) -> None:
    """Hold a reducer to the contract: every row once, whatever the blocks, and the same bits every time.

    Parameters
    ----------
    reducer
        The reducer.
    table
        What it is bound to: a table, or what stands for one.
    rows
        The same rows, in memory.
    """
    reduce = reducer.bind(table)
    state = EM(rank=3).start(reduce.schema, np.random.default_rng(0))
    assert tuple(reduce.schema.n_levels) == rows.n_levels, "the schema has other levels"
    expected = accumulate(rows, state.log_tables)
    found, again = (reduce(EM().summarise, state) for _ in range(2))
    in_parts = fold(add, (reduce(EM().summarise, state, part) for part in range(reduce.n_parts)))
    for counts, what in ((found, "all rows"), (in_parts, "the parts")):
        _assert_close(counts.weights.sum(), rows.total_weight, f"the weight of {what}")
        _assert_close(counts.factors, expected.factors, f"the counts of {what}")
        _assert_close(counts.log_norm, expected.log_norm, f"the log-likelihood of {what}")
    assert np.array_equal(found.factors, again.factors), "the same pass gave other bits"
    assert found.log_norm == again.log_norm, "the same pass gave other bits"


def _can_be_set(settings: object, name: str) -> bool:
    try:
        setattr(settings, name, getattr(settings, name))
    except FrozenInstanceError:
        return False
    return True


def _statistics(runner: Algorithm[Any, Any], blocks: Sequence[Rows], state: Any) -> Any:
    """Return the statistics of a step, or None if it reads nothing."""
    return fold(add, (runner.summarise(block, state) for block in blocks)) if runner.reads_data(state) else None


def _walk(
    algorithm: Algorithm[Any, Any], blocks: Sequence[Rows], table: CategoricalTable, seed: int, n_steps: int
) -> tuple[list[Info], PMF | DirichletPosterior]:
    """Return what was seen in some steps from a random start, and the model they led to."""
    runner = algorithm.runner()
    state = runner.start(table.schema, np.random.default_rng(seed))
    infos: list[Info] = []
    for _ in range(n_steps):
        state, info = runner.update(state, _statistics(runner, blocks, state))
        infos.append(info)
    return infos, runner.finish(state)


def _assert_same_way(
    algorithm: Algorithm[Any, Any], table: CategoricalTable, one: Sequence[Rows], other: Sequence[Rows], what: str
) -> None:
    (infos, model), (others, other_model) = (_walk(algorithm, blocks, table, 0, N_STEPS) for blocks in (one, other))
    _assert_close(
        np.array([info.objective for info in others]),
        np.array([info.objective for info in infos]),
        f"{what}: objective",
    )
    _assert_close(_dense(other_model), _dense(model), f"{what}: model")


def _dense(model: PMF | DirichletPosterior) -> Floats:
    return (model.mean() if isinstance(model, DirichletPosterior) else model).to_dense()


def _assert_close(found: Floats | float, expected: Floats | float, what: str) -> None:
    worst = float(np.max(np.abs(np.asarray(found) - expected)))
    assert worst <= CLOSE * float(np.max(np.abs(expected))), f"{what}: off by {worst:.3g}"
