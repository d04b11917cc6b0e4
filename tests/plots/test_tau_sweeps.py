from __future__ import annotations

import numpy as np
import pytest

from plot_cases import NAN, key_of, line_named, sweep
from robx import plots


def test_lines_are_the_columns_of_the_table() -> None:
    table = sweep()
    shares, cost = plots.tau_sweep(table.sample(frac=1, random_state=0), tau=0.6)
    for label, name in (
        ("validity", "validity"),
        ("accepted by the strictest", "worst_validity"),
        ("applicants with", "coverage"),
        ("accepted training rows", "passing"),
    ):
        assert line_named(shares, label) == (table["tau"].tolist(), table[name].tolist())
    x, y = cost.get_lines()[0].get_data()
    assert (list(x), list(y)) == (table["tau"].tolist(), table["cost"].tolist())
    assert len(key_of(shares)) == 4


def test_only_what_is_there_is_drawn() -> None:
    shares, _ = plots.tau_sweep(sweep()[["tau", "validity", "cost"]])
    assert key_of(shares) == ["validity: accepted by retrained models"]
    (alone,) = plots.tau_sweep(sweep()[["tau", "passing"]], tau=0.5)
    assert key_of(alone) == ["accepted training rows that pass"]
    assert alone.get_xlabel() == "tau (minimum stability)"


def test_the_chosen_tau_goes_through_both() -> None:
    axes = plots.tau_sweep(sweep(), tau=0.6)
    for ax in axes:
        assert [0.6, 0.6] in [list(np.asarray(line.get_xdata())) for line in ax.get_lines()]
    assert [text.get_text() for text in axes[0].texts] == ["tau 0.6"]
    beyond = plots.tau_sweep(sweep(), tau=0.1)
    assert [text.get_text() for text in beyond[0].texts] == ["← tau 0.1"]
    assert [len(ax.get_lines()) for ax in beyond] == [4, 1]


def test_a_tau_without_answers_is_a_gap() -> None:
    table = sweep()
    table.loc[3, ["validity", "cost"]] = NAN
    shares, cost = plots.tau_sweep(table)
    assert np.isnan(line_named(shares, "validity")[1]).tolist() == [k == 3 for k in range(8)]
    assert np.isnan(np.asarray(cost.get_lines()[0].get_ydata(), dtype=float)).sum() == 1


@pytest.mark.parametrize("value", [1.0, 0.0, 0.37])
def test_every_share_is_within_the_axis(value: float) -> None:
    columns = dict.fromkeys(["validity", "worst_validity", "coverage", "passing"], value)
    shares, cost = plots.tau_sweep(sweep().assign(cost=0.0, **columns))
    low, high = shares.get_ylim()
    assert low < value < high
    assert cost.get_ylim() == (0, 1)


def test_the_words_tell_the_ends() -> None:
    shares, cost = plots.tau_sweep(sweep(), tau=0.6)
    assert "validity: 0.8 at tau 0.4, 1 at tau 0.9." in str(shares.get_label())
    assert cost.get_label() == "cost: 0.5 at tau 0.4, 1.5 at tau 0.9. Chosen: tau 0.6."
