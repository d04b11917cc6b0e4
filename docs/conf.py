"""How the pages are built: `make docs`.

Nothing is fetched from the network, neither while building nor by the pages. Warnings are errors.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import robx  # noqa: E402

project = "robx"
author = "The robx developers"
project_copyright = author
version = release = robx.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # ours, in _ext
    "command_help",
    "names",
    "offline",
    "outside",
]
exclude_patterns = ["_build", "gallery", "**/.ipynb_checkpoints"]
templates_path = ["_templates"]
nitpicky = True
default_role = "name"  # a name in single backticks is a link where there is something to link

# --- Markdown ------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

# --- reference from docstrings -------------------------------------------------------------------

autosummary_generate = True
autosummary_imported_members = False
# Names that differ only by case need files that differ by more: some file systems do not tell.
autosummary_filename_map = {
    f"robx.{name}": f"robx.{name}-class" for name in ("Check", "Report", "Stability")
}
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# --- gallery -------------------------------------------------------------------------------------

warnings.filterwarnings("error", category=UserWarning, module="matplotlib")
sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["auto_gallery"],
    "filename_pattern": r"\.py$",
    "image_scrapers": ("axes_scraper.scrape",),
    "thumbnail_size": (800, 480),
    "reset_modules": (),
    "capture_repr": (),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
    "only_warn_on_example_error": False,
    "abort_on_example_error": True,
    "plot_gallery": "True",
}

# --- how it looks --------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "robx"
html_static_path = ["_static"]
html_css_files = ["robx.css"]
html_js_files = ["robx.js"]
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "robx"},
    "show_prev_next": False,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {page: [] for page in ("index", "tutorial", "reproduction", "design", "changelog")}
