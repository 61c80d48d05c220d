"""Sphinx configuration; ``make docs`` builds docs/_build/index.html."""

from importlib import metadata
from pathlib import Path

project = "localegop"
copyright = "the localegop developers"
release = metadata.version("localegop")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
smartquotes = False  # primes of transposed matrices are not quotation marks

myst_enable_extensions = ["colon_fence", "attrs_block"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False  # modules list what is public, also where it lives in a private file
autodoc_typehints = "none"  # docstrings say it in fewer words
numpydoc_show_class_members = False

html_theme = "furo"
html_title = "localegop"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5a7d", "color-brand-content": "#0b6a94"},
    "dark_css_variables": {"color-brand-primary": "#7cc4e4", "color-brand-content": "#8fd0ee"},
}

# The examples run when the pages are built; ``make docs-quick`` leaves that out.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\w+\.py$",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "abort_on_example_error": False,
    "min_reported_time": 0,
    "write_computation_times": False,  # its table loads scripts from other hosts
    "image_srcset": ["2x"],
    "default_thumb_file": str(Path(__file__).parent / "figures" / "localization.png"),
}
