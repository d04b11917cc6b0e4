"""What holds for every test.

Test processes share the cores already: model libraries get one thread each. Hypothesis has two
profiles: "quick" unless ``--hypothesis-profile all`` is given, which `make test-all` does.
"""

from __future__ import annotations

import os

from hypothesis import settings

from speed import FEW

os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("all", settings.default, deadline=None)
settings.register_profile("quick", max_examples=FEW, deadline=None, derandomize=True)
settings.load_profile("quick")
