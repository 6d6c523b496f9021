"""What texts from a file stand for: numbers, truth values, or themselves."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorpmf.table.factor import Factor, is_number, objects

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "NULL", "null", "?")
"""What marks a missing cell in a text file unless the caller says otherwise."""

_WHOLE = re.compile(r"-?(0|[1-9]\d{0,999})")
_REAL = re.compile(r"[+-]?(?!0\d)(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def markers(factor: Factor, missing: Iterable[Hashable] | None) -> list[Hashable]:
    """Return what marks a missing cell of a column; in a text file, as it is written there.

    Parameters
    ----------
    factor
        The column.
    missing
        What marks one; in a text file also as a number, however that is written, and None for the usual ones.
    """
    if not factor.is_text:
        return list(missing or ())
    spelt = {"", *(MISSING if missing is None else map(str, missing))}
    numbers = {number_of(text) for text in spelt} - {None}
    return [text for text in factor.labels.tolist() if text in spelt or (numbers and number_of(text) in numbers)]


def number_of(text: str) -> float | None:
    """Return the number that a text stands for, if it does."""
    return float(text) if _REAL.fullmatch(text) else None


def no_number(labels: Iterable[Hashable]) -> Hashable:
    """Return the first of several labels, not all numbers, that is none; a text that stands for one rather not."""
    odd = [label for label in labels if not is_number(label)]
    return next((label for label in odd if not (isinstance(label, str) and number_of(label) is not None)), odd[0])


def typed(factor: Factor) -> Factor:
    """Return a factor of texts as one of what they stand for; any other factor as it is.

    All labels together decide: if all are whole numbers they become integers, else if all are numbers, floats, else if
    all are ``true`` or ``false``, truth values, and else they stay texts. A number with a leading zero is a text: 01234
    is a postcode.

    Parameters
    ----------
    factor
        The factor.
    """
    if not factor.is_text:
        return factor
    return factor.relabelled(_meant(factor.labels), is_text=False)


def _meant(labels: NDArray[Any]) -> NDArray[Any]:
    texts: list[str] = labels.tolist()
    if all(map(_WHOLE.fullmatch, texts)):
        whole = list(map(int, texts))
        in_64_bits = all(-(2**63) <= number < 2**63 for number in whole)
        return np.array(whole, dtype=np.int64) if in_64_bits else objects(whole)  # as floats, long ones would coincide
    if all(map(_REAL.fullmatch, texts)) and not all("inf" in text.lower() for text in texts):
        return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
    if all(text in _TRUTH for text in texts):
        return objects([_TRUTH[text] for text in texts])
    return labels
