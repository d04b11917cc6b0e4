from __future__ import annotations

import pytest
from experiments.methods import Asked, asked, make
from experiments.settings import SPECS
from experiments.spec import Spec, base_of, load_spec, load_specs, published

TABLES = [spec for spec in load_specs().values() if spec.is_table and spec.is_published]


@pytest.mark.parametrize("spec", TABLES, ids=lambda spec: spec.name)
def test_every_method_of_a_table_has_a_published_figure_and_none_is_left_over(spec: Spec) -> None:
    paper = published(spec.name)
    listed = list(zip(paper["data"], paper["norm"], paper["method"], strict=True))
    wanted = [
        (data, norm, method)
        for data in spec.methods
        for norm in spec.norms
        for method in spec.rows(data)
    ]
    assert sorted(listed) == sorted(wanted)
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("spec", TABLES, ids=lambda spec: spec.name)
def test_published_figures_are_in_their_units(spec: Spec) -> None:
    paper = published(spec.name)
    assert paper["validity"].between(10, 100).all()
    only_validity = spec.name == "introduction"
    assert (paper["cost"].isna() == only_validity).all()
    assert (paper["lof"].isna() == only_validity).all()
    assert only_validity or (paper["cost"].between(0.05, 6) & paper["lof"].between(-1, 1)).all()


def test_every_figure_of_the_paper_is_there() -> None:
    assert {spec.name: len(published(spec.name)) for spec in TABLES} == {
        "moderate": 36,
        "focus-gamma": 28,
        "minor-rows": 36,
        "minor-hyperparameter": 36,
        "introduction": 4,
        "standard-scaling": 18,
        "standard-scaling-gamma": 18,
    }


def test_every_csv_file_has_a_spec() -> None:
    assert {path.stem for path in SPECS.glob("*.csv")} == {spec.name for spec in TABLES}


@pytest.mark.parametrize(
    ("table", "data", "norm", "method", "figures"),
    [
        ("moderate", "heloc", 1, "FT", (0.19, 18.7, 0.40)),
        ("moderate", "heloc", 2, "NN +RobX", (0.56, 100, 0.85)),
        ("moderate", "german", 2, "FACE", (1.30, 87.6, 0.76)),
        ("focus-gamma", "german", 2, "FOCUS gamma=0.99 +RobX", (1.19, 100, -0.27)),
        ("minor-rows", "german", 2, "CCF", (1.42, 100, 1.0)),
        ("minor-hyperparameter", "heloc", 2, "FOCUS", (0.16, 50.3, 0.57)),
        ("standard-scaling", "german", 2, "NN", (1.99, 76.7, 0.75)),
        ("standard-scaling-gamma", "heloc", 2, "FOCUS gamma=0.6", (1.67, 68.4, 0.64)),
    ],
)
def test_figures_are_as_printed(
    table: str, data: str, norm: int, method: str, figures: tuple[float, ...]
) -> None:
    paper = published(table)
    line = paper[(paper["data"] == data) & (paper["norm"] == norm) & (paper["method"] == method)]
    assert line[["cost", "validity", "lof"]].to_numpy().tolist() == [list(figures)]


def test_where_the_paper_contradicts_itself_a_note_says_so() -> None:
    noted = {spec.name: published(spec.name) for spec in TABLES}
    swapped = noted["introduction"].set_index("method")
    appendix = noted["minor-rows"].query("data == 'german' and norm == 1").set_index("method")
    for method, other in (("FACE", "NN"), ("NN", "FACE")):
        assert swapped.validity[method] == appendix.validity[other]
        assert "swapped" in swapped.note[method]
    of_gamma = noted["focus-gamma"].query("data == 'heloc' and norm == 2").set_index("method")
    of_main = noted["moderate"].query("data == 'heloc' and norm == 2").set_index("method")
    assert of_gamma.cost["FOCUS +RobX"] != of_main.cost["FOCUS +RobX"]
    assert of_gamma.note["FOCUS +RobX"]
    assert of_main.note["FOCUS +RobX"]
    same = ["data", "norm", "method"]
    both = noted["minor-rows"].merge(noted["minor-hyperparameter"], on=same)
    differ = (both["cost_x"] != both["cost_y"]) | (both["lof_x"] != both["lof_y"])
    assert differ.sum() == 14
    assert (both.loc[differ, "note_y"] != "").all()


@pytest.mark.parametrize("spec", TABLES, ids=lambda spec: spec.name)
def test_every_method_can_be_made(spec: Spec) -> None:
    for data in spec.methods:
        for one in asked(spec, data):
            made = make(one, 0.65)
            assert made.norm == one.norm
            is_stable = one.method == "CCF" or base_of(one.method) is not None
            assert hasattr(made, "tau") == is_stable


def test_methods_with_a_tau_are_asked_by_both_rules() -> None:
    spec = load_spec(SPECS / "moderate.yaml")
    found = asked(spec, "german")
    assert len(found) == 2 * (2 + 4 * 3)
    assert {one.tau_rule for one in found if one.method == "NN +RobX"} == {"paper", "auto"}
    assert {one.tau_rule for one in found if one.method == "NN"} == {"none"}
    assert len({str(one) for one in found}) == len(found)


def test_a_method_that_the_paper_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="The paper has no method 'DiCE'"):
        make(Asked(1, "DiCE", "none"), 0.9)
