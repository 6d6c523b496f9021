"""Which instruction set the compiled kernels use: the best the machine has, unless ``TENSORPMF_ISA`` says otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from tensorpmf.errors import SettingError
from tensorpmf.kernels import _native

ALL = ("baseline", "avx2", "avx512")
"""Every instruction set there are kernels for; ``baseline`` runs everywhere."""


def available() -> tuple[str, ...]:
    """Return the instruction sets this machine can run, the best first."""
    return tuple(_native.available())


def current() -> str:
    """Return the instruction set in use."""
    return _native.current()


@contextmanager
def using(name: str) -> Iterator[None]:
    """Use another instruction set for a while, for log-tables made meanwhile; for tests.

    Parameters
    ----------
    name
        One of :func:`available`.
    """
    before = current()
    _choose("using", name)
    try:
        yield
    finally:
        _native.use(before)


def _choose(owner: str, name: str) -> None:
    if name not in available():
        raise SettingError(owner, "the instruction set", f"one this machine has ({', '.join(available())})", name)
    _native.use(name)


if forced := os.environ.get("TENSORPMF_ISA"):
    _choose("TENSORPMF_ISA", forced)
