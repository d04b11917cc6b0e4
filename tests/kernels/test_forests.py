"""Scores of points by `robx.kernels.forests`, which `make test-all` also runs without the JIT."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import robx
from families import TREES, family
from retrained_cases import retrained
from robx.kernels.forests import (
    AT_ONCE,
    BEYOND,
    Forests,
    mean_score,
    mean_scores,
    rank,
    scores_again,
)
from robx.kernels.leaf_masks import new_lookups
from robx.methods.point_tests import ANY_NUMBER
from robx.trees import TreeEnsemble
from robx.trees.forests import make_forests
from speed import examples, tries, tries_of_kernels

Floats = NDArray[np.float64]
#: Every tree family, and those whose zeros mean "missing".
FAMILIES = [*TREES, "xgboost-zero", "lightgbm-zero"]
EVERYTHING = ~np.uint64(0)


class Scorer:
    """Scores one point after the other, from what is known of the last that was kept.

    The first `n_must` of the ensembles must accept.
    """

    def __init__(self, ensembles: list[TreeEnsemble], n_must: int = 1) -> None:
        self.n_must = n_must
        made = make_forests(ensembles)
        assert made is not None
        self.has_masks = len(made.masks.value) > 0
        self.forests: Forests = made
        n_trees, n_columns = len(made.root), len(made.column)
        self.known, self.ranks = np.full(n_columns, np.inf), np.full(len(made.bit), BEYOND, "u8")
        self.leaf, self.kept_leaf = np.zeros(n_trees), np.zeros(n_trees)
        self.way, self.kept_way = np.zeros(n_trees, "u8"), np.full(n_trees, EVERYTHING)
        self.point = np.full(len(ensembles[0].columns), np.inf)
        self.turn = np.arange(len(ensembles))
        self.lookups = new_lookups(made.masks, made.base.shape[1])
        self.changed, self.at = np.zeros(n_trees + 1, np.int64), np.zeros(2 * AT_ONCE, "u8")

    def moved(self, point: Floats) -> np.uint64:
        differ = (point != self.point) & ~(np.isnan(point) & np.isnan(self.point))
        bits = np.uint64(1) << (np.flatnonzero(differ) % 64).astype(np.uint64)
        return np.uint64(np.bitwise_or.reduce(bits, initial=np.uint64(0)))

    def scores(
        self,
        point: Floats,
        *,
        threshold: float = -1.0,
        least: float = -np.inf,
        most: int = ANY_NUMBER,
        keep: bool = True,
    ) -> tuple[Floats, bool, int]:
        """Scores, whether the point is robust, and how many trees were walked."""
        out = np.full(len(self.forests.link), np.nan)
        rank(point, self.known, self.forests, self.ranks)
        count, good = scores_again(
            self.ranks, self.moved(point), len(out), self.forests, self.leaf, self.way,
            self.kept_way, self.changed, 0, self.at, self.n_must, threshold, least, most,
            self.turn, self.lookups, out,
        )  # fmt: skip
        walked = self.changed[:count]
        if keep:
            self.kept_leaf[walked], self.kept_way[walked] = self.leaf[walked], self.way[walked]
            self.point = point.copy()
        else:
            self.leaf[walked], self.way[walked] = self.kept_leaf[walked], self.kept_way[walked]
        return out, bool(good), int(count)


@cache
def ensembles_of(name: str) -> list[TreeEnsemble]:
    """A family's model and some that were trained again, as far as they read the same numbers."""
    case = family(name)
    problem = case.problem()
    panel = robx.Frugal(models=retrained(name)).test(problem).panel
    assert problem.view.trees is not None
    assert panel is not None
    return [problem.view.trees, *panel.alike.values()]


def rows_of(ensemble: TreeEnsemble, X: Any, n: int, seed: int = 0) -> Floats:
    """Random rows: seen values, thresholds, one step beside them, missing and unseen ones."""
    rng, d = np.random.default_rng(seed), len(ensemble.columns)
    seen = ensemble.read(X)
    out = seen[rng.integers(0, len(seen), (n, d)), np.arange(d)]
    for j, column in enumerate(ensemble.columns):
        if column.is_category:
            out[:, j] = rng.integers(0, column.n_codes + 1, n)  # the last is for what is unseen
            if column.unseen_is_missing:
                out[out[:, j] == column.n_codes, j] = np.nan
        elif len(cuts := ensemble.split_threshold[ensemble.split_feature == j]):
            at, kind = cuts[rng.integers(0, len(cuts), n)], rng.integers(0, 8, n)
            out[:, j] = np.where(kind == 0, at, out[:, j])
            out[:, j] = np.where(kind == 1, np.nextafter(at, np.inf), out[:, j])
            out[:, j] = np.where(kind == 2, np.nextafter(at, -np.inf), out[:, j])
            out[:, j] = np.where(kind == 3, 10.0 ** rng.uniform(3, 30, n), out[:, j])
            out[:, j] = np.where(kind == 4, -(10.0 ** rng.uniform(3, 30, n)), out[:, j])
        if rng.random() < 0.7:
            out[rng.random(n) < 0.1, j] = np.nan
    return out


