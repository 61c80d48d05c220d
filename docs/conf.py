"""Sphinx configuration; ``make docs`` builds docs/_build/index.html."""

from importlib import metadata

project = "localegop"
copyright = "the localegop developers"
release = metadata.version("localegop")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 2
smartquotes = False  # primes of transposed matrices are not quotation marks
autosummary_generate = True
autodoc_typehints = "none"  # docstrings say it in fewer words
templates_path = ["_templates"]
numpydoc_show_class_members = False
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
exclude_patterns = ["_build", "_templates"]
