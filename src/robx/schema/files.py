"""Schema files: YAML or JSON, to be edited by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from robx.budget import Budget
from robx.errors import InvalidInput
from robx.files import atomically, read_plain


def load_plain(file: Path, budget: Budget) -> Any:
    """Read plain values; whether they make a schema is not looked at."""
    if not file.is_file():
        raise InvalidInput(f"There is no schema file at '{str(file)[:200]}'. Check the path.")
    return read_plain(file, budget)


def write_plain(plain: dict[str, Any], file: Path) -> None:
    """Write plain values in the language that the file's ending names."""
    if file.suffix == ".json":
        text = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    elif file.suffix in {".yaml", ".yml"}:
        import yaml  # noqa: PLC0415

        text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
    else:
        raise InvalidInput(f"A schema is saved as .yaml or .json. Got '{file.name}'.")
    with atomically(file) as temporary:
        temporary.write_text(text, encoding="utf-8")
