"""What a method is asked about.

`problem` composes a model view (`model_view`), the schema's codec, the support (`support`) and the
gate (`gate`), with a memo (`memo`) and the list of models that helped to choose (`used_models`).
`applicants` holds those who ask and what a search found for them; `embedding` has coordinates to
measure distances in.
"""

from __future__ import annotations

from robx.problem.applicants import Applicants, Refusal, SearchResult
from robx.problem.embedding import coordinates
from robx.problem.gate import Gate
from robx.problem.problem import Problem
from robx.problem.support import Support

__all__ = ["Applicants", "Gate", "Problem", "Refusal", "SearchResult", "Support", "coordinates"]
