"""A model in; its text as JSON out: records by their fields, every formula once as steps, start values as they were found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, equations
from bondgraph.errors import no_model, refusal
from bondgraph.graph.builder import Graph
from bondgraph.interchange.coherence import WIDEST
from bondgraph.interchange.formulas import MOST_STEPS
from bondgraph.interchange.records import FORMAT, VERSION
from bondgraph.interchange.shapes import Owner
from bondgraph.interchange.starts import fixed
from bondgraph.interchange.strict import HALF
from bondgraph.interchange.writing import Transcript, Unkept
from bondgraph.model.model import Model, Visible
from bondgraph.output.files import write_text


def dump_model(model: Compilable) -> str:
    """A model as text, for `parse_model`: JSON, with formulas as steps that nothing executes on reading.

    Parameters
    ----------
    model : a `Graph`, frozen or compiled or as it is.

    The same model gives the same text in every process. What pictures draw and no file holds is listed in it under "left out".
    Start values that follow from others are written as found ("starts": "fixed"): other parameters do not move them any more.

    Raises `ModelError` E350 for what cannot be saved; E100 for what is no model; with all that the stages up to the shapes of all
    values find.
    """
    if not isinstance(model, (Graph, Model, Compiled)):
        raise no_model(model, "dump_model")
    flat = model.model if isinstance(model, Compiled) else model.freeze() if isinstance(model, Graph) else model
    system = model.system if isinstance(model, Compiled) else equations(flat)
    kept = fixed(flat, system)
    writing = Transcript(Owner(kept), system)
    shown, missing = _shown(writing, kept.visible)
    content = writing.record(replace(kept, visible=()), Model)
    if shown:
        content["visible"] = shown
    length = sum(_length(formula["steps"]) for formula in writing.formulas.values())
    if length > MOST_STEPS:
        cure = "the model as the script that builds it"
        why = f"its formulas have {length} steps, and a file has at most {MOST_STEPS}"
        raise refusal("E350", "the model cannot be saved", cure, about=flat.name, why=why, places=())
    if widest := next((bond for bond in kept.bonds if bond.dimension > WIDEST), None):
        why = f'the bond "{widest.name}" has dimension {widest.dimension}, and one of a file {WIDEST} at most'
        raise refusal("E350", "the model cannot be saved", "several bonds", about=flat.name, why=why, places=())
    whole: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": flat.name}
    whole |= {"starts": "fixed"} if flat.starts else {}
    whole |= {"left out": missing} if missing else {}
    text = _laid_out(whole | {"model": content, "operations": writing.operations, "formulas": writing.formulas})
    if halves := HALF.search(text):
        why = f"a text in it has half of a character: {text[max(halves.start() - 20, 0) : halves.end()]!a}"
        raise refusal("E350", "the model cannot be saved", "texts of whole characters", about=flat.name, why=why, places=())
    return text


def save_model(model: Compilable, path: str | Path) -> Path:
    """Write a model to a file, whole or not at all; `dump_model` says what is in it.

    Raises `ModelError` as `dump_model`; `FileError` E414 where the file cannot be written.
    """
    return write_text(path, dump_model(model))


def digest(text: str) -> str:
    """A short name for the content of a file of a model, the same in every process: what a cache of compiled models goes by."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _shown(writing: Transcript, visible: Sequence[Visible]) -> tuple[list[Any], list[str]]:
    """What pictures can show, as records; and in words what no file holds."""
    found, missing = [], []
    for one in visible:
        try:
            found.append(writing.record(one, Visible))
        except Unkept as kind:
            missing.append(f'{one.kind} "{one.path}" in pictures: its look holds a {kind}')
    return found, missing


def _length(steps: Sequence[Any]) -> int:
    return sum(1 + (_length(step[3]) if step[0] == "slopes" else 0) for step in steps)


def _laid_out(whole: Mapping[str, Any]) -> str:
    """JSON with a line for each part of a model, so that people and their tools can compare two files."""

    def text(value: Any, depth: int) -> str:
        if depth == 0 or not value or not isinstance(value, (dict, list)):
            return json.dumps(value, allow_nan=False, ensure_ascii=False)
        space = "\n" + " " * (4 - depth)
        if isinstance(value, list):
            return "[" + ",".join(space + text(entry, 0) for entry in value) + space[:-1] + "]"
        parts = (f"{space}{json.dumps(key, ensure_ascii=False)}: {text(entry, depth - 1)}" for key, entry in value.items())
        return "{" + ",".join(parts) + space[:-1] + "}"

    return text(whole, 3) + "\n"
