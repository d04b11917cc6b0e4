"""Model files as people have them: opened without running code, and trained again.

`loading` opens a file, `recipes` gives an unfitted classifier like the model, and `boosters` knows
what the files of XGBoost, LightGBM and CatBoost tell of their training. `categories` brings tables
from files into the form that a model was trained on.
"""

from __future__ import annotations

from robx.modelfiles.categories import with_categories
from robx.modelfiles.loader import load_model
from robx.modelfiles.recipes import Recipe, estimator_of

__all__ = ["Recipe", "estimator_of", "load_model", "with_categories"]
