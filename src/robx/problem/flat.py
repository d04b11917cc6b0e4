"""Answers as one flat table: a row each, for files and for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import pandas as pd

from robx.errors import InvalidInput
from robx.tables import as_named_frame

if TYPE_CHECKING:
    from robx.problem.counterfactuals import Counterfactuals

__all__ = ["PREFIX", "applicant_ids", "as_table"]

#: What the names of columns begin with that are not the model's.
PREFIX = "robx_"


def as_table(answers: Counterfactuals) -> pd.DataFrame:
    """Give who asked, the points under the names of their columns, and what is known of them."""
    points = nw.from_native(as_named_frame(answers.points, answers.schema.names), eager_only=True)
    frame = pd.DataFrame(points.to_pandas()).reset_index(drop=True)
    frame.columns = frame.columns.map(str)
    known = {f"{PREFIX}{name}": values for name, values in _known(answers).items()}
    who = "applicant" if "applicant" not in frame.columns else f"{PREFIX}applicant"
    taken = [name for name in frame.columns if name in {*known, who}]
    if taken:
        raise InvalidInput(
            f"A column of the answers is named '{taken[0]}', as one of robx's own is. Rename it."
        )
    first = pd.DataFrame({who: applicant_ids(answers)})
    return pd.concat([first, frame, pd.DataFrame(known)], axis=1)


def applicant_ids(answers: Counterfactuals) -> Any:
    """Name everybody as the index of their table does, or by their place."""
    index = answers.applicants.index if hasattr(answers.applicants, "iloc") else None
    if index is None:
        return pd.RangeIndex(len(answers)).to_numpy()
    if isinstance(index, pd.MultiIndex):
        return [" / ".join(map(str, parts)) for parts in index]
    return index.to_series().reset_index(drop=True)


def _known(answers: Counterfactuals) -> dict[str, Any]:
    """What stands in the columns that are robx's own."""
    return {
        "status": [str(status) for status in answers.status],
        "cost": answers.cost,
        "n_changes": answers.n_changes,
        "score": answers.score,
        "stability": answers.stability,
        **answers.measured,
        **_certified(answers),
        "changes": ["; ".join(change) for change in answers.changes],
        "reason": list(answers.reason),
    }


def _certified(answers: Counterfactuals) -> dict[str, Any]:
    certificate = answers.certificate
    if certificate is None:
        return {}
    accepting = pd.Series(certificate.accepting, dtype="Int64")
    return {
        "accepting": accepting.where(certificate.covers),
        "models": pd.Series([certificate.n_models] * len(answers), dtype="Int64"),
        "validity_bound": certificate.bound,
    }
