"""Garbage collection: pause Python's search for circular garbage while a model is built."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

MANY_OBJECTS = 100_000
"""Number of new objects from which freezing them pays off."""


@contextlib.contextmanager
def paused_collection() -> Iterator[None]:
    """Pause the search for circular garbage within the block; also a decorator.

    Records of a model are kept, so the search finds nothing; with the million records of a chain of 10,000 sections it would take
    half of the time. Many new objects are moved to the oldest generation at once, which saves the next search, unless the user
    has frozen objects, which this would thaw.
    """
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            if gc.get_count()[0] > MANY_OBJECTS and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
