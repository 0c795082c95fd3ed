"""Traced scalars: a formula called with them records its operations on a tape.

The functions of `screws.scalars`, `+ - * / **`, comparisons and NumPy's object arrays work on them. A branch by `if` cannot be
recorded: use `where`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bondgraph.errors import ScrewbondError
from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Nodes
from screws.errors import plural
from screws.scalars import LOOKUPS

_NUMBERS = (int, float, np.number, np.bool_)


class TraceError(ScrewbondError, TypeError):
    """Error for an operation that cannot be recorded on a traced value."""


class Tape(Nodes):
    """A straight-line program under construction, from blocks of inputs."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Tape({plural(len(self), 'operation')})"

    def inputs(self, block: str, n: int) -> np.ndarray:
        """Return the `n` scalars (n,) of an input block, which is created on the first call.

        Raises `TraceError` if the block exists with another length.
        """
        if self.blocks.setdefault(block, n) != n:
            raise TraceError(f'input block "{block}" has {self.blocks[block]} scalars on this tape, not {n}')
        number = list(self.blocks).index(block)
        out = np.empty(n, dtype=object)
        for i in range(n):
            out[i] = TapeScalar(self, self.intern((op.INPUT, number, i)))
        return out

    def scalar(self, value: float | TapeScalar) -> TapeScalar:
        """Return `value` as a scalar of this tape.

        Raises `TraceError` if it belongs to another tape, or is not a number.
        """
        if isinstance(value, TapeScalar):
            if value.tape is not self:
                raise TraceError("a scalar of one tape is used on another; trace both formulas on one tape")
            return value
        if not isinstance(value, _NUMBERS):
            raise TraceError(f"{value!r} ({type(value).__name__}) is neither a number nor a scalar of this tape")
        return TapeScalar(self, self.constant(value))


def _operator(operation: Callable[[Tape, int, int], int], swapped: bool = False) -> Callable[[TapeScalar, Any], TapeScalar]:
    def method(scalar: TapeScalar, other: Any) -> TapeScalar:
        tape, a, b = scalar.tape, scalar.index, scalar._other(other)
        if b < 0:
            return NotImplemented
        return TapeScalar(tape, operation(tape, b, a) if swapped else operation(tape, a, b))

    return method


def _comparison(name: str, swapped: bool = False) -> Callable[[TapeScalar, Any], TapeScalar]:
    """Return the method of `TapeScalar` for a function of `screws.scalars` that returns a condition or combines two
    conditions."""
    return lambda scalar, other: scalar._function(name, *((other, scalar) if swapped else (scalar, other)))


class TapeScalar:
    """One value on a tape. Equal expressions have the same `index`."""

    __slots__ = ("index", "tape")

    def __init__(self, tape: Tape, index: int):
        self.tape = tape
        self.index = index

    @property
    def value(self) -> float | None:
        return self.tape.value(self.index)

    def __repr__(self) -> str:
        value = self.value
        name = op.NAMES[self.tape.nodes[self.index][0]]
        return f"TapeScalar({value!r})" if value is not None else f"TapeScalar({self.index}: {name})"

    def _other(self, other: Any) -> int:
        if other.__class__ is TapeScalar:
            if other.tape is self.tape:
                return other.index
            raise TraceError("one operation combines scalars of two tapes; trace both formulas on one tape")
        if isinstance(other, _NUMBERS):
            return self.tape.constant(float(other))
        return -1

    __add__ = __radd__ = _operator(Tape.add)
    __sub__, __rsub__ = _operator(Tape.subtract), _operator(Tape.subtract, swapped=True)
    __mul__ = __rmul__ = _operator(Tape.multiply)
    __truediv__, __rtruediv__ = _operator(Tape.divide), _operator(Tape.divide, swapped=True)
    __pow__, __rpow__ = _operator(Tape.power), _operator(Tape.power, swapped=True)

    def __neg__(self) -> TapeScalar:
        return TapeScalar(self.tape, self.tape.negative(self.index))

    def __pos__(self) -> TapeScalar:
        return self

    def __abs__(self) -> TapeScalar:
        return self._function("absolute", self)

    __lt__, __gt__ = _comparison("less"), _comparison("less", swapped=True)
    __le__, __ge__ = _comparison("less_equal"), _comparison("less_equal", swapped=True)
    __eq__ = _comparison("equal")  # type: ignore[assignment]
    __and__ = __rand__ = _comparison("both")
    __or__ = __ror__ = _comparison("either")

    def __ne__(self, other: Any) -> TapeScalar:  # type: ignore[override]
        same = self._function("equal", self, other)
        return same if same is NotImplemented else same._function("opposite", same)

    def __invert__(self) -> TapeScalar:
        return self._function("opposite", self)

    def __hash__(self) -> int:
        return self.index

    def __bool__(self) -> bool:
        value = self.value
        if value is None:
            raise TraceError(
                "a formula branches on a traced value (`if`, `and`, `or`, `min`, `max`, a NumPy comparison); "
                "use where, minimum, maximum, less, or `&` and `|` of conditions"
            )
        return bool(value)

    def __float__(self) -> float:
        value = self.value
        if value is None:
            raise TraceError(
                "a traced value has no number yet (`float`, a function of `math`, a NumPy array of floats); use the functions of "
                "screws.scalars, such as sin and array"
            )
        return value

    def _function(self, name: str, *arguments: Any) -> TapeScalar:
        if name in LOOKUPS and isinstance(arguments[1], np.ndarray):
            number = self.tape.lookup_of_numbers(op.CODES[name], self._other(arguments[0]), arguments[1])
            return TapeScalar(self.tape, number)
        positions = []
        for argument in arguments:
            position = self._other(argument)
            if position < 0:
                return NotImplemented  # type: ignore[no-any-return]
            positions.append(position)
        for argument, position in zip(arguments[: op.OPERATIONS[op.CODES[name]].truths], positions, strict=False):
            self._need_condition(name, argument, position)
        return TapeScalar(self.tape, self.tape.function(name, *positions))

    def _need_condition(self, name: str, argument: Any, position: int) -> None:
        """Raise `TraceError` if an argument is a number: as a condition, it might mean "not zero" or "over one half"."""
        node = self.tape.nodes[position]
        folded = argument.__class__ is TapeScalar and node[0] == op.CONSTANT and node[1] in (0.0, 1.0)
        if node[0] in op.CONDITIONS or folded or isinstance(argument, (bool, np.bool_)):
            return
        label = {"where": "the first argument of where", "opposite": "the operand of `~`"}.get(name, "a side of `&` or `|`")
        raise TraceError(
            f"{label} is a number, but must be a comparison: x > 0, less(0.5, x) for a signal that is 0 or 1, "
            "equal(mode, 2.0); `&`, `|` and `~` combine comparisons"
        )

    def __scalar_function__(self, name: str, arguments: tuple[Any, ...]) -> Any:
        result = self._function(name, *arguments)
        if result is NotImplemented:
            for argument in arguments:
                if argument.__class__ is not TapeScalar and hasattr(argument, "__scalar_function__"):
                    return argument.__scalar_function__(name, arguments)
            kinds = ", ".join(type(a).__name__ for a in arguments)
            raise TraceError(f"{name}({kinds}): a traced value can be combined only with numbers")
        return result
