"""Steps of a routine as Modelica expressions: short expressions inline, long expressions as separate variables.

Expressions that depend only on time and parameters may generate time events, as in `simulate`. In all other expressions,
`noEvent` prevents events within steps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from bondgraph.emit.fusions import operation_of
from bondgraph.export.code.modelica.words import array, real
from bondgraph.tape import opcodes as op
from bondgraph.tape.nodes import Node, leaf_length, table_values
from bondgraph.tape.routine import Listing, reached

MAX_INLINE = 60

_SAME_NAMES = ("sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "log", "tanh")
TEXTS = {
    **{
        op.CODES[name]: f"{{0}} {sign} {{1}}"
        for name, sign in zip(("add", "subtract", "multiply", "divide"), "+-*/", strict=True)
    },
    op.NEGATIVE: "-{0}",
    op.RECIPROCAL: "1.0 / {0}",
    op.POWER: "{0} ^ {1}",
    **{op.CODES[name]: f"{name}({{0}})" for name in _SAME_NAMES},
    op.ATAN2: "atan2({0}, {1})",
    op.EXPM1: "2.0 * exp(0.5 * {0}) * sinh(0.5 * {0})",
    op.ABSOLUTE: "abs({0})",
    op.SIGN: "if {0} > 0.0 then 1.0 elseif {0} < 0.0 then (-1.0) else 0.0",
    op.FLOOR: "floor({0})",
    op.MINIMUM: "min({0}, {1})",
    op.MAXIMUM: "max({0}, {1})",
    op.LESS: "{0} < {1}",
    op.LESS_EQUAL: "{0} <= {1}",
    op.EQUAL: "{0} <= {1} and {0} >= {1}",
    op.BOTH: "{0} and {1}",
    op.EITHER: "{0} or {1}",
    op.OPPOSITE: "not {0}",
    op.WHERE: "if {0} then {1} else {2}",
    op.SEARCHSORTED: "count({0}, {1})",
    op.TAKE: "entry({0}, {1})",
}
"""Modelica source of each operation; conditions and the first argument of `where` are Booleans."""

_BROKEN = frozenset((op.ABSOLUTE, op.SIGN, op.FLOOR, op.MINIMUM, op.MAXIMUM, op.WHERE))
"""Operations that generate events by default; functions of tables never do."""

_CLOSED = _BROKEN | {code for code, form in TEXTS.items() if re.fullmatch(r"\w+\(\{0\}(, \{1\})?\)", form)}
"""Operations whose source needs no parentheses."""

FUNCTIONS = {
    "count(": """\
  function count "Number of ascending points that are at most u"
    input Real u;
    input Real points[:];
    output Real n;
  algorithm
    n := 0.0;
    for k in 1:size(points, 1) loop
      if points[k] <= u then
        n := k;
      end if;
    end for;
  end count;""",
    "entry(": """\
  function entry "Entry of a table at an index from 0; the first or last entry for an index out of range"
    input Real index;
    input Real values[:];
    output Real y;
  algorithm
    y := values[integer(max(0.0, min(index, size(values, 1) - 1.0))) + 1];
  end entry;""",
}


@dataclass
class RoutineText:
    """Expressions of one routine.

    Parameters
    ----------
    code : steps of the routine; only those that its outputs need are written.
    blocks : expression of each input, by the index of its block.
    prefix : prefix of the names of its variables; the user's names cannot clash, because they are quoted.
    moving : blocks whose values are not known before the run: x and m.
    modes : block of the modes, which are Integers; None if the routine reads no modes.
    kind : keywords before a variable, "Real" or "final parameter Real".
    lines : declarations of its variables.
    """

    code: Listing
    blocks: Sequence[Sequence[str]]
    prefix: str
    moving: frozenset[int] = frozenset((1, 3))
    modes: int | None = 3
    kind: str = "Real"
    lines: list[str] = field(default_factory=list)
    _texts: dict[int, str] = field(default_factory=dict)
    _bare: dict[int, str] = field(default_factory=dict)
    _moves: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._uses = [0] * len(self.code.steps)
        needed = set(reached(self.code.steps, self.code.outputs))
        for position, step in enumerate(self.code.steps):
            operands = step[1:] if step[0] > op.INPUT else ()
            for a in operands if position in needed else ():
                self._uses[a] += 1
            self._moves.append((step[0] in op.OF_BLOCKS and step[1] in self.moving) or any(self._moves[a] for a in operands))
        for output in self.code.outputs:
            self._uses[output] += 1
        for position, step in enumerate(self.code.steps):
            if step[0] > op.INPUT and position in needed:
                self._write(position, step)

    @property
    def operands(self) -> list[str]:
        return [self.number(output) for output in self.code.outputs]

    @property
    def results(self) -> list[str]:
        return [self._bare.get(output) or self.number(output) for output in self.code.outputs]

    def number(self, a: int) -> str:
        step = self.code.steps[a]
        if step[0] == op.CONSTANT:
            return real(step[1])
        if step[0] == op.INPUT:
            return self.blocks[step[1]][step[2]]
        if step[0] in op.CONDITIONS:
            return self._within(f"if {self._texts[a]} then 1.0 else 0.0", a)
        return self._texts[a]

    def truth(self, a: int) -> str:
        if self.code.steps[a][0] in op.CONDITIONS:
            return self._texts[a]
        return f"(abs({self.number(a)}) > 0.0)"

    def _within(self, expression: str, a: int) -> str:
        """Return the expression of a discontinuous step, which may generate time events but no state events."""
        return f"noEvent({expression})" if self._moves[a] else f"({expression})"

    def _write(self, position: int, step: Node) -> None:
        code, *arguments = step
        if code in op.LOOKUPS:
            operands = [self.number(arguments[0]), self._table(arguments[1])]
        elif code == op.EQUAL and (mode := self._mode_equals(arguments)):
            self._keep(position, mode)
            return
        else:
            truths = operation_of(code).truths
            operands = [self.truth(a) if k < truths else self.number(a) for k, a in enumerate(arguments)]
        if code == op.POWER and (exponent := self._whole(arguments[1])):
            operands[1] = exponent
        expression = TEXTS[code].format(*operands)
        self._keep(position, self._within(expression, position) if code in _BROKEN else expression)

    def _keep(self, position: int, expression: str) -> None:
        is_condition = self.code.steps[position][0] in op.CONDITIONS
        if len(expression) <= MAX_INLINE and (is_condition or self._uses[position] == 1):
            self._texts[position] = expression if self.code.steps[position][0] in _CLOSED else f"({expression})"
            if not is_condition:
                self._bare[position] = expression
            return
        name = f"{self.prefix}{position}"
        value = self._within(f"if {expression} then 1.0 else 0.0", position) if is_condition else expression
        self.lines.append(f"  {self.kind} {name} = {value};")
        self._texts[position] = f"({name} > 0.5)" if is_condition else name

    def _mode_equals(self, arguments: Sequence[int]) -> str:
        for a, b in (arguments, reversed(arguments)):
            step, other = self.code.steps[a], self.code.steps[b]
            if step[0] == op.INPUT and step[1] == self.modes and other[0] == op.CONSTANT and float(other[1]).is_integer():
                return f"{self.number(a)} == {int(other[1])}"
        return ""

    def _whole(self, a: int) -> str:
        """Return an integer constant as an Integer, so that the base of a power may be negative; "" for other values."""
        code, *value = self.code.steps[a]
        if code != op.CONSTANT or not float(value[0]).is_integer():
            return ""
        return f"{int(value[0])}" if value[0] >= 0 else f"({int(value[0])})"

    def _table(self, a: int) -> str:
        if a not in self._texts:
            step = self.code.steps[a]
            size, name = leaf_length(step), f"{self.prefix}{a}"
            if step[0] == op.TABLE:
                self.lines.append(f"  constant Real {name}[{size}] = {array(table_values(step))};")
            else:
                block, first, count = step[1:]
                self.lines.append(f"  {self.kind} {name}[{size}] = {{{', '.join(self.blocks[block][first : first + count])}}};")
            self._texts[a] = name
        return self._texts[a]
