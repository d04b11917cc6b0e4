from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from plot_cases import NAN, WORDY, asked, changes, german, key_of
from robx import plots


def names(ax: Axes) -> list[str]:
    return [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]


def ends(ax: Axes) -> dict[str, list[float]]:
    """Where full signs are, by their label."""
    return {
        str(line.get_label()): np.asarray(line.get_xdata(), dtype=float).tolist()
        for line in ax.get_lines()
        if str(line.get_label()).startswith("answer")
    }


def rectangles(ax: Axes) -> list[tuple[float, float]]:
    """Left end and width of every bar."""
    return [(bar.get_x(), bar.get_width()) for bar in ax.patches if isinstance(bar, Rectangle)]


# --- one applicant --------------------------------------------------------------------------------


def test_every_change_is_drawn_by_its_shift_and_said_in_words() -> None:
    table = changes(5).assign(feature=list("abcde"), before="1", after=list("23456"))
    ax = plots.before_after(table)
    shifts = table["shift"].dropna().tolist()
    assert ends(ax) == {"answer": shifts, "answer, another category": [1.0]}
    assert names(ax) == list("abcde")
    assert [text.get_text() for text in ax.texts] == [f"1 → {k}" for k in range(2, 7)]
    assert ax.get_label() == "a: 1 → 2; b: 1 → 3; c: 1 → 4; d: 1 → 5; e: 1 → 6."
    places = [text.get_position()[1] for text in ax.texts]
    assert places == ax.get_yticks().tolist()
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first is at the top


def test_signs_stand_at_the_height_of_their_names() -> None:
    ax = plots.before_after(changes(5))
    heights = ax.get_yticks()
    lines = {str(line.get_label()): line for line in ax.get_lines()}
    is_category = np.array([k == 3 for k in range(5)])
    assert np.array_equal(lines["answer"].get_ydata(), heights[~is_category])
    assert np.array_equal(lines["answer, another category"].get_ydata(), heights[is_category])


def test_the_band_is_what_the_schema_leaves_as_far_as_it_is_seen() -> None:
    table = changes(3).assign(shift=[0.5, -0.5, 0.2], low=[0, -np.inf, NAN], high=[0.55, 0, NAN])
    ax = plots.before_after(table)
    left, _ = ax.get_xlim()
    assert np.array(rectangles(ax)) == pytest.approx(np.array([[0, 0.55], [left, -left]]))
    without = plots.before_after(table.drop(columns=["low", "high"]))
    assert rectangles(without) == []
    assert "as far as allowed" not in key_of(without)


def test_long_words_keep_both_values() -> None:
    (text,) = plots.before_after(changes(2)[1:]).texts
    before, after = text.get_text().split(" →\n")
    assert before.replace("\n", " ") == WORDY
    assert after.replace("\n", " ").startswith("not savings")
    assert after.endswith("sort")


def test_fifteen_of_many_changes_are_drawn_the_longest_and_in_their_order() -> None:
    table = changes(60).assign(feature=[f"f{k}" for k in range(60)])
    order = np.random.default_rng(0).permutation(60)
    table["shift"] = np.where(order % 2, 1, -1) * (order + 2.0)
    table.loc[order == 59, "shift"] = NAN  # a category counts as one unit: it is the shortest
    ax = plots.before_after(table)
    drawn = [f"f{k}" for k in range(60) if 59 > order[k] >= 44]
    assert names(ax) == drawn
    assert len(drawn) == 15
    assert ax.get_xlabel().endswith("\n(and 45 more features)")
    assert str(ax.get_label()).count(" → ") == 60
    assert plots.before_after(table[:16]).get_xlabel().endswith("(and 1 more feature)")
    assert "more" not in plots.before_after(table[:15]).get_xlabel()


