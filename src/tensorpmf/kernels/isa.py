"""Which instruction set the compiled kernels use: the best the machine has, unless ``TENSORPMF_ISA`` says otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from typing import ParamSpec, TypeVar, cast

from tensorpmf.errors import SettingError
from tensorpmf.kernels import _native

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

REFERENCE = "reference"
"""The legible twins in place of the compiled kernels: slow, and right."""

_asked_for_twins = False


def available() -> tuple[str, ...]:
    """Return the instruction sets this machine can run, the best first."""
    return tuple(_native.available())


def current() -> str:
    """Return the instruction set in use."""
    return REFERENCE if _asked_for_twins else _native.current()


@contextmanager
def using(name: str) -> Generator[None]:
    """Use another instruction set for a while, for log-tables made meanwhile; for tests.

    Parameters
    ----------
    name
        One of :func:`available`, or ``"reference"`` for the legible twins of the kernels.
    """
    before = current()
    _choose("using", name)
    try:
        yield
    finally:
        _choose("using", before)


def with_twin(kernel: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Make a kernel give way to its twin of the same name in ``reference.py`` when the twins were asked for.

    Parameters
    ----------
    kernel
        The function that calls compiled code.
    """

    @wraps(kernel)
    def either(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        if not _asked_for_twins:
            return kernel(*args, **kwargs)
        twin = getattr(import_module("tensorpmf.kernels.reference"), kernel.__name__)
        return cast("Answer", twin(*args, **kwargs))

    return either


def _choose(owner: str, name: str) -> None:
    global _asked_for_twins
    choices = (*available(), REFERENCE)
    if name not in choices:
        raise SettingError(owner, "the instruction set", f"one this machine has ({', '.join(choices)})", name)
    _asked_for_twins = name == REFERENCE
    if not _asked_for_twins:
        _native.use(name)


if forced := os.environ.get("TENSORPMF_ISA"):
    _choose("TENSORPMF_ISA", forced)
