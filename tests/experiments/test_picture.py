from __future__ import annotations

import re

import numpy as np
import pandas as pd
from experiments.picture import DATA, FRUGAL, PAPER, PICTURE, RESULTS, chosen, draw

TABLES = {label: pd.read_csv(RESULTS / name / "frontier.csv") for name, label in DATA.items()}


def test_robx_is_shown_where_it_keeps_as_much_and_no_dearer_than_that() -> None:
    for table in TABLES.values():
        lines = chosen(table).set_index("method")
        frugal, theirs = lines.loc[FRUGAL], lines.loc[PAPER]
        assert theirs["validity"] >= frugal["validity"] - 1e-12
        moderate = table[(table["scenario"] == "moderate") & (table["method"] == PAPER)]
        enough = moderate[moderate["validity"] >= frugal["validity"]]
        assert theirs["cost_l1"] <= enough["cost_l1"].min()
        assert theirs["cost_l1"] > moderate["cost_l1"][moderate["validity"] < 0.95].max()


def test_every_method_is_drawn_where_its_figures_are() -> None:
    figure = draw(TABLES)
    for ax, table in zip(figure.axes, TABLES.values(), strict=True):
        drawn = [np.asarray(line.get_xdata())[0] for line in ax.lines if line.get_marker() == "o"]
        assert drawn == (100 * chosen(table)["validity"]).tolist()


def test_the_committed_picture_shows_the_committed_figures() -> None:
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", PICTURE.read_text(encoding="utf-8"))
    for table in TABLES.values():
        for line in chosen(table).to_dict("records"):
            assert f"{100 * line['validity']:.1f}%" in texts
            assert f"{line['cost_l1']:.2f}" in texts
            assert f"{line['n_changes']:.1f}" in texts
