"""Run the command line with ``python -m localegop``."""

import sys

from localegop.cli import main

if __name__ == "__main__":
    sys.exit(main())
