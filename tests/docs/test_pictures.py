"""The committed pictures can be drawn again."""

from __future__ import annotations

import runpy
from pathlib import Path

IMAGES = Path(__file__).parents[2] / "docs/images"


def test_the_script_draws_every_committed_picture(tmp_path: Path) -> None:
    runpy.run_path(str(IMAGES / "draw.py"))["draw"](tmp_path)
    drawn = {picture.name: picture.read_bytes() for picture in tmp_path.glob("*.png")}
    assert set(drawn) == {picture.name for picture in IMAGES.glob("*.png")}
    assert all(content.startswith(b"\x89PNG") for content in drawn.values())


def test_committed_pictures_are_small() -> None:
    assert all(picture.stat().st_size < 150_000 for picture in IMAGES.glob("*.png"))
