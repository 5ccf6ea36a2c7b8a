# SPDX-License-Identifier: BSD-3-Clause
"""The Python reference, of the docstrings; scripts/reference runs Sphinx with the package of the build folder."""
import importlib.util

project = "Echelon"
copyright = "the authors of Echelon"
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = [name for name in ("jax", "torch") if importlib.util.find_spec(name) is None]
numpydoc_show_class_members = False
html_theme = "alabaster"
html_theme_options = {"description": "Solves linear systems, and says how well", "page_width": "64em", "fixed_sidebar": True}
html_sidebars = {"**": ["about.html", "localtoc.html", "searchbox.html"]}
html_show_sourcelink = False
nitpicky = False
