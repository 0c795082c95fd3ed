"""Replay of a recorded formula: execute its steps on any scalars: floats, SymPy expressions, jets, the tape."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bondgraph.errors import refusal
from bondgraph.interchange.formulas import ARITY, SLOPES, RecordedFormula, Shape, Step, size_of
from bondgraph.model.gradient import partials
from screws import scalars
from screws.scalars import array

PYTHON_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negative": operator.neg,
    "power": operator.pow,
    "both": operator.and_,
    "either": operator.or_,
    "opposite": operator.invert,
    "where": scalars.where,
}
"""Functions of the steps that are no functions of `screws.scalars`."""
FUNCTIONS = {name: PYTHON_OPERATORS.get(name) or functools.partial(scalars.apply, name) for name in ARITY}
"""Function of each step."""

Values = list[Any]
"""Scalars by their numbers; the constants stand at the end, in reverse."""


class Replay:
    """Function of arrays with the recorded shapes.

    Raises `ValueError` for other shapes; a number may stand for an array of equal entries.
    """

    __name__ = "recorded formula"

    def __init__(self, formula: RecordedFormula):
        self.formula = formula
        self.program, self.count = _program(formula.steps, sum(map(size_of, formula.arguments)))

    def __call__(self, *arguments: Any) -> Any:
        formula = self.formula
        if len(arguments) != len(formula.arguments):
            raise ValueError(f"a formula recorded for {len(formula.arguments)} arguments is called with {len(arguments)}")
        values: Values = []
        for argument, shape in zip(arguments, formula.arguments, strict=True):
            values += _scalars(argument, shape)
        values += [None] * (self.count - len(values))
        values += reversed(formula.constants)
        with np.errstate(all="ignore"):
            for step in self.program:
                step(values)
        results = tuple(_shaped([values[n] for n in numbers], shape) for shape, numbers in formula.results)
        return results[0] if len(results) == 1 else results


class MissingFormula:
    """Placeholder for a formula that could not be recorded, and that nothing needed when the model was saved."""

    __name__ = "missing formula"

    def __init__(self, why: str):
        self.why = why

    def __call__(self, *arguments: Any) -> Any:
        cure = "save the model again with the element in the form in which it is needed now"
        raise refusal("E356", "a formula that is needed is not in the file", cure, about="model", why=self.why, places=())


def _scalars(argument: Any, shape: Shape) -> list[Any]:
    entries = np.asarray(argument, dtype=None if isinstance(argument, np.ndarray) else object)
    if entries.shape != shape:
        if entries.shape:
            raise ValueError(f"a formula recorded for an argument of shape {shape} is called with shape {entries.shape}")
        entries = np.broadcast_to(entries, shape)
    return [np.float64(entry) if isinstance(entry, (int, float)) else entry for entry in entries.flat]


def _shaped(entries: list[Any], shape: Shape) -> Any:
    return array(entries).reshape(shape) if shape else entries[0]


def _program(steps: Sequence[Step], count: int) -> tuple[list[Callable[[Values], None]], int]:
    """Return functions that execute the steps, and the number of scalars after them."""
    program = []
    for name, *operands in steps:
        if name != SLOPES:
            program.append(_operation(count, FUNCTIONS[name], operands))
            count += 1
            continue
        x, others, piece, outs = operands
        inner, after = _program(piece, count + len(x))
        program.append(_slopes(count, x, others, inner, outs, after))
        count = after + len(x) * len(outs)
    return program, count


def _operation(result: int, function: Callable[..., Any], numbers: Sequence[int]) -> Callable[[Values], None]:
    if len(numbers) == 2:
        a, b = numbers

        def binary(values: Values) -> None:
            values[result] = function(values[a], values[b])

        return binary

    def nary(values: Values) -> None:
        values[result] = function(*[values[n] for n in numbers])

    return nary


def _slopes(
    first: int,
    x: Sequence[int],
    others: Sequence[int],
    piece: Sequence[Callable[[Values], None]],
    outs: Sequence[int],
    after: int,
) -> Callable[[Values], None]:
    def differentiate(values: Values) -> None:
        def formula(at: Any) -> list[Any]:
            values[first : first + len(x)] = list(np.asarray(at, dtype=object).flat)
            for step in piece:
                step(values)
            return [values[n] for n in outs]

        jacobian = partials(formula, array([values[n] for n in x]), [values[n] for n in others])
        values[after : after + jacobian.size] = [np.float64(s) if isinstance(s, float) else s for s in jacobian.flat]

    return differentiate
