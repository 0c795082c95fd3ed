"""Declared fields of parameter records: one declaration gives checks, file keys, and the text of `--help`.

>>> @dataclass(frozen=True)
... class Ball:
...     radius: float = number("m", "radius of the ball", above=0.0)
...     place: tuple[float, ...] = vector(3, "m", "initial centre", (0.0, 0.0, 0.0))
...
...     def __post_init__(self):
...         check_record(self, "E480", "ball")
>>> print("\\n".join(field_lines(Ball)))
radius  m      radius of the ball (above 0)
place   3 x m  initial centre (default [0, 0, 0])
>>> Ball(-1.0)
Traceback (most recent call last):
bondgraph.errors.ModelError: 1 problem in "ball"
E480 radius = -1.0 is invalid for the ball
  it must be more than 0 m
  created at ...
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from bondgraph.errors import Problem, caller_place, raise_if_any
from bondgraph.model.arguments import in_unit
from bondgraph.model.laws import Parameter

REQUIRED: Any = object()
_DECLARED = "declared"


@dataclass(frozen=True)
class Declared:
    """Declaration of a parameter: a number, a list of numbers, a string, or a list of strings.

    Parameters
    ----------
    meaning : description in one line.
    unit : unit of each number; "" for none.
    default : default value; `REQUIRED` for none.
    optional : True if the field may be None even without the default None.
    many : True for a list.
    count : length of the list, or a function of the values of the fields before it; None for any length.
    options : allowed strings; empty for a number.
    integer : True for whole numbers.
    above, least, most : lower bound (exclusive), minimum and maximum of each number.
    needed : function of the values of the fields before it, which returns True if a file must set this field.
    key : name in files, if different.
    """

    meaning: str
    unit: str = ""
    default: Any = REQUIRED
    optional: bool = False
    many: bool = False
    count: int | Callable[[Mapping[str, Any]], int | None] | None = None
    options: tuple[str, ...] = ()
    integer: bool = False
    above: float | None = None
    least: float | None = None
    most: float | None = None
    needed: Callable[[Mapping[str, Any]], bool] | None = None
    key: str = ""

    @property
    def may_be_none(self) -> bool:
        return self.optional or self.default is None

    def length(self, before: Mapping[str, Any]) -> int | None:
        return self.count(before) if callable(self.count) else self.count

    def is_required(self, before: Mapping[str, Any]) -> bool:
        return self.default is REQUIRED or (self.needed is not None and self.needed(before))

    def requirement(self, before: Mapping[str, Any], number: str = "number") -> str:
        unit, length = f" ({self.unit})" if self.unit else "", self.length(before)
        if self.options:
            return ("a list with entries from " if self.many else "one of ") + ", ".join(self.options)
        if self.many:
            return f"a list of {'' if length is None else f'{length} '}{number}s{unit}"
        if not self.integer:
            return f"a {number}{unit}"
        bounds = self.range()
        return "a whole number" + (f" from {bounds}" if None not in (self.least, self.most) else f", {bounds}" if bounds else "")

    def range(self, more: str = "above") -> str:
        if self.above is not None:
            return f"{more} {self.above:g}"
        if self.least is None:
            return "" if self.most is None else f"{self.most:g} or less"
        return f"{self.least:g} or more" if self.most is None else f"{self.least:g} to {self.most:g}"

    def contains(self, value: float) -> bool:
        high = self.most is None or value <= self.most
        return high and (self.above is None or value > self.above) and (self.least is None or value >= self.least)

    def violation(self, value: Any, before: Mapping[str, Any]) -> str | None:
        if value is None and self.may_be_none:
            return None
        listed = not self.many or isinstance(value, tuple | list | np.ndarray)
        entries = tuple(value) if self.many and listed else (value,)
        kind = self.options.__contains__ if self.options else _is_integer if self.integer else _is_number
        if not (listed and all(map(kind, entries)) and (not self.many or self.length(before) in (None, len(entries)))):
            return self.requirement(before, "finite number")
        if self.options or all(map(self.contains, entries)):
            return None
        return self.requirement(before) if self.integer else self.range("more than") + (f" {self.unit}" if self.unit else "")

    def stored(self, value: Any) -> Any:
        if value is None or self.options or self.integer:
            return value
        return tuple(map(float, value)) if self.many else float(value)


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _field(declared: Declared) -> Any:
    return dataclasses.field(
        default=MISSING if declared.default is REQUIRED else declared.default, metadata={_DECLARED: declared}
    )


def number(unit: str, meaning: str, default: Any = REQUIRED, **bounds: Any) -> Any:
    return _field(Declared(meaning, unit, default, **bounds))


def vector(count: Any, unit: str, meaning: str, default: Any = REQUIRED, **bounds: Any) -> Any:
    return _field(Declared(meaning, unit, default, many=True, count=count, **bounds))


def word(options: Iterable[str], meaning: str, default: Any = REQUIRED) -> Any:
    return _field(Declared(meaning, default=default, options=tuple(options)))


def words(options: Iterable[str], meaning: str, default: Any = REQUIRED) -> Any:
    return _field(Declared(meaning, default=default, many=True, options=tuple(options)))


def declarations(record: Any) -> dict[str, Declared]:
    return {field.name: field.metadata[_DECLARED] for field in dataclasses.fields(record) if _DECLARED in field.metadata}


def field_problems(record: Any, code: str, what: str) -> list[Problem]:
    problems, place = [], caller_place()
    for name, declared in declarations(record).items():
        value = getattr(record, name)
        violation = declared.violation(value, vars(record))
        if violation:
            problems.append(
                Problem(code, f"{name} = {value!r} is invalid for the {what}", (f"it must be {violation}",), (place,))
            )
    return problems


def check_record(
    record: Any, code: str, what: str, cross_check: Callable[[Any], Iterable[Problem]] = lambda _: (), *, name: str = ""
) -> None:
    """Convert the values of a record to floats and tuples in their declared units, or raise `ModelError` with all their problems.

    Parameters
    ----------
    code : error code for a value that violates its declaration.
    what : subject of the record in messages; also the name of the model in the error, unless `name` is given.
    cross_check : function that returns contradictions between valid values.
    """
    for field, declared in declarations(record).items():
        if isinstance(value := getattr(record, field), Parameter):
            numbers = np.asarray(in_unit(what, field, value, declared.unit or "1")).tolist()
            object.__setattr__(record, field, tuple(numbers) if isinstance(numbers, list) else numbers)
    problems = field_problems(record, code, what)
    if not problems:
        for field, declared in declarations(record).items():
            object.__setattr__(record, field, declared.stored(getattr(record, field)))
        problems = list(cross_check(record))
    raise_if_any(name or what, problems)


def changed_values(record: Any) -> dict[str, Any]:
    entries = ((declared.key or name, getattr(record, name), declared.default) for name, declared in declarations(record).items())
    return {key: value for key, value, default in entries if value != default}


def field_lines(record: type | Mapping[str, Declared]) -> list[str]:
    fields = record if isinstance(record, Mapping) else declarations(record)
    names = [declared.key or name for name, declared in fields.items()]
    shapes = [_shape(declared) for declared in fields.values()]
    name_width, shape_width = (max(map(len, column), default=0) for column in (names, shapes))
    return [
        f"{name:{name_width}}  {shape:{shape_width}}  {declared.meaning}{_limits(declared)}"
        for name, shape, declared in zip(names, shapes, fields.values(), strict=True)
    ]


def _shape(declared: Declared) -> str:
    if declared.options:
        return "words" if declared.many else "word"
    unit = declared.unit or ("whole" if declared.integer else "1")
    if not declared.many:
        return unit
    return f"{declared.count if isinstance(declared.count, int) else 'n'} x {unit}"


def _limits(declared: Declared) -> str:
    remarks = [", ".join(declared.options) or declared.range()]
    if declared.needed is not None:
        remarks.append("needed in some cases")
    elif declared.default is None:
        remarks.append("optional")
    elif declared.default is not REQUIRED:
        remarks.append(f"default {format_value(declared.default)}")
    text = "; ".join(filter(None, remarks))
    return f" ({text})" if text else ""


def format_value(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(format_value, value)) + "]"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
