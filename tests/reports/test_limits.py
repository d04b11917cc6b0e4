from __future__ import annotations

import pytest

from report_cases import certified, made
from robx.reports.limits import limits


@pytest.mark.parametrize(
    ("n_models", "said"),
    [(1, "1 retrained model scored"), (10, "10 retrained models scored")],
)
def test_as_many_models_are_named_as_scored_the_answers(n_models: int, said: str) -> None:
    votes = [n_models] * 4
    texts = {one["title"]: one["text"] for one in limits(certified(*votes, n_models=n_models))}
    assert texts["What the certificate says"].startswith(f"{said} every answer.")


def test_without_a_certificate_that_is_said() -> None:
    titles = [one["title"] for one in limits(made())]
    assert titles == ["What this is, and what it is not", "No certificate", "What the costs mean"]
