from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import robx
from robx.schema import Relation
from speed import examples


@pytest.mark.parametrize(
    ("text", "terms", "bound"),
    [
        ("a <= b", {"a": 1, "b": -1}, 0),
        ("a >= b", {"b": 1, "a": -1}, 0),
        ("2*a + 1 <= b", {"a": 2, "b": -1}, -1),
        ("a*2 <= b*0.5 - 3", {"a": 2, "b": -0.5}, -3),
        ("a - b <= -c + 4", {"a": 1, "b": -1, "c": 1}, 4),
        ("a <= 1e3", {"a": 1}, 1000),
        ("0 <= a", {"a": -1}, 0),
        (".5*a <= 1.", {"a": 0.5}, 1),
        ("a + a + b <= b", {"a": 2}, 0),
        ("a - -b <= 1", {"a": 1, "b": 1}, 1),
        ("-a <= -2", {"a": -1}, -2),
        ("`my income` <= `a<=b`", {"my income": 1, "a<=b": -1}, 0),
        ("`2nd` + größe.x <= _y", {"2nd": 1, "größe.x": 1, "_y": -1}, 0),
        ("  a\n<=\tb ", {"a": 1, "b": -1}, 0),
    ],
)
def test_inequalities_are_read_as_people_write_them(
    text: str, terms: dict[str, float], bound: float
) -> None:
    relation = Relation.parse(text)
    assert dict(relation.terms) == terms
    assert relation.bound == bound
    assert relation.text == text.strip()


ONE_SIGN = "A relation has one '<=' or '>=' between two sums, such as 'a <= b'. Got "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ONE_SIGN),
        ("a", ONE_SIGN),
        ("a < b", ONE_SIGN),
        ("a == b", ONE_SIGN),
        ("a <= b <= c", ONE_SIGN),
        ("a =< b", ONE_SIGN),
        ("a <== b", ONE_SIGN),
        ("`a <= b", "A backquote of the relation '`a <= b' is not closed."),
        ("<= b", "A side of the relation '<= b' is empty"),
        ("a <= ", "A side of the relation 'a <= ' is empty"),
        ("a b <= c", "Terms of the relation 'a b <= c' must be joined by + or -"),
        ("2a <= c", "Terms of the relation '2a <= c' must be joined by + or -"),
        ("a*b <= 1", "The relation 'a*b <= 1' is not linear at 'b'"),
        ("2*3*a <= 1", "is not linear at '3'"),
        ("a * <= b", "The relation 'a * <= b' lacks a factor after '*'"),
        ("a ** 2 <= b", "lacks a factor after '*'"),
        ("* a <= b", "lacks a term after a sign"),
        ("a + <= b", "The relation 'a + <= b' lacks a term after a sign"),
        ("(a) <= b", "cannot be read at '(a)'. Write names of more than a word in backquotes."),
        ("a/2 <= b", "cannot be read at '/2'"),
        ("`` <= a", "cannot be read at '``'"),
        ("a <= `b", "A backquote of the relation 'a <= `b' is not closed."),
        ("2 <= 3", "The relation '2 <= 3' names no feature"),
        ("a <= a", "The relation 'a <= a' names no feature"),
        ("1e400*a <= b", "The numbers of the relation '1e400*a <= b' must be finite"),
        ("a <= 1e400", "The numbers of the relation 'a <= 1e400' must be finite"),
        (None, "A relation is text such as 'a <= b'. Got None."),
    ],
)
def test_what_is_no_inequality_says_so(text: str, message: str) -> None:
    with pytest.raises(robx.InvalidInput) as caught:
        Relation.parse(text)
    assert message in str(caught.value)


names = st.text(st.characters(exclude_characters="`"), min_size=1, max_size=6)
sums = st.dictionaries(names, st.integers(-9, 9).filter(bool), min_size=1, max_size=4)


@given(sums, st.integers(-99, 99))
@examples(100, derandomize=True)
def test_any_sum_of_any_names_comes_back(terms: dict[str, int], bound: int) -> None:
    left = " ".join(f"{'-' if c < 0 else '+'} {abs(c)}*`{name}`" for name, c in terms.items())
    relation = Relation.parse(f"{left} <= {bound}")
    assert dict(relation.terms) == terms
    assert relation.bound == bound
    turned = Relation.parse(f"{bound} >= {left}")
    assert (turned.terms, turned.bound) == (relation.terms, relation.bound)


@given(st.text(alphabet="ab2.*+-<=> `", max_size=12))
@examples(300, derandomize=True)
def test_any_other_text_is_read_or_refused(text: str) -> None:
    try:
        relation = Relation.parse(text)
    except robx.InvalidInput:
        return
    assert relation.terms
    assert Relation.parse(relation.text) == relation
