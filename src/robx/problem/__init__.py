"""What is asked and what is answered.

`problem` brings model, support and schema together; `applicants` holds those who ask, `support` the
accepted rows near them, `counterfactuals` the answers.
"""

from __future__ import annotations

from robx.problem.applicants import Applicants, Found
from robx.problem.counterfactuals import Counterfactuals
from robx.problem.problem import Problem
from robx.problem.status import Status
from robx.problem.support import Support

__all__ = ["Applicants", "Counterfactuals", "Found", "Problem", "Status", "Support"]
