"""Recording of formulas: run a function on recorded scalars, keep each operation as a step, and replay the steps on any
scalars.

Equal operations become one step, and nothing else is simplified: replayed on any scalars, the steps compute the same values, so
that everything derived from them, above all code, is bit-identical.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bondgraph.errors import refusal
from bondgraph.interchange.formulas import ARITY, MAX_STEPS, SLOPES, RecordedFormula, Shape, Step, size_of
from bondgraph.model.mechanics import partials
from bondgraph.tape.scalar import TraceError
from screws import scalars
from screws.errors import plural
from screws.scalars import array

_NUMBERS = (int, float, np.number, np.bool_)


class FormulaRecorder:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.results: dict[Step, int] = {}
        self.constants: dict[tuple[type, str], int] = {}
        self.constant_values: list[float | int] = []
        self.count = 0
        self.closed: set[int] = set()
        """Indices of the scalars inside differentiated pieces."""

    def new_scalar(self) -> RecordedScalar:
        self.count += 1
        if len(self.steps) >= MAX_STEPS or self.count > 10 * MAX_STEPS:
            raise TraceError(f"the formula has more than {MAX_STEPS} steps")
        return RecordedScalar(self, self.count - 1)

    def number(self, value: Any) -> int:
        if isinstance(value, RecordedScalar):
            if value.recorder is not self:
                raise TraceError("a scalar of one formula is used in another")
            if value.index in self.closed:
                raise TraceError("a scalar from inside a gradient is used outside it")
            return value.index
        if not isinstance(value, _NUMBERS):
            raise TraceError(f"{value!r} ({type(value).__name__}) is neither a number nor a scalar")
        plain = value.item() if isinstance(value, np.generic) else value
        key = (type(plain), repr(plain))  # -0.0 is not 0.0, and 1 is not 1.0
        if key not in self.constants:
            self.constants[key] = -1 - len(self.constant_values)
            self.constant_values.append(int(plain) if isinstance(plain, bool) else plain)
        return self.constants[key]

    def step(self, name: str, *arguments: Any) -> RecordedScalar:
        if name in scalars.LOOKUPS and isinstance(arguments[1], np.ndarray):
            arguments = (arguments[0], *arguments[1].tolist())
        step = (name, *map(self.number, arguments))
        if step in self.results:
            return RecordedScalar(self, self.results[step])
        result = self.new_scalar()
        self.steps.append(step)
        self.results[step] = result.index
        return result

    def slopes(self, formula: Callable[[Any], Sequence[Any]], x: Any, others: Sequence[Any]) -> np.ndarray:
        """Return the partial derivatives (m, n) of the scalars of `formula`(x), recorded as a step that contains the steps of
        the formula."""
        x_numbers = [self.number(s) for s in np.asarray(x, dtype=object).flat]
        other_numbers = dict.fromkeys(self.number(s) for other in others for s in np.asarray(other, dtype=object).flat)
        first, inputs = self.count, array([self.new_scalar() for _ in x_numbers])
        outer_steps, outer_results = self.steps, self.results
        self.steps, self.results = [], dict(outer_results)
        try:
            values = formula(inputs.reshape(np.shape(x)) if np.shape(x) else inputs[0])
            outs = tuple(self.number(value) for value in values)
            piece = tuple(self.steps)
        finally:
            self.steps, self.results = outer_steps, outer_results
        self.closed.update(range(first, self.count))
        jacobian = array([self.new_scalar() for _ in range(len(outs) * len(x_numbers))]).reshape(len(outs), len(x_numbers))
        self.steps.append((SLOPES, tuple(x_numbers), tuple(n for n in other_numbers if n >= 0), piece, outs))
        return jacobian


def _step(name: str, swapped: bool = False) -> Callable[[RecordedScalar, Any], Any]:
    def method(scalar: RecordedScalar, other: Any) -> Any:
        if not isinstance(other, (RecordedScalar, *_NUMBERS)):
            return NotImplemented
        return scalar.recorder.step(name, other, scalar) if swapped else scalar.recorder.step(name, scalar, other)

    return method


class RecordedScalar:
    """Scalar of a formula during recording; `if` cannot branch on it."""

    __slots__ = ("index", "recorder")

    def __init__(self, recorder: FormulaRecorder, index: int):
        self.recorder = recorder
        self.index = index

    __add__, __radd__ = _step("add"), _step("add")
    __sub__, __rsub__ = _step("subtract"), _step("subtract", swapped=True)
    __mul__, __rmul__ = _step("multiply"), _step("multiply")
    __truediv__, __rtruediv__ = _step("divide"), _step("divide", swapped=True)
    __pow__, __rpow__ = _step("power"), _step("power", swapped=True)
    __lt__, __gt__ = _step("less"), _step("less", swapped=True)
    __le__, __ge__ = _step("less_equal"), _step("less_equal", swapped=True)
    __eq__ = _step("equal")  # type: ignore[assignment]
    __and__, __rand__ = _step("both"), _step("both")
    __or__, __ror__ = _step("either"), _step("either")

    def __ne__(self, other: Any) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal  # type: ignore[operator]

    def __neg__(self) -> RecordedScalar:
        return self.recorder.step("negative", self)

    def __pos__(self) -> RecordedScalar:
        return self

    def __abs__(self) -> RecordedScalar:
        return self.recorder.step("absolute", self)

    def __invert__(self) -> RecordedScalar:
        return self.recorder.step("opposite", self)

    def __hash__(self) -> int:
        return self.index

    def __bool__(self) -> bool:
        raise TraceError("a formula branches on a value that is not yet known")

    def __float__(self) -> float:
        raise TraceError("a value that is not yet known cannot become a float")

    def __scalar_function__(self, name: str, arguments: tuple[Any, ...]) -> Any:
        for argument in arguments:
            if not isinstance(argument, (RecordedScalar, *_NUMBERS)) and hasattr(argument, "__scalar_function__"):
                return argument.__scalar_function__(name, arguments)
        return self.recorder.step(name, *arguments)

    def __partials__(self, formula: Callable[[Any], Sequence[Any]], x: Any, others: Sequence[Any]) -> np.ndarray:
        return self.recorder.slopes(formula, x, others)


def record_formula(function: Callable[..., Any], shapes: Sequence[Shape], results: int = 1) -> RecordedFormula:
    """Record a function of arrays for arguments of these shapes; a function with several `results` returns them as a sequence.

    Raises `TraceError` if the function cannot be recorded, and any error of the function itself.
    """
    recorder, arguments = FormulaRecorder(), []
    for shape in shapes:
        scalars = [recorder.new_scalar() for _ in range(size_of(shape))]
        arguments.append(array(scalars).reshape(shape) if shape else scalars[0])
    result = function(*arguments)
    values = (result,) if results == 1 else tuple(result)
    if len(values) != results:
        raise TraceError(f"it returns {plural(len(values), 'result')} for {plural(results, 'name')}")
    outs = []
    for value in values:
        entries = np.array(value, dtype=object)
        outs.append((entries.shape, tuple(recorder.number(entry) for entry in entries.flat)))
    return RecordedFormula(tuple(shapes), tuple(recorder.constant_values), tuple(recorder.steps), tuple(outs))


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
"""Functions of the steps that are not in `screws.scalars`."""
FUNCTIONS = {name: PYTHON_OPERATORS.get(name) or functools.partial(scalars.apply, name) for name in ARITY}

Values = list[Any]
"""Scalars in the order of their numbers; the constants are at the end, in reverse."""


class Replay:
    """Function of arrays with the recorded shapes, or of numbers that stand for arrays with equal entries.

    Raises `ValueError` for other shapes.
    """

    __name__ = "recorded formula"

    def __init__(self, formula: RecordedFormula):
        self.formula = formula
        self.program, self.count = _program(formula.steps, sum(map(size_of, formula.arguments)))

    def __call__(self, *arguments: Any) -> Any:
        formula = self.formula
        if len(arguments) != len(formula.arguments):
            raise ValueError(
                f"a formula recorded for {plural(len(formula.arguments), 'argument')} is called with {len(arguments)}"
            )
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
    """Placeholder for a formula that could not be recorded but was not needed when the model was saved."""

    __name__ = "missing formula"

    def __init__(self, why: str):
        self.why = why

    def __call__(self, *arguments: Any) -> Any:
        cure = "save the model again with the element as it is used now"
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
    program = []
    for name, *operands in steps:
        if name != SLOPES:
            is_table = name in scalars.LOOKUPS and len(operands) > 2 and max(operands[1:]) < 0
            program.append((_lookup if is_table else _operation)(count, FUNCTIONS[name], operands))
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


def _lookup(result: int, function: Callable[..., Any], numbers: Sequence[int]) -> Callable[[Values], None]:
    """Return a lookup in a table of constants, kept as one table: if its values were selected one by one, the selections would
    count as jumps."""
    first, *table = numbers

    def lookup(values: Values) -> None:
        values[result] = function(values[first], np.array([values[n] for n in table], dtype=float))

    return lookup


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
