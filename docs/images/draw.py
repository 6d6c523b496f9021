"""Draw the pictures of the README and the docs, from real fits: ``python docs/images/draw.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import tensorpmf as tp
from tensorpmf.learn.iris import iris
from tensorpmf.show.plots import overview

HERE = Path(__file__).parent


def draw(folder: Path = HERE) -> None:
    """Draw every picture into a folder."""
    result = tp.fit(tp.read_table(iris(), bins=3))
    overview(result, "150 irises: weights, fit and components").savefig(folder / "iris.png", dpi=90)


if __name__ == "__main__":
    draw(*map(Path, sys.argv[1:]))
