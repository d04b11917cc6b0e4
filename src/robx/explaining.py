"""`explain`: the one-line form for the common case."""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import Any

from robx.errors import InvalidInput
from robx.methods import Method, RobX
from robx.problem import Counterfactuals, Problem
from robx.schema import Schema
from robx.tables import Category, count_rows

__all__ = ["explain"]

#: Batches of more applicants show a progress bar on a terminal.
LONG = 200


def explain(
    model: Any,
    X_train: Any,
    applicants: Any,
    *,
    schema: Schema | None = None,
    target: Category | None = None,
    threshold: float = 0.5,
    method: Method | None = None,
    progress: bool | None = None,
    **parameters: Any,
) -> Counterfactuals:
    """Tell applicants what to change, so that it holds after the model is retrained.

    Parameters
    ----------
    model : fitted model, path, TreeEnsemble or BlackBox
        Anything that `robx.import_model` takes.
    X_train : table of shape (n, d)
        The rows that the model was trained on.
    applicants : table of shape (m, d)
    schema : Schema, optional
        What may change; guessed from `X_train` unless given.
    target : label, optional
        The class that applicants wish for.
    threshold : float
        Accepted are scores above this.
    method : Method, optional
        `RobX` unless given.
    progress : bool, optional
        Whether to show a progress bar; by default for long batches on a terminal.
    **parameters
        Of `RobX`, where no method is given: ``tau``, ``base``, ``norm``, ...

    Returns
    -------
    Counterfactuals
        Row i answers applicant i.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X = np.random.default_rng(0).random((300, 2)).round(2)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> explain(forest, X, [[0.2, 0.5], [0.9, 0.5]])
    <Counterfactuals by RobX: 1 ok, 1 already accepted>
    """
    if method is not None and parameters:
        raise InvalidInput(
            "explain takes a method or parameters of RobX, not both. Got a method and "
            f"{sorted(parameters)[0]!r}."
        )
    if method is not None and not isinstance(method, Method):
        raise InvalidInput(f"The 'method' parameter of explain must be a method. Got {method!r}.")
    known = [field.name for field in fields(RobX)]
    unknown = [name for name in parameters if name not in known]
    if unknown:
        raise InvalidInput(f"RobX has no parameter {unknown[0]!r}. It has {', '.join(known)}.")
    chosen = RobX(**parameters) if method is None else method
    problem = Problem(model, X_train, schema=schema, target=target, threshold=threshold)
    is_long = count_rows(applicants) > LONG and sys.stderr.isatty()
    return chosen.explain(problem, applicants, progress=is_long if progress is None else progress)
