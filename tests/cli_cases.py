"""What a call of the command came to, and a small model for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xgboost import XGBClassifier

__all__ = ["Ran", "Run", "train"]


@dataclass(frozen=True)
class Ran:
    """Exit code and both outputs."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def rows(self) -> list[dict[str, str]]:
        """Lines of a piped table."""
        assert self.code == 0, self.err
        names, *lines = [line.split("\t") for line in self.out.splitlines()]
        return [dict(zip(names, line, strict=True)) for line in lines]


Run = Callable[..., Ran]


def train(X: Any, y: Any, seed: int = 0) -> XGBClassifier:
    model = XGBClassifier(n_estimators=25, max_depth=3, random_state=seed, n_jobs=1)
    return model.fit(X, y)
