"""Shares: of applicants who are answered, of answers that are honoured."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robx.arrays import Bools, Floats
from robx.errors import InvalidInput


def validity(accepted: ArrayLike) -> float:
    """Share of counterfactuals that a new model accepts, on average over the models.

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
    """Product of the three: what reaches an applicant after all.

    Parameters
    ----------
    coverage, base_validity, validity : float, or arrays of one shape

    Returns
    -------
    float or array
        0, not nan, where nobody is answered.

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


def _share(flags: Bools) -> float:
    return float(flags.mean()) if flags.size else float("nan")


def _by_model(accepted: ArrayLike, owner: str) -> Bools:
    votes = np.asarray(accepted)
    if votes.dtype != bool or votes.ndim != 2 or len(votes) == 0:
        raise InvalidInput(
            f"The 'accepted' parameter of {owner} must be true or false for each of at least one "
            f"model and each counterfactual: (models, n). Got {_said(votes)} instead."
        )
    return votes


def _by_row(flags: ArrayLike, name: str, owner: str) -> Bools:
    row = np.asarray(flags, dtype=bool if np.size(flags) == 0 else None)
    if row.dtype != bool or row.ndim != 1:
        raise InvalidInput(
            f"The '{name}' parameter of {owner} must be one row of true or false: (n,). Got "
            f"{_said(row)} instead."
        )
    return row


def _said(values: NDArray[np.generic]) -> str:
    return f"{values.dtype} of shape {values.shape}"
