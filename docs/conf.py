"""Sphinx settings: Markdown pages, numpydoc docstrings, types shown from the signatures."""

from __future__ import annotations

from typing import Any

import tensorpmf

project = "tensorpmf"
author = copyright = "the tensorpmf developers"
version = release = tensorpmf.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 2

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
python_use_unqualified_type_names = True

html_theme = "pydata_sphinx_theme"
html_title = "tensorpmf"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_sidebars = {page: [] for page in ("how-to-choose", "notation", "performance", "reproduction", "extend")}
html_theme_options = {"navigation_with_keys": False, "show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}


def leave_out(_app: Any, _what: str, name: str, _obj: object, skip: bool, _options: object) -> bool:
    """Leave out the methods that scikit-learn adds for routing metadata; its own reference explains them."""
    return skip or name == "get_metadata_routing" or (name.startswith("set_") and name.endswith("_request"))


def setup(app: Any) -> None:
    """Tell Sphinx what to leave out."""
    app.connect("autodoc-skip-member", leave_out)
