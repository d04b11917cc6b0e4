"""Values of text and category columns that are none of their feature's levels.

An applicant may have a category that nobody had in training. It is no level, so no change leads to
it, but it may stay, and the model is asked about it. In matrices such a value has a number of its
own, which depends on nothing but the value: for text one below those of all levels.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from robx.schema.feature import Feature


class Word:
    """A value that is no level. Whoever holds a matrix with its number holds the word as well."""

    __slots__ = ("__weakref__", "code", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        #: What the model reads it as, once that was asked.
        self.code: float | None = None


#: Where levels are numbers, numbers from here on stand for themselves, and text is below.
LEAST_NUMBER = -(2.0**53)
#: Words by column and number.
Words = Mapping[tuple[int, float], Word]
NO_WORDS: Words = MappingProxyType({})


class Unlisted:
    """The unlisted values of a codec's tables, as long as somebody holds their words.

    What applicants have is not kept: the words of a table go when its rows go.
    """

    #: One for all, so that a forked process, in which nobody would release it, can renew it.
    _lock = threading.Lock()

    def __init__(self) -> None:
        self._words: WeakValueDictionary[tuple[int, float], Word] = WeakValueDictionary()

    @classmethod
    def renew_lock(cls) -> None:
        """Forget who held the lock."""
        cls._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._words)

    def word(self, j: int, number: float, value: Any) -> Word:
        """Give the word for a value of column j, made now unless somebody holds it."""
        with self._lock:
            word = self._words.get((j, number))
            if word is None:
                word = self._words[j, number] = Word(value)
            return word

    def find(self, j: int, number: float) -> Word | None:
        """Give the word behind a number of column j; None if there is none."""
        return self._words.get((j, number))

    def __reduce__(self) -> tuple[Any, ...]:
        return Unlisted, ()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Unlisted.renew_lock)


def unlisted_number(value: Any, feature: Feature) -> float:
    """Give the number of a value that is none of a feature's levels."""
    plain = value.item() if isinstance(value, np.generic) else value
    is_number = isinstance(plain, int | float) and abs(plain) < -LEAST_NUMBER
    has_words = any(isinstance(level, str) for level in feature.levels or ())
    if is_number and not has_words:
        return float(plain)  # beside levels that are numbers, which stand for themselves
    text = f"{type(plain).__name__} {plain!r}".encode(errors="surrogatepass")
    place = 1 + int.from_bytes(blake2b(text, digest_size=6).digest())
    # Below the least number float64 holds every other integer.
    return -float(place) if has_words else LEAST_NUMBER - 2.0 * place


def first_place(feature: Feature) -> float:
    """Give the number that text which is none of a feature's levels is below, and no level is."""
    if any(isinstance(level, str) for level in feature.levels or ()):
        return 0.0
    return min((LEAST_NUMBER, *feature.level_numbers))


def shown_words(words: Mapping[tuple[int, float], Word]) -> dict[tuple[int, float], str]:
    """Name values as a level is named: text as it is."""
    return {key: str(word.value) for key, word in words.items()}
