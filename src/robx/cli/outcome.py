"""Which outcome applicants want, as far as labels say it, and how it fits these applicants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from robx.cli.screen import either, listed
from robx.errors import InvalidInput
from robx.label_names import Sense, sense_of_class

if TYPE_CHECKING:
    import pandas as pd

    from robx.trees import Model

#: All of fewer applicants may well be accepted.
FEW = 5
#: Applicants of whom none is accepted were chosen so, if by chance it happened less often.
CHANCE = 0.01


@dataclass(frozen=True)
class Wanted:
    """The outcome that counts as accepted, as the user's table names it.

    `label` is the name of the column, `others` are the other outcomes, and `is_told` says whether
    the user named it with --target.
    """

    label: str | None
    value: Any
    others: tuple[Any, ...]
    is_told: bool

    @property
    def said(self) -> str:
        """Name it, such as "good = 1"."""
        return f"class {self.value}" if self.label is None else f"{self.label} = {self.value}"

    @property
    def sense(self) -> Sense | None:
        """Whether its name is that of a good or a bad outcome."""
        return sense_of_class(self.label, self.value, list(self.others))

    @property
    def instead(self) -> str:
        """Say how to choose another outcome."""
        options = [f"--target {value}" for value in self.others[:3]] or ["--target"]
        return either(options)

    def refuse_bad(self) -> None:
        """Refuse an outcome that, by its name, applicants want to avoid."""
        if self.is_told or self.sense != "bad":
            return
        named = f"'{self.said}'"
        raise InvalidInput(
            f"Which outcome do applicants want? By its name, {named} is one that they want to "
            f"avoid. Use {self.instead} if they do, or --target {self.value} if they want {named}."
        )


def stated(
    wanted: Wanted, model: Model, X: pd.DataFrame, people: pd.DataFrame | None, at: float
) -> str:
    """Say what is taken for granted about these applicants, or ask for it.

    Parameters
    ----------
    wanted : Wanted
    model : Model
    X, people : tables
        Of training rows and of applicants, if there are any yet.
    at : float
        A score above it is accepted.
    """
    share, n = _accepted(model, X, at).mean(), 0 if people is None else len(people)
    n_accepted = 0 if people is None else int(_accepted(model, people, at).sum())
    accepts = f"the model accepts {share:.0%} of the training rows"
    accepts += "" if people is None else f" and {_count(n_accepted, n)}"
    were_chosen = n_accepted == 0 and (1 - share) ** n < CHANCE
    if not wanted.is_told and wanted.sense is None and not were_chosen:
        raise InvalidInput(
            f"Which outcome do applicants want? {_silent(wanted)}. With {wanted.said}, {accepts}. "
            f"Add --target {wanted.value} if they want that, else {wanted.instead}."
        )
    line = f"Applicants want {wanted.said}: {accepts}."
    if n_accepted == n >= FEW:
        return (
            f"Warning: {line} That is nearly always the wrong way round: look at {wanted.instead}."
        )
    return (
        line if wanted.is_told else f"{line} If that is the wrong way round, use {wanted.instead}."
    )


def stated_again(wanted: str, model: Model, people: pd.DataFrame, at: float) -> str:
    """Say which outcome an explainer was fitted for, and how it fits these applicants."""
    n_accepted = int(_accepted(model, people, at).sum())
    line = f"Applicants want {wanted}: the model accepts {_count(n_accepted, len(people))}."
    if n_accepted == len(people) >= FEW:
        return (
            f"Warning: {line} That is nearly always the wrong way round: fit the explainer again "
            "with another --target."
        )
    return line


def is_warning(line: str) -> bool:
    """Whether a line is to be shown to those, too, who asked for quiet."""
    return line.startswith("Warning")


def telling_column(table: pd.DataFrame, features: Sequence[Any]) -> str | None:
    """Find a column beside the features that, by its name, holds 0/1 outcomes."""
    for name in table.columns.difference(list(features), sort=False):
        values = set(table[name].dropna().unique().tolist())
        if values == {0, 1} and sense_of_class(str(name), 1, [0]) is not None:
            return str(name)
    return None


def _silent(wanted: Wanted) -> str:
    if wanted.label is None:
        return "Without --label, nothing says it"
    values = [str(one) for one in sorted((wanted.value, *wanted.others), key=str)]
    return f"The labels in '{wanted.label}', {listed(values, most=4)}, do not say it"


def _count(accepted: int, n: int) -> str:
    whom = "the only applicant" if n == 1 else f"these {n} applicants"
    if accepted == n:
        return whom if n == 1 else f"all of {whom}"
    return f"not {whom}" if n == 1 else f"{accepted or 'none'} of {whom}"


def _accepted(model: Model, table: pd.DataFrame, at: float) -> Any:
    import numpy as np

    from robx.trees.rowwise import score_rows

    scores, _ = score_rows(lambda rows: model.score(table.iloc[rows]), len(table))
    with np.errstate(invalid="ignore"):
        return scores > at
