"""What a method is asked about.

`problem` brings model, support and schema together; `applicants` holds those who ask and what a
search found for them, `support` the accepted rows near them; `embedding` has coordinates to measure
distances in.
"""

from __future__ import annotations

from robx.problem.applicants import Applicants, SearchResult
from robx.problem.embedding import coordinates
from robx.problem.problem import Problem
from robx.problem.support import Support

__all__ = ["Applicants", "Problem", "SearchResult", "Support", "coordinates"]
