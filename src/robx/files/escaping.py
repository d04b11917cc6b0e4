"""Text that a spreadsheet would run as a formula, and how a CSV file holds it.

Excel and LibreOffice take a cell that begins with one of a few signs for a formula, whatever column
it is in, and a formula can send what stands beside it elsewhere. So an apostrophe goes before such
a beginning. Which separator a spreadsheet goes by depends on the country, so what follows a
semicolon, a tab or an end of line counts as the beginning of a cell, too.

The rule can be undone: a beginning is dangerous if and only if it is so with an apostrophe before
it, so each dangerous beginning is written with one apostrophe more and read with one less.
"""

from __future__ import annotations

import re

#: Signs that begin a formula in any case. The wide ones count in East Asian versions.
FORMULA = "=@\uff1d\uff0b\uff0d\uff20"
#: What spreadsheets pass over before a formula: blanks, quotes, and what is not visible.
PASSED_OVER = (
    r"(?:[^\S\t\r\n]|['\"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u180e\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u2064\ufeff])*"
)
#: A sign before one of these numbers belongs to it, and the cell is not a formula.
NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
#: What must not stand at the beginning of a cell.
DANGEROUS = rf"(?:'*[\t\r\n\ufeff]|{PASSED_OVER}(?:[{FORMULA}]|[+-](?!{NUMBER}\Z)))"
#: Where a cell begins, in some country.
BEGINNING = r"(?:\A|(?<=[;\t\r\n]))"

_UNSAFE = re.compile(rf"{BEGINNING}(?={DANGEROUS})")
_ESCAPED = re.compile(rf"{BEGINNING}'(?={DANGEROUS})")


def escape(text: str) -> str:
    """Put an apostrophe before each beginning that a spreadsheet would run.

    Examples
    --------
    >>> [escape(text) for text in ("=1+1", "-3.5", "-3.5+A1", "'=1", "x;@SUM(A1)", "O'Neil")]
    ["'=1+1", '-3.5', "'-3.5+A1", "''=1", "x;'@SUM(A1)", "O'Neil"]
    """
    return _UNSAFE.sub("'", text)


def unescape(text: str) -> str:
    """Give the text that `escape` was given.

    Examples
    --------
    >>> [unescape(escape(text)) for text in ("=1+1", "'=1", "''x", "x;-y")]
    ['=1+1', "'=1", "''x", 'x;-y']
    """
    return _ESCAPED.sub("", text)
