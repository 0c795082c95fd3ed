"""What stands in a file of a model in; records and values out, each of an allowed kind, or E353 with its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from typing import Any

import numpy as np

from bondgraph.errors import ModelError, Place
from bondgraph.interchange.formulas import Unsound, number_of, shape_of, size_of
from bondgraph.interchange.records import RECORDS, Field, fields_of, word_of
from bondgraph.interchange.strict import refused
from bondgraph.model.domains import DOMAINS, Domain
from bondgraph.model.model import End, Model
from bondgraph.model.ops import Op
from screws.errors import GeometryError
from screws.shapes import Solid


@dataclass
class Reading:
    """A file while it is read."""

    file: str
    operations: tuple[Any, ...] = ()

    def wrong(self, path: str, given: Any, wanted: str) -> ModelError:
        """E353 for a value that is not what it must be."""
        text = repr(given)
        return refused("E353", self.file, path, f"{text if len(text) < 60 else text[:56] + ' ...'} is not {wanted}")

    def record(self, given: Any, path: str, kinds: tuple[type, ...], expected: type | None = None) -> Any:
        """A record of one of these kinds; `expected` where its kind need not be written."""
        if not isinstance(given, dict):
            raise self.wrong(path, given, "a record {...}")
        kind = RECORDS.get(given["$is"]) if isinstance(given.get("$is"), str) else expected if "$is" not in given else None
        if kind is None or kind not in kinds:
            raise self.wrong(
                path, given.get("$is"), f"a kind of record that may stand here: {', '.join(k.__name__ for k in kinds[:14])}"
            )
        known, found = fields_of(kind), {}
        words = {name: word_of(kind, name) for name in known}
        if unknown := set(given) - {"$is", *words.values()}:
            raise self.wrong(path, min(unknown), f"a field of {kind.__name__}")
        for name, (form, default) in known.items():
            word = words[name]
            if word in given:
                found[name] = self.value(form, given[word], f"{path}.{word}" if path else word)
            elif default is MISSING:
                raise refused("E353", self.file, path, f'a {kind.__name__} needs "{word}"')
        return self._made(kind, found, path)

    def _made(self, kind: type, found: Mapping[str, Any], path: str) -> Any:
        if kind is Model:
            found = {**found, "starts": ()}
        try:
            made = kind(**found)
        except (GeometryError, ModelError) as error:
            raise refused("E353", self.file, path, str(error).partition("\n")[2] or str(error)) from None
        if isinstance(made, Solid):
            for name, value in found.items():  # as they were saved, to the last bit: what makes them unit again may round
                object.__setattr__(made, name, value)
        return made

    def value(self, form: Field, given: Any, path: str) -> Any:
        """A value of a form."""
        if form.form == "either":
            return self.value(_alternative(form, given), given, path)
        if form.form in ("several", "set", "row"):
            return self._several(form, given, path)
        if form.form == "mapping":
            if not isinstance(given, dict):
                raise self.wrong(path, given, "an object {...}")
            return {key: self.value(form.of[0], entry, f"{path}.{key[:60]}") for key, entry in given.items()}
        if form.form == "record":
            return self.record(given, path, form.of, form.of[0])
        if form.form == "records":
            return self.record(given, path, form.of)
        if form.form == "literal":
            if given not in form.of:
                raise self.wrong(path, given, " or ".join(map(repr, form.of)))
            return given
        read, wanted = _READERS[form.form]
        try:
            found = read(self, given, path)
        except Unsound as error:
            raise refused("E353", self.file, path, f"{error}; what is needed is {wanted}") from None
        if form.of == ("operation",) and not isinstance(found, Op):
            raise self.wrong(path, given, "the number of an operation that has a name of its own")
        return found

    def _several(self, form: Field, given: Any, path: str) -> Any:
        if not isinstance(given, list) or (form.form == "row" and len(given) != len(form.of)):
            raise self.wrong(path, given, "a list" if form.form != "row" else f"a list of {len(form.of)}")
        forms = form.of if form.form == "row" else form.of * len(given)
        found = tuple(self.value(each, entry, f"{path}[{k}]") for k, (each, entry) in enumerate(zip(forms, given, strict=True)))
        return frozenset(found) if form.form == "set" else found

    def anything(self, given: Any, path: str) -> Any:
        """A value of any kind, as `Transcript.anything` writes it."""
        if given is None or isinstance(given, (str, bool, int, float)):
            return given
        if isinstance(given, list):
            return [self.anything(entry, f"{path}[{k}]") for k, entry in enumerate(given)]
        tags = [key for key in given if key.startswith("$")]
        inside = given[tags[0]] if len(tags) == 1 else None
        if tags == ["$is"]:
            return self.record(given, path, tuple(RECORDS.values()))
        if tags == ["$number"]:
            return number_of(inside)
        if tags == ["$array"]:
            return np.asarray(_numbers(self, inside, path))
        if tags == ["$tuple"] and isinstance(inside, list):
            return tuple(self.anything(entry, f"{path}[{k}]") for k, entry in enumerate(inside))
        if tags == ["$map"] and isinstance(inside, list) and all(_is_entry(entry) for entry in inside):
            return {key: self.anything(entry, f"{path}.{key[:60]}") for key, entry in inside}
        raise self.wrong(path, given, "a value of a known kind")


def _is_entry(given: Any) -> bool:
    return isinstance(given, list) and len(given) == 2 and isinstance(given[0], str)


def _text(_: Reading, given: Any, path: str) -> str:
    if not isinstance(given, str):
        raise Unsound("no text")
    return given


def _whole(_: Reading, given: Any, path: str) -> int:
    if type(given) is not int or abs(given) >= 2**53:
        raise Unsound("no whole number")
    return given


def _flag(_: Reading, given: Any, path: str) -> bool:
    if not isinstance(given, bool):
        raise Unsound("neither true nor false")
    return given


def _none(_: Reading, given: Any, path: str) -> None:
    if given is not None:
        raise Unsound("not null")


def _numbers(_: Reading, given: Any, path: str) -> Any:
    if not isinstance(given, dict):
        return number_of(given)
    if set(given) != {"shape", "entries"} or not isinstance(given["entries"], list):
        raise Unsound('an array has a "shape" and its "entries"')
    shape, entries = shape_of(given["shape"]), [number_of(entry) for entry in given["entries"]]
    if len(entries) != size_of(shape):
        raise Unsound(f"an array of shape {shape} with {len(entries)} entries")
    return np.array(entries, dtype=None if entries else float).reshape(shape)


def _array(reading: Reading, given: Any, path: str) -> np.ndarray:
    return np.asarray(_numbers(reading, given, path))


def _place(_: Reading, given: Any, path: str) -> Place:
    if not isinstance(given, list) or len(given) != 2 or not isinstance(given[0], str) or type(given[1]) is not int:
        raise Unsound("no place")
    return Place(given[0], given[1])


def _end(reading: Reading, given: Any, path: str) -> End:
    if not isinstance(given, list) or len(given) != 2:
        raise Unsound("no end of a bond")
    return End(_text(reading, given[0], path), _text(reading, given[1], path))


def _domain(reading: Reading, given: Any, path: str) -> Domain:
    if not isinstance(given, str):
        return reading.record(given, path, (Domain,), Domain)
    if given not in DOMAINS:
        raise Unsound(f"no known domain is called {given[:60]!r}")
    return DOMAINS[given]


def _formula(reading: Reading, given: Any, path: str) -> Any:
    if type(given) is not int or not 0 <= given < len(reading.operations):
        raise Unsound("no place among the operations of the file")
    return reading.operations[given]


_READERS = {
    "text": (_text, "a text"),
    "whole": (_whole, "a whole number"),
    "number": (lambda reading, given, path: number_of(given), "a number"),
    "flag": (_flag, "true or false"),
    "none": (_none, "null"),
    "numbers": (_numbers, "a number or an array"),
    "array": (_array, "an array"),
    "place": (_place, "a file and a line"),
    "end": (_end, "an element and its port"),
    "domain": (_domain, "the name of a domain, or a domain"),
    "formula": (_formula, "the number of an operation"),
    "own automaton": (_flag, "true"),
    "anything": (Reading.anything, "a value"),
}
"""How values of simple forms are read, and what they are in words."""


def _alternative(form: Field, given: Any) -> Field:
    """The one of several forms that a value in a file can have."""
    if given is None:
        return next((option for option in form.of if option.form == "none"), form.of[0])
    if isinstance(given, dict) and "shape" not in given:
        found = next((option for option in form.of if option.form in ("record", "records", "domain", "mapping")), None)
        if found is not None:
            return found
    return next((option for option in form.of if option.form not in ("none", "record")), form.of[0])
