"""What is asked and what is answered.

`problem` brings model, support and schema together; `applicants` holds those who ask, `support` the
accepted rows near them, `counterfactuals` the answers, `certificate` what retrained models say of
these; `places` has coordinates to measure distances in.
"""

from __future__ import annotations

from robx.problem.applicants import Applicants, Found
from robx.problem.certificate import Certificate
from robx.problem.counterfactuals import Counterfactuals
from robx.problem.places import coordinates
from robx.problem.problem import Problem
from robx.problem.status import Status
from robx.problem.support import Support

__all__ = [
    "Applicants",
    "Certificate",
    "Counterfactuals",
    "Found",
    "Problem",
    "Status",
    "Support",
    "coordinates",
]
