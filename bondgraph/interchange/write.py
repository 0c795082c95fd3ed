"""Writing of model files: records are written field by field, each formula once as steps, and computed start values as
numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.causality.balances import with_balances
from bondgraph.compile.changes import changed_start
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, equations
from bondgraph.compile.references import with_references
from bondgraph.errors import ModelError, Place, ScrewbondError, no_model, refusal
from bondgraph.graph.builder import Graph
from bondgraph.interchange.consistency import MAX_DIMENSION, FormulaOwner, argument_shapes, result_count
from bondgraph.interchange.formulas import (
    MAX_STEPS,
    InvalidFormula,
    RecordedFormula,
    formula_from_json,
    number_to_json,
    shape_from_json,
)
from bondgraph.interchange.recording import MissingFormula, record_formula
from bondgraph.interchange.records import BUILTIN, FORMAT, OPERATIONS, RECORDS, VERSION, Field, fields_of, is_default, word_of
from bondgraph.interchange.strict_json import SURROGATE
from bondgraph.model import laws
from bondgraph.model.automata import Automaton
from bondgraph.model.domains import DOMAINS, Domain
from bondgraph.model.element import Element
from bondgraph.model.model import Model, Visible
from bondgraph.model.ops import Op
from bondgraph.output.files import write_text


class NotStorable(Exception):
    """Error for a value in the data of pictures that cannot be stored in a file."""


@dataclass
class Encoder:
    owner: FormulaOwner
    system: System
    operations: list[dict[str, Any]] = field(default_factory=list)
    indices: dict[str, int] = field(default_factory=dict)
    formulas: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[Any, str] = field(default_factory=dict)
    """Key of each formula, by the id of its function, shapes of arguments and number of results."""
    functions: list[Any] = field(default_factory=list)
    """Functions in `keys`, kept alive because their ids are compared."""

    def record(self, value: Any, expected: type | None = None) -> dict[str, Any]:
        kind: type = type(value)
        if RECORDS.get(kind.__name__) is not kind:
            raise self.unknown_record(value)
        fields: dict[str, Any] = {} if kind is expected else {"$is": kind.__name__}
        for name, (form, default) in fields_of(kind).items():
            content = getattr(value, name)
            if not is_default(content, default):
                fields[word_of(kind, name)] = self.value(form, content, value, name)
        return fields

    def value(self, form: Field, content: Any, record: Any, name: str, index: int = 0) -> Any:
        if form.form == "either":
            return self.value(_alternative(form, content), content, record, name, index)
        if form.form == "several":
            return [self.value(form.of[0], entry, record, name, k) for k, entry in enumerate(content)]
        if form.form == "row":
            return [self.value(part, entry, record, name, index) for part, entry in zip(form.of, content, strict=True)]
        if form.form == "set":
            return sorted(self.value(form.of[0], entry, record, name) for entry in content)
        if form.form == "mapping":
            return self._mapping(form, content, record, name)
        if form.form in ("record", "records"):
            return self.record(content, form.of[0] if form.form == "record" else None)
        if form.form == "formula":
            return self.operation(content, record, name, index)
        try:
            return _WRITERS[form.form](self, content)
        except InvalidFormula as error:
            raise self.error(f"its {name} cannot be stored: {error}", "at most 3 dimensions and 100000 entries") from None

    def _mapping(self, form: Field, content: Mapping[str, Any], record: Any, name: str) -> dict[str, Any]:
        if not (isinstance(record, Model) and name in ("elements", "automata")):
            return {key: self.value(form.of[0], entry, record, name) for key, entry in content.items()}
        entries = {}
        for path, entry in content.items():
            self.owner.path = path
            entries[path] = self.value(form.of[0], entry, record, name)
        return entries

    def operation(self, value: Any, record: Any, name: str, index: int) -> int:
        arguments = self.owner.arguments(record, name, index)
        if arguments is None:
            raise self.unknown_record(record)
        entry: dict[str, Any] = {}
        if word := next((word for word, builtin in BUILTIN.items() if builtin is value), None):
            return self._index({"known": word})
        if isinstance(value, Op):
            if OPERATIONS.get(type(value).__name__) is not type(value):
                raise self.unknown_record(value)
            entry |= {"$is": type(value).__name__, "name": value.name}
            texts = {part: getattr(value, part, None) for part in ("latex", "source", "note", "active")}
            entry |= {part: list(text) if isinstance(text, tuple) else text for part, text in texts.items() if text}
        function = value.function if isinstance(value, Op) else value
        shapes = argument_shapes(self.system, record, name, arguments)
        entry |= self.formula(function, shapes, result_count(record), name)
        return self._index(entry)

    def _index(self, entry: dict[str, Any]) -> int:
        text = json.dumps(entry)
        if text not in self.indices:
            self.indices[text] = len(self.operations)
            self.operations.append(entry)
        return self.indices[text]

    def formula(self, function: Any, shapes: Sequence[tuple[int, ...]] | None, results: int, name: str) -> dict[str, Any]:
        """Return {"formula": key}; the key is None, with the reason under "why", if the formula cannot be recorded but the model
        does not need it."""
        if shapes is None:
            return {"formula": None, "why": "the shapes of its arguments are unknown"}
        if isinstance(function, MissingFormula):
            return {"formula": None, "why": function.why}
        key = (id(function), tuple(shapes), results)
        if key not in self.keys:
            try:
                self.keys[key] = self._store(record_formula(function, shapes, results))
            except (ScrewbondError, TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
                if any(statement.op.function is function for statement in self.system.statements):  # the model needs it
                    raise self.unrecordable(name, error) from error
                return {"formula": None, "why": f"{type(error).__name__}: {error}"}
            self.functions.append(function)
        return {"formula": self.keys[key]}

    def _store(self, formula: RecordedFormula) -> str:
        """Store a formula and return its key; raise `InvalidFormula` if no reader would accept it."""
        content = formula.to_json()
        formula_from_json(content)
        key = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
        self.formulas[key] = content
        return key

    def unknown_record(self, value: Any) -> ModelError:
        kind = type(value).__name__
        why = f"it contains a {kind}, but a file can store only records of the language"
        return self.error(why, "one of the package's elements with formulas that do the same")

    def unrecordable(self, name: str, error: Exception) -> ModelError:
        message = str(error) if isinstance(error, InvalidFormula) else f"{type(error).__name__}: {error}"
        why = f"its formula {name} cannot be written as steps: {message}"
        return self.error(why, "a formula with functions from screws.scalars, without branches on values")

    def error(self, why: str, cure: str) -> ModelError:
        path, model = self.owner.path, self.owner.model
        part = model.elements.get(path) or model.automata.get(path)
        what = f'automaton "{path}"' if isinstance(part, Automaton) else f'{part.kind} "{path}"' if part else "the model"
        return refusal("E350", f"{what} cannot be saved", cure, about=model.name, why=why, places=(part.place if part else None,))

    def anything(self, value: Any) -> Any:
        if value is None or isinstance(value, (str, bool)):
            return value
        if isinstance(value, (int, float, np.number)):
            number = number_to_json(value.item() if isinstance(value, np.number) else value)
            return {"$number": number} if isinstance(number, str) else number
        if isinstance(value, np.ndarray) and value.dtype != object:
            return {"$array": _numbers(self, value)}
        if isinstance(value, tuple):
            return {"$tuple": [self.anything(entry) for entry in value]}
        if isinstance(value, list):
            return [self.anything(entry) for entry in value]
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {"$map": [[key, self.anything(entry)] for key, entry in value.items()]}
        if is_dataclass(value) and RECORDS.get(type(value).__name__) is type(value):
            return self.record(value)
        raise NotStorable(type(value).__name__)


def _numbers(_: Encoder, value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        array = np.asarray(value, dtype=float)
    shape_from_json(list(array.shape))
    if not array.shape:
        return number_to_json(array.item()) if array.dtype.kind != "b" else int(array)
    entries = [number_to_json(entry) for entry in (array * 1 if array.dtype.kind == "b" else array).ravel().tolist()]
    return {"shape": list(array.shape), "entries": entries}


_WRITERS = {
    "text": lambda encoder, value: str(value),
    "literal": lambda encoder, value: value,
    "flag": lambda encoder, value: bool(value),
    "none": lambda encoder, value: None,
    "whole": lambda encoder, value: int(value),
    "number": _numbers,
    "numbers": _numbers,
    "array": _numbers,
    "place": lambda encoder, value: [Path(value.file).name, value.line],
    "end": lambda encoder, value: [value.element, value.port],
    "domain": lambda encoder, value: value.name if value in DOMAINS.values() else encoder.record(value, Domain),
    "own automaton": lambda encoder, value: True,
    "anything": Encoder.anything,
}
_FITS: Mapping[str, Callable[[Field, Any], bool]] = {
    "none": lambda option, value: value is None,
    "record": lambda option, value: type(value) is option.of[0],
    "place": lambda option, value: isinstance(value, Place),
    "domain": lambda option, value: isinstance(value, Domain),
    "own automaton": lambda option, value: isinstance(value, Automaton),
}
"""Test for the values of a form; if no test succeeds, the first form without a test applies."""


def _alternative(form: Field, value: Any) -> Field:
    for option in form.of:
        if option.form in _FITS and _FITS[option.form](option, value):
            return option
    return next(option for option in form.of if option.form not in ("none", "record"))


def with_fixed_starts(model: Model, system: System) -> Model:
    """Return the model with computed start values as fixed numbers; without start functions, the model is returned unchanged.

    Raises `ModelError`, as compilation does, if the functions are inconsistent.
    """
    if not model.starts:
        return model
    x, m, _ = changed_start(model, system, {}, {})
    states, offset = dict[str, np.ndarray](), 0
    for state in system.states:
        size = int(np.size(state.initial))
        states[state.name] = x[offset : offset + size].reshape(np.shape(state.initial))
        offset += size
    modes = dict(zip(system.modes, m, strict=True))
    computed = {system.resolve(name) if name not in model.automata else name for start in model.starts for name in start.results}
    elements, automata = dict(model.elements), dict(model.automata)
    for name in computed:
        if name in automata:
            automata[name] = replace(automata[name], initial=automata[name].states[int(modes[f"{name}.mode"])])
        elif name in states:
            path, _, local = name.rpartition(".")
            elements[path] = with_start(elements[path], {local: states[name]})
    return replace(model, elements=elements, automata=automata, starts=())


def with_start(element: Element, values: Mapping[str, np.ndarray]) -> Element:
    law = element.law

    def restarted(name: str, spec: laws.StateSpec) -> laws.StateSpec:
        return replace(spec, initial=values[name]) if name in values else spec

    changed: Any = law
    if isinstance(law, laws.Storage):
        changed = replace(law, spec=restarted(law.state, law.spec))
    elif isinstance(law, laws.InertialField):
        changed = replace(law, position=restarted("q", law.position), start=restarted(law.motion, law.start))
    elif isinstance(law, laws.IdealConstraint):
        noted = {name: restarted(name, spec) for name, spec in law.noted.items()}
        changed = replace(law, start=restarted("h", law.start), noted=noted)
    elif isinstance(law, laws.SignalBlock):
        changed = replace(law, kept={name: restarted(name, spec) for name, spec in law.kept.items()})
    return replace(element, law=changed)


def dump_model(model: Compilable) -> str:
    """Return a `Graph`, or a frozen or compiled model, as text for `parse_model`: JSON, with formulas as steps that reading does
    not execute.

    A model produces the same text in every process. Shapes in pictures that a file cannot hold are listed under "left out".
    Computed start values are written as numbers ("starts": "fixed"), which no longer depend on parameters.

    Raises `ModelError` E350 if the model cannot be saved; E100 if `model` is not a model; and the errors of `freeze` and of the
    derivation of equations.
    """
    if not isinstance(model, (Graph, Model, Compiled)):
        raise no_model(model, "save_model")
    flat = model.model if isinstance(model, Compiled) else model.freeze() if isinstance(model, Graph) else model
    system = model.system if isinstance(model, Compiled) else equations(*with_balances(with_references(flat)))
    saved = with_fixed_starts(flat, system)
    encoder = Encoder(FormulaOwner(saved), system)
    shown, missing = _visible_records(encoder, saved.visible)
    content = encoder.record(replace(saved, visible=()), Model)
    if shown:
        content["visible"] = shown
    length = sum(_step_count(formula["steps"]) for formula in encoder.formulas.values())
    if length > MAX_STEPS:
        cure = "the script that builds the model instead of a file"
        why = f"its formulas have {length} steps; the limit of a file is {MAX_STEPS}"
        raise refusal("E350", "the model cannot be saved", cure, about=flat.name, why=why, places=())
    if widest := next((bond for bond in saved.bonds if bond.dimension > MAX_DIMENSION), None):
        why = f'the bond "{widest.name}" has dimension {widest.dimension}; the limit of a file is {MAX_DIMENSION}'
        cure = "several bonds of smaller dimension"
        raise refusal("E350", "the model cannot be saved", cure, about=flat.name, why=why, places=())
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": flat.name}
    document |= {"starts": "fixed"} if flat.starts else {}
    document |= {"left out": missing} if missing else {}
    text = _json_text(document | {"model": content, "operations": encoder.operations, "formulas": encoder.formulas})
    if surrogate := SURROGATE.search(text):
        why = f"it contains a string with an unpaired surrogate: {text[max(surrogate.start() - 20, 0) : surrogate.end()]!a}"
        raise refusal("E350", "the model cannot be saved", "valid Unicode text", about=flat.name, why=why, places=())
    return text


def save_model(model: Compilable, path: str | Path) -> Path:
    """Write a model to a file, atomically; see `dump_model` for its content.

    Raises `ModelError` as `dump_model` does; `FileError` E414 if the file cannot be written.
    """
    return write_text(path, dump_model(model))


def digest(text: str) -> str:
    """Return a short hash of a model file, the same in every process: the key for a cache of compiled models."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _visible_records(encoder: Encoder, visible: Sequence[Visible]) -> tuple[list[Any], list[str]]:
    records, missing = [], []
    for entry in visible:
        try:
            records.append(encoder.record(entry, Visible))
        except NotStorable as kind:
            missing.append(f'{entry.kind} "{entry.path}" in pictures: its shape contains a {kind}')
    return records, missing


def _step_count(steps: Sequence[Any]) -> int:
    return sum(1 + (_step_count(step[3]) if step[0] == "slopes" else 0) for step in steps)


def _json_text(document: Mapping[str, Any]) -> str:
    """Return JSON with one line for each part of a model, so that people and tools can compare files."""

    def text(value: Any, depth: int) -> str:
        if depth == 0 or not value or not isinstance(value, (dict, list)):
            return json.dumps(value, allow_nan=False, ensure_ascii=False)
        space = "\n" + " " * (4 - depth)
        if isinstance(value, list):
            return "[" + ",".join(space + text(entry, 0) for entry in value) + space[:-1] + "]"
        parts = (f"{space}{json.dumps(key, ensure_ascii=False)}: {text(entry, depth - 1)}" for key, entry in value.items())
        return "{" + ",".join(parts) + space[:-1] + "}"

    return text(document, 3) + "\n"
