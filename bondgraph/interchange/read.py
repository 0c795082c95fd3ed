"""A file of a model in; the `Model` out, made of allow-listed records and recorded formulas, or a coded error.

Nothing in a file is run, imported or looked up: kinds of records are keys of one table, steps those of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bondgraph.checks import check_model
from bondgraph.errors import raise_if_any
from bondgraph.interchange.coherence import incoherent
from bondgraph.interchange.formulas import MOST_STEPS, MOST_WEIGHT, RecordedFormula, Unsound, formula_of
from bondgraph.interchange.reading import Reading
from bondgraph.interchange.records import FORMAT, KNOWN, OPERATIONS, VERSION
from bondgraph.interchange.replay import Missing, Replay
from bondgraph.interchange.strict import LARGEST, refused, strict_json, too_large
from bondgraph.model.element import Element
from bondgraph.model.model import Model
from bondgraph.model.ops import Constant, Op
from bondgraph.output.files import printable_path, system_reason


def parse_model(text: str, file: str = "model", *, largest: int = LARGEST) -> Model:
    """The model that a text of `dump_model` holds, checked as a graph is when it is frozen; `file` is what messages call it.

    A text of more than `largest` characters is refused.

    Raises `ModelError`: E351 no JSON, or beyond the limits; E352 no model, or of another version; E353 a record or value that is
    none; E354 a formula that is none; E355 parts that do not fit together; and what `Graph.freeze` finds.
    """
    content = strict_json(text, file, largest)
    if content.get("format") != FORMAT:
        raise refused("E352", file, "", f'the file is no model: its "format" is not "{FORMAT}"')
    if type(content.get("version")) is not int or content["version"] != VERSION:
        why = f"its version is {str(content.get('version'))[:20]}, and this program reads version {VERSION}"
        raise refused("E352", file, "", why, "the program that wrote it, or a newer one")
    known = {"format", "version", "name", "starts", "left out", "model", "operations", "formulas"}
    if missing := {"model", "operations", "formulas"} - set(content):
        raise refused("E352", file, "", f'it has no "{min(missing)}"')
    if unknown := set(content) - known:
        raise refused("E352", file, "", f"it has a part {min(unknown)[:60]!r}, which is unknown")
    reading = Reading(file)
    reading.operations = _operations(reading, content["operations"], _formulas(reading, content["formulas"]))
    model = reading.record(content["model"], "", (Model,), Model)
    model = replace(model, elements={path: _with_automaton(model, path) for path in model.elements})
    raise_if_any(file, incoherent(model))
    raise_if_any(file, check_model(model))
    return model


def _with_automaton(model: Model, path: str) -> Element:
    """An element with the automaton of its own, which stands in the model by its path."""
    element = model.elements[path]
    return replace(element, automaton=model.automata.get(path)) if element.automaton else element


def load_model(path: str | Path, *, largest: int = LARGEST) -> Model:
    """The model in a file of `save_model`, for `compile_model`, `simulate` and all that takes a model.

    A file of more than `largest` bytes is refused: give more for a large model of somebody whom you trust.

    Raises `ModelError` E357 where the file cannot be read; and as `parse_model`.
    """
    given = Path(path)
    try:
        if (size := given.stat().st_size) > largest:
            raise too_large(printable_path(given), size, largest)
        text = given.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise refused("E351", printable_path(given), "", "the file is no text in UTF-8") from None
    except (OSError, ValueError) as error:
        why = system_reason(error) if isinstance(error, OSError) else str(error)
        raise refused(
            "E357", printable_path(given), "", f"the file cannot be read: {why}", "the path of a file of save_model"
        ) from None
    return parse_model(text, printable_path(given), largest=largest)


def _formulas(reading: Reading, given: Any) -> dict[str, RecordedFormula]:
    if not isinstance(given, dict):
        raise refused("E354", reading.file, "formulas", "they are no object {...}")
    found, length = {}, 0
    for key, entry in given.items():
        try:
            found[key] = formula_of(entry)
        except Unsound as error:
            raise refused("E354", reading.file, f"formulas.{key[:60]}", str(error)) from None
        length += found[key].length
    if length > MOST_STEPS:
        raise refused("E354", reading.file, "formulas", f"they have {length} steps, and at most {MOST_STEPS} are read")
    weight = sum(formula.weight for formula in found.values())
    if weight > MOST_WEIGHT:
        why = f"they take some {weight:.2g} operations with all their differentiations, and at most {MOST_WEIGHT:.2g} are read"
        raise refused("E354", reading.file, "formulas", why)
    return found


def _operations(reading: Reading, given: Any, formulas: Mapping[str, RecordedFormula]) -> tuple[Any, ...]:
    """Formulas with their texts; those that are the same have one function, and are known as the same by it."""
    if not isinstance(given, list):
        raise refused("E354", reading.file, "operations", "they are no list")
    replays = {key: Replay(formula) for key, formula in formulas.items()}
    found: list[Any] = []
    for place, entry in enumerate(given):
        path = f"operations[{place}]"
        if isinstance(entry, dict) and set(entry) == {"known"}:
            if not isinstance(entry["known"], str) or entry["known"] not in KNOWN:
                raise reading.wrong(path, entry["known"], f"a known operation: {', '.join(KNOWN)}")
            found.append(KNOWN[entry["known"]])
            continue
        if not isinstance(entry, dict) or not isinstance(entry.get("formula"), (str, type(None))):
            raise refused("E354", reading.file, path, 'an operation is an object with a "formula"')
        key = entry.get("formula")
        if key is not None and key not in replays:
            raise refused("E354", reading.file, path, f"there is no formula {key[:60]!r}")
        if key is None and not isinstance(entry.get("why"), str):
            raise refused("E354", reading.file, path, 'an operation without a formula says "why"')
        function = Missing(entry["why"]) if key is None else replays[key]
        rest = {name: part for name, part in entry.items() if name not in ("formula", "why")}
        found.append(_operation(reading, rest, function, path) if rest else function)
    return tuple(found)


def _operation(reading: Reading, given: dict[str, Any], function: Any, path: str) -> Op:
    kind = OPERATIONS.get(given["$is"]) if isinstance(given.get("$is"), str) else None
    if kind is None:
        raise reading.wrong(path, given.get("$is"), f"a kind of operation: {', '.join(OPERATIONS)}")
    if kind is Constant and isinstance(function, Replay) and function.formula.arguments:
        raise refused("E354", reading.file, path, "the formula of a constant takes arguments")
    texts = {name: part for name, part in given.items() if name not in ("$is", "active")}
    active = given.get("active", [])
    unknown = set(texts) - {"name", "latex", "source", "note"}
    if unknown or not all(isinstance(part, str) for part in texts.values()) or "name" not in texts:
        raise reading.wrong(path, min(unknown, default=""), "a text of an operation: name, latex, source or note")
    if not isinstance(active, list) or not all(type(mode) is int and mode >= 0 for mode in active):
        raise reading.wrong(path, active, "a list of modes")
    if "active" not in given:
        return kind(function=function, **texts)
    if not hasattr(kind, "active"):
        raise reading.wrong(path, "active", f"a text of {kind.__name__}")
    return kind(function=function, **texts, active=tuple(active))  # type: ignore[call-arg]
