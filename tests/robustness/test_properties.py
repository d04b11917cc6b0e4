"""Properties 1 to 3 of the paper: what makes a point less likely to become invalid raises R.

The models are single trees over one column, whose scores are chosen: R is known in closed form.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import robx

SIGMA = 0.1


def steps(edges: list[float], scores: list[float]) -> DecisionTreeClassifier:
    """A tree that scores the intervals between edges of [0, 1] as told."""
    ends = np.array([0.0, *edges, 1.0])
    inside = [np.linspace(a, b, 12)[1:-1] for a, b in itertools.pairwise(ends)]
    x = np.concatenate(inside)
    share = np.repeat(scores, [len(part) for part in inside])
    X, y = np.tile(x, 2)[:, None], np.repeat([0, 1], len(x))
    tree = DecisionTreeClassifier(random_state=0)
    return tree.fit(X, y, sample_weight=np.concatenate([1 - share, share]) + 1e-12)


def measured(tree: DecisionTreeClassifier, x: float) -> robx.robustness.Stability:
    return robx.stability(tree, np.array([[x]]), sigma=SIGMA, draws="exact")


@given(low=st.floats(0.05, 0.85), more=st.floats(0.05, 0.1))
def test_property_1_a_higher_score_is_more_stable(low: float, more: float) -> None:
    """Around both points the score is what it is at the point."""
    tree = steps([0.5], [low, low + more])
    left, right = measured(tree, -5.0), measured(tree, 6.0)
    assert right.value[0] - left.value[0] == pytest.approx(more, abs=1e-6)
    assert left.value[0] == pytest.approx(low, abs=1e-6)


@given(score=st.floats(0.6, 1.0), near=st.floats(0.01, 0.1), farther=st.floats(0.02, 0.3))
def test_property_2_a_point_whose_neighbours_score_high_is_more_stable(
    score: float, near: float, farther: float
) -> None:
    """Both points score the same; one is closer to the boundary."""
    tree = steps([0.5], [0.2, score])
    close, inside = 0.5 + near, 0.5 + near + farther
    same = tree.predict_proba([[close], [inside]])[:, 1]
    assert same[0] == same[1]
    assert measured(tree, inside).mean[0] > measured(tree, close).mean[0]
    assert measured(tree, inside).value[0] > measured(tree, close).value[0]


@given(middle=st.floats(0.55, 0.8), swing=st.floats(0.05, 0.2))
def test_property_3_a_point_where_scores_vary_less_is_more_stable(
    middle: float, swing: float
) -> None:
    """Both neighbourhoods have the same mean; in one the score swings about it."""
    edges = [0.4, 0.5, 0.6]
    calm = steps(edges, [middle] * 4)
    rough = steps(edges, [middle - swing, middle + swing, middle - swing, middle + swing])
    even, swinging = measured(calm, 0.5), measured(rough, 0.5)
    assert swinging.mean[0] == pytest.approx(even.mean[0], abs=1e-6)
    assert even.value[0] == pytest.approx(middle, abs=1e-6)
    assert swinging.value[0] == pytest.approx(middle - swing, abs=1e-6)
