from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tensorpmf as tp
from tensorpmf.errors import InputError, SettingError, UnknownColumnError, UnknownLevelError
from tensorpmf.pmf.rows_of import blocks_of, read_rows, rows_of

SCHEMA = tp.Schema((tp.Column("party", ("dem", "rep")), tp.Column("vote", ("y", "n", "abstains"))))
CODES = np.array([[0, 1], [1, -1], [-1, 2]])
RECORDS = [{"party": "dem", "vote": "n"}, {"party": "rep"}, {"vote": "abstains", "party": None}]


@pytest.fixture
def pmf(rng: np.random.Generator) -> tp.LowRankPMF:
    return tp.LowRankPMF(SCHEMA, [0.4, 0.6], [rng.dirichlet(np.ones(n), 2).T for n in SCHEMA.n_levels])


@pytest.mark.parametrize(
    "rows",
    [
        CODES,
        CODES.astype(np.int8),
        RECORDS,
        pd.DataFrame(RECORDS),
        pl.DataFrame(RECORDS),
        tp.CategoricalTable.from_codes(CODES, schema=SCHEMA),
        tp.CategoricalTable.from_codes(CODES[:, ::-1], schema=SCHEMA.select(["vote", "party"])),
        tp.read_table(pd.DataFrame(RECORDS)),  # its levels are in another order
    ],
)
def test_rows_may_come_in_any_form(rows: object, pmf: tp.LowRankPMF) -> None:
    np.testing.assert_array_equal(read_rows(rows, SCHEMA).dense(), CODES)
    joint = pmf.to_dense()
    np.testing.assert_allclose(pmf.prob(rows), [joint[0, 1], joint[1].sum(), joint[:, 2].sum()])


def test_whole_numbers_in_an_array_are_codes_though_labels_are_numbers_too(rng: np.random.Generator) -> None:
    table = tp.CategoricalTable.from_triples([0, 0, 1, 2], ["a", "b", "a", "b"], [5, 1, 3, 5])
    pmf = tp.LowRankPMF(table.schema, [1.0], [rng.dirichlet(np.ones(n), 1).T for n in table.n_levels])
    np.testing.assert_array_equal(pmf.prob(table.codes), pmf.prob(table))
    labels = np.array([[5, 1], [3, 5]])
    np.testing.assert_array_equal(pmf.prob(table.schema.encode(labels)), pmf.prob([{"a": 5, "b": 1}, {"a": 3, "b": 5}]))


def test_columns_that_are_not_there_are_missing(pmf: tp.LowRankPMF) -> None:
    np.testing.assert_allclose(pmf.prob(pd.DataFrame({"vote": ["n", None]})), [pmf.to_dense()[:, 1].sum(), 1])


def test_weights_and_emptiness_come_along() -> None:
    table = tp.CategoricalTable.from_codes(CODES, schema=SCHEMA, weights=[1, 0.5, 2])
    assert rows_of(table).weights is table.row_weights
    wide = tp.CategoricalTable.from_triples([0, 1, 3], [2, 0, 1], ["a", "b", "a"])
    sparse = tp.CategoricalTable(wide.schema, wide.cells.compressed())
    assert rows_of(sparse).is_sparse
    np.testing.assert_array_equal(rows_of(sparse).dense(), wide.codes)


@pytest.mark.parametrize("rows", [[{"party": "Green"}], pd.DataFrame({"party": ["Green"]})])
def test_unknown_labels_are_errors_or_missing(rows: object, pmf: tp.LowRankPMF) -> None:
    for ask in (pmf.prob, pmf.log_prob, pmf.responsibilities, lambda rows: pmf.conditional("vote", rows)):
        with pytest.raises(UnknownLevelError, match="column 'party' has no level 'Green'"):
            ask(rows)
    assert pmf.prob(rows, unknown="missing").tolist() == pytest.approx([1])
    np.testing.assert_allclose(pmf.responsibilities(rows, unknown="missing")[0], pmf.weights)
    np.testing.assert_allclose(pmf.conditional("vote", rows, unknown="missing")[0], pmf.marginal("vote").to_dense())
    assert pmf.complete(rows, np.random.default_rng(0), unknown="missing").outage == 0
    with pytest.raises(SettingError, match="a query: unknown must be 'error' or 'missing', got 'ignore'"):
        pmf.prob(rows, unknown="ignore")  # type: ignore[arg-type]


def test_columns_the_model_does_not_have_are_refused(pmf: tp.LowRankPMF) -> None:
    for rows in ([{"praty": "dem"}], pd.DataFrame({"party": ["dem"], "praty": ["dem"]})):
        with pytest.raises(UnknownColumnError, match="there is no column 'praty'"):
            pmf.prob(rows)


@pytest.mark.parametrize(
    ("codes", "sentence"),
    [
        (np.array([[0, 3]]), "column 'vote' has 3 levels, so its codes are 0 to 2, but a cell holds 3"),
        (np.array([[-2, 0]]), "column 'party' has 2 levels, so its codes are 0 to 1, but a cell holds -2"),
        (np.array([[0, 1, 0]]), r"codes must have shape \(n_rows, 2\), got \(1, 3\)"),
        (np.array([0, 1]), r"codes must have shape \(n_rows, 2\), got \(2,\)"),
    ],
)
def test_codes_are_checked(codes: np.ndarray, sentence: str, pmf: tp.LowRankPMF) -> None:
    with pytest.raises(InputError, match=sentence):
        pmf.prob(codes)


def test_no_rows_get_no_answers(pmf: tp.LowRankPMF) -> None:
    nothing = np.empty((0, 2), dtype=np.int8)
    assert pmf.log_prob(nothing).shape == (0,)
    assert pmf.responsibilities(nothing).shape == (0, 2)
    assert pmf.conditional("vote", nothing).shape == (0, 3)
    assert pmf.expect("party", nothing, values=[0, 1]).shape == (0,)
    assert pmf.most_likely("party", nothing).shape == (0,)


def test_blocks_are_the_rows_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorpmf.pmf.rows_of._ROWS_AT_ONCE", 3)
    assert [list(range(7))[block] for block in blocks_of(7)] == [[0, 1, 2], [3, 4, 5], [6]]


def test_what_the_caller_owns_is_not_changed(pmf: tp.LowRankPMF, rng: np.random.Generator) -> None:
    codes = np.where(rng.random((50, 2)) < 0.5, -1, 0)
    before = codes.copy()
    pmf.log_prob(codes)
    pmf.responsibilities(codes)
    pmf.conditional("vote", codes)
    pmf.complete(codes, rng)
    np.testing.assert_array_equal(codes, before)
    assert codes.flags.writeable
