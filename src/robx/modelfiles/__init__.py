"""Model files as users have them: opened without running code, and trained again.

`modelfile` opens a file and gives an unfitted classifier like the model, by what `boosters` reads
in the files of XGBoost, LightGBM and CatBoost about their training. `categories` brings tables from
files into the form that a model was trained on.
"""

from __future__ import annotations

from robx.modelfiles.categories import with_categories
from robx.modelfiles.modelfile import ModelFile, Recipe, estimator_of

__all__ = ["ModelFile", "Recipe", "estimator_of", "with_categories"]
