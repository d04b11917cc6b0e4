"""Between a schema and an imported model: which columns, which categories, which numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.schema import Codec, Feature, Schema
from robx.schema.guess import guess_features
from robx.tables import Column, Layout, read_matrix
from robx.trees import BlackBox, TreeEnsemble


def for_columns(schema: Schema, names: tuple[str, ...]) -> Schema:
    """Put a schema's features into the model's order."""
    place = {feature.name: feature for feature in schema.features}
    lacking = [name for name in names if name not in place]
    extra = [name for name in place if name not in names]
    if lacking or extra:
        said = [f"not in the schema: {lacking[:8]}"] if lacking else []
        said += [f"not among the model's columns: {extra[:8]}"] if extra else []
        raise InvalidInput(
            "The schema must name the model's columns, all of them and no others; "
            f"{'; '.join(said)}."
        )
    return Schema(tuple(place[name] for name in names), schema.relations, schema.optional_groups)


def guess_schema(model: TreeEnsemble | BlackBox, X_train: Any, layout: Layout) -> Schema:
    """Guess a schema; columns that the model splits by category are categorical."""
    guessed = list(guess_features(X_train))
    features = [f.replaced(name=n) for f, n in zip(guessed, layout.names, strict=True)]
    if isinstance(model, TreeEnsemble):
        spelled = {name.replace(" ", "_"): j for j, name in enumerate(layout.names)}
        spelled |= {name: j for j, name in enumerate(layout.names)}
        for position, column in enumerate(model.columns):
            j = spelled.get(column.name, position) if model.named else position
            if column.is_category and features[j].is_number and features[j].levels is None:
                levels = np.unique(np.asarray(model.read(X_train)[:, position]))
                known = tuple(int(level) for level in levels[~np.isnan(levels)])
                values = column.categories if column.by_value and column.categories else known
                features[j] = Feature(features[j].name, "categorical", levels=values)
            elif column.is_category and column.categories and features[j].levels:
                # A dtype may list categories that were not there when the model was trained.
                known_ones = [v for v in features[j].levels or () if v in column.categories]
                features[j] = features[j].replaced(levels=known_ones or features[j].levels)
    return Schema(tuple(features))


def category_codes(
    ensemble: TreeEnsemble, codec: Codec, some: Floats
) -> dict[int, tuple[Floats, Floats]]:
    """Ask the ensemble for its codes of the levels of columns that it splits by category.

    It is asked by a row that is known to be sound, `some`, with another level each time.

    Returns for each such column the level numbers, ascending, and their codes.
    """
    found = {}
    for j, column in enumerate(ensemble.columns):
        if not column.is_category:
            continue
        feature = codec.features[j]
        levels = np.sort(np.array(feature.level_numbers, dtype=np.float64))
        if feature.kind == "onehot":
            levels = np.array([0.0, 1.0])
        if len(levels) == 0:
            raise InvalidInput(
                f"The model takes '{feature.name}' for categories, so its feature must be "
                f"categorical or ordinal and list its levels. Got {feature.kind}."
            )
        rows = np.repeat(some, len(levels), axis=0)
        rows[:, j] = levels
        found[j] = (levels, ensemble.read(codec.write(rows), "the schema's levels")[:, j])
    return found


def holds(closed: tuple[float, float], values: Any) -> Any:
    """Tell which values a closed range holds."""
    return (closed[0] <= values) & (values <= closed[1])


def coded(values: Floats, levels: Floats, codes: Floats, column: Column) -> Floats:
    """Turn level numbers into an ensemble's codes; it reads itself what is none of the levels."""
    place = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
    out = codes[place]
    other = levels[place] != values
    if other.any():
        out[other] = read_matrix(values[other][:, None], [column], named=False)[:, 0]
    return np.asarray(out)
