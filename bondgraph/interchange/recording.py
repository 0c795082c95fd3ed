"""Recording of formulas: run a function on recorded scalars, and keep each operation as a step, in order.

Nothing is simplified: replayed on any scalars, the steps do what the formula did, operation by operation. Everything derived from
them, code above all, is then the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bondgraph.interchange.formulas import MAX_STEPS, SLOPES, RecordedFormula, Shape, Step, size_of
from bondgraph.tape.scalar import TraceError
from screws.scalars import array

_NUMBERS = (int, float, np.number, np.bool_)


class FormulaRecorder:
    """Steps so far of a formula during recording."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.results: dict[Step, int] = {}
        self.constants: dict[tuple[type, str], int] = {}
        self.constant_values: list[float | int] = []
        self.count = 0
        self.closed: set[int] = set()
        """Numbers inside of differentiated pieces."""

    def new_scalar(self) -> RecordedScalar:
        """Return a scalar with the next number."""
        self.count += 1
        if len(self.steps) >= MAX_STEPS or self.count > 10 * MAX_STEPS:
            raise TraceError(f"a formula of more than {MAX_STEPS} steps")
        return RecordedScalar(self, self.count - 1)

    def number(self, value: Any) -> int:
        """Return the number of a scalar or of a constant; raise `TraceError` for anything else."""
        if isinstance(value, RecordedScalar):
            if value.recorder is not self:
                raise TraceError("a scalar of one formula is used in another")
            if value.index in self.closed:
                raise TraceError("a scalar of what is inside of a gradient is used outside of it")
            return value.index
        if not isinstance(value, _NUMBERS):
            raise TraceError(f"{value!r} ({type(value).__name__}) is no number and no scalar")
        plain = value.item() if isinstance(value, np.generic) else value
        key = (type(plain), repr(plain))  # -0.0 is not 0.0, and 1 is not 1.0
        if key not in self.constants:
            self.constants[key] = -1 - len(self.constant_values)
            self.constant_values.append(int(plain) if isinstance(plain, bool) else plain)
        return self.constants[key]

    def step(self, name: str, *arguments: Any) -> RecordedScalar:
        """Return the result of an operation; a repeated operation has the same result."""
        step = (name, *map(self.number, arguments))
        if step in self.results:
            return RecordedScalar(self, self.results[step])
        result = self.new_scalar()
        self.steps.append(step)
        self.results[step] = result.index
        return result

    def slopes(self, formula: Callable[[Any], Sequence[Any]], x: Any, others: Sequence[Any]) -> np.ndarray:
        """Return partial derivatives (m, n) of the scalars of `formula`(x), as a step that holds the steps of the formula."""
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
        same = self.__eq__(other)
        return same if same is NotImplemented else ~same  # type: ignore[operator]

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
        raise TraceError("a formula branches on a value that is not known yet")

    def __float__(self) -> float:
        raise TraceError("a value that is not known yet has no number")

    def __scalar_function__(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Record an elementary function of `screws.scalars`."""
        for argument in arguments:
            if not isinstance(argument, (RecordedScalar, *_NUMBERS)) and hasattr(argument, "__scalar_function__"):
                return argument.__scalar_function__(name, arguments)
        return self.recorder.step(name, *arguments)

    def __partials__(self, formula: Callable[[Any], Sequence[Any]], x: Any, others: Sequence[Any]) -> np.ndarray:
        """Record partial derivatives, for `bondgraph.model.gradient`."""
        return self.recorder.slopes(formula, x, others)


def record_formula(function: Callable[..., Any], shapes: Sequence[Shape], results: int = 1) -> RecordedFormula:
    """Record a function of arrays, for arguments of these shapes; several results are a sequence.

    Raises `TraceError` if it cannot be recorded, and what the function raises.
    """
    recorder, arguments = FormulaRecorder(), []
    for shape in shapes:
        scalars = [recorder.new_scalar() for _ in range(size_of(shape))]
        arguments.append(array(scalars).reshape(shape) if shape else scalars[0])
    result = function(*arguments)
    values = (result,) if results == 1 else tuple(result)
    if len(values) != results:
        raise TraceError(f"it gives {len(values)} results for {results} names")
    outs = []
    for value in values:
        entries = np.array(value, dtype=object)
        outs.append((entries.shape, tuple(recorder.number(entry) for entry in entries.flat)))
    return RecordedFormula(tuple(shapes), tuple(recorder.constant_values), tuple(recorder.steps), tuple(outs))
