from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pandas as pd
import pytest

from report_cases import EVIL
from robx import plots
from robx.plots.distributions import bin_table
from robx.reports.pictures import records
from robx.reports.renderers.pictures import drawn

ROWS = [
    {"feature": "a", "before": "1", "after": "2", "shift": 0.5, "low": -0.25, "high": None},
    {"feature": "b", "before": "1", "after": "2", "shift": -0.5, "low": None, "high": 0.75},
    {"feature": EVIL, "before": "x$y$", "after": EVIL, "shift": None, "low": None, "high": None},
]
COLUMNS = ["score", "mean", "stability"]
EXAMPLE = {"kind": "example", "title": EVIL, "words": "", "rows": ROWS}


def test_a_bound_that_is_not_stated_is_endless_and_a_category_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[pd.DataFrame] = []
    draw = plots.before_after

    def looked_at(table: pd.DataFrame) -> Any:
        seen.append(table)
        return draw(table)

    monkeypatch.setattr(plots, "before_after", looked_at)
    drawn(EXAMPLE)
    (table,) = seen
    assert np.array_equal(table["low"], [-0.25, -np.inf, np.nan], equal_nan=True)
    assert np.array_equal(table["high"], [np.inf, 0.75, np.nan], equal_nan=True)
    assert np.array_equal(table["shift"], [0.5, -0.5, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    "picture",
    [
        EXAMPLE,
        {"kind": "asked", "title": EVIL, "rows": [{"feature": EVIL, "share": 0.5}]},
        {
            "kind": "support",
            "title": EVIL,
            "tau": 0.5,
            "rows": records(bin_table(pd.DataFrame([[0.5, np.nan, 0.7]], columns=COLUMNS), 0.5)),
        },
        {
            "kind": "frontier",
            "title": EVIL,
            "rows": [{"method": EVIL, "validity": 0.9, "cost_l1": 0.5, "low": None, "high": None}],
        },
        {
            "kind": "answers",
            "title": EVIL,
            "tau": 0.5,
            "rows": records(bin_table(pd.DataFrame({"score": [0.5], "stability": [0.7]}), 0.5)),
        },
    ],
    ids=lambda picture: str(picture["kind"]),
)
def test_every_picture_is_sound_and_has_its_title(picture: dict[str, Any]) -> None:
    text = drawn(picture)
    root = ET.fromstring(text)  # noqa: S314 - our own text
    assert root.tag.endswith("svg")
    assert root.get("role") == "img"
    assert any((element.text or "").startswith(EVIL) for element in root)
    assert "<img" not in text
    assert drawn(picture) == text
