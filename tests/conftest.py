"""Test processes share the cores already: model libraries get one thread each."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
