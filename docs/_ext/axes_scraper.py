"""Pictures for the gallery: what an example has drawn so far, and has not been saved yet.

robx draws without pyplot, so that the gallery's own scraper would find nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of an example's variables, once each."""
    del block
    names = block_vars["example_globals"]
    done = names.setdefault("__drawn__", set())
    paths = []
    for figure in _figures(names.values()):
        if id(figure) in done:
            continue
        done.add(id(figure))
        path = next(block_vars["image_path_iterator"])
        figure.savefig(path, dpi=160)
        paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"])


def _figures(values: Any) -> Iterator[Figure]:
    for value in list(values):
        if isinstance(value, Figure):
            yield value
        elif isinstance(value, Axes):
            yield value.figure
        elif isinstance(value, np.ndarray) and value.dtype == object:
            yield from _figures(value.ravel())
