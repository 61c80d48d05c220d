"""The page: its modules put together into one script, alone in a file with all data or for a server."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from localegop.cli.console import plain

# In this order: each uses the ones before.
MODULES = (
    "numbers.js",
    "elements.js",
    "classes.js",
    "map.js",
    "table.js",
    "details.js",
    "whatif.js",
    "app.js",
    "hosts.js",
)
IMPORT = re.compile(r'^import \{[^}]*\} from "\./[a-z]+\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(async )?function|const|class)", re.MULTILINE)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">{policy}
<title>{title}</title>
{style}
</head>
<body>
<div id="explorer" class="localegop-explorer"><p>Loading ...</p></div>
<noscript>This page needs JavaScript.</noscript>
{data}
{script}
</body>
</html>
"""


@cache
def source(name: str) -> str:
    """Text of a file of the front end."""
    return files("localegop._explorer").joinpath("web", name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """Put all modules into one: they import each other only, and no two use a name twice."""
    return "\n".join(EXPORT.sub("", IMPORT.sub("", source(name))) for name in MODULES)


def style() -> str:
    """Style sheet."""
    return source("style.css")


def to_json(content: Any) -> str:
    """Write as JSON, in which NaN and infinities are null; every number as Python knows it."""
    return json.dumps(plain(content), allow_nan=False, separators=(",", ":"))


def file_page(scene: dict[str, Any]) -> str:
    """Page with everything in it, which needs neither server nor network."""
    packed = base64.b64encode(gzip.compress(to_json(scene).encode(), 9, mtime=0)).decode()
    return PAGE.format(
        policy=f'\n<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        title=html.escape(scene["title"]),
        style=f"<style>\n{style()}</style>",
        data=f'<script id="scene" type="text/plain">{packed}</script>',
        script=f'<script type="module">\n{script()}\nstartFile();\n</script>',
    )


def server_page(title: str) -> str:
    """Page that asks its server."""
    return PAGE.format(
        policy="",
        title=html.escape(title),
        style='<link rel="stylesheet" href="style.css">',
        data="",
        script='<script type="module" src="explorer.js"></script>',
    )
