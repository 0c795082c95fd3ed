"""Allow-list of the records in a model file, by name, and the allowed values of each field, by its annotation.

Files are read only through this table: other names are invalid, and none is looked up elsewhere.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from bondgraph.errors import Place
from bondgraph.model import laws
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.dissipation import HeatFlow, ResistorField
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, Port
from bondgraph.model.mechanics import Mechanics
from bondgraph.model.model import Bond, Collider, CollisionSet, ContactPoint, End, Face, Model, SignalEntry, Visible
from bondgraph.model.ops import IDENTITY, NEGATE, Choice, Constant, ForeignLibrary, Gate, Op
from screws.shapes import Ball, Box, Capsule, HalfSpace, Hull

FORMAT, VERSION = "screwbond-model", 1
MODEL_RECORDS: tuple[type, ...] = (
    *(Model, Bond, Element, Port, Domain, Face, ContactPoint, SignalEntry, CollisionSet, Collider, Visible),
    *(Automaton, Transition),
    *(laws.Parameter, laws.ByMode, laws.StateSpec, laws.Action, laws.Equation, Mechanics),
    *(laws.Storage, laws.InertialField, laws.Resistor, ResistorField, laws.Reaction, laws.IdealConstraint, laws.IdealSwitch),
    *(laws.Source, HeatFlow, laws.Transformer, laws.Gyrator, laws.SkewGyrator, laws.Junction, laws.SignalBlock, ForeignLibrary),
    *(Ball, Box, Capsule, HalfSpace, Hull),
)
OPERATIONS: dict[str, type[Op]] = {kind.__name__: kind for kind in (Op, Constant, Gate, Choice)}
"""Class of each operation by its name in files: a formula with its name and LaTeX."""
ELEMENT_KINDS = (
    *("C", "I", "IC", "R", "RS", "Se", "Sf", "TF", "MTF", "GY", "MGY", "0", "1", "X0", "X1", "Ce", "Re"),
    *("Sw", "Diode", "constraint", "friction", "block"),
)
"""Kinds of elements in files."""
BUILTIN: dict[str, Op] = {"identity": IDENTITY, "negate": NEGATE}
"""Operations of blocks that the compiler knows, by their names in files; the identity gives a value a second name."""

RECORDS: dict[str, type] = {kind.__name__: kind for kind in MODEL_RECORDS}
"""Records by their names in files; drawing code adds its own records."""

NUMERIC_FIELDS = {(laws.Parameter, "value"), (laws.ByMode, "values"), (laws.StateSpec, "initial"), (laws.StateSpec, "nominal")}
"""Fields that hold a number or an array of numbers; the first also holds values by mode, the second a mapping to numbers or
arrays."""
UNSAVED = {(Model, "starts"), (ForeignLibrary, "unit")}
"""Fields that are not saved: computed start values are saved as fixed numbers, and a library only by name."""
WORDS = {(laws.Parameter, "max_value"): "most", (CollisionSet, "max_contacts"): "most", (CollisionSet, "exclude"): "apart"}
"""Key of a field in files of version 1, where it differs from the field's name."""
PLAIN_TYPES = (str, int, float, bool)


@dataclasses.dataclass(frozen=True)
class Field:
    """Form of the values of a field.

    Parameters
    ----------
    form : "text", "whole", "number", "flag", "none", "numbers", "formula", "place", "end", "domain", "array", "anything";
        "literal": a value in `of`; "record": a record of the one type in `of`; "records": a record of any type in `of`;
        "several" or "set": values of the field in `of`; "row": one value for each field in `of`; "mapping": values of the
        field in `of` by name; "either": a value of any field in `of`; "own automaton": true if the element has an
        automaton, which is stored among the automata of the model. A "formula" must be an `Op` if `of` is ("operation",),
        else it may be one.
    """

    form: str
    of: tuple[Any, ...] = ()


_SIMPLE: dict[Any, Field] = {
    str: Field("text"),
    int: Field("whole"),
    float: Field("number"),
    bool: Field("flag"),
    type(None): Field("none"),
    Any: Field("anything"),
    np.ndarray: Field("array"),
    Place: Field("place"),
    Domain: Field("domain"),
    Op: Field("formula", ("operation",)),
    End: Field("end"),
}


@functools.cache
def fields_of(record: type) -> Mapping[str, tuple[Field, Any]]:
    hints = typing.get_type_hints(record)
    forms = {}
    for field in dataclasses.fields(record):
        if (record, field.name) in UNSAVED:
            continue
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        forms[field.name] = _special(record, field.name) or form_of(hints[field.name]), default
    return forms


def word_of(record: type, name: str) -> str:
    return WORDS.get((record, name), name)


def _special(record: type, name: str) -> Field | None:
    if (record, name) == (laws.ByMode, "values"):
        return Field("mapping", (Field("numbers"),))
    if (record, name) == (laws.Parameter, "value"):
        return Field("either", (Field("record", (laws.ByMode,)), Field("numbers")))
    if (record, name) == (Element, "kind"):
        return Field("literal", ELEMENT_KINDS)
    if (record, name) in NUMERIC_FIELDS:
        return Field("either", (Field("none"), Field("numbers"))) if name == "nominal" else Field("numbers")
    return Field("own automaton") if (record, name) == (Element, "automaton") else None


def form_of(hint: Any) -> Field:
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, parameters = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        forms = tuple(dict.fromkeys(map(form_of, parameters)))
        if Field("formula") in forms:
            forms = tuple(form for form in forms if form.form != "formula" or not form.of)
        return forms[0] if len(forms) == 1 else Field("either", forms)
    if origin is Literal:
        return Field("literal", parameters)
    if origin is Callable or hint is Callable:
        return Field("formula")
    if origin in (Mapping, dict) and parameters[0] is str:
        return Field("mapping", (form_of(parameters[1]),))
    if origin is frozenset:
        return Field("set", (form_of(parameters[0]),))
    if origin is tuple and parameters[-1] is not Ellipsis:
        return Field("row", tuple(map(form_of, parameters)))
    if origin in (tuple, Sequence):
        return Field("several", (form_of(parameters[0]),))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and hint in RECORDS.values():
        return Field("record", (hint,))
    subclasses = tuple(kind for kind in RECORDS.values() if isinstance(hint, type) and issubclass(kind, hint))
    if subclasses:
        return Field("records", subclasses)
    raise TypeError(f"model files cannot store values of type {hint!r}")


def is_default(value: Any, default: Any) -> bool:
    if isinstance(value, dict) and isinstance(default, dict):
        return not value and not default
    if default is dataclasses.MISSING or type(value) is not type(default):
        return False
    if isinstance(value, (*PLAIN_TYPES, type(None))):
        return repr(value) == repr(default)
    return isinstance(value, (tuple, frozenset)) and not value and not default
