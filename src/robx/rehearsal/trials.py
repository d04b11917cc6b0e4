"""`rehearse`: the whole procedure on part of the rows, judged by models that came after.

In each trial a scenario says which rows the first model gets and what the models after it are
trained on. The method, with retrained models of its own, answers people whom the first model has
not seen, at every rung of a ladder; the models after it judge. Trials draw their rows anew, and are
what counts: models after one first model are nearly one draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.methods import Method
from robx.problem import Problem
from robx.progress import Progress
from robx.rehearsal.dials import dial_of, rank_of, rungs, with_dial
from robx.rehearsal.outcome import Outcome, Played
from robx.retrained import ModelScores, importer_for
from robx.retrained.training import SHARE
from robx.scenarios import Fit, Scenario, Subsample
from robx.scenarios.base import SEEDS, stream, train
from robx.scenarios.estimators import fresh
from robx.tables import count_rows, take
from robx.trees import Model

#: Fewer rows cannot be parted and trained on again.
LEAST_ROWS = 100
#: Of more rows, a trial draws so many: what a promise costs is bounded.
MOST_ROWS = 20_000
#: People who are answered in a trial, and how many must be in all.
PEOPLE, LEAST_PEOPLE = 20, 30
#: Models after the first, where they differ in more than their seeds.
JUDGES = 4
#: Part of the rows whose people are answered, where the first model gets all others.
HELD_OUT = 0.2
#: Trials for each unit of what may be broken, at least, and at most.
TRIALS_PER_LOSS, LEAST_TRIALS, MOST_TRIALS = 0.6, 8, 40
#: Rows that are asked at a time whether they are declined.
ROWS_AT_ONCE = 256
#: A purpose of random numbers.
TRIAL = 7


class CannotRehearse(InvalidInput):
    """The training rows are too few to be parted, or nobody is declined."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Play:
    """What is rehearsed.

    Parameters
    ----------
    estimator : classifier
        What is trained.
    table : table of shape (n, d)
        The training rows, as the estimator takes them.
    rows : table of shape (n, d)
        The same rows, as `Problem` takes them.
    labels : (n,) array
    problem : Problem
        Of all rows: schema, target and threshold are taken from it.
    method : Method
        Without retrained models, which each trial trains for it.
    n_models : int
        Number of these; 0 where the method takes none.
    change : Scenario
        What the models after the first are trained on.
    seed : int
    """

    estimator: Any
    table: Any
    rows: Any
    labels: NDArray[Any]
    problem: Problem
    method: Method
    n_models: int
    change: Scenario
    seed: int


def n_trials(keep: float) -> int:
    """Say how many trials a promise takes: rare failures are seen in many only."""
    wanted = TRIALS_PER_LOSS / max(1 - keep, 1e-3)
    return int(np.clip(np.ceil(wanted), LEAST_TRIALS, MOST_TRIALS))


def rehearse(play: Play, n: int, *, shown: bool = False) -> Outcome:
    """Play n trials, and count what was kept at every rung of the ladder."""
    n_rows = count_rows(play.rows)
    if n_rows < LEAST_ROWS:
        raise CannotRehearse(
            f"A promise is rehearsed on parts of the training rows, of which there must be at "
            f"least {LEAST_ROWS}. Got {n_rows}. Pass keep=None for answers without a promise."
        )
    ladder = rungs(play.problem.threshold)
    played = []
    with Progress(n, "rehearse", "trials", shown=shown) as bar:
        for k in range(n):
            one = _trial(play, k, ladder)
            if one is not None:
                played.append(one)
            bar.add(1)
    if sum(one.made.shape[1] for one in played) < LEAST_PEOPLE:
        raise CannotRehearse(
            "A promise cannot be rehearsed: models that are trained on parts of the rows decline "
            "hardly anybody. Pass keep=None for answers without a promise."
        )
    times = n_rows / float(np.mean([one.n_rows for one in played]))
    return Outcome.of(str(dial_of(play.method)), ladder, times, played)


def _trial(play: Play, k: int, ladder: Floats) -> Played | None:
    """Play one trial; None where its first model declines nobody."""
    rng = stream(play.seed, TRIAL, k)
    drawn = rng.permutation(len(play.labels))[:MOST_ROWS]
    drawn.sort()
    seed = int(rng.integers(2**31))
    change, base = _parted(play, drawn, seed)
    if len(base) == len(drawn):  # nobody is left to be answered
        out = rng.permutation(len(drawn))[: max(int(HELD_OUT * len(drawn)), 1)]
        others, drawn = drawn[out], np.delete(drawn, out)
        change, base = _parted(play, drawn, seed)
    else:
        others = np.delete(drawn, base)
    labels = play.labels[drawn]
    first = Fit(fresh(play.estimator, stream(seed, SEEDS, 0)), base, labels[base])
    after = _different(change.fits(play.estimator, labels, JUDGES, seed))
    halves = _halves(after, rng) if len(after) == 1 else []
    panel = [replace(fit, rows=base[fit.rows]) for fit in _panel_fits(play, labels[base], seed)]
    fits = [replace(f, rows=drawn[f.rows]) for f in (first, *after, *halves, *panel)]
    then = importer_for(play.problem, play.table)
    models = list(train(fits, play.table, str(change), then=then))
    problem = _problem(play, models[0], drawn[base])
    people = _declined(problem, play, rng.permutation(others))
    if not len(people):
        return None
    n_after, n_halves = len(after), len(halves)
    judges = models[1 : 1 + n_after]
    pair = models[1 + n_after : 1 + n_after + n_halves] or judges[:2]
    method: Any = play.method
    if play.n_models:
        method = replace(method, models=tuple(models[1 + n_after + n_halves :]))
    played = _answered(problem, method, take(play.rows, people), ladder, judges, pair)
    return played._replace(n_rows=len(base))


