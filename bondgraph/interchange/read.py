"""Reading of model files: build the `Model` from allow-listed records and recorded formulas, or raise a coded error.

Nothing in a file is executed, imported or looked up elsewhere: kinds of records and steps are keys of fixed tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bondgraph.checks import check_model
from bondgraph.errors import ModelError, Place, raise_if_any
from bondgraph.interchange.consistency import inconsistencies
from bondgraph.interchange.fmu.attached import with_libraries
from bondgraph.interchange.formulas import (
    MAX_OPERATIONS,
    MAX_STEPS,
    InvalidFormula,
    RecordedFormula,
    formula_from_json,
    number_from_json,
    shape_from_json,
    size_of,
)
from bondgraph.interchange.recording import MissingFormula, Replay
from bondgraph.interchange.records import BUILTIN, FORMAT, OPERATIONS, RECORDS, VERSION, Field, fields_of, word_of
from bondgraph.interchange.strict_json import MAX_BYTES, file_error, strict_json, too_large
from bondgraph.model.domains import DOMAINS, Domain
from bondgraph.model.model import End, Model
from bondgraph.model.ops import Constant, Op
from bondgraph.output.files import printable_path, system_reason
from bondgraph.output.tex import FILE_COMMANDS
from screws.errors import GeometryError, plural
from screws.numeric_arguments import excerpt
from screws.shapes import Solid


@dataclass
class Decoder:
    """Decoder of a model file: returns records and values of the allowed kinds, or raises E353 with their path."""

    file: str
    operations: tuple[Any, ...] = ()

    def error(self, path: str, content: Any, expected: str) -> ModelError:
        return file_error("E353", self.file, path, f"{excerpt(repr(content))} is not {expected}")

    def record(self, content: Any, path: str, kinds: tuple[type, ...], expected: type | None = None) -> Any:
        """Return a record of one of these kinds; a record without a kind is of the kind `expected`."""
        if not isinstance(content, dict):
            raise self.error(path, content, "a record {...}")
        kind = RECORDS.get(content["$is"]) if isinstance(content.get("$is"), str) else expected if "$is" not in content else None
        if kind is None or kind not in kinds:
            raise self.error(
                path, content.get("$is"), f"a kind of record that is valid here: {', '.join(k.__name__ for k in kinds[:14])}"
            )
        forms, values = fields_of(kind), {}
        words = {name: word_of(kind, name) for name in forms}
        if unknown := set(content) - {"$is", *words.values()}:
            raise self.error(path, min(unknown), f"a field of {kind.__name__}")
        for name, (form, default) in forms.items():
            word = words[name]
            if word in content:
                values[name] = self.value(form, content[word], f"{path}.{word}" if path else word)
            elif default is MISSING:
                raise file_error("E353", self.file, path, f'the record {kind.__name__} needs "{word}"')
        return self._construct(kind, values, path)

    def _construct(self, kind: type, values: Mapping[str, Any], path: str) -> Any:
        if kind is Model:
            values = {**values, "starts": ()}
        try:
            instance = kind(**values)
        except (GeometryError, ModelError) as error:
            raise file_error("E353", self.file, path, str(error).partition("\n")[2] or str(error)) from None
        if isinstance(instance, Solid):
            for name, value in values.items():  # keep the saved value bit for bit: normalising again may round
                object.__setattr__(instance, name, value)
        return instance

    def value(self, form: Field, content: Any, path: str) -> Any:
        if form.form == "either":
            return self.value(_alternative(form, content), content, path)
        if form.form in ("several", "set", "row"):
            return self._entries(form, content, path)
        if form.form == "mapping":
            if not isinstance(content, dict):
                raise self.error(path, content, "an object {...}")
            return {key: self.value(form.of[0], entry, f"{path}.{key[:60]}") for key, entry in content.items()}
        if form.form == "record":
            return self.record(content, path, form.of, form.of[0])
        if form.form == "records":
            return self.record(content, path, form.of)
        if form.form == "literal":
            if content not in form.of:
                raise self.error(path, content, " or ".join(map(repr, form.of)))
            return content
        read, expected = _READERS[form.form]
        try:
            value = read(self, content, path)
        except InvalidFormula as error:
            raise file_error("E353", self.file, path, f"{error}; expected {expected}") from None
        if form.of == ("operation",) and not isinstance(value, Op):
            raise self.error(path, content, "the number of a named operation")
        return value

    def _entries(self, form: Field, content: Any, path: str) -> Any:
        if not isinstance(content, list) or (form.form == "row" and len(content) != len(form.of)):
            raise self.error(path, content, "a list" if form.form != "row" else f"a list of length {len(form.of)}")
        forms = form.of if form.form == "row" else form.of * len(content)
        entries = tuple(
            self.value(each, entry, f"{path}[{k}]") for k, (each, entry) in enumerate(zip(forms, content, strict=True))
        )
        return frozenset(entries) if form.form == "set" else entries

    def anything(self, content: Any, path: str) -> Any:
        if content is None or isinstance(content, (str, bool, int, float)):
            return content
        if isinstance(content, list):
            return [self.anything(entry, f"{path}[{k}]") for k, entry in enumerate(content)]
        tags = [key for key in content if key.startswith("$")]
        inside = content[tags[0]] if len(tags) == 1 else None
        if tags == ["$is"]:
            return self.record(content, path, tuple(RECORDS.values()))
        if tags == ["$number"]:
            return number_from_json(inside)
        if tags == ["$array"]:
            return np.asarray(_numbers(self, inside, path))
        if tags == ["$tuple"] and isinstance(inside, list):
            return tuple(self.anything(entry, f"{path}[{k}]") for k, entry in enumerate(inside))
        if tags == ["$map"] and isinstance(inside, list) and all(_is_entry(entry) for entry in inside):
            return {key: self.anything(entry, f"{path}.{key[:60]}") for key, entry in inside}
        raise self.error(path, content, "a value of a known kind")


def _is_entry(content: Any) -> bool:
    return isinstance(content, list) and len(content) == 2 and isinstance(content[0], str)


def _checked(fits: Callable[[Any], bool], fault: str) -> Callable[[Decoder, Any, str], Any]:
    def reader(_: Decoder, content: Any, path: str) -> Any:
        if not fits(content):
            raise InvalidFormula(fault)
        return content

    return reader


_text = _checked(lambda content: isinstance(content, str), "not a string")
_flag = _checked(lambda content: isinstance(content, bool), "neither true nor false")
_integer = _checked(lambda content: type(content) is int and abs(content) < 2**53, "not a whole number")
_none = _checked(lambda content: content is None, "not null")


def _numbers(_: Decoder, content: Any, path: str) -> Any:
    if not isinstance(content, dict):
        return number_from_json(content)
    if set(content) != {"shape", "entries"} or not isinstance(content["entries"], list):
        raise InvalidFormula('an array has a "shape" and its "entries"')
    shape, entries = shape_from_json(content["shape"]), [number_from_json(entry) for entry in content["entries"]]
    if len(entries) != size_of(shape):
        raise InvalidFormula(f"an array of shape {shape} with {plural(len(entries), 'entry')}")
    return np.array(entries, dtype=None if entries else float).reshape(shape)


def _array(decoder: Decoder, content: Any, path: str) -> np.ndarray:
    return np.asarray(_numbers(decoder, content, path))


def _source_place(_: Decoder, content: Any, path: str) -> Place:
    if not isinstance(content, list) or len(content) != 2 or not isinstance(content[0], str) or type(content[1]) is not int:
        raise InvalidFormula("not a place")
    return Place(content[0], content[1])


def _end(decoder: Decoder, content: Any, path: str) -> End:
    if not isinstance(content, list) or len(content) != 2:
        raise InvalidFormula("not an end of a bond")
    return End(_text(decoder, content[0], path), _text(decoder, content[1], path))


def _domain(decoder: Decoder, content: Any, path: str) -> Domain:
    if not isinstance(content, str):
        return decoder.record(content, path, (Domain,), Domain)
    if content not in DOMAINS:
        raise InvalidFormula(f"no known domain is called {content[:60]!r}")
    return DOMAINS[content]


def _formula(decoder: Decoder, content: Any, path: str) -> Any:
    if type(content) is not int or not 0 <= content < len(decoder.operations):
        raise InvalidFormula("not one of the operations of the file")
    return decoder.operations[content]


_READERS = {
    "text": (_text, "a string"),
    "whole": (_integer, "a whole number"),
    "number": (lambda decoder, content, path: number_from_json(content), "a number"),
    "flag": (_flag, "true or false"),
    "none": (_none, "null"),
    "numbers": (_numbers, "a number or an array"),
    "array": (_array, "an array"),
    "place": (_source_place, "a file and a line"),
    "end": (_end, "an element and its port"),
    "domain": (_domain, "the name of a domain, or a domain"),
    "formula": (_formula, "the number of an operation"),
    "own automaton": (_flag, "true"),
    "anything": (Decoder.anything, "a value"),
}


def _alternative(form: Field, content: Any) -> Field:
    if content is None:
        return next((option for option in form.of if option.form == "none"), form.of[0])
    if isinstance(content, dict) and "shape" not in content:
        structured = next((option for option in form.of if option.form in ("record", "records", "domain", "mapping")), None)
        if structured is not None:
            return structured
    return next((option for option in form.of if option.form not in ("none", "record")), form.of[0])


def parse_model(
    text: str, file: str = "model", *, largest: int = MAX_BYTES, libraries: Mapping[str, str | Path] | None = None
) -> Model:
    """Return the model from a string that `dump_model` wrote, checked like a frozen graph; messages call the string `file`.

    A string of more than `largest` characters is refused. The string contains only the names of FMUs: `libraries` maps the names
    of their blocks to the files to open.

    Raises `ModelError`: E351 for invalid JSON or exceeded limits; E352 for a string that is not a model or has another version;
    E353 for an invalid record or value; E354 for an invalid formula; E355 for inconsistent parts; the errors of `Graph.freeze`;
    E690 to E696 for FMUs that are missing, different or unsuitable.
    """
    content = strict_json(text, file, largest)
    if content.get("format") != FORMAT:
        raise file_error("E352", file, "", f'the file is not a model: its "format" is not "{FORMAT}"')
    if type(content.get("version")) is not int or content["version"] != VERSION:
        why = f"its version is {str(content.get('version'))[:20]}, but this program reads version {VERSION}"
        raise file_error("E352", file, "", why, "the program that wrote it, or a newer one")
    parts = {"format", "version", "name", "starts", "left out", "model", "operations", "formulas"}
    if missing := {"model", "operations", "formulas"} - set(content):
        raise file_error("E352", file, "", f'it has no "{min(missing)}"')
    if unknown := set(content) - parts:
        raise file_error("E352", file, "", f"it has an unknown part {min(unknown)[:60]!r}")
    decoder = Decoder(file)
    decoder.operations = _operations(decoder, content["operations"], _formulas(decoder, content["formulas"]))
    model = decoder.record(content["model"], "", (Model,), Model)
    elements = dict(model.elements)
    for path, element in model.elements.items():
        if element.automaton:  # the model's automata contain it under the same path
            elements[path] = replace(element, automaton=model.automata.get(path))
    model = replace(model, elements=elements)
    raise_if_any(file, inconsistencies(model))
    raise_if_any(file, check_model(model))
    return with_libraries(model, libraries or {}, file)


def load_model(path: str | Path, *, largest: int = MAX_BYTES, libraries: Mapping[str, str | Path] | None = None) -> Model:
    """Return the model from a file that `save_model` wrote, for `compile_model`, `simulate` and everything else that takes a
    model.

    A file of more than `largest` bytes is refused: raise the limit for a large model from a source that you trust. A file
    contains only the names of FMUs: `libraries={"pid": "pid.fmu"}` opens the file for the block "pid".

    Raises `ModelError` E357 if the file cannot be read, and the errors of `parse_model`.
    """
    source = Path(path)
    try:
        if (size := source.stat().st_size) > largest:
            raise too_large(printable_path(source), size, largest)
        text = source.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise file_error("E351", printable_path(source), "", "the file is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        why = system_reason(error) if isinstance(error, OSError) else str(error)
        raise file_error(
            "E357", printable_path(source), "", f"the file cannot be read: {why}", "the path of a file written by save_model"
        ) from None
    return parse_model(text, printable_path(source), largest=largest, libraries=libraries)


def _formulas(decoder: Decoder, content: Any) -> dict[str, RecordedFormula]:
    if not isinstance(content, dict):
        raise file_error("E354", decoder.file, "formulas", "they are not an object {...}")
    formulas, length = {}, 0
    for key, entry in content.items():
        try:
            formulas[key] = formula_from_json(entry)
        except InvalidFormula as error:
            raise file_error("E354", decoder.file, f"formulas.{key[:60]}", str(error)) from None
        length += formulas[key].step_count
    if length > MAX_STEPS:
        raise file_error("E354", decoder.file, "formulas", f"they have {length} steps; the limit is {MAX_STEPS}")
    weight = sum(formula.operation_count for formula in formulas.values())
    if weight > MAX_OPERATIONS:
        why = f"they take about {weight:.2g} operations, including all differentiations; the limit is {MAX_OPERATIONS:.2g}"
        raise file_error("E354", decoder.file, "formulas", why)
    return formulas


def _operations(decoder: Decoder, content: Any, formulas: Mapping[str, RecordedFormula]) -> tuple[Any, ...]:
    """Return operations (formulas with their names and LaTeX); equal formulas share one function, so that later stages detect
    equality."""
    if not isinstance(content, list):
        raise file_error("E354", decoder.file, "operations", "they are not a list")
    replays = {key: Replay(formula) for key, formula in formulas.items()}
    operations: list[Any] = []
    for index, entry in enumerate(content):
        path = f"operations[{index}]"
        if isinstance(entry, dict) and set(entry) == {"known"}:
            if not isinstance(entry["known"], str) or entry["known"] not in BUILTIN:
                raise decoder.error(path, entry["known"], f"a known operation: {', '.join(BUILTIN)}")
            operations.append(BUILTIN[entry["known"]])
            continue
        if not isinstance(entry, dict) or not isinstance(entry.get("formula"), (str, type(None))):
            raise file_error("E354", decoder.file, path, 'an operation is an object with a "formula"')
        key = entry.get("formula")
        if key is not None and key not in replays:
            raise file_error("E354", decoder.file, path, f"there is no formula {key[:60]!r}")
        if key is None and not isinstance(entry.get("why"), str):
            raise file_error("E354", decoder.file, path, 'an operation without a formula needs a "why"')
        function = MissingFormula(entry["why"]) if key is None else replays[key]
        texts = {name: part for name, part in entry.items() if name not in ("formula", "why")}
        operations.append(_operation(decoder, texts, function, path) if texts else function)
    return tuple(operations)


def _operation(decoder: Decoder, content: dict[str, Any], function: Any, path: str) -> Op:
    kind = OPERATIONS.get(content["$is"]) if isinstance(content.get("$is"), str) else None
    if kind is None:
        raise decoder.error(path, content.get("$is"), f"a kind of operation: {', '.join(OPERATIONS)}")
    if kind is Constant and isinstance(function, Replay) and function.formula.arguments:
        raise file_error("E354", decoder.file, path, "the formula of a constant takes arguments")
    texts = {name: part for name, part in content.items() if name not in ("$is", "active")}
    active = content.get("active", [])
    unknown = set(texts) - {"name", "latex", "source", "note"}
    if unknown or not all(isinstance(part, str) for part in texts.values()) or "name" not in texts:
        raise decoder.error(path, min(unknown, default=""), "a string of an operation: name, latex, source or note")
    if command := FILE_COMMANDS.search(" ".join(texts.values())):
        raise file_error("E354", decoder.file, path, f"its LaTeX has the command {command[0]}, which may read or write files")
    if not isinstance(active, list) or not all(type(mode) is int and mode >= 0 for mode in active):
        raise decoder.error(path, active, "a list of modes")
    if "active" not in content:
        return kind(function=function, **texts)
    if not hasattr(kind, "active"):
        raise decoder.error(path, "active", f"a field of {kind.__name__}")
    return kind(function=function, **texts, active=tuple(active))  # type: ignore[call-arg]
