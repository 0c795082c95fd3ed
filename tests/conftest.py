"""Settings shared by all tests: how Hypothesis samples."""

import gc
import os

from hypothesis import settings

# Deadlines measure the machine, not the code; derandomised runs fail for a change of the code only.
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_finish() -> None:
    """What has been collected lives to the end: no collection of garbage need look through it again."""
    gc.collect()
    gc.freeze()
