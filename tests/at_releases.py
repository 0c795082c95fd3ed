"""Cases of one rule, of which most are run only at a release."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(count: int, names: Iterable[str]) -> list[Any]:
    """Return the names as cases; all but the first of each `count` are run only at a release."""
    return [pytest.param(name, marks=[pytest.mark.release] if k % count else []) for k, name in enumerate(names)]
