from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from scipy.stats import norm

import robx
from robx.robustness import draws
from robx.robustness.draws import draw, make_draws


def test_sobol_draws_put_one_into_every_slice_of_every_column() -> None:
    noise = draw("sobol", 256, 7, 0).noise
    for column in noise.T:
        slices = np.floor(norm.cdf(column) * 256).astype(int)
        assert sorted(slices.tolist()) == list(range(256))


@pytest.mark.parametrize("kind", ["sobol", "gaussian"])
def test_a_shorter_sequence_begins_a_longer_one(kind: str) -> None:
    long = make_draws(kind, 1024, 5, 3)  # type: ignore[arg-type]
    assert (long.first(100).noise == long.noise[:100]).all()
    assert np.isfinite(long.noise).all()


def test_draws_are_standard_gaussian() -> None:
    for kind, slack in (("sobol", 0.01), ("gaussian", 0.1)):
        noise = make_draws(kind, 4096, 3, 0).noise  # type: ignore[arg-type]
        assert noise.mean(axis=0) == pytest.approx(0, abs=slack)
        assert noise.std(axis=0) == pytest.approx(1, abs=slack)
        assert np.asarray(np.corrcoef(noise.T))[~np.eye(3, dtype=bool)] == pytest.approx(
            0, abs=slack * 2
        )


def test_more_columns_than_sobol_has_are_refused() -> None:
    with pytest.raises(robx.InvalidInput, match="Use draws='gaussian'"):
        make_draws("sobol", 16, 30_000, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_lacks() -> None:
    inside, done = threading.Event(), threading.Event()

    def make() -> None:
        inside.set()
        done.wait()

    kept = draws._kept
    thread = threading.Thread(target=lambda: kept.get("never kept", make, 2**60))
    thread.start()
    inside.wait()
    try:
        assert kept._lock.acquire(timeout=5)  # nobody holds it while something is made
        child = os.fork()
        if child == 0:  # nothing but the lock, and an end without any of pytest's
            signal.alarm(10)
            os._exit(0 if kept.get("mine", lambda: 7, 1) == 7 else 1)
        kept._lock.release()
    finally:
        done.set()
        thread.join()
    assert os.waitpid(child, 0)[1] == 0
