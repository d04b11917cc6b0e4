"""What a method is asked about.

`problem` composes a model view (`model_view`), the schema's codec, the support (`support`) and the
gate (`gate`) from its parts (`parts`), with a memo (`memo`) and the list of models that helped to
choose (`used_models`). `gate_arrays` has the gate as the compiled search takes it. `anonymity`
replaces training rows by others that stand for several people each, and `people` counts who shares
an answer. `applicants` holds those who ask and what a search found for them; `embedding` has
coordinates to measure distances in.
"""

from __future__ import annotations

from robx.problem.applicants import Applicants, Refusal, SearchResult
from robx.problem.embedding import coordinates
from robx.problem.gate import Gate
from robx.problem.gate_arrays import conditions_of, people_of
from robx.problem.parts import Parts
from robx.problem.problem import Problem
from robx.problem.support import Support

__all__ = [
    "Applicants",
    "Gate",
    "Parts",
    "Problem",
    "Refusal",
    "SearchResult",
    "Support",
    "conditions_of",
    "coordinates",
    "people_of",
]
