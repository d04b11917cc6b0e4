"""Where the columns of a fitted pipeline come from.

A `Trace` walks through fitted transformers and says of each column that reaches the model which raw
column it is made of, and in what manner. Only the layout of the columns is known here, class by
class; what a transformer makes of a value is asked of the transformer itself (`robx.trees.pipelines
.asking`), and that nothing else has a say in it is checked there as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from inspect import getattr_static
from typing import Any, Literal

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import RFE, SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from robx.tables import is_missing
from robx.trees.reasons import CannotFold, named

#: How a column follows from its raw one: it is the `same` value (but where that is missing), it is
#: `monotone` in a number, it is constant between knots (`steps`), or `encoded` from a category.
Manner = Literal["same", "monotone", "steps", "encoded"]
#: Functions of one number that rise or fall all the way, where they are defined.
RISING = frozenset(
    {*("log", "log1p", "log2", "log10", "exp", "expm1", "exp2", "sqrt", "cbrt", "negative")}
    | {*("positive", "arcsinh", "sinh", "tanh", "arctan", "rint", "floor", "ceil", "trunc")}
    | {*("sign", "deg2rad", "rad2deg", "reciprocal")}
)


@dataclass(frozen=True)
class Flow:
    """A column on its way through the pipeline.

    Parameters
    ----------
    raw : int
        The raw column that it is made of.
    manner : Manner
    exact : bool
        Whether it is the raw column as it stands, missing values included.
    """

    raw: int
    manner: Manner = "same"
    exact: bool = True


@dataclass
class Facts:
    """What the transformers tell of one raw column.

    Parameters
    ----------
    categories : list of lists
        The values that each encoder knows.
    knots : list of float
        Numbers at which the way that a column follows from it may change.
    is_number : bool
        Whether a transformer takes it as a number.
    is_odd : bool
        Whether a function that may not be monotone takes it.
    refuses : set of str
        "unseen" where an encoder refuses categories that it does not know, "missing" where it
        refuses missing values too.
    blank : float or None
        What stands for a missing value in the table, as far as that is known.
    """

    categories: list[list[Any]] = field(default_factory=list)
    knots: list[float] = field(default_factory=list)
    is_number: bool = False
    is_odd: bool = False
    refuses: set[str] = field(default_factory=set)
    blank: float | None = float("nan")


Flows = list[Flow]


class Trace:
    """Follows columns through fitted transformers.

    Parameters
    ----------
    n_columns : int
        Of the raw table.
    """

    def __init__(self, n_columns: int) -> None:
        self.facts = [Facts() for _ in range(n_columns)]

    def start(self) -> Flows:
        """Give the raw columns themselves."""
        return [Flow(j) for j in range(len(self.facts))]

    def through(self, step: Any, flows: Flows, where: str) -> Flows:
        """Give the columns that a fitted transformer makes of others.

        Raises
        ------
        CannotFold
            If one of them is made of several, or the transformer is not known.
        """
        if step is None or (isinstance(step, str) and step == "passthrough"):
            return flows
        if isinstance(step, str) and step == "drop":
            return []
        for kind, follow in WAYS.items():
            if works_as(step, kind):
                return follow(self, step, flows, where)
        if works_as(step, SelectorMixin) or works_as(step, RFE):
            return [flows[k] for k in step.get_support(indices=True)]
        name, complaint = named(step, where), COMPLAINTS.get(type(step).__name__)
        if complaint is not None:
            raise CannotFold(f"{name} {complaint}")
        raise CannotFold(f"{name} is a transformer that robx does not know", unknown=name)

    # --- numbers ----------------------------------------------------------------------------------

    def _number(self, step: Any, flows: Flows, where: str) -> Flows:
        """One column out of each number."""
        del where
        out = []
        for k, flow in enumerate(flows):
            facts = self.facts[flow.raw]
            if flow.manner == "same":
                facts.is_number = True
                if isinstance(step, QuantileTransformer):
                    facts.knots += _numbers(step.quantiles_[:, k])
            manner: Manner = "monotone" if flow.manner == "same" else flow.manner
            out.append(Flow(flow.raw, manner, exact=False))
        return out

    def _bins(self, step: Any, flows: Flows, where: str) -> Flows:
        out: Flows = []
        is_onehot = step.encode != "ordinal"
        for k, flow in enumerate(flows):
            if flow.manner == "same":
                self.facts[flow.raw].is_number = True
                self.facts[flow.raw].knots += _numbers(step.bin_edges_[k])
            elif flow.manner == "monotone" and is_onehot:
                raise CannotFold(f"{named(step, where)} bins numbers that another step has changed")
            in_steps: Manner = "steps" if flow.manner in {"same", "monotone"} else flow.manner
            n_out = int(step.n_bins_[k]) if is_onehot else 1
            out += [Flow(flow.raw, in_steps, exact=False)] * n_out
        return out

    def _function(self, step: Any, flows: Flows, where: str) -> Flows:
        if step.func is None:
            return flows
        ufunc = step.func if isinstance(step.func, np.ufunc) else None
        if ufunc is None or (ufunc.nin, ufunc.nout) != (1, 1) or step.kw_args:
            said = getattr(step.func, "__name__", repr(step.func))
            raise CannotFold(
                f"{named(step, where)} calls a function that robx does not know: {said}",
                unknown=named(step, where),
            )
        for flow in flows:
            self.facts[flow.raw].is_odd |= ufunc.__name__ not in RISING
            self.facts[flow.raw].knots.append(0.0)
        return self._number(step, flows, where)

    # --- categories -------------------------------------------------------------------------------

    def _encoder(self, step: Any, flows: Flows, where: str) -> Flows:
        out: Flows = []
        for k, flow in enumerate(flows):
            if flow.manner == "monotone":
                raise CannotFold(
                    f"{named(step, where)} encodes numbers that another step has changed"
                )
            known = list(step.categories_[k])
            if flow.manner == "same":
                facts = self.facts[flow.raw]
                facts.categories.append(known)
                if getattr(step, "handle_unknown", "") == "error":
                    is_filled = not flow.exact or is_missing(known).any()
                    facts.refuses |= {"unseen"} if is_filled else {"unseen", "missing"}
            manner: Manner = "encoded" if flow.manner == "same" else flow.manner
            out += [Flow(flow.raw, manner, exact=False)] * _n_encoded(step, k, known)
        return out

    # --- missing values ---------------------------------------------------------------------------

    def _imputer(self, step: Any, flows: Flows, where: str) -> Flows:
        empty = np.zeros(len(flows), dtype=bool)
        if not step.keep_empty_features:
            empty = is_missing(np.asarray(step.statistics_, dtype=object))
        out = [
            replace(self._filled(step, flow, where), exact=False)
            for flow, is_empty in zip(flows, empty, strict=True)
            if not is_empty
        ]
        if step.indicator_ is not None:
            out += self._indicator(step.indicator_, flows, where)
        return out

    def _filled(self, step: Any, flow: Flow, where: str) -> Flow:
        """Note the number that an imputer takes for missing, where that is not NaN."""
        marker = step.missing_values
        if is_missing([marker])[0] or not isinstance(marker, int | float):
            return flow
        if flow.manner != "same":
            raise CannotFold(f"{named(step, where)} fills numbers that another step has changed")
        self.facts[flow.raw].knots.append(float(marker))
        return flow

    def _indicator(self, step: Any, flows: Flows, where: str) -> Flows:
        out = []
        for k in step.features_:
            flow = self._filled(step, flows[k], where)
            manner: Manner = "encoded" if flow.manner == "encoded" else "steps"
            out.append(Flow(flow.raw, manner, exact=False))
        return out

    # --- several transformers ---------------------------------------------------------------------

    def _pipeline(self, step: Any, flows: Flows, where: str) -> Flows:
        for name, part in step.steps:
            if is_sampler(part):
                continue
            flows = self.through(part, flows, _inside(where, name))
        return flows

    def _union(self, step: Any, flows: Flows, where: str) -> Flows:
        out = []
        for name, part in step.transformer_list:
            made = self.through(part, flows, _inside(where, name))
            out += self._weighted(made, step, name)
        return out

    def _columns(self, step: Any, flows: Flows, where: str) -> Flows:
        names = getattr(step, "feature_names_in_", None)
        out: list[tuple[int, Flows]] = []
        for name, part, spec in step.transformers_:
            places = _places(spec, names, len(flows))
            if not places or (isinstance(part, str) and part == "drop"):
                continue
            made = self.through(part, [flows[k] for k in places], _inside(where, name))
            at = step.output_indices_[name]
            if at.stop - at.start != len(made):
                raise CannotFold(
                    f"{named(part, _inside(where, name))} gives {at.stop - at.start} columns where "
                    f"robx expects {len(made)}"
                )
            out.append((at.start, self._weighted(made, step, name)))
        return [flow for _, made in sorted(out, key=lambda one: one[0]) for flow in made]

    def _weighted(self, flows: Flows, step: Any, name: str) -> Flows:
        if not (step.transformer_weights or {}).get(name):
            return flows
        for flow in flows:
            self.facts[flow.raw].is_number |= flow.manner == "same"
        rise: Any = {"same": "monotone"}
        return [Flow(f.raw, rise.get(f.manner, f.manner), exact=False) for f in flows]


WAYS: dict[type, Callable[[Trace, Any, Flows, str], Flows]] = {
    **dict.fromkeys(
        (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PowerTransformer), Trace._number
    ),
    **dict.fromkeys((QuantileTransformer, Binarizer), Trace._number),
    KBinsDiscretizer: Trace._bins,
    FunctionTransformer: Trace._function,
    **dict.fromkeys((OneHotEncoder, OrdinalEncoder, TargetEncoder), Trace._encoder),
    SimpleImputer: Trace._imputer,
    MissingIndicator: Trace._indicator,
    Pipeline: Trace._pipeline,
    FeatureUnion: Trace._union,
    ColumnTransformer: Trace._columns,
}
#: What other transformers do, by the names of their classes.
COMPLAINTS = {
    **dict.fromkeys(
        (
            *("PCA", "IncrementalPCA", "KernelPCA", "SparsePCA", "TruncatedSVD", "NMF", "FastICA"),
            *("FactorAnalysis", "PolynomialFeatures", "Normalizer", "LinearDiscriminantAnalysis"),
            *("FeatureAgglomeration", "GaussianRandomProjection", "SparseRandomProjection"),
            *("Nystroem", "RBFSampler", "KMeans"),
        ),
        "mixes columns",
    ),
    **dict.fromkeys(("KNNImputer", "IterativeImputer"), "fills a column from others"),
    **dict.fromkeys(
        ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer", "FeatureHasher"),
        "takes text apart into words",
    ),
}


def works_as(step: Any, kind: type) -> bool:
    """Whether a transformer transforms as a class does that we know; a subclass may not."""
    return isinstance(step, kind) and (
        getattr_static(type(step), "transform", None) is getattr_static(kind, "transform", None)
        or (kind is Pipeline and type(step).__module__.startswith("imblearn."))
    )


def is_sampler(step: Any) -> bool:
    """Whether a step of imbalanced-learn changes rows in training, and nothing afterwards."""
    return hasattr(step, "fit_resample") and not hasattr(step, "transform")


def _n_encoded(step: Any, k: int, known: Sequence[Any]) -> int:
    """How many columns an encoder makes of one."""
    if isinstance(step, OneHotEncoder):
        infrequent = (getattr(step, "infrequent_categories_", None) or {k: None})[k]
        n_rare = 0 if infrequent is None else max(len(infrequent) - 1, 0)
        dropped = step.drop_idx_ is not None and step.drop_idx_[k] is not None
        return len(known) - n_rare - int(dropped)
    if isinstance(step, TargetEncoder) and step.target_type_ == "multiclass":
        return len(step.classes_)
    return 1


def _places(spec: Any, names: Any, n_columns: int) -> list[int]:
    """Positions of the columns that a `ColumnTransformer` gives to a transformer."""
    every = list(range(n_columns))
    known = {} if names is None else {name: k for k, name in enumerate(names)}

    def place(one: Any) -> int:
        return known[one] if isinstance(one, str) else every[int(one)]

    if isinstance(spec, str | int | np.integer):
        return [place(spec)]
    if isinstance(spec, slice):
        if isinstance(spec.start, str) or isinstance(spec.stop, str):
            first = 0 if spec.start is None else known[spec.start]
            last = n_columns if spec.stop is None else known[spec.stop] + 1
            return every[first : last : spec.step]
        return every[spec]
    listed = list(spec)
    if listed and all(isinstance(one, bool | np.bool_) for one in listed):
        return [k for k, chosen in zip(every, listed, strict=True) if chosen]
    return [place(one) for one in listed]


def _inside(where: str, name: str) -> str:
    return f"{where} > {name}" if where else name


def _numbers(values: Any) -> list[float]:
    array = np.asarray(values, dtype=np.float64).ravel()
    return [float(value) for value in array[np.isfinite(array)]]
