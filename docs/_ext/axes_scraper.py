"""Pictures for the gallery: what an example has drawn so far, and has not been saved yet.

robx draws without pyplot, so that the gallery's own scraper would find nothing. The gallery takes
the first picture of an example as its thumbnail: so a small drawing of the first figure comes
first, whose text is readable when it is shown small, and is on no page by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from sphinx_gallery.scrapers import figure_rst

#: Width and height of the drawing for a thumbnail, as shares of the figure's: text keeps its size.
SMALL = np.array([0.62, 0.75])


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of an example's variables, once each."""
    del block
    names = block_vars["example_globals"]
    done = names.setdefault("__drawn__", set())
    paths = []
    for figure in _figures(names.values()):
        if id(figure) in done:
            continue
        if not done:
            _save_small(figure, next(block_vars["image_path_iterator"]))
        done.add(id(figure))
        path = next(block_vars["image_path_iterator"])
        figure.savefig(path, dpi=160)
        paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])


def _save_small(figure: Figure, path: str) -> None:
    """Draw a figure for its thumbnail, which has no room for legends."""
    size = figure.get_size_inches().copy()
    legends = [one for one in figure.findobj(Legend) if one.get_visible()]
    for legend in legends:
        legend.set_visible(False)
    figure.set_size_inches(size * SMALL)
    figure.savefig(path, dpi=200, bbox_inches="tight")
    figure.set_size_inches(size)
    for legend in legends:
        legend.set_visible(True)


def _figures(values: Any) -> Iterator[Figure]:
    for value in list(values):
        if isinstance(value, Figure):
            yield value
        elif isinstance(value, Axes):
            yield value.figure
        elif isinstance(value, np.ndarray) and value.dtype == object:
            yield from _figures(value.ravel())
