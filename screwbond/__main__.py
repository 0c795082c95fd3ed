"""`python -m screwbond`: words typed in; the command's runs and files out."""

import sys

from screwbond.models.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