def _parted(play: Play, drawn: NDArray[np.intp], seed: int) -> tuple[Scenario, NDArray[np.intp]]:
    """Say which of the drawn rows the first model gets."""
    change = play.change.of_rows(drawn)
    return change, change.base_rows(len(drawn), seed)


def _panel_fits(play: Play, labels: NDArray[Any], seed: int) -> list[Fit]:
    if not play.n_models:
        return []
    vary = getattr(play.change, "vary", None)
    return Subsample(SHARE, vary).fits(play.estimator, labels, play.n_models, seed)


def _different(fits: Sequence[Fit]) -> list[Fit]:
    """Leave out what differs from others in its seed alone."""
    found: dict[Any, Fit] = {}
    for fit in fits:
        settings = {
            name: repr(value)
            for name, value in fit.estimator.get_params().items()
            if not name.endswith(("random_state", "seed"))
        }
        key = type(fit.estimator), fit.rows.tobytes(), fit.labels.tobytes(), str(settings)
        found.setdefault(key, fit)
    return list(found.values())


def _halves(fits: Sequence[Fit], rng: np.random.Generator) -> list[Fit]:
    """Two fits on halves of the rows of one, which tell how alike the fates of an answer are."""
    fit = fits[0]
    order = rng.permutation(len(fit.rows))
    parts = [np.sort(part) for part in np.array_split(order, 2)]
    found = [Fit(fresh(fit.estimator, rng), fit.rows[part], fit.labels[part]) for part in parts]
    n_classes = len(np.unique(fit.labels))
    return found if all(len(np.unique(one.labels)) == n_classes for one in found) else []


def _problem(play: Play, model: Model, rows: NDArray[np.intp]) -> Problem:
    whole = play.problem
    labels = play.labels[rows] if "labels" in play.method.needs else None
    return Problem(
        model,
        take(play.rows, rows),
        whole.schema,
        threshold=whole.threshold,
        y_train=labels,
        k_anonymous=whole.k_anonymous,
    )


def _declined(problem: Problem, play: Play, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Give rows that the model declines, up to the number that is answered."""
    found: list[int] = []
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[first : first + ROWS_AT_ONCE]
        people = problem.read(take(play.rows, some))
        sound = np.array([not trouble for trouble in people.trouble], dtype=bool)
        found += some[sound & (people.score <= problem.threshold)].tolist()
        if len(found) >= PEOPLE:
            break
    return np.array(found[:PEOPLE], dtype=np.intp)


def _answered(
    problem: Problem,
    method: Method,
    people: Any,
    ladder: Floats,
    judges: Sequence[Model],
    pair: Sequence[Model],
) -> Played:
    """Answer people at every rung, and ask the models after the first about the answers."""
    asking = problem.read(people)
    n, r = len(asking), len(ladder)
    made, kept = np.zeros((r, n), dtype=bool), np.zeros((r, n))
    cost, score = np.full((r, n), np.nan), np.full((r, n), np.nan)
    fates, places, ranks = np.full((2, r, n), np.nan), np.zeros(r), np.zeros(r)
    after = ModelScores(problem, [*judges, *pair])
    for k, value in enumerate(ladder):
        turned = with_dial(method, float(value))
        turned.check(problem, n)
        with Progress(n, turned.title, shown=False) as bar:
            found = turned.run(problem, asking, bar)
        made[k] = ok = found.ok
        points = found.points[ok]
        cost[k, ok] = problem.rules.cost(points, asking.matrix[ok], turned.norm)
        accepts = after.scores(points) > problem.threshold
        kept[k, ok] = accepts[: len(judges)].mean(axis=0)
        if len(pair) == 2:
            fates[:, k, ok] = accepts[len(judges) :]
        if "retrained_score" in found.measured:
            score[k] = found.measured["retrained_score"]
        places[k], ranks[k] = _n_places(problem, points), rank_of(method, problem, value)
    return Played(made, kept, cost, score, fates, places, ranks)


def _n_places(problem: Problem, points: Floats) -> float:
    """In effect, to how many accepted rows points lead: each counts for the row nearest it."""
    support = problem.support.rows
    if len(points) == 0 or len(support) == 0:
        return 0.0
    unit = problem.rules.unit(1)
    nearest = [int(np.nansum(np.abs(support - point) * unit, axis=1).argmin()) for point in points]
    shares = np.unique(nearest, return_counts=True)[1] / len(nearest)
    return float(1 / (shares**2).sum())
