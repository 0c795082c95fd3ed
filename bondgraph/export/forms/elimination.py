"""Elimination: statements of a small system -> its values as expressions in states, parameters, inputs and time.

The stages are those of the tape (`bondgraph.tracing.walk`), here with symbols: linear algebraic loops are solved where they
stand, dependent storages and constraints with time derivatives by the chain rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from bondgraph.assembly.stages import Stages
from bondgraph.assembly.system import Statement, System, Unknown
from bondgraph.compile.state_names import own_states
from bondgraph.errors import ModelError, ScrewbondError, refusal
from bondgraph.export.forms.canonical import exact, reduced
from bondgraph.export.forms.growth import too_large, written_out
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.tracing.linear.modewise import parts_of
from bondgraph.tracing.on_tape.values import Values, owners_of, placed, residuals_of, scalars_of, shaped, shapes_of

OPERATIONS = 4000
"""Most operations of any value on the way."""
BLOCK = 6
"""Most unknowns that are solved for at once."""


def eliminated(system: System, stages: Stages, given: Values, slopes: Mapping[Any, Any]) -> Values:
    """All values of the stages by name, from those that are given, with all floats exact.

    `slopes` are the time derivatives of what moves by itself: time, and inputs that vary. Raises `ModelError` E272, E273, E274.
    """
    made = {out for index in stages.statements for out in system.statements[index].outs}
    unknowns = system.unknowns if {u.residual for u in system.unknowns} <= made else ()
    elimination = _Elimination(system, stages, slopes)
    w = elimination.symbols(unknowns)
    sought = dict(zip(w, owners_of(system, unknowns), strict=True))
    values, decided = elimination.late(elimination.early(given | elimination.placed(unknowns, w)), sought, {})
    if not unknowns:
        return values
    solution = elimination.placed(unknowns, elimination.solution(unknowns, w, values))
    return elimination.late(elimination.early(given | solution), {}, decided)[0]


def along(expression: Any, slopes: Mapping[Any, Any]) -> Any:
    """Time derivative of an expression by the chain rule; `slopes` are those of the symbols that move."""
    moving = sorted(expression.free_symbols & set(slopes), key=str)
    return sympy.Add(*(sympy.diff(expression, s) * slopes[s] for s in moving))


@dataclass(frozen=True)
class _Elimination:
    """Runs statements on expressions."""

    system: System
    stages: Stages
    slopes: Mapping[Any, Any]

    def symbols(self, unknowns: Sequence[Unknown]) -> list[Any]:
        """New symbols that stand for the scalars of unknowns."""
        return [sympy.Dummy(f"w{k}", real=True) for k in range(len(owners_of(self.system, unknowns)))]

    def placed(self, unknowns: Sequence[Unknown], scalars: Sequence[Any]) -> Values:
        """Unknowns by name from their scalars."""
        return placed(unknowns, shapes_of(self.system, unknowns), scalars)

    def early(self, given: Values) -> Values:
        """What needs no time derivative."""
        values = dict(given)
        for step in self.stages.early:
            if step.loop is not None:
                unknowns = step.loop.unknowns
                w = self.symbols(unknowns)
                inner = values | self.placed(unknowns, w)
                self._run(step.statements, inner)
                values |= self.placed(unknowns, self.solution(unknowns, w, inner))
            self._run(step.statements, values)
        return values

    def late(
        self, values: Values, sought: Mapping[Any, Unknown], known: Mapping[str, list[Any]]
    ) -> tuple[Values, dict[str, list[Any]]]:
        """Time derivatives along the motion, and what follows from them, added to the values; and what is differentiated at
        elements that yield: as `known`, else by the symbols `sought` that stand for the unknowns."""
        slopes, decided = dict(self.slopes), dict(known)
        for state in own_states(self.system)[0]:
            slopes |= zip(scalars_of(values[state.name]), map(sympy.S, scalars_of(values[state.rate])), strict=True)
        for index in self.stages.late:
            statement = self.system.statements[index]
            if statement.op is not TIME_DERIVATIVE:
                self._run([index], values)
                continue
            value, (out,) = values[statement.args[0]], statement.outs
            flat = [sympy.S(scalar) for scalar in scalars_of(value)]
            if statement.element in self.stages.yielding:
                if statement.element not in decided:
                    decided[statement.element] = self._where_none_acts(flat, values, sought)
                flat = decided[statement.element]
            values[out] = shaped([along(scalar, slopes) for scalar in flat], np.shape(value))
            self._refuse_long(out, values[out])
        return values, decided

    def _where_none_acts(self, flat: Sequence[Any], values: Values, sought: Mapping[Any, Unknown]) -> list[Any]:
        """Scalars that vanish, without the unknowns; 0 where one acts, which makes them vanish by itself."""

        def yields(scalar: Any) -> bool:
            met = (w for w in scalar.free_symbols & sought.keys() if self.stages.acts(sought[w], values))
            return any(reduced(sympy.diff(scalar, w)) != 0 for w in met)

        zero = dict.fromkeys(sought, sympy.S.Zero)
        return [sympy.S.Zero if yields(scalar) else scalar.xreplace(zero) for scalar in flat]

    def _run(self, statements: Iterable[int], values: Values) -> None:
        for index in statements:
            self._step(self.system.statements[index], values)

    def _step(self, statement: Statement, values: Values) -> None:
        arguments = [values[arg] for arg in statement.args]
        self._refuse_growth(statement, arguments)
        try:
            results = statement.op(*arguments)
            results = (results,) if len(statement.outs) == 1 else results
            exactly = [shaped([exact(scalar) for scalar in scalars_of(result)], np.shape(result)) for result in results]
        except ScrewbondError:
            raise
        except Exception as error:  # whatever a user's formula raises is the user's to see, with its element
            title = f'the formula of "{statement.outs[0]}" takes no symbols'
            cure = "functions of `screws.scalars` and + - * / in the formula"
            why = (f'element "{statement.element}"', f"{type(error).__name__}: {error}")
            raise refusal("E274", title, cure, about=self.system.name, why=why, places=()) from error
        for name, result in zip(statement.outs, exactly, strict=True):
            self._refuse_long(name, result)
            values[name] = result

    def _refuse_growth(self, statement: Statement, arguments: Sequence[Any]) -> None:
        try:
            count = written_out(statement.op, arguments)
        except Exception:  # the formula itself, which runs next, says what is wrong with it
            return
        self._refuse_count(statement.outs[0], count)

    def _refuse_long(self, name: str, result: Any) -> None:
        self._refuse_count(name, sum(int(sympy.count_ops(scalar)) for scalar in scalars_of(result)))

    def _refuse_count(self, name: str, count: int) -> None:
        if count > OPERATIONS:
            what = f'"{name}" would have {count:.3g} operations, and {OPERATIONS} are the limit'
            raise too_large(self.system, what, "numbers=True, or the equations of a part of it")

    def solution(self, unknowns: Sequence[Unknown], w: Sequence[Any], values: Values) -> list[Any]:
        """What the symbols w of unknowns must be for their residuals to vanish, from the values in terms of w."""
        residuals = [sympy.S(scalar) for scalar in residuals_of(values, unknowns)]
        every = {(i, j): sympy.diff(r, x) for i, r in enumerate(residuals) for j, x in enumerate(w) if x in r.free_symbols}
        matrix = {place: entry for place, slope in every.items() if (entry := reduced(slope)) != 0}
        if any(entry.free_symbols & set(w) for entry in matrix.values()):
            raise self._unsolved(unknowns, "they depend on each other by a formula that is not linear")
        zero, solution = dict.fromkeys(w, sympy.S.Zero), dict[int, Any]()
        for rows, columns in sorted(parts_of(matrix, len(w))):
            if len(columns) > BLOCK:
                raise too_large(self.system, f"{len(columns)} unknowns depend on each other, and {BLOCK} are the limit")
            right = [reduced(-residuals[i].xreplace(zero)) for i in rows]
            entries = [[matrix.get((i, j), sympy.S.Zero) for j in columns] for i in rows]
            found = _linear(entries, right) if len(rows) == len(columns) else None
            if found is None:
                raise self._unsolved(unknowns, "their equations have no unique solution")
            solution |= zip(columns, found, strict=True)
        return [solution[j] for j in range(len(w))]

    def _unsolved(self, unknowns: Sequence[Unknown], why: str) -> ModelError:
        elements = ", ".join(dict.fromkeys(unknown.element for unknown in unknowns))
        title = f"no closed form for {', '.join(unknown.value for unknown in unknowns)}"
        cures = ("`bondgraph.export.latex(compiled)`: one line for each statement", "a small C or I that breaks the loop")
        return refusal("E273", title, *cures, about=self.system.name, why=(why, f"elements: {elements}"), places=())


def _linear(matrix: Sequence[Sequence[Any]], right: Sequence[Any]) -> list[Any] | None:
    """Solution of a small linear system, every entry reduced; None if there is no unique one."""
    A = sympy.Matrix(matrix)
    try:
        found = A.LUsolve(sympy.Matrix(right), iszerofunc=lambda entry: reduced(entry) == 0)
    except (ValueError, ZeroDivisionError):  # SymPy's NonInvertibleMatrixError is a ValueError
        return None
    out = [reduced(entry) for entry in found]
    return None if any(entry.has(sympy.nan, sympy.zoo, sympy.oo) for entry in out) else out
