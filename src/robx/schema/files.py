"""Schema files: YAML or JSON, to be edited by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from robx.budget import Budget
from robx.errors import InvalidInput
from robx.files import atomically, read_plain

#: What can be written into a schema file, as comments at its top.
VOCABULARY = """\
# What may change. Edit this file, and load it with robx.Schema.load or --schema.
#
# kind          continuous   numbers
#               integer      whole numbers
#               ordinal      levels in order, from lowest to highest
#               categorical  levels without an order
#               onehot       a 0/1 column of a group of which one is set
# change        any          free (or write: free)
#               increase     may only rise (or write: may only rise)
#               decrease     may only fall (or write: may only fall)
#               none         stays as it is (or write: fixed)
# low, high     minimum and maximum that a change may lead to
# max_increase  by how much a value may rise; for ordinal features, by how many levels
# max_decrease  by how much a value may fall
# within        both of these: 2, or "2 years" if the unit is years
# unit          what a number is measured in, for words
# resolution    a change leads to a multiple of this
# levels        values of an ordinal or categorical feature; labels are words for them
# labels        [none, under 100, 100 or more]
# group         the one-hot group of a onehot feature
# scale         one unit of cost; range is that of the column, with its outliers
# noise         one unit of noise; by default at most 1.25 times the 5 to 95 % range
# weight        factor on the cost
# may_fill      whether a missing value may be filled in
#
# Below the features:
# relations        inequalities that hold in every answer: ["open_accounts <= all_accounts"]
# effects          what a change brings about: {age: +1 * years_employed}
# together         features that say the same thing, the leading one first: [[town, town_code]]
# optional_groups  one-hot groups that may have no member set
"""


def load_plain(file: Path, budget: Budget) -> Any:
    """Read plain values; whether they make a schema is not looked at."""
    if not file.is_file():
        raise InvalidInput(f"There is no schema file at '{str(file)[:200]}'. Check the path.")
    return read_plain(file, budget)


def write_plain(plain: dict[str, Any], file: Path) -> None:
    """Write plain values in the language that the file's ending names."""
    if file.suffix.lower() == ".json":
        text = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    elif file.suffix.lower() in {".yaml", ".yml"}:
        import yaml  # noqa: PLC0415

        text = VOCABULARY + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
    else:
        raise InvalidInput(f"A schema is saved as .yaml or .json. Got '{file.name}'.")
    with atomically(file, private=False) as temporary:
        temporary.write_text(text, encoding="utf-8")
