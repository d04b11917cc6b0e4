"""Tables of what recourse asks for: of one applicant, and of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robx.answers import Counterfactuals
from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.parameters import is_whole, require
from robx.schema import Rules


def change_table(answers: Counterfactuals, i: int) -> pd.DataFrame:
    """List what changes for one applicant.

    Parameters
    ----------
    answers : Counterfactuals
    i : int
        The applicant's position, from 0.

    Returns
    -------
    DataFrame
        A row for each feature that changes, in the order of the schema: ``feature``; ``before`` and
        ``after``, as people read them; ``shift``, by how much in units of the feature's scale, NaN
        where values have no distance (categories, missing values); ``low`` and ``high``, the range
        that the schema allows on the same scale (0 is the applicant), infinite without a bound;
        ``words``, all in one line. Empty if nothing changes.

    Examples
    --------
    >>> import robx
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y, schema = robx.datasets.load_german()
    >>> tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> answers = robx.NearestNeighbour().explain(robx.Problem(tree, X, schema), X[17:18])
    >>> change_table(answers, 0)[["feature", "before", "after", "shift"]].round(2)
        feature   before       after  shift
    0  checking  under 0  no account  -0.33
    1    amount     8072        5943  -0.12
    2   credits        3           2  -0.33
    """
    _check_answers(answers, "change_table")
    n = len(answers)
    sound = is_whole(i) and 0 <= i < n
    require(sound, i, "i", "change_table", f"the position of one of the {n} applicants, from 0")
    points, people, rules = answers.schema.read_both(
        answers.points, answers.applicants, by_row=True
    )
    z, x = points[i], people[i]
    changed = rules.changed_features(z[None], x[None])[0]
    lines = [
        _change(rules, columns, z, x)
        for columns in map(np.flatnonzero, rules.features_of_columns[changed])
    ]
    names = ["feature", "before", "after", "shift", "low", "high", "words"]
    kinds = dict.fromkeys(("shift", "low", "high"), np.float64)
    return pd.DataFrame(lines, columns=names).astype(kinds)


def _change(rules: Rules, columns: NDArray[np.intp], z: Floats, x: Floats) -> dict[str, Any]:
    """Describe the change of one feature: a column alone, or a one-hot group."""
    j = int(columns[0])
    feature = rules.features[j]
    low = high = np.nan
    if feature.group is None:
        name, before, after = feature.name, rules.say(j, x[j]), rules.say(j, z[j])
    else:
        name = feature.group
        before, after = rules.member(name, x), rules.member(name, z)
    shift = float(_shifts(rules, z[None], x[None])[0, j])
    if np.isfinite(shift):
        levels = feature.level_numbers
        bottom, top = (float(end[0, j]) for end in rules.limits(x[None]))
        bottom = max(bottom, min(levels, default=-np.inf)) if feature.low is None else bottom
        top = min(top, max(levels, default=np.inf)) if feature.high is None else top
        # A value that is outside already may stay there.
        low = 0.0 if feature.change == "increase" else min((bottom - x[j]) / rules.scale[j], 0.0)
        high = 0.0 if feature.change == "decrease" else max((top - x[j]) / rules.scale[j], 0.0)
    line = {"feature": name, "before": before, "after": after, "shift": shift}
    return {**line, "low": low, "high": high, "words": f"{name}: {before} → {after}"}


def _shifts(rules: Rules, Z: Floats, X: Floats) -> Floats:
    """Give how far each column moves, in units of its scale; NaN where there is no distance."""
    measurable = np.array([feature.is_number for feature in rules.features])
    with np.errstate(invalid="ignore", over="ignore"):
        moved = (Z - X) / rules.scale
    return np.where(measurable, moved, np.nan)


def asked_table(answers: Counterfactuals) -> pd.DataFrame:
    """Count which features the answers ask applicants to change.

    Every applicant with an answer counts, also with one that is the best found but not stable.

    Parameters
    ----------
    answers : Counterfactuals

    Returns
    -------
    DataFrame
        A row for each feature that somebody has to change, most frequent first: ``feature``;
        ``people``, how many applicants, and their ``share`` of those who have an answer; of these
        ``rising``, ``falling``, ``switching`` (between values without an order) and ``filling``
        (from a missing value, or to one); and ``median_shift`` of those who rise or fall, in units
        of the feature's scale.

    Examples
    --------
    >>> import robx
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y, schema = robx.datasets.load_german()
    >>> tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> answers = robx.NearestNeighbour().explain(robx.Problem(tree, X, schema), X[:100])
    >>> asked_table(answers)[["feature", "people", "rising", "falling"]].head(2)
        feature  people  rising  falling
    0    amount       8       1        7
    1  checking       6       0        6
    """
    _check_answers(answers, "asked_table")
    points, people, rules = answers.schema.read_both(
        answers.points, answers.applicants, by_row=True
    )
    some = answers.answered
    points, people = points[some], people[some]
    changed = rules.changed_features(points, people)
    shifts = _shifts(rules, points, people)
    lines = []
    for k, columns in enumerate(map(np.flatnonzero, rules.features_of_columns)):
        asked = changed[:, k]
        if not asked.any():
            continue
        j = int(columns[0])
        feature = rules.features[j]
        moved = shifts[asked, j]
        known = moved[np.isfinite(moved)]
        rising, falling = int((known > 0).sum()), int((known < 0).sum())
        filling = int(np.isnan(points[asked, j] + people[asked, j]).sum())
        lines.append(
            {
                "feature": feature.group or feature.name,
                "people": int(asked.sum()),
                "share": float(asked.mean()),
                "rising": rising,
                "falling": falling,
                "switching": int(asked.sum()) - rising - falling - filling,
                "filling": filling,
                "median_shift": float(np.median(known)) if len(known) else np.nan,
            }
        )
    ways = ["rising", "falling", "switching", "filling"]
    counts = dict.fromkeys(("people", *ways), np.int64)
    kinds = {**counts, "share": np.float64, "median_shift": np.float64}
    names = ["feature", "people", "share", *ways, "median_shift"]
    table = pd.DataFrame(lines, columns=names).astype(kinds)
    return table.sort_values("people", ascending=False, kind="stable", ignore_index=True)


def _check_answers(answers: Any, owner: str) -> None:
    if not isinstance(answers, Counterfactuals):
        raise InvalidInput(
            f"{owner} takes robx.Counterfactuals, as robx.explain returns them. Got "
            f"{type(answers).__name__}."
        )
