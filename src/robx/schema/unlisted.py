"""Values of text and category columns that are none of their feature's levels.

An applicant may have a category that nobody had in training. It is no level, so no change leads to
it, but it may stay, and the model is asked about it. In matrices such a value has a number of its
own, which depends on nothing but the value: below 0 for text, where the numbers of levels are not.
"""

from __future__ import annotations

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


#: Words by column and number.
Words = Mapping[tuple[int, float], Word]
NO_WORDS: Words = MappingProxyType({})


class Unlisted:
    """The unlisted values of a codec's tables, as long as somebody holds their words.

    What applicants have is not kept: the words of a table go when its rows go.
    """

    def __init__(self) -> None:
        self._words: WeakValueDictionary[tuple[int, float], Word] = WeakValueDictionary()
        self._lock = threading.Lock()

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


def unlisted_number(value: Any, feature: Feature) -> float:
    """Give the number of a value that is none of a feature's levels."""
    plain = value.item() if isinstance(value, np.generic) else value
    levels = feature.levels or ()
    is_number = isinstance(plain, int | float) and abs(plain) < 2**53
    if is_number and not any(isinstance(level, str) for level in levels):
        return float(plain)  # beside levels that are numbers, which stand for themselves
    text = f"{type(plain).__name__} {plain!r}".encode(errors="surrogatepass")
    return -1.0 - int.from_bytes(blake2b(text, digest_size=6).digest())


def shown_words(words: Mapping[tuple[int, float], Word]) -> dict[tuple[int, float], str]:
    """Name values as a level is named: text as it is."""
    return {key: str(word.value) for key, word in words.items()}
