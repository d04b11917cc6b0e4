from __future__ import annotations

import robx
from contracts import MethodContract


class TestNearestNeighbour(MethodContract):
    method = robx.NearestNeighbour()


class TestNearestNeighbourInL2(MethodContract):
    method = robx.NearestNeighbour(norm=2)
    n_schemas = 5


class TestConservative(MethodContract):
    method = robx.Conservative(noise=robx.Noise(n_draws=64))
