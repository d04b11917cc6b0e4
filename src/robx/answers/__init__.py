"""What is answered: `Counterfactuals` with a `Status` each, certificates, files, tables."""

from __future__ import annotations

from robx.answers.certificate import Certificate
from robx.answers.counterfactuals import Counterfactuals
from robx.answers.crowds import Crowds
from robx.answers.status import ANSWERED, Status

__all__ = ["ANSWERED", "Certificate", "Counterfactuals", "Crowds", "Status"]
