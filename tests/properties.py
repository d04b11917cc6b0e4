"""How often a property is tried: seldom in `make test`, often in `make test-all`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

#: Most tries in `make test`.
FEW = 20


def tries(often: int) -> int:
    """How many examples this run tries of a property that `make test-all` tries so often."""
    return often if settings.get_current_profile_name() == "all" else min(often, FEW)


def examples(often: int = 100, **more: Any) -> settings:
    """Settings for a property that `make test-all` tries so often, as a decorator."""
    return settings(max_examples=tries(often), **more)
