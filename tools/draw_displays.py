"""Draw the pictures of docs/displays.md by running its examples.

Run with ``python tools/draw_displays.py``. An example is a block of Python; if an image follows before the
next, the figure of its variable ``display`` is written there. Examples share their variables.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "displays.md"
PARTS = re.compile(
    r"^```python\n(?P<code>.*?)^```$|^!\[.*?\]\((?P<picture>.*?)\)$", re.MULTILINE | re.DOTALL
)


def main(page: Path = PAGE) -> None:
    """Run all examples and write the pictures beside the page."""
    import matplotlib

    matplotlib.use("Agg")
    variables: dict[str, Any] = {}
    for part in PARTS.finditer(page.read_text(encoding="utf-8")):
        start = time.perf_counter()
        if part["code"] is not None:
            exec(compile(part["code"], str(page), "exec"), variables)
            print(f"example of {len(part['code'].splitlines())} lines: {time.perf_counter() - start:.1f} s")
        else:
            variables.pop("display").figure_.savefig(page.parent / part["picture"], dpi=150)
            print(f"picture {part['picture']}")


if __name__ == "__main__":
    main()
