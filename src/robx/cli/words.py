"""Small phrases that several complaints share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def either(names: Sequence[str]) -> str:
    """Name some, of which one is to be chosen.

    Examples
    --------
    >>> either([".csv", ".parquet", ".json"])
    '.csv, .parquet or .json'
    """
    return f"{', '.join(names[:-1])} or {names[-1]}"


def listed(names: Iterable[object], most: int = 12) -> str:
    """Name some, and count the rest.

    Examples
    --------
    >>> listed("abcd", most=2)
    'a, b and 2 more'
    """
    shown = [str(name) for name in names]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more
