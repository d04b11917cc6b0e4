from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Any

from robx.problem.memo import Identity, Memo


class Alike:
    """Takes every other for equal, and has no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)


def test_what_was_made_is_kept_by_its_key() -> None:
    memo = Memo()
    assert memo.get("a", lambda: [1]) is memo.get("a", lambda: [2])
    assert memo.get(("a", 1), lambda: 3) == 3
    assert memo.get("none", lambda: None) is None
    assert memo.get("none", lambda: 5) is None


def test_many_threads_make_a_result_once_and_one_result_may_ask_for_another() -> None:
    memo = Memo()
    made: list[int] = []

    def make() -> list[int]:
        sleep(0.01)
        made.append(memo.get("inner", lambda: 7))
        return made

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: memo.get("outer", make), range(8)))
    assert made == [7]
    assert all(result is made for result in results)


def test_a_copy_in_another_process_starts_empty() -> None:
    memo = Memo()
    memo.get("a", lambda: 1)
    for other in (pickle.loads(pickle.dumps(memo)), copy.deepcopy(memo)):
        assert other.get("a", lambda: 2) == 2
    assert memo.get("a", lambda: 2) == 1


def test_objects_count_by_themselves_whatever_they_take_for_equal() -> None:
    one, other = Alike(), Alike()
    memo = Memo()

    def numbered(*objects: Any) -> int:
        return int(memo.get(Identity(objects), lambda: len(memo._results)))

    assert [numbered(one), numbered(other), numbered(one), numbered(one, other)] == [0, 1, 0, 2]
    assert numbered(other, one) == 3
    assert Identity([one]) != Identity([other])
    assert Identity([one]) == Identity((one,))
    assert Identity([one]) != (id(one),)
