"""Answers as one flat table: a row each, for files and for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pandas as pd

from robx.errors import InvalidInput
from robx.tables import as_named_frame, in_order

if TYPE_CHECKING:
    from robx.answers.counterfactuals import Counterfactuals

#: What the names of columns begin with that are robx's own, whatever a method measures.
PREFIX = "robx_"


def as_table(answers: Counterfactuals) -> pd.DataFrame:
    """Give who asked, the points under the names of their columns, and what is known of them.

    Columns stand in the order of the schema, which is the model's, whatever the applicants' was.
    """
    names = answers.schema.names
    ordered = in_order(as_named_frame(answers.points, names), names)
    points = nw.from_native(ordered, eager_only=True)
    frame = pd.DataFrame(points.to_pandas()).reset_index(drop=True)
    frame.columns = frame.columns.map(str)
    known = {f"{PREFIX}{name}": values for name, values in _known(answers).items()}
    features = frame.columns.tolist()
    check_names(features)
    first = pd.DataFrame({_who(features): applicant_ids(answers)})
    return pd.concat([first, frame, pd.DataFrame(known)], axis=1)


def check_names(names: Iterable[str]) -> None:
    """Refuse features that are named as robx's own columns are."""
    features = list(map(str, names))
    taken = next((name for name in features if name.startswith(PREFIX)), None)
    if taken is not None:
        raise InvalidInput(
            f"A column is named '{taken}'. Names that begin with '{PREFIX}' are robx's own in the "
            "table of answers. Rename the column, or save the answers as .json."
        )


def point_names(columns: Sequence[Any]) -> list[Any]:
    """Tell which columns of a flat table are features: all but the first and robx's own."""
    return [column for column in columns[1:] if not str(column).startswith(PREFIX)]


def _who(names: Sequence[str]) -> str:
    """Name the column of people."""
    return f"{PREFIX}applicant" if "applicant" in names else "applicant"


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
        **{name: [value] * len(answers) for name, value in _stated(answers).items()},
        "changes": ["; ".join(change) for change in answers.changes],
        "reason": list(answers.reason),
    }


def _stated(answers: Counterfactuals) -> dict[str, Any]:
    """What holds for all answers: what counts as accepted, the model's digest, and the date."""
    origin = answers.origin
    found = {name: origin[name] for name in ("target", "threshold") if name in origin}
    digest = origin.get("model", {}).get("digest")
    found |= {} if digest is None else {"model": digest}
    return found | ({"date": origin["date"]} if "date" in origin else {})


def _certified(answers: Counterfactuals) -> dict[str, Any]:
    certificate = answers.certificate
    if certificate is None:
        return {}
    accepting = pd.Series(certificate.accepting, dtype="Int64")
    return {
        "accepting": accepting.where(certificate.covers),
        "models": pd.Series([certificate.n_models] * len(answers), dtype="Int64"),
        "validity_bound": certificate.bound,
        **certificate.expectations,
    }
