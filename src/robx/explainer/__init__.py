"""`Explainer`: fitted once, kept in one file, asked many times.

`fitting` checks what a caller gives, trains and warms up; `explainer` is the object, and `explain`
its one-line form. In its file, `container` is the zip of parts with its manifest, `contents` says
what the parts are and checks them, `stored_methods` are methods as plain values, and `warmth` is
what was worked out for all applicants. `description` says what an explainer is, in words.
"""

from __future__ import annotations

from robx.explainer.explainer import Explainer, explain

__all__ = ["Explainer", "explain"]
