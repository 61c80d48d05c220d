"""``python -m localegop.research.paper``: the same as ``localegop paper``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from localegop.research.paper.cli import add_subcommands


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(
        "python -m localegop.research.paper", description="Reproduce the paper."
    )
    add_subcommands(parser)
    args = parser.parse_args(arguments)
    code: int = args.run(args)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