def assert_scores(found: Floats, ensembles: list[TreeEnsemble], rows: Floats) -> None:
    expected = np.array([e.score_matrix(rows) for e in ensembles]).T
    for k, e in enumerate(ensembles):
        if e.link == "softmax":
            np.testing.assert_allclose(found[:, k], expected[:, k], rtol=0, atol=1e-6)
        else:
            np.testing.assert_array_equal(found[:, k], expected[:, k])


@pytest.fixture(params=["masks", "walks"])
def is_walked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Small trees are asked by masks, unless these may take no room."""
    if request.param == "walks":
        monkeypatch.setattr("robx.trees.leaf_masks.MOST_BYTES", 0)
    return bool(request.param == "walks")


@pytest.mark.parametrize("name", FAMILIES)
def test_scores_are_those_of_the_ensembles(name: str, is_walked: bool) -> None:
    assert Scorer(ensembles_of(name)).has_masks != is_walked
    ensembles = ensembles_of(name)
    rows = rows_of(ensembles[0], family(name).X, max(tries_of_kernels(150, 60), 30))
    found = np.array([Scorer(ensembles).scores(row)[0] for row in rows])
    assert_scores(found, ensembles, rows)
    assert len(np.unique(found[:, 0])) > 5
    assert any(len(set(row)) > 2 for row in found)  # the models differ


@pytest.mark.parametrize("name", FAMILIES)
def test_points_that_differ_in_a_column_are_scored_from_the_ones_before(
    name: str, is_walked: bool
) -> None:
    ensembles = ensembles_of(name)
    n = max(tries_of_kernels(150, 80), 30)
    values = rows_of(ensembles[0], family(name).X, n + 1, seed=1)
    rng, scorer = np.random.default_rng(2), Scorer(ensembles)
    point, rows, found, walked = values[n], [], [], []
    scorer.scores(point)
    for step in range(n):
        new, j = point.copy(), rng.integers(len(point))
        new[j] = values[step, j]
        scores, good, count = scorer.scores(new, keep=bool(step % 3))
        assert good
        rows.append(new)
        found.append(scores)
        walked.append(count)
        point = new if step % 3 else point
    assert_scores(np.array(found), ensembles, np.array(rows))
    assert np.mean(walked) < 0.5 * len(scorer.leaf)
    assert any(walked) == is_walked
    fresh = np.array([Scorer(ensembles).scores(row)[0] for row in rows])
    np.testing.assert_array_equal(np.array(found), fresh)


@pytest.mark.parametrize("name", ["xgboost", "forest", "xgboost-3"])
@pytest.mark.parametrize("n_must", [1, 3, 7])
def test_those_who_must_accept_do_and_the_others_on_average(
    name: str, n_must: int, is_walked: bool
) -> None:
    assert Scorer(ensembles_of(name)).has_masks != is_walked
    ensembles = ensembles_of(name)
    assert len(ensembles) == 7  # the last case has none but those who must accept
    rows = rows_of(ensembles[0], family(name).X, tries(150, 60), seed=3)
    scores = np.array([e.score_matrix(rows) for e in ensembles]).T
    scorer, early, n_good = Scorer(ensembles, n_must), 0, 0
    for least, most in ((-np.inf, 9), (0.5, 9), (0.6, 1), (0.8, 9), (-np.inf, 0)):
        for row, known in zip(rows, scores, strict=True):
            mean = known[n_must:].mean() if n_must < 7 else np.inf
            expected = (known[:n_must] > 0.5).all() and mean >= least
            expected &= (known[n_must:] <= 0.5).sum() <= most
            found, good, _ = scorer.scores(row, threshold=0.5, least=least, most=most, keep=False)
            early += bool(np.isnan(found).any())
            n_good += good
            assert good == expected or abs(mean - least) < 1e-5
    assert early > len(rows) // 4
    assert n_good > 0


@pytest.mark.usefixtures("is_walked")
def test_columns_beyond_64_share_their_bits() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((200, 130)).round(1)
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, X[:, 0] > X[:, 64])
    ensemble = robx.import_model(forest).trees
    assert ensemble is not None
    scorer, point = Scorer([ensemble]), X[0].copy()
    for j in rng.integers(0, 130, tries(150, 100)):
        point[j] = rng.random()
        assert scorer.scores(point)[0][0] == ensemble.score_matrix(point[None])[0]


def test_too_many_columns_for_a_word_are_not_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble = ensembles_of("tree")[0]
    monkeypatch.setattr("robx.trees.forests.BEYOND", len(ensemble.split_threshold) // 2)
    assert make_forests([ensemble]) is None


def test_trees_of_many_leaves_are_cut_into_pieces_and_larger_ones_walked() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=3000) > 0
    masked = []
    for n_leaves in (20, 33, 110, 600):
        n_trees = tries_of_kernels(150, 8) if n_leaves == 33 else 6  # of more than one part
        forest = RandomForestClassifier(n_trees, max_leaf_nodes=n_leaves, random_state=0)
        forest.fit(X, y)
        ensemble = robx.import_model(forest).trees
        assert ensemble is not None
        scorer = Scorer([ensemble] * 3)
        rows = rows_of(ensemble, X, tries_of_kernels(60, 10))
        found = np.array([scorer.scores(row)[0] for row in rows])
        assert_scores(found, [ensemble] * 3, rows)
        masked.append(scorer.has_masks)
    assert masked == [True, True, True, False]


def in_order(scores: Floats) -> float:
    """Mean of scores, added up one after the other."""
    total = 0.0
    for score in scores.tolist():
        total += score
    return total / len(scores)


def is_robust(scores: Floats, n_must: int, least: float, most: int) -> bool:
    """By the definition, for a threshold of 0.5."""
    must, others = scores[:n_must], scores[n_must:]
    enough = not len(others) or in_order(others) >= least
    return bool((must > 0.5).all() and enough and (others <= 0.5).sum() <= most)


@cache
def stump() -> TreeEnsemble:
    """One split of one column, at 0.5."""
    X = np.array([[0.0], [1.0]])
    ensemble = robx.import_model(DecisionTreeClassifier().fit(X, X[:, 0])).trees
    assert ensemble is not None
    assert ensemble.link == "identity"
    return ensemble


@st.composite
def panels(draw: st.DrawFn) -> tuple[Floats, list[int], int, float, int]:
    """Scores of two points by some ensembles, in which order they are asked, and what for.

    That is: how many must accept, what the mean of the others must reach, and how many may reject.
    """
    n, few = draw(st.integers(1, 9)), st.sampled_from([0.0, 0.3, 0.5, 0.6, 0.9, 1.0])
    column = st.lists(few | st.floats(0, 1), min_size=n, max_size=n)
    scores = np.array([draw(column), draw(column)])
    n_must, order = draw(st.integers(1, n)), draw(st.permutations(range(n)))
    means = [in_order(row[n_must:]) for row in scores if n_must < n]
    steps = [np.nextafter(mean, way) for mean in means for way in (-1, mean, 2)]
    least = draw(st.sampled_from([0.5, *steps]) | st.floats(0, 1))
    return scores, list(order), n_must, float(least), draw(st.integers(0, n))


@given(panels())
@examples(400, 60)
def test_a_point_that_is_given_up_could_not_have_had_the_mean(
    panel: tuple[Floats, list[int], int, float, int],
) -> None:
    scores, order, n_must, least, most = panel
    scorer = Scorer([replace(stump(), leaf_value=of.copy()) for of in scores.T], n_must)
    scorer.turn[:] = order
    for point, known in enumerate(scores):
        row = np.array([float(point)])
        found, good, _ = scorer.scores(row, threshold=0.5, least=least, most=most)
        asked = ~np.isnan(found)
        np.testing.assert_array_equal(found[asked], known[asked])
        assert good == is_robust(known, n_must, least, most)
        if not asked.all():  # it is given up, and no scores of the others would have saved it
            assert not is_robust(np.where(asked, found, 1.0), n_must, least, most)
        assert sorted(scorer.turn.tolist()) == list(range(scores.shape[1]))


def test_means_are_added_up_in_order() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 40):
        scores, out = rng.random((30, n)), np.empty(30)
        mean_scores(scores, out)
        assert out.tolist() == [in_order(row) for row in scores]
        assert [mean_score(row) for row in scores] == out.tolist()


def test_the_models_that_decided_are_asked_first() -> None:
    ensembles = ensembles_of("xgboost")
    rows = rows_of(ensembles[0], family("xgboost").X, max(tries_of_kernels(300, 80), 40), seed=5)
    order = list(range(len(ensembles)))
    for n_must in (1, 3):
        scorer, n_asked = Scorer(ensembles, n_must), np.zeros(2)
        assert scorer.turn.tolist() == order
        for row in rows:
            for time in range(2):
                found, good, _ = scorer.scores(row, threshold=0.5, least=0.8, keep=False)
                n_asked[time] += 0 if good else (~np.isnan(found)).sum()
                assert sorted(scorer.turn.tolist()) == order
        assert n_asked[1] < 0.95 * n_asked[0]  # given up sooner when asked again
