"""The pages around the tables: what was run, with what, on which models."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from experiments.settings import CONTAMINATION, N_DRAWS, N_TARGETS, NAMES, SIGMA, STEP
from experiments.spec import Spec, load_specs
from experiments.study import tuned_parameters

__all__ = ["About", "grid", "sweep_markdown", "sweep_table"]

PACKAGES = ("robx", "numpy", "scipy", "pandas", "numba", "scikit-learn", "xgboost-cpu")
UNITS = {"range": "range", "deviation": "standard deviation"}
ROWS = {"whole": "all training rows", "half": "one half of the training rows"}
CHANGES = {
    "drop-rows": "each without {dropped} of the rows",
    "hyperparameter": "each with another depth or number of trees",
    "other-half": "trained on the other half, each with another depth or number of trees",
}

SETTINGS = """\
- `{command}`
- Python {python}, {versions}.
- Base models of seeds 0 to {last_seed}, each with its own 30/70 split; for each, {n_models} new \
models, {change}. Figures are means over base models, with 95 % intervals by a bootstrap over base \
models and applicants.
- XGBoost on {rows}: {parameters}; tree_method exact, nothing subsampled.
- Features are continuous and free, and counted in units of their {unit} over the data set.
- K = {n_draws} Gaussian draws, sigma = {sigma:g}; alpha = {step:g} and c = {n_targets}, which the \
paper does not give.
- tau "paper" is {paper_tau:g}{of_scaling}; "auto" is the 75 % quantile of R over the accepted \
training rows.
- LOF is the mean of +1 and -1 with a contamination of {contamination:g}, fitted on the accepted \
training rows. The CSV file also has scikit-learn's default, fitted on all training rows \
(`lof_support`), and the raw factors.
- Cost, validity and LOF are over applicants who got an answer; coverage says how many did. An \
answer that does not reach tau is none. Where a base has no answer for an applicant, RobX starts \
from the applicant."""
NO_TAU_GIVEN = ", which the paper gives for features scaled to [0, 1]; for these it gives none"


def grid(head: Sequence[str], lines: Iterable[Sequence[str]], left: int = 1) -> str:
    """Write a Markdown table; the first columns are aligned to the left, the others right.

    Examples
    --------
    >>> print(grid(["method", "cost"], [["NN", "0.5"]]))
    | method | cost |
    | --- | ---: |
    | NN | 0.5 |
    """
    marks = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, marks, *lines))


@dataclass(frozen=True)
class About:
    """A run: what was asked for.

    Parameters
    ----------
    data : str
    seeds, n_models : int
    dropped : int
        Rows, by minor change (i).
    paper_tau : float
    command : str
    """

    data: str
    seeds: int
    n_models: int
    dropped: int
    paper_tau: float
    command: str

    def title(self, spec: Spec) -> str:
        """Name a table and its data."""
        return f"{NAMES[self.data]}: {spec.title}"

    def page(self, spec: Spec, bases: pd.DataFrame, shown: str) -> str:
        """Write a page: a table, and what it was made with."""
        settings = SETTINGS.format(
            command=self.command,
            python=platform.python_version(),
            versions=", ".join(f"{name} {version(name)}" for name in PACKAGES),
            last_seed=self.seeds - 1,
            n_models=self.n_models,
            change=CHANGES[str(spec.scenario)].format(dropped=self.dropped),
            rows=ROWS[spec.train],
            parameters=", ".join(
                f"{name} {value:.4g}"
                for name, value in tuned_parameters(self.data, spec.train).items()
            ),
            unit=UNITS[spec.scaling],
            n_draws=N_DRAWS,
            sigma=SIGMA,
            step=STEP,
            n_targets=N_TARGETS,
            paper_tau=self.paper_tau,
            of_scaling=NO_TAU_GIVEN if spec.scaling == "deviation" else "",
            contamination=CONTAMINATION,
        )
        parts = [f"# {self.title(spec)}", f"In the paper: {spec.paper}.", shown.rstrip()]
        parts += ["## How it was made", settings, "## The base models"]
        parts.append(described(bases, str(spec.scenario)))
        return "\n\n".join(parts) + "\n"

    def index(self, out: Path) -> str:
        """List what a folder holds."""
        specs = load_specs()
        parts = [f"# {NAMES[self.data]}: the paper's tables, made again", f"`{self.command}`"]
        pages = [name for name in specs if (out / f"{name}.md").exists()]
        lines = [f"- [{specs[name].title}]({name}.md), as [CSV]({name}.csv)" for name in pages]
        if (out / "checks.md").exists():
            lines.append("- [what must be seen, cell by cell](checks.md)")
        parts.append("\n".join(lines))
        pictures = ["overview", *specs]
        parts += [f"![{name}]({name}.png)" for name in pictures if (out / f"{name}.png").exists()]
        return "\n\n".join(parts) + "\n"


def described(bases: pd.DataFrame, scenario: str) -> str:
    """Write what the base models are, and whether they reach the paper's tau."""
    head = ["seed", "accuracy", "applicants", "accepted by new models unchanged"]
    head += ["accepted training rows", "of which pass tau (paper)", "its quantile", "tau (auto)"]
    lines = [
        [
            f"{base['seed']}",
            f"{base['accuracy']:.3f}",
            f"{base['applicants']}",
            f"{100 * base[scenario]:.1f} %",
            *(f"{base[name]}" for name in ("accepted", "passing")),
            *(f"{base[name]:.3f}" for name in ("paper_quantile", "auto_tau", "highest")),
        ]
        for base in bases.to_dict("records")
    ]
    few = ", ".join(map(str, bases.loc[bases["passing"] < N_TARGETS, "seed"]))
    said = f"\n\nFewer than {N_TARGETS} rows reach the paper's tau for seed {few}." if few else ""
    return grid([*head, "highest R"], lines) + said


# --- the sweep ------------------------------------------------------------------------------------

SWEPT = ("tau", "validity", "cost_l1", "lof_accepted", "coverage", "end_to_end")
ABOUT_RULES = """\
Rules choose tau for each base model; their mean is shown. "auto" is the 75 % quantile of R. \
"sweep" is the paper's way: tau is raised from 0.5 for CCF until validity is within a point of \
the best. Here that is done on declined training rows, with models trained on halves of the same \
rows."""


def sweep_table(ours: pd.DataFrame) -> pd.DataFrame:
    """Make a line of each method and tau, with ``method``, ``tau_rule`` and what came of it."""
    kept = ours[ours["metric"].isin(SWEPT)]
    wide = kept.pivot_table(
        index=["method", "tau_rule"], columns="metric", values="value", dropna=False
    )
    wide = wide.dropna(how="all").reindex(columns=list(SWEPT)).reset_index()
    return wide.sort_values(["method", "tau"], kind="stable").reset_index(drop=True)


def sweep_markdown(table: pd.DataFrame) -> str:
    """Write the sweep, by method and rising tau."""
    head = ("method", "rule", "tau", "validity %", "L1 cost", "LOF", "coverage %", "end to end %")
    lines = [
        [
            line["method"],
            line["tau_rule"] if line["tau_rule"].isalpha() else "",
            f"{line['tau']:.2f}",
            f"{100 * line['validity']:.1f}",
            f"{line['cost_l1']:.2f}",
            f"{line['lof_accepted']:.2f}",
            f"{100 * line['coverage']:.0f}",
            f"{100 * line['end_to_end']:.1f}",
        ]
        for line in table.to_dict("records")
    ]
    return grid(head, lines, left=2).replace("nan", "") + "\n\n" + ABOUT_RULES
