"""FMUs of a model that was read from a file: the file only names them; the user decides which to open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bondgraph.errors import refusal
from bondgraph.interchange.fmu.unit import open_unit
from bondgraph.interchange.strict_json import file_error
from bondgraph.model.element import Element
from bondgraph.model.laws import SignalBlock
from bondgraph.model.model import Model
from bondgraph.model.ops import ForeignLibrary


def with_libraries(model: Model, libraries: Mapping[str, str | Path], file: str) -> Model:
    """Return a model with its libraries open; `file` is its name in messages.

    Raises `ModelError` E694 for a library that is not given, E695 for a library without a block, E696 for a library that has
    changed since the model was saved, E355 for a block that does not match its library; E690 and E691 as in `fmu_block`.
    """
    needed = {path: library for path, element in model.elements.items() if (library := _library_of(element)) is not None}
    if unknown := sorted(set(libraries) - set(needed)):
        title, why = (
            f'libraries: there is no block "{unknown[0]}" with a library',
            f"blocks with libraries: {', '.join(needed) or 'none'}",
        )
        raise refusal("E695", title, "names of these blocks" if needed else "no libraries", about=file, why=why)
    opened = {}
    for path, library in needed.items():
        if path not in libraries:
            title, why = (f'the block "{path}" needs the library "{library.file}"', "a model file only names it")
            cure = f'libraries={{"{path}": "{library.file}"}} for load_model, if you trust this file'
            raise refusal("E694", title, cure, about=file, why=why)
        element = model.elements[path]
        law = element.law_as(SignalBlock)
        numbers = (*library.parameters, "period", "offset")
        if (tuple(law.updates), tuple(law.kept), tuple(element.parameters)) != (library.states, library.states, numbers):
            raise file_error("E355", file, f"elements.{path}", "its states or parameters do not match its library")
        unit = open_unit(libraries[path], library.inputs, library.outputs, library.parameters)
        if unit.archive.digest != library.digest:
            title, name = f'"{unit.archive.path.name}" is not the library that "{path}" was saved with', unit.archive.digest
            cures = (f'the original file "{library.file}"', f'"digest": "{name}" in the model file, to accept this library')
            raise refusal("E696", title, *cures, about=file, why=f"the SHA-256 was {library.digest} and is now {name}")
        opened[path] = replace(element, law=replace(law, library=replace(library, unit=unit)))
    return replace(model, elements={**model.elements, **opened}) if opened else model


def _library_of(element: Element) -> ForeignLibrary | None:
    return element.law.library if isinstance(element.law, SignalBlock) else None