def test_what_was_missing_is_no_category() -> None:
    table = changes(3).assign(shift=[0.5, NAN, NAN], before=["1", "missing", "red"], after="2")
    ax = plots.before_after(table)
    assert ends(ax) == {
        "answer": [0.5],
        "answer, another category": [1.0],
        "answer, from or to a missing value": [1.0],
    }
    to_missing = table.assign(before="1", after="missing")
    assert "answer, another category" not in ends(plots.before_after(to_missing))


def test_values_that_run_from_right_to_left_turn_nothing_around() -> None:
    city = "\u05e2\u05d9\u05e8"
    table = changes(2)[:1].assign(feature=city, before=city, after="b", shift=NAN)
    ax = plots.before_after(table)
    assert [text.get_text() for text in ax.texts] == [f"\u2068{city}\u2069 → b"]
    assert names(ax) == [f"\u2068{city}\u2069"]
    assert names(plots.asked_features(asked(1).assign(feature=city))) == [f"\u2068{city}\u2069"]


def test_nobody_who_changes_nothing_gets_an_empty_picture() -> None:
    ax = plots.before_after(changes(0))
    assert [text.get_text() for text in ax.texts] == ["Nothing changes"]


def test_a_real_answer_is_drawn_as_it_is_told() -> None:
    _, answers, _, _ = german()
    i = int(np.flatnonzero(answers.ok)[0])
    ax = plots.before_after(plots.change_table(answers, i))
    assert str(ax.get_label()) == "; ".join(answers.changes[i]) + "."


# --- all applicants -------------------------------------------------------------------------------


def test_bars_are_shares_in_parts_by_direction_most_asked_first() -> None:
    table = asked(2).assign(
        feature=["few", "many"],
        people=[10, 40],
        share=[0.2, 0.8],
        rising=[10, 10],
        falling=[0, 20],
        switching=[0, 10],
    )
    ax = plots.asked_features(table)
    assert names(ax) == ["many", "few"]
    parts = [(round(left, 9), round(width, 9)) for left, width in rectangles(ax)]
    assert parts == [(0, 0.2), (0, 0.2), (0.2, 0.4), (0.2, 0), (0.6, 0.2), (0.2, 0)]
    assert [text.get_text() for text in ax.texts] == ["80%", "20%"]
    assert key_of(ax) == ["increase", "decrease", "another category"]


def test_those_who_fill_in_a_missing_value_are_told_apart() -> None:
    table = asked(1).assign(people=10, share=0.5, rising=4, falling=0, switching=0, filling=6)
    ax = plots.asked_features(table)
    assert key_of(ax) == ["increase", "from or to a missing value"]
    assert np.array(rectangles(ax)) == pytest.approx(np.array([[0, 0.2], [0.2, 0.3]]))


def test_a_direction_that_nobody_takes_is_not_in_the_key() -> None:
    table = asked(2).assign(people=30, rising=0, falling=30, switching=0)
    assert key_of(plots.asked_features(table)) == ["decrease"]


def test_without_directions_bars_are_whole() -> None:
    ax = plots.asked_features(asked(2)[["feature", "share"]])
    assert rectangles(ax) == [(0, 60 / 80), (0, 59 / 80)]
    assert key_of(ax) == []


def test_fifteen_features_are_drawn_and_the_others_told() -> None:
    assert "more" not in plots.asked_features(asked(15)).get_xlabel()
    ax = plots.asked_features(asked(30))
    assert len(names(ax)) == 15
    assert ax.get_xlabel().endswith("(and 15 more features, at most 56.2% each)")
    assert (
        plots.asked_features(asked(16))
        .get_xlabel()
        .endswith("(and 1 more feature, at most 56.2% each)")
    )


def test_long_names_stay_different() -> None:
    shown = names(plots.asked_features(asked(15)))
    assert len(set(shown)) == 15
    assert max(map(len, shown)) <= 3 * 24 + 2


def test_small_shares_are_told() -> None:
    ax = plots.asked_features(asked(2).assign(share=[0.004, 0.0]))
    assert [text.get_text() for text in ax.texts] == ["0.4%", "0%"]
