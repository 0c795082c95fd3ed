"""Numerical values of symbolic equations and of the compiled model at a random point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy
from sympy.printing.numpy import NumPyPrinter

from bondgraph import Compiled
from bondgraph.export import StateEquations
from tests.inner.compile import own_states
from tests.inner.output import labels_of


def start_of(model: Compiled, seed: int, far: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, m = model.initial()
    return np.asarray(x) + far * rng.normal(size=len(x)) * np.where(x == 0, 1.0, np.abs(x)), np.asarray(m, dtype=float)


def point_of(model: Compiled, x: np.ndarray, m: np.ndarray, time: float = 0.3) -> dict[str, float]:
    numbers = {"time": time}
    blocks = {"x": [s.name for s in model.system.states], "p": model.system.parameters, "m": model.system.modes}
    for values, names in ((x, blocks["x"]), (model.parameters(), blocks["p"]), (m, blocks["m"])):
        for name in names:
            slot = model.program.layout[name]
            flat = np.ravel(np.asarray(values)[slot.start : slot.stop])
            numbers |= zip(labels_of(name, slot.shape), map(float, flat), strict=True)
    return numbers


def rates_of(model: Compiled, x: np.ndarray, m: np.ndarray, time: float = 0.3) -> dict[str, float]:
    rates = model.program.rates(time, x, model.parameters(), m)
    _, places, labels = own_states(model.system)
    return {label: float(rates[place]) for place, label in zip(places, labels, strict=True)}


class _Known(NumPyPrinter):
    """A NumPy code printer that writes symbols as entries of the dictionary `known`, which avoids slow substitutions."""

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return f"known[{expr.name!r}]"


def _function(expression: Any) -> Callable[[Mapping[str, float]], Any]:
    printer = _Known({"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True})
    return sympy.lambdify([sympy.Symbol("known")], expression, modules="numpy", printer=printer)


class Numbers:
    """Values of state equations; each definition is computed once per point, when needed."""

    def __init__(self, found: StateEquations) -> None:
        self.found = found
        self.systems = {name: system for system in found.systems for name in system.unknowns}
        self._compiled: dict[Any, Any] = {}

    def at(self, numbers: Mapping[str, float], expressions: Mapping[str, Any]) -> dict[str, Any]:
        self.known = dict(numbers)
        return {name: self._value(expression) for name, expression in expressions.items()}

    def _value(self, expression: Any) -> Any:
        key = id(expression)
        if key not in self._compiled:
            self._compiled[key] = sorted(s.name for s in expression.free_symbols), _function(expression), expression
        names, function, _ = self._compiled[key]
        for name in names:
            self._find(name)
        return function(self.known)

    def _find(self, name: str) -> None:
        if name in self.known:
            return
        if name in self.systems:
            system = self.systems[name]
            w = np.linalg.solve(np.array(self._value(system.A), dtype=float), np.ravel(self._value(system.b)).astype(float))
            self.known |= zip(system.unknowns, w.tolist(), strict=True)
        else:
            self.known[name] = float(self._value(self.found.definitions[name]))


_FUNCTIONS: dict[int, tuple[Any, Callable[[Mapping[str, float]], Any]]] = {}


def value_of(expression: Any, numbers: Mapping[str, float]) -> Any:
    if id(expression) not in _FUNCTIONS:
        _FUNCTIONS[id(expression)] = expression, _function(expression)
    return _FUNCTIONS[id(expression)][1](numbers)
