"""The parts of LightGBM's text model, none of which is trusted.

A header of ``name=value`` lines, trees of the stated sizes, and what follows them. This module
knows where things stand, not what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable

from robx.errors import InvalidModel, UnsupportedModel
from robx.trees.records import Record

VERSIONS = ("v3", "v4")
HEADER_FIELDS = (
    "version num_class num_tree_per_iteration label_index max_feature_idx objective average_output "
    "feature_names monotone_constraints feature_infos tree_sizes"
)


def sections(text: str, where: str) -> tuple[Record, list[Record], str]:
    """Cut the text into its header, its trees and what follows them."""
    head, _, body = text.partition("\n\n")
    first, *lines = head.split("\n")
    if first != "tree":
        raise InvalidModel(f"{where} must begin with the line 'tree'. Got {first[:40]!r}.")
    header = _fields(lines, where)
    if (version := header.text("version")) not in VERSIONS:
        raise UnsupportedModel(
            f"{where} is of the format {version[:20]!r}; robx knows {', '.join(VERSIONS)}. Update "
            "robx, or wrap the live model in robx.BlackBox."
        )
    header.only(HEADER_FIELDS)
    records, at = [], 0
    for number, size in enumerate(header.integers("tree_sizes").tolist()):
        title, _, tree = body[at : at + max(size, 0)].partition("\n")
        if title != f"Tree={number}" or not tree.endswith("\n\n"):
            raise InvalidModel(f"{where} does not have tree {number} where its tree_sizes say.")
        records.append(_fields(tree.rstrip("\n").split("\n"), f"{where}.trees[{number}]"))
        at += size
    rest = body[at:]
    if not rest.startswith("end of trees\n"):
        raise InvalidModel(f"{where} does not end its trees after {len(records)}: was it cut off?")
    if "\nparameters:\n" in rest and "\nend of parameters\n" not in rest:
        raise InvalidModel(f"{where} breaks off within its parameters.")
    return header, records, rest


def _fields(lines: Iterable[str], where: str) -> Record:
    fields: dict[str, str] = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if name in fields or not (equals or name == "average_output"):
            raise InvalidModel(f"{where} has a line that is not a new field: {line[:40]!r}.")
        fields[name] = value
    return Record(fields, where)
