"""What a file of a model is made of: records, values and formulas in; the JSON of each out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.errors import ModelError, Place, ScrewbondError, refusal
from bondgraph.interchange.formulas import RecordedFormula, Unsound, formula_of, shape_of, spelled
from bondgraph.interchange.recording import recorded
from bondgraph.interchange.records import KNOWN, OPERATIONS, RECORDS, Field, fields_of, is_default, word_of
from bondgraph.interchange.replay import Missing
from bondgraph.interchange.shapes import Owner, outs_of, shapes_of
from bondgraph.model.automata import Automaton
from bondgraph.model.domains import DOMAINS, Domain
from bondgraph.model.model import Model
from bondgraph.model.ops import Op


class Unkept(Exception):
    """Something that a picture reads and no file holds."""


@dataclass
class Transcript:
    """A file while it is written."""

    owner: Owner
    system: System
    operations: list[dict[str, Any]] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    formulas: dict[str, dict[str, Any]] = field(default_factory=dict)
    known: dict[Any, str] = field(default_factory=dict)
    """(function, shapes, results) -> key of its formula."""
    held: list[Any] = field(default_factory=list)
    """The functions of `known`, which are told apart by where they are."""

    def record(self, value: Any, expected: type | None = None) -> dict[str, Any]:
        """A record by its fields, without those that are as by default; its kind unless it is the one expected."""
        kind: type = type(value)
        if RECORDS.get(kind.__name__) is not kind:
            raise self.unknown(value)
        found: dict[str, Any] = {} if kind is expected else {"$is": kind.__name__}
        for name, (form, default) in fields_of(kind).items():
            content = getattr(value, name)
            if not is_default(content, default):
                found[word_of(kind, name)] = self.value(form, content, value, name)
        return found

    def value(self, form: Field, given: Any, record: Any, name: str, index: int = 0) -> Any:
        """A value of a field of a record as it stands in the file."""
        if form.form == "either":
            return self.value(_alternative(form, given), given, record, name, index)
        if form.form == "several":
            return [self.value(form.of[0], entry, record, name, place) for place, entry in enumerate(given)]
        if form.form == "row":
            return [self.value(part, entry, record, name, index) for part, entry in zip(form.of, given, strict=True)]
        if form.form == "set":
            return sorted(self.value(form.of[0], entry, record, name) for entry in given)
        if form.form == "mapping":
            return self._mapping(form, given, record, name)
        if form.form in ("record", "records"):
            return self.record(given, form.of[0] if form.form == "record" else None)
        if form.form == "formula":
            return self.operation(given, record, name, index)
        try:
            return _WRITERS[form.form](self, given)
        except Unsound as error:
            raise self.refusal(f"its {name} holds {error}", "a smaller one") from None

    def _mapping(self, form: Field, given: Mapping[str, Any], record: Any, name: str) -> dict[str, Any]:
        if not (isinstance(record, Model) and name in ("elements", "automata")):
            return {key: self.value(form.of[0], entry, record, name) for key, entry in given.items()}
        found = {}
        for path, entry in given.items():
            self.owner.path = path
            found[path] = self.value(form.of[0], entry, record, name)
        return found

    def operation(self, given: Any, record: Any, name: str, index: int) -> int:
        """The place of a formula with its text among the operations of the file."""
        arguments = self.owner.arguments(record, name, index)
        if arguments is None:
            raise self.unknown(record)
        entry: dict[str, Any] = {}
        if isinstance(given, Op) and KNOWN.get(given.name) is given:
            return self._placed({"known": given.name})
        if isinstance(given, Op):
            if OPERATIONS.get(type(given).__name__) is not type(given):
                raise self.unknown(given)
            entry |= {"$is": type(given).__name__, "name": given.name}
            texts = {part: getattr(given, part, None) for part in ("latex", "source", "note", "active")}
            entry |= {part: list(text) if isinstance(text, tuple) else text for part, text in texts.items() if text}
        function = given.function if isinstance(given, Op) else given
        shapes = shapes_of(self.system, record, name, arguments)
        entry |= self.formula(function, shapes, outs_of(record), name)
        return self._placed(entry)

    def _placed(self, entry: dict[str, Any]) -> int:
        text = json.dumps(entry)
        if text not in self.places:
            self.places[text] = len(self.operations)
            self.operations.append(entry)
        return self.places[text]

    def formula(self, function: Any, shapes: Sequence[tuple[int, ...]] | None, results: int, name: str) -> dict[str, Any]:
        """Key of a formula in the file; or none, and why, of one that nothing needs as the model is now."""
        if shapes is None:
            return {"formula": None, "why": "the shapes of its arguments are not known"}
        if isinstance(function, Missing):
            return {"formula": None, "why": function.why}
        key = (id(function), tuple(shapes), results)
        if key not in self.known:
            try:
                self.known[key] = self._stored(recorded(function, shapes, results))
            except (ScrewbondError, TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
                if self.is_needed(function):
                    raise self.unrecordable(name, error) from error
                return {"formula": None, "why": f"{type(error).__name__}: {error}"}
            self.held.append(function)
        return {"formula": self.known[key]}

    def is_needed(self, function: Any) -> bool:
        """Whether the equations of the model use a function."""
        return any(statement.op.function is function for statement in self.system.statements)

    def _stored(self, made: RecordedFormula) -> str:
        """Key of a formula that is stored; `Unsound` for one that no reader would take."""
        content = made.as_json()
        formula_of(content)
        key = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
        self.formulas[key] = content
        return key

    def unknown(self, given: Any) -> ModelError:
        """E350 for a record that no file holds."""
        kind = type(given).__name__
        why = f"it holds a {kind}, and a file has the records of the language alone"
        return self.refusal(why, "what the element does as one of the package's elements, with formulas of its own")

    def unrecordable(self, name: str, error: Exception) -> ModelError:
        """E350 for a formula that does what no step does."""
        said = str(error) if isinstance(error, Unsound) else f"{type(error).__name__}: {error}"
        why = f"its formula {name} cannot be written as steps: {said}"
        return self.refusal(why, "a formula of the functions of screws.scalars, without branches on values")

    def refusal(self, why: str, cure: str) -> ModelError:
        """E350 for the element or automaton that is being written."""
        path, model = self.owner.path, self.owner.model
        made = model.elements.get(path) or model.automata.get(path)
        what = f'automaton "{path}"' if isinstance(made, Automaton) else f'{made.kind} "{path}"' if made else "the model"
        return refusal("E350", f"{what} cannot be saved", cure, about=model.name, why=why, places=(made.place if made else None,))

    def anything(self, given: Any) -> Any:
        """A value of any kind, with its kind where JSON has none."""
        if given is None or isinstance(given, (str, bool)):
            return given
        if isinstance(given, (int, float, np.number)):
            number = spelled(given.item() if isinstance(given, np.number) else given)
            return {"$number": number} if isinstance(number, str) else number
        if isinstance(given, np.ndarray) and given.dtype != object:
            return {"$array": _numbers(self, given)}
        if isinstance(given, tuple):
            return {"$tuple": [self.anything(entry) for entry in given]}
        if isinstance(given, list):
            return [self.anything(entry) for entry in given]
        if isinstance(given, Mapping) and all(isinstance(key, str) for key in given):
            return {"$map": [[key, self.anything(entry)] for key, entry in given.items()]}
        if is_dataclass(given) and RECORDS.get(type(given).__name__) is type(given):
            return self.record(given)
        raise Unkept(type(given).__name__)


def _numbers(_: Transcript, given: Any) -> Any:
    """A number; or an array, as its shape and its entries in row-major order; `Unsound` for one that no reader would take."""
    array = np.asarray(given)
    if array.dtype.kind not in "fiub":
        array = np.asarray(given, dtype=float)
    shape_of(list(array.shape))
    if not array.shape:
        return spelled(array.item()) if array.dtype.kind != "b" else int(array)
    entries = [spelled(entry) for entry in (array * 1 if array.dtype.kind == "b" else array).ravel().tolist()]
    return {"shape": list(array.shape), "entries": entries}


_WRITERS = {
    "text": lambda writing, given: str(given),
    "literal": lambda writing, given: given,
    "flag": lambda writing, given: bool(given),
    "none": lambda writing, given: None,
    "whole": lambda writing, given: int(given),
    "number": _numbers,
    "numbers": _numbers,
    "array": _numbers,
    "place": lambda writing, given: [Path(given.file).name, given.line],
    "end": lambda writing, given: [given.element, given.port],
    "domain": lambda writing, given: given.name if DOMAINS.get(given.name) == given else writing.record(given, Domain),
    "own automaton": lambda writing, given: True,
    "anything": Transcript.anything,
}
"""How values of simple forms are written."""


_FITS: Mapping[str, Callable[[Field, Any], bool]] = {
    "none": lambda option, given: given is None,
    "record": lambda option, given: type(given) is option.of[0],
    "place": lambda option, given: isinstance(given, Place),
    "domain": lambda option, given: isinstance(given, Domain),
    "own automaton": lambda option, given: isinstance(given, Automaton),
}
"""Which values have a form, of forms that a type tells; of several, one without such a type takes what is left."""


def _alternative(form: Field, given: Any) -> Field:
    """The one of several forms that a value has."""
    for option in form.of:
        if option.form in _FITS and _FITS[option.form](option, given):
            return option
    return next(option for option in form.of if option.form not in ("none", "record"))
