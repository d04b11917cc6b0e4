"""Shares: of applicants who are answered, and of answers that models accept."""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robx.arrays import Bools, Floats
from robx.errors import InvalidInput


def validity(accepted: ArrayLike) -> float:
    """Share of counterfactuals that the new models accept, on average over the models.

    Parameters
    ----------
    accepted : (models, n) bool
        Whether each new model accepts each counterfactual.

    Returns
    -------
    float
        nan if there are no counterfactuals.

    Examples
    --------
    >>> validity([[True, True, True, False], [True, True, False, False]])
    0.625
    """
    return _share(_by_model(accepted, "validity"))


def worst_model_validity(accepted: ArrayLike) -> float:
    """Share of counterfactuals that the strictest of the new models accepts.

    Parameters
    ----------
    accepted : (models, n) bool
        Whether each new model accepts each counterfactual.

    Returns
    -------
    float
        nan if there are no counterfactuals.

    Examples
    --------
    >>> worst_model_validity([[True, True, True, False], [True, True, False, False]])
    0.5
    """
    votes = _by_model(accepted, "worst_model_validity")
    return min(_share(row) for row in votes)


def all_models_validity(accepted: ArrayLike) -> float:
    """Share of counterfactuals that every new model accepts.

    Parameters
    ----------
    accepted : (models, n) bool
        Whether each new model accepts each counterfactual.

    Returns
    -------
    float
        nan if there are no counterfactuals.

    Examples
    --------
    >>> all_models_validity([[True, True, True, False], [True, False, True, True]])
    0.5
    """
    return _share(np.asarray(_by_model(accepted, "all_models_validity").all(axis=0)))


def coverage(answered: ArrayLike) -> float:
    """Share of applicants with an answer.

    Parameters
    ----------
    answered : (n,) bool

    Returns
    -------
    float
        nan if there are no applicants.

    Examples
    --------
    >>> coverage([True, True, False, True])
    0.75
    """
    return _share(_by_row(answered, "answered", "coverage"))


def base_validity(accepted: ArrayLike) -> float:
    """Share of counterfactuals that the base model accepts, as they were returned.

    Parameters
    ----------
    accepted : (n,) bool

    Returns
    -------
    float
        nan if there are no counterfactuals.

    Examples
    --------
    >>> base_validity([True, True, True, True])
    1.0
    """
    return _share(_by_row(accepted, "accepted", "base_validity"))


@overload
def end_to_end(coverage: float, base_validity: float, validity: float) -> float: ...
@overload
def end_to_end(coverage: Floats, base_validity: Floats, validity: Floats) -> Floats: ...
def end_to_end(
    coverage: float | Floats, base_validity: float | Floats, validity: float | Floats
) -> float | Floats:
    """Product of the three: the share of applicants whose answer holds in the end.

    Parameters
    ----------
    coverage, base_validity, validity : float, or arrays of one shape

    Returns
    -------
    float or array
        0, not nan, where no applicant is answered.

    Examples
    --------
    >>> end_to_end(0.5, 1.0, 0.75)
    0.375
    >>> end_to_end(0.0, float("nan"), float("nan"))
    0.0
    """
    product = np.multiply(np.multiply(coverage, base_validity), validity)
    reached = np.where(np.equal(coverage, 0), 0.0, product)
    return reached if reached.ndim else float(reached)


def percent(share: float | None) -> str:
    """Show a share; only 1 is shown as 100%, and only 0 as 0%.

    Examples
    --------
    >>> percent(0.984), percent(1.0), percent(0.9999), percent(0.0001), percent(None)
    ('98.4%', '100%', '99.9%', '0.1%', '')
    """
    if share is None or math.isnan(share):
        return ""
    shown = round(1000 * share) / 10
    if share < 1:
        shown = min(shown, 99.9)
    if share > 0:
        shown = max(shown, 0.1)
    return f"{shown:g}%"


def _share(flags: Bools) -> float:
    return float(flags.mean()) if flags.size else float("nan")


def _by_model(accepted: ArrayLike, owner: str) -> Bools:
    votes = np.asarray(accepted)
    sound = votes.dtype == bool and votes.ndim == 2 and len(votes) > 0
    return _checked(votes, sound, "accepted", owner, "a (models, n) array of at least one model")


def _by_row(flags: ArrayLike, name: str, owner: str) -> Bools:
    row = np.asarray(flags, dtype=bool if np.size(flags) == 0 else None)
    return _checked(row, row.dtype == bool and row.ndim == 1, name, owner, "an (n,) array")


def _checked(flags: NDArray[Any], sound: bool, name: str, owner: str, expected: str) -> Bools:
    if not sound:
        raise InvalidInput(
            f"The '{name}' parameter of {owner} must be {expected} of booleans. Got {flags.dtype} "
            f"of shape {flags.shape} instead."
        )
    return flags
