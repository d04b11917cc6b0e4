"""JSON and YAML from anywhere, as plain values: what they would take is known before it is taken.

Callers say what a `ValueError` means to them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robx.budget import Budget
from robx.errors import InvalidInput
from robx.files.formats import text_width

if TYPE_CHECKING:
    import yaml

#: Bytes of memory for each of these in JSON, rather too many; see tests/files/test_plain.py.
JSON_COSTS = {b"{": 200, b"[": 96, b",": 40, b":": 64, b'"': 24}
#: Bytes of memory for each value in YAML, with the places that its reader notes.
YAML_COST = 700
#: Longer text that is not meant as text is not read: a number to the base 60 takes for ever.
LONGEST_SCALAR = 1000


def parse_json(data: bytes, what: str, budget: Budget) -> Any:
    """Read JSON; what is not raises `ValueError`, or `RecursionError` where it is too deep."""
    need = (1 + 2 * text_width(data)) * len(data)
    need += sum(cost * data.count(sign) for sign, cost in JSON_COSTS.items())
    budget.check_memory(need, what, held=len(data))
    return json.loads(data)


def parse_yaml(data: bytes, what: str, budget: Budget) -> Any:
    """Read YAML, of which JSON is a part; what is not raises `ValueError` or a `YAMLError`.

    Values that are referred to (``*anchor``) count each time, and none may contain itself.
    """
    import yaml  # noqa: PLC0415 - read only when a file is

    signs = (b"\n", b",", b":", b"[", b"{", b"- ", b"*", b"&")
    budget.check_memory(YAML_COST * (1 + sum(map(data.count, signs))), what)
    loader = yaml.SafeLoader(data.decode("utf-8-sig"))
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        budget.check_memory(YAML_COST * _count(node, what), what)
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _count(root: yaml.Node, what: str) -> int:
    """Count the values below a node, those that are referred to each time."""
    counts: dict[int, int | None] = {}  # None while a node is open
    waiting = [root]
    while waiting:
        node = waiting[-1]
        if counts.get(id(node)) is not None:  # it was referred to from several places
            waiting.pop()
            continue
        below = _below(node)
        if id(node) in counts:
            total = 1 + sum(counts[id(one)] or 0 for one in below)
            counts[id(node)] = min(total, sys.maxsize)
            waiting.pop()
            continue
        counts[id(node)] = None
        distinct = {id(one): one for one in below}
        if any(counts.get(one, 0) is None for one in distinct):
            raise InvalidInput(f"{what} has a value that contains itself. Write it out.")
        if not below and not isinstance(node.value, list):
            _refuse_long(node, what)
        waiting += [one for key, one in distinct.items() if key not in counts]
    return counts[id(root)] or 0


def _below(node: yaml.Node) -> list[yaml.Node]:
    """Give the nodes right below one: items of a list, keys and values of a mapping."""
    if not isinstance(node.value, list):
        return []
    return [one for item in node.value for one in (item if isinstance(item, tuple) else (item,))]


def _refuse_long(node: yaml.Node, what: str) -> None:
    if len(node.value) > LONGEST_SCALAR and not node.tag.endswith(":str"):
        raise InvalidInput(
            f"{what} has a {node.tag.rpartition(':')[2]} of {len(node.value):,} characters; at "
            f"most {LONGEST_SCALAR:,} are read."
        )


def read_plain(file: Path, budget: Budget) -> Any:
    """Read the plain values in a `.json` file, or in one of YAML by any other ending."""
    import yaml  # noqa: PLC0415

    is_json = file.suffix.lower() == ".json"
    with budget.reading(f"'{file.name}'"):
        try:
            parse = parse_json if is_json else parse_yaml
            return parse(budget.read(file), f"'{file.name}'", budget)
        except InvalidInput:
            raise
        except (ValueError, OSError, RecursionError, yaml.YAMLError) as error:
            language = "JSON" if is_json else "YAML"
            said = " ".join(str(error).split())[:300].rstrip(".")
            raise InvalidInput(f"'{file.name}' is not {language}: {said}.") from error
