"""Record of a part: a ready-made element or graph with its parameters, equation, source and icon.

A part is a formula that `Shelf.law` decorates, which becomes an R, C or I, or a function that `Shelf.part` decorates, which
returns an element or a graph. The decorator lists the parameters with their defaults and units: "K=1e-6 m^3/s/Pa^0.5, opening=1
signal". A parameter is positive or zero unless it is `signed`; a `signal` may be given as the path of a signal.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from screwbond.models.parts.icons import ICONS

from bondgraph import Element, Graph, Parameter
from bondgraph.elements.binding import bound
from bondgraph.model.arguments import bounded, in_unit, refuse_unknown_keywords, with_expected_unit
from bondgraph.model.ops import Op
from screws.calls import explanation

Value = Any
"""Number, array, `Parameter` with a unit, or `by_mode`; for a `signal` also a path."""
P = TypeVar("P", Element, Graph)
_NAMES = ("__name__", "__qualname__", "__doc__", "__module__")
_ANY = inspect.Parameter.POSITIONAL_OR_KEYWORD


@dataclass(frozen=True)
class Default:
    value: float
    unit: str = ""
    signed: bool = False
    modulated: bool = False

    def __repr__(self) -> str:
        return f"{self.value:g} {self.unit}".strip()

    def parameter(self, value: Value) -> Value:
        value = self.value if value is self else value
        if self.modulated and isinstance(value, str):
            return value
        parameter = value if isinstance(value, Parameter) else Parameter(value)
        return with_expected_unit(parameter if self.signed else bounded(parameter), self.unit)


def defaults_of(text: str) -> dict[str, Default]:
    """Return the defaults of parameters by name.

    >>> defaults_of("low=-15 V signed, opening=1 signal")
    {'low': -15 V, 'opening': 1}
    """
    defaults = {}
    for entry in filter(None, text.split(", ")):
        word, _, described = entry.partition("=")
        number, *words = described.split()
        unit = " ".join(each for each in words if each not in ("signed", "signal"))
        defaults[word] = Default(float(number), unit, "signed" in words, "signal" in words)
    return defaults


@dataclass(frozen=True)
class Part:
    name: str
    shelf: str
    equation: str
    """Law in LaTeX."""
    source: str
    """Author, work and equation."""
    icon: str
    parameters: Mapping[str, Default]
    passive: bool
    """True if the part never delivers more energy than it received."""
    make: Callable[..., Element | Graph]

    @property
    def summary(self) -> str:
        return inspect.getdoc(self.make).partition("\n")[0]  # type: ignore[union-attr]


@dataclass(frozen=True)
class Shelf:
    name: str
    parts: dict[str, Part] = field(default_factory=dict)

    def law(
        self,
        make: Callable[..., Element],
        relation: str,
        equation: str,
        source: str,
        parameters: str = "",
        *,
        domain: str = "",
        passive: bool = True,
    ) -> Callable[[Callable[..., Any]], Callable[..., Element]]:
        """Decorate the formula of a one-port: `relation` is the argument of `make` that takes it. The part also takes `initial`,
        `nominal` and `heat` if `make` does."""
        taken = inspect.signature(make).parameters
        checked = {"passive": True} if passive and "passive" in taken else {}
        defaults = defaults_of(parameters)

        def decorated(formula: Callable[..., Any]) -> Callable[..., Element]:
            def made(name: str, **values: Value) -> Element:
                numbers, signals = modulated(**{word: values.pop(word) for word in defaults})
                op = Op(formula.__name__, bound(name, formula, 1, numbers, signals), note=f"${equation}$")
                check = {} if signals else checked
                return make(
                    name, **{relation: op}, parameters=numbers, signals=signals, domain=domain or self.name, **check, **values
                )

            functools.update_wrapper(made, formula, assigned=_NAMES)
            more = {word: taken[word].default for word in ("initial", "nominal", "heat") if word in taken}
            return self._part(made, equation, source, defaults, {**defaults, **more}, passive)

        return decorated

    def part(
        self, equation: str, source: str, parameters: str = "", *, passive: bool = True
    ) -> Callable[[Callable[..., P]], Callable[..., P]]:
        def decorated(make: Callable[..., P]) -> Callable[..., P]:
            defaults, taken = defaults_of(parameters), list(inspect.signature(make).parameters.values())[1:]
            everything = {each.name: defaults.get(each.name, each.default) for each in taken}
            return self._part(make, equation, source, defaults, everything, passive)

        return decorated

    def _part(
        self,
        make: Callable[..., P],
        equation: str,
        source: str,
        defaults: Mapping[str, Default],
        everything: Mapping[str, Any],
        passive: bool,
    ) -> Callable[..., P]:
        icon = ICONS[make.__name__]
        words: list[inspect.Parameter] = [
            inspect.Parameter(word, _ANY, default=value, annotation=Value) for word, value in everything.items()
        ]
        signature = inspect.Signature([inspect.Parameter("name", _ANY, annotation=str), *words])

        def made(*arguments: Any, **values: Any) -> P:
            try:
                call = signature.bind(*arguments, **values)
            except TypeError as error:
                raise explanation(complete, arguments, values) or error from None
            call.apply_defaults()
            numbers = {w: each.parameter(call.arguments[w]) for w, each in defaults.items()}
            return _with_icon(make(**{**call.arguments, **numbers}), icon)

        functools.update_wrapper(made, make, assigned=_NAMES)
        complete: Callable[..., P] = refuse_unknown_keywords(made, list(signature.parameters))
        complete.__signature__ = signature  # type: ignore[attr-defined]
        self.parts[make.__name__] = Part(make.__name__, self.name, equation, source, icon, defaults, passive, complete)
        return complete


def _with_icon(part: P, icon: str) -> P:
    if isinstance(part, Element):
        return replace(part, icon=icon)
    part.icon = icon
    return part


def number(parameter: Parameter) -> Any:
    return in_unit("part", "a parameter", parameter, parameter.expected)


def modulated(**values: Value) -> Iterator[dict[str, Value]]:
    """Yield the numbers among the values, then the paths of signals: `parameters, signals = modulated(K=K, opening=opening)`."""
    yield {word: each for word, each in values.items() if not isinstance(each, str)}
    yield {word: each for word, each in values.items() if isinstance(each, str)}
