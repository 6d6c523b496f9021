"""Pictures show what the result says: heights, shades, curves and labels are read back from the axes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.collections import LineCollection, QuadMesh

import tensorpmf as tp
from tensorpmf.data import sample_table, synthetic_pmf
from tensorpmf.errors import MissingExtraError
from tensorpmf.learn.iris import iris
from tensorpmf.show import plots


@pytest.fixture(scope="module")
def result() -> tp.FitResult:
    return tp.fit(tp.read_table(iris(), bins=3))


def test_stems_are_the_weights_heaviest_first(result: tp.FitResult) -> None:
    axes = plots.weights(result.pmf)
    (stems,) = (artist for artist in axes.collections if isinstance(artist, LineCollection))
    heights = [segment[1, 1] for segment in stems.get_segments()]
    np.testing.assert_allclose(heights, sorted(result.pmf.weights, reverse=True))


def test_shades_are_the_factors_heaviest_component_first(result: tp.FitResult) -> None:
    axes = plots.profiles(result.pmf)
    order = np.argsort(-result.pmf.weights)
    shades = [artist.get_array() for artist in axes.collections if isinstance(artist, QuadMesh)]
    for shade, factor in zip(shades, result.pmf.factors, strict=True):
        np.testing.assert_allclose(shade, factor[:, order])


def test_every_level_of_the_columns_asked_for_has_a_line(result: tp.FitResult) -> None:
    axes = plots.profiles(result.pmf, ["species", "petal width"])
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    schema = result.pmf.schema
    assert labels == [*schema["species"].levels, *schema["petal width"].levels]


def test_curves_are_the_trace(result: tp.FitResult) -> None:
    objective, rank = plots.trace(result)
    np.testing.assert_array_equal(objective.lines[0].get_ydata(), result.trace.objective)
    np.testing.assert_array_equal(rank.lines[0].get_ydata(), result.trace.rank)
    assert objective.get_title(loc="left") == "Evidence lower bound (nats)"


def test_an_overview_has_four_panels_and_a_title(result: tp.FitResult) -> None:
    figure = plots.overview(result, "irises")
    assert len(figure.axes) == 4
    assert figure.get_suptitle() == "irises"


def test_wide_tables_are_cut_to_one_page_and_say_so() -> None:
    pmf = synthetic_pmf(30, 10, 15, seed=0)
    result = tp.fit(sample_table(pmf, 300, seed=0), tp.VB(max_rank=20), max_iterations=3)
    figure = plots.overview(result)
    profiles = figure.axes[-1]
    assert "23 more columns not shown" in profiles.get_title(loc="left")
    assert len(profiles.texts) < 30  # too many components to write a number in every cell
    assert figure.get_figheight() < 60


def test_one_component_and_a_column_of_many_levels() -> None:
    pmf = synthetic_pmf(2, (300, 2), 1, seed=0)
    assert plots.that_fit(pmf.schema) == ["x1"]
    assert plots.weights(pmf).get_title(loc="left") == "Weight of the only component"
    assert plots.profiles(pmf).figure.get_figheight() < 60


def test_small_weights_are_not_called_nothing() -> None:
    schema = tp.Schema.from_n_levels([2])
    axes = plots.weights(tp.LowRankPMF(schema, [0.999, 0.001], [[[0.5, 0.5], [0.5, 0.5]]]))
    assert [text.get_text() for text in axes.texts] == ["100%", "<1%"]


def test_without_matplotlib_the_error_names_the_extra(result: tp.FitResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tensorpmf\[plot\]'") as caught:
        plots.weights(result.pmf)
    assert caught.value.extra == "plot"


def test_drawing_leaves_pyplot_alone() -> None:
    code = (
        "import sys, tensorpmf as tp; from tensorpmf.show import plots;"
        "plots.overview(tp.fit(tp.CategoricalTable.from_codes([[0, 1], [1, 0]])));"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"
