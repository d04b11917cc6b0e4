"""Errors of the library in the words of the command line.

The library speaks of parameters, such as `y_train`; users of the command know options. This is the
one place where the former become the latter.
"""

from __future__ import annotations

import re

#: Parameters that have an option of another name.
OPTIONS = {
    "n_models": "--models",
    "n_answers": "--answers",
    "models": "--retrained",
    "parameters": "--params",
    "log": "--log",
    "key": "--key",
    "schema": "--schema",
    "X_train": "--data",
    "y_train": "--label",
}
#: Parameters that have an option of their own name, with hyphens.
SAME = frozenset(
    (
        "target",
        "threshold",
        "tau",
        "level",
        "norm",
        "seed",
        "validity",
        "max_changes",
        "k_anonymous",
        "keep",
        "change",
        "strict",
    )
)
#: Sentences and parts of them, in this order.
TURNS: tuple[tuple[str, str], ...] = (
    (
        r"Pass the classifier with its true parameters as 'estimator'\.",
        "Give the true parameters with --params.",
    ),
    (
        r"Pass (it|the (original model, or a )?classifier( with [\w' -]+)?) as '?estimator'?\.",
        "Leave --label out, or give models that were trained again with --retrained.",
    ),
    (
        r"pass a schema: Schema\.infer\(X\)\.override\(\.\.\.\), or a file that",
        "give --schema with a file that",
    ),
    (r"Its get_params\(\) lists those it has\.", "Check the spelling in --params."),
    (r"Pass them as 'models', such as .*?\)\)?\.", "Add --label, or --retrained."),
    (r"budget=robx\.Budget\(\w+=\.\.\.\), or with ", ""),
    (r"Pass y_train to robx\.Problem\.", "Add --label."),
    (r"Pass (.*?) as target=\.", r"Name \1 with --target."),
    (r"Pass what Counterfactuals\.save wrote", "Give a file that `robx explain --out` wrote"),
    (r"or Counterfactuals\.save wrote", "wrote"),
    (r"unsafe_pickle=True \(--unsafe-pickle\)", "--unsafe-pickle"),
    (r"(target|threshold)= \(--\1\)", r"--\1"),
    (r"target= of robx\.import_model", "--target"),
    (r"X= of robx\.import_model", "--data"),
    (r"of 'models'", "of the --retrained models"),
    (r"robx\.BlackBox(?! in Python)", "robx.BlackBox in Python"),
)
#: Single words, which users may have in names of files and columns, too.
WORDS: tuple[tuple[str, str], ...] = (
    (r"(target|threshold)=", r"--\1 "),
    (r"X_train(?![\w/\\-]|\.\w)", "the training table (--data)"),
    (r"y_train(?![\w/\\-]|\.\w)", "the labels (--label)"),
)
#: Names of the user's own stand in quotes; an apostrophe within a word is none.
QUOTED = r"""((?<!\w)'[^']*'(?!\w)|"[^"]*")"""


def in_options(text: str) -> str:
    """Put a sentence of the library into the words of the command line.

    Examples
    --------
    >>> in_options("X_train has no rows: there is nothing to compare applicants with.")
    'The training table (--data) has no rows: there is nothing to compare applicants with.'
    >>> in_options("The 'n_models' parameter of explain must be at least 6. Got 2 instead.")
    '--models must be at least 6. Got 2 instead.'
    """
    said = text
    for pattern, words in TURNS:
        said = re.sub(pattern, words, said)
    for pattern, words in WORDS:
        parts = re.split(QUOTED, said)
        parts[::2] = [re.sub(rf"(?<![\w./\\-]){pattern}", words, part) for part in parts[::2]]
        said = "".join(parts)
    said = re.sub(r"[Tt]he '(\w+)' parameter of [\w.]+", _option, said)
    # A sentence that began with a parameter now begins with a word.
    return said if said[:1] == text[:1] else said[:1].upper() + said[1:]


def _option(found: re.Match[str]) -> str:
    name = found[1]
    own = f"--{name.replace('_', '-')}" if name in SAME else None
    return OPTIONS.get(name) or own or found[0]
