"""Settings shared by all tests: how Hypothesis samples, a switch that writes golden files anew, and what could not be tried for
want of a program."""

import gc
import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import settings

# Deadlines measure the machine, not the code; derandomised runs fail for a change of the code only.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew, for a look at their diff")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


def pytest_collection_finish() -> None:
    """What has been collected lives to the end: no collection of garbage need look through it again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Skipped tests are told with their reasons: who has no browser knows what nobody has looked at."""
    reasons = Counter(str(report.longrepr[-1]) for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} not tried: {reason.removeprefix('Skipped: ')}", yellow=True, bold=True)
