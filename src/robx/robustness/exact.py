"""What can be said of a neighbourhood without drawing from it.

The expected margin of any tree ensemble has a closed form. So do the mean and the standard
deviation of a score that averages its trees (decision trees, random forests, extra trees). A
sigmoid or softmax of a sum has none: it needs draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robx.arrays import Floats
from robx.errors import InvalidInput, UnsupportedModel
from robx.kernels import boxes
from robx.robustness.probe import EnsembleProbe, Probe, open_probe
from robx.trees import Model

#: More pairs of leaves than this, over all rows, are refused: it would take minutes.
MOST_PAIRS = 20_000_000_000


def mean_margin(
    model: Model | Any,
    X: object,
    *,
    sigma: float | ArrayLike | Mapping[str, float] = 0.1,
    scale: ArrayLike | Mapping[str, float] | object | None = None,
) -> Floats:
    """Expected margin of the target class under Gaussian noise around each row, exactly.

    The margin is what the model adds up before its link turns it into a probability: the log-odds
    of a boosted binary model, the score itself of an averaged forest.

    Parameters
    ----------
    model : TreeEnsemble
        From `robx.import_model`, which is called for you on any other model.
    X : table of shape (n, d)
    sigma, scale
        As for `robx.stability`.

    Returns
    -------
    (n,) float64

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[0.0], [1.0]])
    >>> tree = DecisionTreeClassifier().fit(X, [0, 1])
    >>> mean_margin(tree, [[0.5], [0.6]], sigma=0.1).round(4)
    array([0.5   , 0.8413])
    """
    probe = _ensemble_probe(open_probe(model, X, sigma, scale))
    ensemble = probe.ensemble
    margin = _expected_sums(probe)[:, ensemble.target_index]
    margin = margin / ensemble.divisor * ensemble.slope
    return -margin if ensemble.link == "one_minus_sigmoid" else margin


def exact_stability(probe: Probe) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the score in each row's neighbourhood, exactly."""
    opened = _ensemble_probe(probe)
    e = opened.ensemble
    if e.link != "identity":
        raise UnsupportedModel(
            f"draws='exact' needs a score that averages its trees; {e.source} turns a sum into a "
            "probability, which has no closed form. Use the default draws."
        )
    pairs = opened.n_rows * e.n_leaves**2 if e.n_trees > 1 else 0
    if pairs > MOST_PAIRS:
        raise InvalidInput(
            f"draws='exact' would look at up to {pairs:.1e} pairs of leaves, more than "
            f"{MOST_PAIRS:.1e}. Ask for fewer rows at a time, or use the default draws."
        )
    factor = e.slope / e.divisor
    variance = np.empty(opened.n_rows)
    boxes.variances(opened.matrix, opened.spread, e.kernel_arrays, e.stack_size, variance)
    mean = _expected_sums(opened)[:, 0] * factor
    return mean, np.sqrt(np.maximum(variance, 0.0)) * abs(factor)


def _ensemble_probe(probe: Probe) -> EnsembleProbe:
    if not isinstance(probe, EnsembleProbe):
        raise UnsupportedModel(
            "A BlackBox has no closed form, since its trees are not known. Use the default draws."
        )
    return probe


def _expected_sums(probe: EnsembleProbe) -> Floats:
    e = probe.ensemble
    sums = np.empty((probe.n_rows, len(e.base)))
    sums[:] = e.base
    boxes.expected_sums(probe.matrix, probe.spread, e.kernel_arrays, e.stack_size, sums)
    return sums
