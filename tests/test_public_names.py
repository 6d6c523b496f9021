"""The front door: every public name is there, is the thing it says, and costs nothing until it is used."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import tensorpmf as tp

FRONT = Path(tp.__file__)


def promised_to_type_checkers() -> dict[str, str]:
    """Public name -> module, as the ``if TYPE_CHECKING`` lines of the package say."""
    block = next(node for node in ast.parse(FRONT.read_text("utf-8")).body if isinstance(node, ast.If))
    return {
        alias.asname: str(line.module)
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
        if alias.asname is not None
    }


@pytest.mark.parametrize(("name", "home"), promised_to_type_checkers().items())
def test_a_public_name_is_the_thing_type_checkers_were_promised(name: str, home: str) -> None:
    assert getattr(tp, name) is getattr(importlib.import_module(home), name)


def test_type_checkers_and_dir_see_the_same_names() -> None:
    assert sorted(promised_to_type_checkers()) == sorted(tp.__all__)
    assert set(tp.__all__) <= set(dir(tp))


def test_star_import_brings_the_public_names() -> None:
    brought: dict[str, object] = {}
    exec("from tensorpmf import *", brought)
    assert set(tp.__all__) <= set(brought)


def test_fit_is_the_function_whatever_was_imported_before() -> None:
    room = importlib.import_module("tensorpmf.fit")
    importlib.reload(room)
    assert callable(tp.fit)
    assert tp.fit is not room


def test_an_unknown_name_is_an_attribute_error_with_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="no attribute 'fitt'") as caught:
        _ = tp.fitt
    assert caught.value.name == "fitt"


def test_the_version_is_the_installed_one() -> None:
    assert tp.__version__.count(".") == 2
