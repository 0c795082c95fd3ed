"""Run the command `screwbond` as `python -m screwbond`."""

import sys

from screwbond.models.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
