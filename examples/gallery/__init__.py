"""Gallery of public models, rebuilt with parts; the tests compare each model with published results."""

from __future__ import annotations

from examples.gallery import (
    amplifiers,
    cells,
    chemistry,
    converters,
    electronics,
    heat,
    machines,
    multibody,
    rotation,
    translation,
)
from examples.gallery.record import Entry

_FIELDS = (electronics, amplifiers, machines, converters, rotation, translation, heat, multibody, chemistry, cells)
COLLECTIONS = tuple(field.MODELS for field in _FIELDS)

ENTRIES: dict[str, Entry] = {entry.name: entry for collection in COLLECTIONS for entry in collection.entries.values()}
