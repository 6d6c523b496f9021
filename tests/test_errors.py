"""Errors keep their facts wherever they go."""

from __future__ import annotations

import pickle

import pytest

from tensorpmf.errors import (
    DuplicateCellError,
    MissingFileError,
    SettingError,
    TensorPMFError,
    UnknownColumnError,
    UnobservedColumnError,
)


@pytest.mark.parametrize(
    "error",
    [
        UnobservedColumnError("age"),
        UnknownColumnError("agee", ["age", "pay"]),
        SettingError("fit", "seed", "a whole number >= 0", -1),
        DuplicateCellError("ann", "x", 3),
        MissingFileError("a.csv", ["b.csv"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_back_from_other_processes_as_they_were(error: TensorPMFError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (str(back), vars(back)) == (str(error), vars(error))
