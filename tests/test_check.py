"""Checks at the public doors say whose setting it is, what it must be and what was given."""

from __future__ import annotations

import numpy as np
import pytest

from tensorpmf._check import default_threads, generator, positive_number, whole_number
from tensorpmf.errors import SettingError


def test_what_is_allowed_comes_back() -> None:
    assert whole_number("VB", "max_rank", np.int8(3), at_least=1) == 3
    assert positive_number("VB", "alpha", np.float32(0.5)) == 0.5
    assert positive_number("fit", "tolerance", 0, zero=True) == 0.0


@pytest.mark.parametrize("wrong", [0, 2.5, True, None, "3"])
def test_what_is_no_whole_number_is_refused(wrong: object) -> None:
    with pytest.raises(SettingError, match=r"VB: max_rank must be a whole number >= 1, got"):
        whole_number("VB", "max_rank", wrong, at_least=1)


@pytest.mark.parametrize("wrong", [0, -1.0, np.nan, np.inf, None, "0.5"])
def test_what_is_not_positive_is_refused(wrong: object) -> None:
    with pytest.raises(SettingError, match=r"VB: alpha must be a finite number > 0, got"):
        positive_number("VB", "alpha", wrong)


def test_what_is_wrong_is_shown_in_one_line_and_cut_short() -> None:
    with pytest.raises(SettingError) as caught:
        whole_number("VB", "max_rank", np.arange(10_000).reshape(100, 100), at_least=1)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    with pytest.raises(SettingError, match="got 'two  words'"):
        whole_number("VB", "max_rank", "two  words", at_least=1)


def test_a_generator_comes_back_and_nothing_else_passes_for_one() -> None:
    rng = np.random.default_rng(3)
    assert generator("sample", rng) is rng
    assert generator("interval", None, optional=True).random() == generator("interval", None, optional=True).random()
    for wrong in (0, None, np.random):
        with pytest.raises(SettingError, match="sample: rng must be a NumPy generator"):
            generator("sample", wrong)


def test_the_environment_says_how_many_threads_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORPMF_THREADS", "3")
    assert default_threads() == 3
    for wrong in ("0", "-1", "many"):
        monkeypatch.setenv("TENSORPMF_THREADS", wrong)
        with pytest.raises(SettingError, match="TENSORPMF_THREADS must be a whole number >= 1"):
            default_threads()
    monkeypatch.setenv("TENSORPMF_THREADS", "")
    assert default_threads() >= 1
