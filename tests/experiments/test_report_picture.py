"""The pictures of a report that the pages show."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from experiments import report_picture
from speed import deep

ROOT = Path(__file__).parents[2]


def brightness(file: Path) -> float:
    with Image.open(file) as image:
        return float(np.asarray(image.convert("L")).mean())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_committed_pictures_are_small_and_in_their_colours(scheme: str) -> None:
    file = report_picture.STATIC / f"report-{scheme}.png"
    assert file.stat().st_size < 150_000
    with Image.open(file) as image:
        wide, high = report_picture.SIZE
        assert image.size == (wide * report_picture.SCALE, high * report_picture.SCALE)
    assert (brightness(file) > 128) == (scheme == "light")
    assert file.name in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f"report-{scheme}.png" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium here")
@deep
def test_they_can_be_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_picture, "STATIC", tmp_path)
    report_picture.main()
    assert {file.name for file in tmp_path.iterdir()} == {"report-light.png", "report-dark.png"}
    assert brightness(tmp_path / "report-light.png") > 200
    assert brightness(tmp_path / "report-dark.png") < 80
    with Image.open(tmp_path / "report-light.png") as image:
        assert len(image.convert("RGB").getcolors(256) or []) > 20  # not an empty page
