"""Make the paper's tables again.

    python -m experiments.run --data german
    python -m experiments.run --data heloc --heloc heloc_dataset_v1.csv --table moderate
    python -m experiments.run --data german --table frontier

The frontier is no table of the paper and takes long: it is made only when it is named.

Finished cells are kept in ``.cache``: a run that was stopped goes on where it was, and changed code
starts anew. Results go to ``build/tables/<data>``, which git ignores; ``--out experiments/results``
updates the committed ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pandas as pd

import robx
from experiments import checklist, checks, compare, figures, report
from experiments.bases import base_models, histograms
from experiments.frontier import spec as frontier_spec
from experiments.frontier.run import run as run_frontier
from experiments.methods import SWEEP, Asked, asked, make, make_by_sweep
from experiments.settings import (
    BUILD,
    CACHE,
    CONTAMINATION,
    DROPPED,
    N_MODELS,
    NAMES,
    PAPER_TAU,
    RESULTS,
    SEEDS,
    code_key,
)
from experiments.spec import Spec, load_specs
from experiments.study import Data, load, make_study, scenario, tuned_parameters, varied
from robx.metrics import Outliers

__all__ = ["Options", "evaluated", "main", "run"]

OUTLIERS = {
    "accepted": Outliers(contamination=CONTAMINATION, fitted_on="accepted"),
    "support": Outliers(),
}


@dataclass(frozen=True)
class Options:
    """How much is done.

    Parameters
    ----------
    seeds : int
        Base models.
    n_models : int
        New models for each.
    max_applicants : int, optional
        Fewer applicants than usual.
    tau : float, optional
        Instead of the paper's.
    log : path, optional
        Where finished cells are kept.
    """

    seeds: int = SEEDS
    n_models: int = N_MODELS
    max_applicants: int | None = None
    tau: float | None = None
    log: Path | None = None

    def paper_tau(self, data: str) -> float:
        """Return the tau of the rows called "paper"."""
        return PAPER_TAU[data] if self.tau is None else self.tau


def groups(specs: Sequence[Spec]) -> list[list[Spec]]:
    """Bring tables with the same base models together, so that answers are found once."""
    together: dict[tuple[str, str], list[Spec]] = {}
    for spec in specs:
        together.setdefault((spec.train, spec.scaling), []).append(spec)
    return list(together.values())


def scenarios(data: Data, specs: Sequence[Spec]) -> dict[str, robx.scenarios.Scenario]:
    """Make the model changes of some tables, by name."""
    names = dict.fromkeys(str(spec.scenario) for spec in specs)
    return {name: scenario(name, data.name, specs[0].train) for name in names}


def described(data: Data, specs: Sequence[Spec], options: Options) -> pd.DataFrame:
    """Describe the base models that some tables share."""
    return base_models(
        make_study(data, specs[0].train, specs[0].scaling, options.max_applicants),
        scenarios(data, specs),
        options.paper_tau(data.name),
        range(options.seeds),
        options.n_models,
    )


def evaluated(data: Data, specs: Sequence[Spec], options: Options) -> pd.DataFrame:
    """Evaluate all that some tables need; the tables share their base models.

    Returns
    -------
    DataFrame
        The table of `robx.evaluate`, with its names (``asked``) also taken apart: ``norm``,
        ``method`` and ``tau_rule``.
    """
    train = specs[0].train
    wanted = list(dict.fromkeys(chain.from_iterable(asked(spec, data.name) for spec in specs)))
    vary = varied(tuned_parameters(data.name, train))
    found = robx.evaluate(
        make_study(data, train, specs[0].scaling, options.max_applicants),
        {
            str(one): make_by_sweep(one, vary)
            if one.tau_rule == SWEEP
            else make(one, options.paper_tau(data.name))
            for one in wanted
        },
        scenarios(data, specs),
        seeds=options.seeds,
        n_models=options.n_models,
        outliers=OUTLIERS,
        log=options.log,
        key=code_key(),
    )
    return apart(found, wanted)


def apart(found: pd.DataFrame, wanted: Sequence[Asked]) -> pd.DataFrame:
    """Take the names of methods apart again."""
    by_name = {str(one): one for one in wanted}
    parts = [by_name[name] for name in found["method"]]
    return found.assign(
        asked=found["method"],
        norm=[one.norm for one in parts],
        method=[one.method for one in parts],
        tau_rule=[one.tau_rule for one in parts],
    )


def pooled(found: pd.DataFrame, spec: Spec, data: str) -> pd.DataFrame:
    """Keep what a table asks for, under its scenario, all base models together and each alone."""
    wanted = {str(one) for one in asked(spec, data)}
    here = found[(found["scenario"] == spec.scenario) & found["asked"].isin(wanted)]
    together, alone = here["seed"] == "all", here["seed"] != "all"
    values = here[alone].groupby(["asked", "metric"], sort=False)["value"].agg(list)
    each = values.rename("by_seed").reset_index()
    return here[together].merge(each, on=["asked", "metric"], how="left")


def run(data: Data, specs: Sequence[Spec], options: Options, out: Path, command: str) -> None:
    """Evaluate, compare, check, and write everything into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    about = report.About(
        data.name,
        options.seeds,
        options.n_models,
        DROPPED[data.name],
        options.paper_tau(data.name),
        command,
    )
    print(f"Results go to {out}.", flush=True)
    parts = groups([spec for spec in specs if data.name in spec.methods])
    parts += [[spec] for spec in specs if not spec.methods]
    for k, together in enumerate(parts, start=1):
        names, start = ", ".join(spec.name for spec in together), time.perf_counter()
        print(f"{data.name}, part {k} of {len(parts)}: {names} ...", flush=True)
        if together[0].methods:
            found = evaluated(data, together, options)
            bases = described(data, together, options)
            for spec in together:
                _write_page(out, about, spec, bases, pooled(found, spec, data.name))
        else:
            _write_histograms(out, about, together[0], data)
        print(f"  wrote {names} after {time.perf_counter() - start:.0f} s", flush=True)
    check(out, about)
    _write(out / "README.md", about.index(out))
    print(f"Wrote {out / 'README.md'}, which lists everything.", flush=True)


