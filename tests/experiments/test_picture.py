from __future__ import annotations

import re

import numpy as np
from experiments.picture import DATA, DEFAULTS, PICTURE, Lines, chosen, draw

LINES = Lines.committed()


def test_methods_are_shown_as_they_come_and_the_default_with_its_promise() -> None:
    for data in DATA:
        found = chosen(LINES, data)
        assert len(found) == len(DEFAULTS) + 1
        promised = LINES.promised[LINES.promised["data"] == data]
        assert found["came"].iloc[-1] == promised["came"].mean()
        plain = LINES.plain[(LINES.plain["data"] == data) & (LINES.plain["method"] == "RobX")]
        assert found["cost"].iloc[-2] == plain["cost"].mean()
        assert (found["low"] <= found["came"]).all()
        assert (found["came"] <= found["high"]).all()


def test_every_method_is_drawn_where_its_figures_are() -> None:
    figure = draw(LINES)
    for ax, data in zip(figure.axes, DATA, strict=True):
        drawn = [np.asarray(line.get_xdata())[0] for line in ax.lines if line.get_marker() == "o"]
        assert drawn == (100 * chosen(LINES, data)["came"]).tolist()


def test_the_committed_picture_shows_the_committed_figures() -> None:
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", PICTURE.read_text(encoding="utf-8"))
    for data in DATA:
        for line in chosen(LINES, data).to_dict("records"):
            assert f"{100 * line['came']:.0f}%" in texts
            assert f"{line['cost']:.2f}" in texts
            assert f"{line['changes']:.1f}" in texts
