"""What columns are, what may change, and what a change costs.

`feature`, `relation`, `effect` and `together` are what a user states, `schema` holds them together,
`files` keeps it; `guess` proposes one for a table. `codec` turns tables into numbers and back,
`rules` are the schema as arrays, and `projection` finds the nearest point that keeps them.
"""

from __future__ import annotations

from robx.schema.codec import Codec
from robx.schema.effect import Effect
from robx.schema.feature import Feature
from robx.schema.projection import project
from robx.schema.relation import Relation
from robx.schema.rules import Norm, Rules
from robx.schema.schema import Schema, check_norm
from robx.schema.together import Together

__all__ = [
    "Codec",
    "Effect",
    "Feature",
    "Norm",
    "Relation",
    "Rules",
    "Schema",
    "Together",
    "check_norm",
    "project",
]
