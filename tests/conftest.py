"""What holds for every test.

Test processes share the cores already: model libraries get one thread each. Hypothesis has three
profiles, which `speed` reads: "quick", "all" in `make test-all`, and "deep" in `make test-deep`,
which alone draws other examples in every run. None of them minds a machine that is slow.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from speed import FEW, SOME

os.environ.setdefault("OMP_NUM_THREADS", "1")
ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", ANY_SPEED)
settings.register_profile("all", ANY_SPEED, max_examples=SOME, derandomize=True)
settings.register_profile("quick", ANY_SPEED, max_examples=FEW, derandomize=True)
settings.load_profile("quick")
