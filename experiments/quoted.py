"""Figures that pages quote, each worked out from committed results."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
from benchmarks import peer_tables, privacy

__all__ = ["quoted"]

ROOT = Path(__file__).resolve().parents[1]
PROMISES = ROOT / "experiments" / "results" / "promises"
_known: dict[str, Callable[[], str]] = {}


def quoted(name: str) -> str:
    """Give a figure as a page shows it."""
    if name not in _known:
        raise ValueError(f"No figure is called {name!r}. Known are {', '.join(sorted(_known))}.")
    return _known[name]()


def figure(make: Callable[[], str]) -> Callable[[], str]:
    """Let pages quote what a function returns, under the function's name."""
    _known[make.__name__] = make
    return make


def percent(*shares: float) -> str:
    """Say shares as a range: "53 to 64 %"; one value where both ends round to the same."""
    low, high = f"{100 * min(shares):.0f}", f"{100 * max(shares):.0f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


@cache
def lines_of(name: str) -> pd.DataFrame:
    """Read results."""
    return pd.read_csv(PROMISES / f"{name}.csv")


# --- other tools ----------------------------------------------------------------------------------


@figure
def peers_short() -> str:
    """Every tool on one split."""
    return "\n" + peer_tables.short_table(_peers())


@figure
def peers_spans() -> str:
    """Some tools on all splits."""
    return "\n" + peer_tables.short_spans(_peers())


@cache
def _peers() -> list[peer_tables.Line]:
    return peer_tables.read_lines(ROOT / "benchmarks" / "results" / "peers.csv")


@figure
def privacy_short() -> str:
    """What anonymity costs."""
    return "\n" + privacy.short_table(privacy.committed()) + "\n"