def _write_histograms(out: Path, about: report.About, spec: Spec, data: Data) -> None:
    counts = histograms(make_study(data, spec.train, spec.scaling))
    counts.to_csv(out / f"{spec.name}.csv", index=False)
    figures.histograms(counts, about.paper_tau, about.title(spec), out / f"{spec.name}.png")


def _write_page(
    out: Path, about: report.About, spec: Spec, bases: pd.DataFrame, ours: pd.DataFrame
) -> None:
    """Write a table, or the sweep, as Markdown and as CSV."""
    if spec.is_table:
        table = compare.side_by_side(spec, about.data, ours)
        shown = compare.markdown(table)
    else:
        table = report.sweep_table(ours)
        shown = report.sweep_markdown(table)
        figures.sweep(table, about.paper_tau, about.title(spec), out / f"{spec.name}.png")
    table.to_csv(out / f"{spec.name}.csv", index=False, float_format="%.6g")
    _write(out / f"{spec.name}.md", about.page(spec, bases, shown))


def read_table(file: Path) -> pd.DataFrame:
    """Read a table of `compare.side_by_side` back."""
    return pd.read_csv(file, keep_default_na=False, na_values=[""], dtype={"by_seed": str})


def check(out: Path, about: report.About) -> list[checks.Check]:
    """Check all tables that a folder holds."""
    seen: list[checks.Check] = []
    for spec in load_specs().values():
        file = out / f"{spec.name}.csv"
        if spec.is_table and spec.is_published and file.exists():
            table = read_table(file)
            seen += checks.run_checks(spec, about.data, table)
            if spec.name == "moderate":
                figures.overview(table, about.title(spec), out / "overview.png")
    if seen:
        title = f"# {NAMES[about.data]}: what must be seen"
        _write(out / "checks.md", f"{title}\n\n{checklist.markdown(seen, about.data)}")
    return seen


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def log_file(data: str, of: str = "") -> Path:
    """Name the log of finished cells."""
    CACHE.mkdir(exist_ok=True)
    return CACHE / f"{data}{of}.jsonl"


def main() -> None:
    """Read the command line."""
    specs = load_specs()
    parser = argparse.ArgumentParser(description="Make the paper's tables again.")
    parser.add_argument("--data", choices=sorted(PAPER_TAU), required=True)
    tables = [*specs, frontier_spec.NAME]
    parser.add_argument("--table", choices=tables, action="append", help="only this one")
    parser.add_argument("--heloc", type=Path, help="HELOC's file")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="base models")
    parser.add_argument("--models", type=int, default=N_MODELS, help="new models for each")
    parser.add_argument("--applicants", type=int, help="at most so many for a base model")
    parser.add_argument("--tau", type=float, help="instead of the paper's")
    parser.add_argument("--out", type=Path, default=BUILD, help="folder for the results")
    given = parser.parse_args()
    usual = vars(parser.parse_args(["--data", given.data]))
    changed = [name for name, value in vars(given).items() if value != usual[name]]
    unusual = [name for name in changed if name not in {"heloc", "out", "table"}]
    if unusual and given.out.resolve() == RESULTS:
        parser.error(
            f"--{unusual[0]} gives other results than the committed ones: name another --out"
        )
    said = ["--data", given.data, *(["--heloc", "<file>"] if given.data == "heloc" else [])]
    for name in [name for name in changed if name not in {"heloc", "out"}]:
        values = given.table if name == "table" else [getattr(given, name)]
        said += [text for value in values for text in (f"--{name}", str(value))]
    data, command = load(given.data, given.heloc), " ".join(["python -m experiments.run", *said])
    out = given.out / given.data
    named = [specs[name] for name in given.table or specs if name in specs]
    if named:
        log = log_file(given.data)
        options = Options(given.seeds, given.models, given.applicants, given.tau, log)
        run(data, named, options, out, command)
    if frontier_spec.NAME in (given.table or []):
        run_frontier(
            data,
            frontier_spec.load_frontier(),
            out,
            command,
            seeds=given.seeds,
            n_models=given.models,
            applicants=given.applicants,
            log=log_file(given.data, f"-{frontier_spec.NAME}"),
        )


if __name__ == "__main__":
    main()
