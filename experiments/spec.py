"""A spec for each table, and the figures that the paper has for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import yaml

from experiments.settings import SPECS

__all__ = ["FIGURES", "Spec", "base_of", "load_spec", "load_specs", "published"]

#: What the paper reports for a method: validity is in percent.
FIGURES = ("cost", "validity", "lof")
ROBX = " +RobX"
#: Specs of another kind, with a reader of their own.
APART = ("frontier",)


@dataclass(frozen=True)
class Spec:
    """What one table or figure shows.

    Parameters
    ----------
    name : str
        Of its files.
    title, paper : str
        What it is, and where the paper has it.
    train : {"whole", "half"}
        The part of the training rows that base models see.
    scaling : {"range", "deviation"}
        The unit of each feature for costs and noise.
    change : {"minor", "moderate"}, optional
        How much the model changes; says what must be seen.
    scenario : {"drop-rows", "hyperparameter", "other-half"}, optional
        How the model changes.
    norms : sequence of {1, 2}
    methods : mapping from data sets to names of methods
    robx : bool
        Whether every method but CCF also comes as a base of RobX.
    taus : sequence of float
        Of a sweep.
    """

    name: str
    title: str
    paper: str
    train: Literal["whole", "half"]
    scaling: Literal["range", "deviation"]
    change: Literal["minor", "moderate"] | None = None
    scenario: Literal["drop-rows", "hyperparameter", "other-half"] | None = None
    norms: tuple[Literal[1, 2], ...] = ()
    methods: dict[str, tuple[str, ...]] = field(default_factory=dict)
    robx: bool = False
    taus: tuple[float, ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether it is a table of methods."""
        return bool(self.methods) and not self.taus

    @property
    def is_published(self) -> bool:
        """Whether the paper has figures for it."""
        return _figures_of(self.name).exists()

    def rows(self, data: str) -> tuple[str, ...]:
        """Methods for a data set, in the order of the paper."""
        named = self.methods.get(data, ())
        if not self.robx:
            return named
        return tuple(row for name in named for row in _with_robx(name))


def _with_robx(name: str) -> tuple[str, ...]:
    return (name,) if name == "CCF" else (name, name + ROBX)


def base_of(method: str) -> str | None:
    """Return the base's name for a method on RobX, None for others.

    Examples
    --------
    >>> base_of("FOCUS gamma=0.8 +RobX"), base_of("FT")
    ('FOCUS gamma=0.8', None)
    """
    return method.removesuffix(ROBX) if method.endswith(ROBX) else None


def load_spec(path: Path) -> Spec:
    """Read a spec; a field that a spec does not have is an error."""
    plain: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    plain["methods"] = {data: tuple(names) for data, names in plain.get("methods", {}).items()}
    for name in ("norms", "taus"):
        plain[name] = tuple(plain.get(name, ()))
    return Spec(name=path.stem, **plain)


def load_specs() -> dict[str, Spec]:
    """Read every spec, in the order in which they are shown."""
    order = ["moderate", "face-confidence", "focus-gamma", "minor-rows", "minor-hyperparameter"]
    names = sorted(path.stem for path in SPECS.glob("*.yaml") if path.stem not in APART)
    names.sort(key=lambda name: order.index(name) if name in order else len(order))
    return {name: load_spec(SPECS / f"{name}.yaml") for name in names}


def published(name: str) -> pd.DataFrame:
    """Read the paper's figures: ``data``, ``norm``, ``method``, cost, validity, LOF, ``note``.

    A line is a line of the paper's table; a note says where the paper contradicts itself.
    """
    if not _figures_of(name).exists():
        return pd.DataFrame(columns=["data", "norm", "method", *FIGURES, "note"])
    frame = pd.read_csv(_figures_of(name), dtype={"note": str})
    frame["note"] = frame["note"].fillna("")
    return frame


def _figures_of(name: str) -> Path:
    return SPECS / f"{name}.csv"
