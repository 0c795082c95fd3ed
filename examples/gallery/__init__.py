"""Gallery of public models, rebuilt with parts; the tests compare each with the results that others published."""

from __future__ import annotations

from examples.gallery import cells, chemistry, electronics, multibody, rotation, translation
from examples.gallery.record import Entry

COLLECTIONS = (electronics.MODELS, rotation.MODELS, translation.MODELS, multibody.MODELS, chemistry.MODELS, cells.MODELS)

ENTRIES: dict[str, Entry] = {entry.name: entry for collection in COLLECTIONS for entry in collection.entries.values()}
"""Every model by its name."""
