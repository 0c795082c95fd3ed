"""StateEquations: rates of all states as SymPy expressions, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bondgraph.export.forms.letters import letter_of
from bondgraph.export.forms.written import Writing
from bondgraph.export.symbols import dotted, text
from bondgraph.output.cells import Typeset
from bondgraph.output.short_repr import short_repr

Case = tuple[str, Any]
"""The modes in which it holds, in words, and the expression."""


@short_repr
@dataclass(frozen=True)
class LinearSystem:
    """A w = b for unknowns w that are not eliminated, since what they are would be beyond reading."""

    unknowns: tuple[str, ...]
    A: Any
    """SymPy matrix (n, n) in states, parameters, inputs and what is defined."""
    b: Any
    """SymPy matrix (n, 1)."""

    @property
    def rows(self) -> tuple[tuple[Any, Any], ...]:
        """Left and right side of every equation."""
        import sympy

        w = sympy.Matrix([sympy.Symbol(name, real=True) for name in self.unknowns])
        return tuple(zip(self.A * w, self.b, strict=True))


@short_repr
@dataclass(frozen=True)
class StateEquations(Typeset):
    """x' = f(x, u, p, t): one SymPy expression for each state; notebooks show the equations by themselves."""

    name: str
    equations: Mapping[str, Any]
    """State, or component of one such as `body.p[2]` -> its rate, in symbols of the users' names and `time`; of one in `ticks`
    its value after a tick."""
    outputs: Mapping[str, Any]
    """The further values that were asked for."""
    ticks: Mapping[str, tuple[str, str]]
    """State that changes at ticks alone -> offset and period of its clock: it takes its value at offset + n period."""
    definitions: Mapping[str, Any]
    """What would be too long to put in: name of a symbol -> its expression, in an order in which they can be evaluated. It is a
    value of the model by its name, a time derivative with a dash, or a part s1, s2 ... that several have in common."""
    systems: tuple[LinearSystem, ...]
    """Unknowns that would be too long to solve for, with the linear equations that they fulfil."""
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    """Parameters of sources, which stay symbols; of a part, what comes over its boundary too."""
    parameters: Mapping[str, float]
    """Every other parameter that occurs -> its number."""
    letters: Mapping[str, str] = field(repr=False)
    """Name of a symbol -> its LaTeX."""
    cases: Mapping[str, tuple[Case, ...]] = field(repr=False)
    """State or output -> what holds in which modes of the switches; one case where they make no difference."""
    modes: Mapping[str, tuple[str, ...]] = field(repr=False)
    """Mode signals -> names of their states; in expressions a mode is the number of its state."""

    def latex(self) -> str:
        """An `align*` environment with one line for each state and output, and then for each definition."""
        writing = self._writing
        lines = []
        for name in (*self.equations, *self.outputs):
            letter, right = self.letters[name], self._right(writing, name)
            if name in self.ticks:
                offset, period = (letter_of(self.letters, each) for each in self.ticks[name])
                lines.append(rf"{letter} &:= {right} \quad \text{{at }} t = {offset} + n\,{period} \\")
            else:
                lines.append(rf"{dotted(letter) if name in self.equations else letter} &= {right} \\")
        if self.definitions or self.systems:
            lines.append(r"\intertext{where}")
        lines += [rf"{letter_of(self.letters, name)} &= {writing.latex(meant)} \\" for name, meant in self.definitions.items()]
        for system in self.systems:
            lines += [rf"{writing.latex(left)} &= {writing.latex(right)} \\" for left, right in system.rows]
        return "\\begin{align*}\n" + "\n".join(lines).removesuffix(r" \\") + "\n\\end{align*}\n"

    @property
    def _writing(self) -> Writing:
        return Writing(self.letters, self.modes, (*self.inputs, "time", *self.states))

    def _right(self, writing: Writing, name: str) -> str:
        written = [(when, writing.latex(expression)) for when, expression in self.cases[name]]
        if len(written) == 1:
            return written[0][1]
        rows = [rf"{right} & {text(when)}" for when, right in written]
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"

    def __str__(self) -> str:
        lines, writing = [], self._writing
        for name, cases in self.cases.items():
            left = f"{name} :=" if name in self.ticks else f"{name}' =" if name in self.equations else f"{name} ="
            clock = " at time = {} + n*{}".format(*self.ticks[name]) if name in self.ticks else ""
            for when, expression in cases:
                lines.append(f"{left} {writing.plain(expression)}{clock}" + (f"   ({when})" if len(cases) > 1 else ""))
        lines += ["where"] if self.definitions or self.systems else []
        lines += [f"{name} = {writing.plain(meant)}" for name, meant in self.definitions.items()]
        for system in self.systems:
            lines += [f"{writing.plain(left)} = {writing.plain(right)}" for left, right in system.rows]
        return "\n".join(lines)
