from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tensorpmf as tp
from tensorpmf.errors import SettingError
from tensorpmf.learn import PMFImputer


@pytest.fixture
def columns(rng: np.random.Generator) -> dict[str, list[Any]]:
    """Columns of four types that follow one hidden switch, one cell in five missing."""
    on = rng.integers(0, 2, 400)
    whole = {
        "real": (3.0 * on + rng.normal(size=400)).tolist(),
        "text": np.where(on == 1, "on", "off").tolist(),
        "whole": (on + rng.integers(0, 2, 400)).tolist(),
        "truth": (rng.random(400) < np.where(on == 1, 0.9, 0.1)).tolist(),
    }
    hidden = {name: rng.random(400) < 0.2 for name in whole}
    return {
        name: [None if gone else value for value, gone in zip(values, hidden[name], strict=True)]
        for name, values in whole.items()
    }


def pandas_frame(columns: dict[str, list[Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(columns, index=np.arange(400)[::-1])
    frame["text"] = pd.Categorical(frame["text"], categories=["on", "never", "off"], ordered=True)
    return frame.astype({"whole": "Int64", "truth": "boolean"})


def polars_frame(columns: dict[str, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame(columns).with_columns(pl.col("text").cast(pl.Enum(["on", "never", "off"])))


def cells(frame: Any) -> dict[str, list[Any]]:
    if isinstance(frame, pd.DataFrame):
        return {name: [None if pd.isna(cell) else cell for cell in frame[name]] for name in frame}
    return {name: frame[name].to_list() for name in frame.columns}


@pytest.mark.parametrize("make", [pandas_frame, polars_frame])
@pytest.mark.parametrize("strategy", ["most_likely", "expected", "sampled"])
def test_only_holes_are_filled_and_frames_stay_what_they_are(columns: Any, make: Any, strategy: Any) -> None:
    frame = make(columns)
    before = cells(frame)
    filled = PMFImputer(strategy=strategy).fit(frame).transform(frame)
    assert type(filled) is type(frame)
    assert cells(frame) == before
    for name, values in cells(filled).items():
        assert None not in values
        assert all(new == old for new, old in zip(values, before[name], strict=True) if old is not None)
    kept = [name for name in columns if not (name == "whole" and strategy == "expected")]
    assert [filled[name].dtype for name in kept] == [frame[name].dtype for name in kept]
    if isinstance(frame, pd.DataFrame):
        assert filled.index.equals(frame.index)


def test_what_is_filled_in_is_the_answer_of_the_pmf(columns: Any) -> None:
    frame = pandas_frame(columns)
    imputer = PMFImputer().fit(frame)
    whole, mean = imputer.transform(frame), PMFImputer(strategy="expected").fit(frame).transform(frame)
    known = imputer.schema_.encode(frame)
    centres = np.array(imputer.schema_["real"].centres)
    holes = frame["real"].isna()
    prob = imputer.pmf_.conditional("real", known)
    np.testing.assert_array_equal(whole["real"][holes], centres[prob.argmax(axis=1)][holes])
    np.testing.assert_allclose(mean["real"][holes], (prob @ centres)[holes])
    np.testing.assert_array_equal(imputer.probabilities(frame, "real"), prob)
    texts = imputer.pmf_.most_likely("text", known)[frame["text"].isna()].tolist()
    assert whole["text"][frame["text"].isna()].tolist() == texts
    assert mean["text"][frame["text"].isna()].tolist() == texts


def test_certainty_is_the_probability_of_what_is_filled_in(columns: Any) -> None:
    frame = pandas_frame(columns)
    imputer = PMFImputer().fit(frame)
    certainty = imputer.certainty(frame)
    holes = frame.isna().to_numpy()
    assert (certainty[~holes] == 1).all()
    np.testing.assert_allclose(certainty[holes[:, 1], 1], imputer.probabilities(frame, "text").max(axis=1)[holes[:, 1]])


def test_imputations_are_drawn_together_and_come_with_their_probability(rng: np.random.Generator) -> None:
    """Two equal coins: what is drawn for both is equal as well, and has probability one half."""
    coins = np.repeat(rng.integers(0, 2, 2000), 2).reshape(-1, 2).astype(float)
    imputer = PMFImputer().fit(coins)
    unknown = np.full((500, 2), np.nan)
    first, second = imputer.impute(unknown, 2)
    assert np.mean(first.rows[:, 0] == first.rows[:, 1]) > 0.98
    assert 0.4 < first.rows.mean() < 0.6
    assert not np.array_equal(first.rows, second.rows)
    agreed = first.rows[:, 0] == first.rows[:, 1]
    np.testing.assert_allclose(first.prob[agreed], 0.5, atol=0.05)
    np.testing.assert_array_equal(imputer.impute(coins, 1)[0].prob, 1.0)
    np.testing.assert_array_equal(first.rows, imputer.impute(unknown, 1)[0].rows)
    assert not np.array_equal(first.rows, imputer.impute(unknown, 1, random_state=1)[0].rows)


def test_several_models_take_turns(columns: Any) -> None:
    frame = pandas_frame(columns)
    imputer = PMFImputer(tp.VB(max_rank=5), n_models=2, max_iterations=3).fit(frame)
    known = imputer.schema_.encode(frame)
    for result, imputation in zip(imputer.results_, imputer.impute(frame, 2), strict=True):
        drawn = imputer.schema_.encode(imputation.rows)
        np.testing.assert_allclose(imputation.prob, result.pmf.prob(drawn) / result.pmf.prob(known))


def test_what_is_unknown_is_no_hole() -> None:
    rows = np.array([["a", "x"], ["b", "y"]] * 20 + [["a", None]], dtype=object)
    imputer = PMFImputer().fit(rows)
    new = np.array([["a", None], ["never seen", "y"], ["never seen", None]], dtype=object)
    assert imputer.transform(new)[:2].tolist() == [["a", "x"], ["never seen", "y"]]
    assert imputer.impute(new, 1)[0].rows[1].tolist() == ["never seen", "y"]
    assert imputer.certainty(new)[1].tolist() == [1, 1]


@pytest.mark.parametrize("strategy", ["most_likely", "expected", "sampled"])
def test_an_impossible_row_is_filled_as_an_empty_one(strategy: Any) -> None:
    rows = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]] * 20, dtype=float)
    imputer = PMFImputer(tp.EM(rank=2), strategy=strategy, n_starts=5).fit(rows)
    odd = np.array([[0, 1, np.nan], [np.nan, np.nan, 1]])
    filled = imputer.transform(np.repeat(odd, 300, axis=0))
    assert (filled[:300, :2] == [0, 1]).all()
    np.testing.assert_allclose(filled[300:], 1, atol=1e-6)
    assert filled[:300, 2].mean() == pytest.approx(0 if strategy == "most_likely" else 1 / 3, abs=0.1)
    np.testing.assert_allclose(imputer.certainty(odd)[:, 2], [2 / 3, 1], atol=1e-6)
    drawn = imputer.impute(odd, 1)[0]
    assert drawn.prob[0] == pytest.approx(1 / 3 if drawn.rows[0, 2] else 2 / 3, abs=1e-6)


SHAPES = pd.DataFrame({"shape": ["round", "square"] * 40, "stars": [1, 3] * 40})


@pytest.mark.parametrize(
    "holey",
    [
        pd.DataFrame({"shape": pd.Categorical([None, "round"]), "stars": [3, 1]}, index=[7, 5]),
        pd.DataFrame({"shape": [np.nan, np.nan], "stars": [3, 1]}),
        pl.DataFrame({"shape": [None, None], "stars": [3, 1]}),
        pl.DataFrame({"shape": pl.Series([None, "round"], dtype=pl.Enum(["round"])), "stars": [3, 1]}),
        pl.DataFrame({"shape": pl.Series([None, "round"], dtype=pl.Categorical), "stars": [3, 1]}),
    ],
)
def test_a_column_without_room_for_what_is_filled_in_gets_another_type(holey: Any) -> None:
    whole = PMFImputer().fit(SHAPES).transform(holey)
    assert whole["shape"].to_list() == ["square", "round"]
    assert not isinstance(holey, pd.DataFrame) or whole.index.equals(holey.index)


@pytest.mark.parametrize(
    "index",
    [pd.RangeIndex(10, 12, name="row"), pd.Index(["a", "a"]), pd.MultiIndex.from_tuples([(1, "x"), (1, "y")])],
)
def test_rows_keep_their_labels_and_the_frame_its_holes(index: pd.Index) -> None:
    holey = pd.DataFrame({"shape": [None, "round"], "stars": [3, 1]}, index=index)
    whole = PMFImputer().fit(SHAPES).transform(holey)
    pd.testing.assert_frame_equal(whole, pd.DataFrame({"shape": ["square", "round"], "stars": [3, 1]}, index=index))
    assert holey["shape"].isna().tolist() == [True, False]


def test_filling_looks_at_distinct_values_only(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[object] = []
    monkeypatch.setattr("tensorpmf.learn.holes.is_number", lambda label: looked_at.append(label) or True)
    holey = pd.DataFrame({"shape": ["round"] * 1000, "stars": pd.Series([None, 1, 3, 3] * 250, dtype="Int64")})
    assert PMFImputer().fit(SHAPES).transform(holey)["stars"].notna().all()
    assert len(looked_at) <= 4


def test_arrow_columns_that_hold_nothing_are_filled() -> None:
    table = pa.table({"shape": pa.nulls(2), "stars": [3, 1]})
    filled = PMFImputer().fit(SHAPES).impute(table, 1)[0].rows
    assert filled["stars"].equals(table["stars"])
    assert set(filled["shape"].to_pylist()) <= {"round", "square"}


@pytest.mark.parametrize("dtype", [pd.CategoricalDtype([1, 3]), pd.CategoricalDtype([1, 3], ordered=True)])
def test_the_mean_of_numeric_categories_is_a_number(dtype: Any) -> None:
    frame = SHAPES.astype({"stars": dtype})
    frame.loc[:1, "stars"] = None
    whole = PMFImputer(strategy="expected").fit(frame).transform(frame)
    assert whole["stars"].dtype == "Float64"
    assert 1 < whole["stars"][0] < whole["stars"][1] < 3
    assert PMFImputer().fit(frame).transform(frame)["stars"].dtype == dtype


def test_single_precision_stays_single(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(100, 2)).astype(np.float32)
    rows[:9, 0] = np.nan
    filled = PMFImputer().fit(rows).transform(rows)
    assert filled.dtype == np.float32
    assert np.array_equal(filled[9:], rows[9:])


def test_arrow_tables_come_back_as_arrays_that_can_be_wrapped(columns: Any) -> None:
    table = pa.table(columns)
    imputer = PMFImputer().fit(table)
    assert isinstance(imputer.transform(table), np.ndarray)
    assert isinstance(imputer.impute(table, 1)[0].rows, pa.Table)
    frame = imputer.set_output(transform="pandas").transform(table)
    assert list(frame.columns) == list(columns)


def test_complete_rows_come_back_as_a_copy() -> None:
    rows = np.array([[1, 2], [2, 1]] * 20)
    same = PMFImputer().fit(rows).transform(rows)
    assert np.array_equal(same, rows)
    assert same is not rows
    assert same.dtype == rows.dtype


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(SettingError, match="strategy must be one of"):
        PMFImputer(strategy="mean").fit([[0], [1]])  # type: ignore[arg-type]


def test_fewer_than_one_imputation_is_refused() -> None:
    with pytest.raises(SettingError, match="n_imputations must be a whole number >= 1, got 0"):
        PMFImputer().fit([[0], [1]]).impute([[0]], 0)
