"""Model files as users have them: opened without running code, and trained again.

`modelfile` opens a file and gives an unfitted classifier like the model, by what `boosters` reads
in the files of XGBoost, LightGBM and CatBoost about their training. `lost_parameters` refuses a
fitted model whose parameters are not those that it was trained with. `categories` brings tables
from files into the form that a model was trained on.
"""

from __future__ import annotations

from robx.modelfiles.categories import with_categories
from robx.modelfiles.lost_parameters import refuse_lost_parameters
from robx.modelfiles.modelfile import ModelFile, Recipe, estimator_of

__all__ = ["ModelFile", "Recipe", "estimator_of", "refuse_lost_parameters", "with_categories"]
