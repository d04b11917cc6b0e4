"""Plots as files, and as SVG text for a page."""

from __future__ import annotations

import copy
import hashlib
import io
import os
import re
from html import escape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from robx.errors import InvalidInput
from robx.files import atomically
from robx.plots.style import FIRST, INK, LAST, PAPER, styled

#: Endings of plots, and the metadata with clock and version that matplotlib must not write.
ENDINGS: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}
#: Earlier versions write from left to right only, and draw boxes for isolating signs.
KNOWS_DIRECTIONS = mpl.__version_info__[:2] >= (3, 11)
#: Only tags are changed: between them are the caller's words.
TAG = re.compile(r"<[^>]*>")


def svg(axes: Any, title: str | None = None) -> str:
    """Give a plot as SVG text, for an HTML page.

    Text and axes have the page's own colour (``currentColor``) and font, without a background, so
    that the plot fits light and dark pages. Open markers are filled with ``--robx-paper``, or the
    page's canvas if that is not set. A description for those who do not see the plot is included.
    The same plot gives the same text; ids differ from those of other plots.

    Parameters
    ----------
    axes : Axes or array of Axes
        What a function of `robx.plots` returned.
    title : str, optional
        Title of the plot, for those who do not see it.

    Returns
    -------
    str

    Examples
    --------
    >>> import pandas as pd
    >>> from robx.plots import asked_features
    >>> table = pd.DataFrame({"feature": ["savings"], "share": [0.25]})
    >>> text = svg(asked_features(table), title="Most frequent changes")
    >>> text.startswith("<svg"), "currentColor" in text, "<title" in text
    (True, True, True)
    """
    figure = _figure_of(axes, "svg")
    text = _written(figure, "svg", transparent=True).decode("utf-8")
    text = text[text.index("<svg") :].strip()
    for unneeded in (r"<!--.*?-->", r"<metadata>.*?</metadata>", r"<style\b.*?</style>"):
        text = re.sub(unneeded, "", text, flags=re.DOTALL)
    text = TAG.sub(_as_the_page, text)
    words = " ".join(said for ax in figure.axes if (said := str(ax.get_label())))
    return _named(text, title or "Plot", words)


def _as_the_page(tag: re.Match[str]) -> str:
    """Give a tag the page's colours and font."""
    text = tag[0].replace(INK, "currentColor").replace(PAPER, "var(--robx-paper, Canvas)")
    return re.sub(r"font-family: [^;\"]*;? ?", "", text)


def _named(text: str, title: str, words: str) -> str:
    """Give the picture its description, and ids that no other picture has."""
    own = hashlib.sha256(f"{title}\n{words}\n{text}".encode()).hexdigest()[:10]
    names = re.compile(r'(\bid="|href="#|url\(#)')
    text = TAG.sub(lambda tag: names.sub(rf"\g<1>r{own}-", tag[0]), text)
    head, _, rest = text.partition(">")
    size = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"', head)
    assert size is not None  # noqa: S101 - matplotlib always writes it
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    head += (
        f' width="{size[1]}pt" height="{size[2]}pt" role="img" '
        f'aria-labelledby="r{own}-title r{own}-desc" stroke-linejoin="round" '
        'stroke-linecap="butt" style="max-width: 100%; height: auto"'
    )
    said = f'<title id="r{own}-title">{escape(title)}</title>'
    said += f'<desc id="r{own}-desc">{escape(words)}</desc>'
    return f"{head}>{said}{rest}"


def save(axes: Any, path: str | os.PathLike[str]) -> None:
    """Write a plot to a `.png`, `.svg` or `.pdf` file, on white; the same plot, the same bytes.

    Parameters
    ----------
    axes : Axes or array of Axes
        What a function of `robx.plots` returned.
    path : path

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> from robx.plots import asked_features
    >>> table = pd.DataFrame({"feature": ["savings"], "share": [0.25]})
    >>> file = Path(tempfile.mkdtemp()) / "asked.png"
    >>> save(asked_features(table), file)
    >>> file.read_bytes()[1:4]
    b'PNG'
    """
    figure = _figure_of(axes, "save")
    file = Path(path)
    if file.suffix.lower() not in ENDINGS:
        raise InvalidInput(
            f"A plot is saved as {', '.join(ENDINGS)}. Got '{file.name}'. Choose one of these."
        )
    data = _written(figure, file.suffix[1:].lower(), transparent=False)
    with atomically(file, private=False) as temporary:
        temporary.write_bytes(data)


def _written(figure: Figure, kind: str, *, transparent: bool) -> bytes:
    buffer = io.BytesIO()
    with styled():
        # A layout starts from the previous one, so a copy is laid out.
        own = copy.deepcopy(figure)
        if kind != "svg" and not KNOWS_DIRECTIONS:
            for text in own.findobj(Text):
                text.set_text(text.get_text().replace(FIRST, "").replace(LAST, ""))
        metadata = ENDINGS[f".{kind}"]
        own.savefig(buffer, format=kind, dpi=150, metadata=metadata, transparent=transparent)
    return buffer.getvalue()


def _figure_of(axes: Any, owner: str) -> Figure:
    given = list(np.ravel(np.asarray([axes] if isinstance(axes, Axes) else axes, dtype=object)))
    if not given or not all(isinstance(ax, Axes) for ax in given):
        raise InvalidInput(
            f"{owner} takes the Axes that a function of robx.plots returned. Got "
            f"{type(axes).__name__}."
        )
    figure = given[0].figure
    top = figure if isinstance(figure, Figure) else given[0].get_figure(root=True)
    if top is None or any(ax.get_figure(root=True) is not top for ax in given):
        raise InvalidInput(f"{owner} takes Axes of one figure. Got Axes of several, or of none.")
    return top
