from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest

from tensorpmf.errors import TooManyCellsError
from tensorpmf.pmf import estimate
from tensorpmf.pmf.estimate import Estimate, cells, exact_mean, sampled_mean


def test_an_estimate_is_a_number_that_knows_its_error() -> None:
    exact, drawn = Estimate(0.5), Estimate(1 / 3, standard_error=0.01, note="drawn")
    assert (exact.is_exact, exact.standard_error, exact.note, repr(exact)) == (True, 0.0, "", "0.5")
    assert (drawn.is_exact, drawn.standard_error, drawn.note, repr(drawn)) == (False, 0.01, "drawn", "0.333333 ± 0.01")
    assert drawn < exact
    assert f"{drawn:.2f}" == "0.33"
    copy = pickle.loads(pickle.dumps(drawn))
    assert (copy, copy.standard_error, copy.note) == (drawn, 0.01, "drawn")


def test_cells_come_in_the_order_of_a_tensor_whatever_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "_CELLS_AT_ONCE", 5)
    blocks = list(cells([2, 1, 3, 2]))
    assert [len(block) for block in blocks] == [5, 5, 2]
    expected = list(product(range(2), range(1), range(3), range(2)))
    assert [tuple(map(int, row)) for block in blocks for row in block] == expected
    assert {block.dtype for block in blocks} == {np.dtype(np.int8)}
    assert next(iter(cells([200]))).dtype == np.int16


def test_too_many_cells_are_not_enumerated() -> None:
    with pytest.raises(TooManyCellsError, match="there are 24 cells, more than 23") as caught:
        next(cells([2, 3, 4], most=23))
    assert caught.value.hint == "take the marginal of a few columns first."
    assert sum(len(block) for block in cells([2, 3, 4], most=24)) == 24


def test_an_exact_mean_leaves_out_what_cannot_happen() -> None:
    log_prob = np.log(np.array([0.25, 0.75, 1e-300]))
    log_prob[2] = -np.inf

    def function(codes: np.ndarray) -> np.ndarray:
        assert 2 not in codes
        return codes[:, 0] * 8.0

    assert exact_mean(function, lambda codes: log_prob[codes[:, 0]], [3]) == 6.0


def test_a_sampled_mean_tells_its_standard_error() -> None:
    mean = sampled_mean(np.array([1.0, 2.0, 3.0, 6.0]))
    assert mean == 3.0
    assert mean.standard_error == pytest.approx(np.sqrt((4 + 1 + 0 + 9) / 3 / 4))
    infinite = sampled_mean(np.array([1.0, np.inf]))
    assert (float(infinite), infinite.standard_error) == (np.inf, np.inf)
