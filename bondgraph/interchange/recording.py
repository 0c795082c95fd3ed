"""A plain formula and the shapes of its arguments in; its steps out, one for each operation in the order in which it was done.

Nothing is simplified here: carried out again, the steps do with any scalars what the formula did, operation by operation. What
follows from them, code above all, is then the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bondgraph.interchange.formulas import MOST_STEPS, SLOPES, RecordedFormula, Shape, Step, size_of
from bondgraph.tape.scalar import TraceError
from screws.scalars import array

_NUMBERS = (int, float, np.number, np.bool_)


class Recording:
    """The steps so far of a formula that is being recorded."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.known: dict[Step, int] = {}
        self.constants: dict[tuple[type, str], int] = {}
        self.numbers: list[float | int] = []
        self.count = 0
        self.ended: set[int] = set()
        """Numbers inside of pieces that have been differentiated."""

    def fresh(self) -> Noted:
        """A scalar with the next number."""
        self.count += 1
        if len(self.steps) >= MOST_STEPS or self.count > 10 * MOST_STEPS:
            raise TraceError(f"a formula of more than {MOST_STEPS} steps")
        return Noted(self, self.count - 1)

    def number(self, given: Any) -> int:
        """The number of a scalar, or of a constant; `TraceError` for anything else."""
        if isinstance(given, Noted):
            if given.recording is not self:
                raise TraceError("a scalar of one formula is used in another")
            if given.index in self.ended:
                raise TraceError("a scalar of what is inside of a gradient is used outside of it")
            return given.index
        if not isinstance(given, _NUMBERS):
            raise TraceError(f"{given!r} ({type(given).__name__}) is no number and no scalar")
        plain = given.item() if isinstance(given, np.generic) else given
        key = (type(plain), repr(plain))  # -0.0 is not 0.0, and 1 is not 1.0
        if key not in self.constants:
            self.constants[key] = -1 - len(self.numbers)
            self.numbers.append(int(plain) if isinstance(plain, bool) else plain)
        return self.constants[key]

    def step(self, name: str, *arguments: Any) -> Noted:
        """The result of an operation; done again with the same, it is the same."""
        step = (name, *map(self.number, arguments))
        if step in self.known:
            return Noted(self, self.known[step])
        found = self.fresh()
        self.steps.append(step)
        self.known[step] = found.index
        return found

    def slopes(self, formula: Callable[[Any], Sequence[Any]], x: Any, others: Sequence[Any]) -> np.ndarray:
        """Partial derivatives (m, n) of the scalars of `formula`(x), as a step that holds the steps of the formula."""
        at = [self.number(s) for s in np.asarray(x, dtype=object).flat]
        beside = dict.fromkeys(self.number(s) for other in others for s in np.asarray(other, dtype=object).flat)
        first, places = self.count, array([self.fresh() for _ in at])
        outer, known = self.steps, self.known
        self.steps, self.known = [], dict(known)
        try:
            values = formula(places.reshape(np.shape(x)) if np.shape(x) else places[0])
            outs = tuple(self.number(value) for value in values)
            piece = tuple(self.steps)
        finally:
            self.steps, self.known = outer, known
        self.ended.update(range(first, self.count))
        found = array([self.fresh() for _ in range(len(outs) * len(at))]).reshape(len(outs), len(at))
        self.steps.append((SLOPES, tuple(at), tuple(n for n in beside if n >= 0), piece, outs))
        return found


def _step(name: str, swapped: bool = False) -> Callable[[Noted, Any], Any]:
    def method(scalar: Noted, other: Any) -> Any:
        if not isinstance(other, (Noted, *_NUMBERS)):
            return NotImplemented
        return scalar.recording.step(name, other, scalar) if swapped else scalar.recording.step(name, scalar, other)

    return method


class Noted:
    """A scalar of a formula that is being recorded; what is decided by `if` cannot be."""

    __slots__ = ("index", "recording")

    def __init__(self, recording: Recording, index: int):
        self.recording = recording
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

    def __neg__(self) -> Noted:
        return self.recording.step("negative", self)

    def __pos__(self) -> Noted:
        return self

    def __abs__(self) -> Noted:
        return self.recording.step("absolute", self)

    def __invert__(self) -> Noted:
        return self.recording.step("opposite", self)

    def __hash__(self) -> int:
        return self.index

    def __bool__(self) -> bool:
        raise TraceError("a formula branches on a value that is not known yet")

    def __float__(self) -> float:
        raise TraceError("a value that is not known yet has no number")

    def __scalar_function__(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """An elementary function of `screws.scalars`."""
        for argument in arguments:
            if not isinstance(argument, (Noted, *_NUMBERS)) and hasattr(argument, "__scalar_function__"):
                return argument.__scalar_function__(name, arguments)
        return self.recording.step(name, *arguments)

    def __partials__(self, formula: Callable[[Any], Sequence[Any]], x: Any, others: Sequence[Any]) -> np.ndarray:
        """Partial derivatives, for `bondgraph.model.gradient`."""
        return self.recording.slopes(formula, x, others)


def recorded(function: Callable[..., Any], shapes: Sequence[Shape], results: int = 1) -> RecordedFormula:
    """The formula that a function of arrays is, for arguments of these shapes; several results are a sequence.

    Raises `TraceError` for what cannot be recorded, and what the function raises.
    """
    recording, arguments = Recording(), []
    for shape in shapes:
        scalars = [recording.fresh() for _ in range(size_of(shape))]
        arguments.append(array(scalars).reshape(shape) if shape else scalars[0])
    found = function(*arguments)
    several = (found,) if results == 1 else tuple(found)
    if len(several) != results:
        raise TraceError(f"it gives {len(several)} results for {results} names")
    outs = []
    for value in several:
        entries = np.array(value, dtype=object)
        outs.append((entries.shape, tuple(recording.number(entry) for entry in entries.flat)))
    return RecordedFormula(tuple(shapes), tuple(recording.numbers), tuple(recording.steps), tuple(outs))
