"""Elimination: statements of a small system -> its values as expressions in states, parameters, inputs and time.

The stages are those of the tape (`bondgraph.tracing.evaluate`), here with symbols: linear algebraic loops are solved where they
stand, dependent storages and constraints with time derivatives by the chain rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from bondgraph.assembly.stages import Stages
from bondgraph.assembly.system import Statement, System, Unknown, is_internal
from bondgraph.compile.state_names import labels_of, own_states
from bondgraph.errors import ModelError, ScrewbondError, refusal
from bondgraph.export.forms.algebra.canonical import reduced
from bondgraph.export.forms.algebra.definitions import Definitions, Slopes
from bondgraph.export.forms.algebra.growth import written_out
from bondgraph.export.forms.algebra.through_tape import defined
from bondgraph.export.forms.closed_form import LinearSystem
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.tracing.linear.modewise import parts_of
from bondgraph.tracing.on_tape.values import Values, owners_of, placed, residuals_of, scalars_of, shaped, shapes_of
from screws.errors import GeometryError


@dataclass(frozen=True)
class Limits:
    """What is written in one piece; all else is defined in lines of its own."""

    longest: int
    """Operations of an expression."""
    at_once: int
    """Operations in all results of one formula, equal parts counted as often as they occur, until which SymPy runs it."""
    block: int
    """Unknowns that are solved for at once."""
    value: int
    """Operations of a whole value of the model."""


READABLE = Limits(400, 4000, 6, 400)
"""Of small models."""
BY_PARTS = Limits(60, 60, 1, 12)
"""Of large ones."""
IN_ONE_PIECE = Limits(10**9, 10**9, 10**9, 10**9)
"""Where nothing may be defined apart, since all is put into matrices."""


def eliminated(
    system: System,
    stages: Stages,
    given: Values,
    slopes: Mapping[Any, Any],
    definitions: Definitions | None = None,
    limits: Limits = READABLE,
) -> Values:
    """All values of the stages by name, from those that are given, with all floats exact.

    `slopes` are the time derivatives of what moves by itself: time, and inputs that vary. What is longer than the limits is in
    symbols that `definitions` says the meaning of. Raises `ModelError` E273, E274.
    """
    made = {out for index in stages.statements for out in system.statements[index].outs}
    unknowns = tuple(u for u in system.unknowns if u.residual in made and u.value not in given)
    notes = definitions if definitions is not None else Definitions(system.values, limits.longest)
    elimination = _Elimination(system, stages, slopes, notes, limits)
    w = elimination.symbols(unknowns)
    mark = notes.mark()
    sought = dict(zip(w, owners_of(system, unknowns), strict=True))
    values, decided = elimination.late(elimination.early(given | elimination.placed(unknowns, w), w), sought, {})
    if not unknowns:
        return values
    solution = elimination.solution(unknowns, w, values)
    notes.forget(mark, [*solution, *(e for each in decided.values() for e in each)])
    return elimination.late(elimination.early(given | elimination.placed(unknowns, solution), ()), {}, decided)[0]


@dataclass(frozen=True)
class _Elimination:
    """Runs statements on expressions."""

    system: System
    stages: Stages
    slopes: Mapping[Any, Any]
    definitions: Definitions
    limits: Limits

    def symbols(self, unknowns: Sequence[Unknown]) -> list[Any]:
        """New symbols that stand for the scalars of unknowns."""
        return [sympy.Dummy(f"w{k}", real=True) for k in range(len(owners_of(self.system, unknowns)))]

    def placed(self, unknowns: Sequence[Unknown], scalars: Sequence[Any]) -> Values:
        """Unknowns by name from their scalars."""
        return placed(unknowns, shapes_of(self.system, unknowns), scalars)

    def early(self, given: Values, sought: Sequence[Any]) -> Values:
        """What needs no time derivative, of values that may depend on symbols that are `sought`."""
        values = dict(given)
        for step in self.stages.early:
            if step.loop is not None:
                unknowns = tuple(u for u in step.loop.unknowns if u.value not in given)
                mark = self.definitions.mark()
                w = self.symbols(unknowns)
                inner = values | self.placed(unknowns, w)
                self._run(step.statements, inner, [*sought, *w])
                solution = self.solution(unknowns, w, inner)
                self.definitions.forget(mark, solution)
                values |= self.placed(unknowns, solution)
            self._run(step.statements, values, sought)
        return values

    def late(
        self, values: Values, sought: Mapping[Any, Unknown], known: Mapping[str, list[Any]]
    ) -> tuple[Values, dict[str, list[Any]]]:
        """Time derivatives along the motion, and what follows from them, added to the values; and what is differentiated at
        elements that yield: as `known`, else by the symbols `sought` that stand for the unknowns."""
        moving, decided = dict(self.slopes), dict(known)
        for state in own_states(self.system)[0]:
            if state.rate in values and state.name in values:
                moving |= zip(scalars_of(values[state.name]), map(sympy.S, scalars_of(values[state.rate])), strict=True)
        slopes = Slopes(self.definitions, moving, sought)
        for index in self.stages.late:
            statement = self.system.statements[index]
            if statement.op is not TIME_DERIVATIVE:
                self._run([index], values, sought)
                continue
            value, (out,) = values[statement.args[0]], statement.outs
            flat = [sympy.S(scalar) for scalar in scalars_of(value)]
            if statement.element in self.stages.yielding:
                if statement.element not in decided:
                    decided[statement.element] = self._where_none_acts(flat, values, sought)
                flat = decided[statement.element]
            values[out] = self._shortened(out, [slopes.along(scalar) for scalar in flat], np.shape(value), sought)
        return values, decided

    def _where_none_acts(self, flat: Sequence[Any], values: Values, sought: Mapping[Any, Unknown]) -> list[Any]:
        """Scalars that vanish, without the unknowns; 0 where one acts, which makes them vanish by itself."""

        def yields(scalar: Any) -> bool:
            met = (w for w in scalar.free_symbols & sought.keys() if self.stages.acts(sought[w], values))
            return any(reduced(sympy.diff(scalar, w)) != 0 for w in met)

        zero = dict.fromkeys(sought, sympy.S.Zero)
        return [sympy.S.Zero if yields(scalar) else scalar.xreplace(zero) for scalar in flat]

    def _run(self, statements: Iterable[int], values: Values, sought: Collection[Any]) -> None:
        for index in statements:
            statement = self.system.statements[index]
            found = self._results(statement, [values[arg] for arg in statement.args], sought)
            for name, (shape, scalars) in zip(statement.outs, found, strict=True):
                values[name] = self._shortened(name, scalars, shape, sought)

    def _results(
        self, statement: Statement, arguments: Sequence[Any], sought: Collection[Any]
    ) -> list[tuple[tuple[int, ...], list[Any]]]:
        """Shape and scalars of every result of a statement."""
        try:
            if self._is_long(statement, arguments):
                return defined(statement.op, list(zip(statement.args, arguments, strict=True)), self.definitions, sought)
            results = statement.op(*arguments)
            results = (results,) if len(statement.outs) == 1 else results
            return [(np.shape(result), [self.definitions.exactly(s) for s in scalars_of(result)]) for result in results]
        except Exception as error:  # whatever a user's formula raises is the user's to see, with its element
            if isinstance(error, ScrewbondError) and not isinstance(error, GeometryError):
                raise
            title = f'the formula of "{statement.outs[0]}" takes no symbols'
            cure = "functions of `screws.scalars` and + - * / in the formula"
            why = (f'element "{statement.element}"', f"{type(error).__name__}: {error}")
            raise refusal("E274", title, cure, about=self.system.name, why=why, places=()) from error

    def _is_long(self, statement: Statement, arguments: Sequence[Any]) -> bool:
        try:
            return written_out(statement.op, arguments) > self.limits.at_once
        except Exception:  # the formula itself, which runs next, says what is wrong with it
            return False

    def _shortened(self, name: str, scalars: Sequence[Any], shape: tuple[int, ...], sought: Collection[Any]) -> Any:
        labels = labels_of(name, shape) if not is_internal(name) else [""] * len(scalars)
        longest = self.limits.longest if is_internal(name) else self.limits.value
        return shaped([self.definitions.short(n, s, sought, longest) for n, s in zip(labels, scalars, strict=True)], shape)

    def solution(self, unknowns: Sequence[Unknown], w: Sequence[Any], values: Values) -> list[Any]:
        """What the symbols w of unknowns must be for their residuals to vanish, from the values in terms of w."""
        residuals = [sympy.S(scalar) for scalar in residuals_of(values, unknowns)]
        every = {(i, j): sympy.diff(r, x) for i, r in enumerate(residuals) for j, x in enumerate(w) if x in r.free_symbols}
        matrix = {place: entry for place, slope in every.items() if (entry := reduced(slope)) != 0}
        if any(entry.free_symbols & set(w) for entry in matrix.values()):
            raise self._unsolved(unknowns, "they depend on each other by a formula that is not linear")
        zero, solution = dict.fromkeys(w, sympy.S.Zero), dict[int, Any]()
        shapes = shapes_of(self.system, unknowns)
        labels = [label for u, shape in zip(unknowns, shapes, strict=True) for label in labels_of(u.value, shape)]
        for rows, columns in sorted(parts_of(matrix, len(w))):
            right = [-residuals[i].xreplace(zero) for i in rows]
            entries = [[matrix.get((i, j), sympy.S.Zero) for j in columns] for i in rows]
            if len(rows) == len(columns) and self._is_large(entries, right):
                found = self._named(entries, right, [labels[j] for j in columns])
            else:
                found = _linear(entries, [reduced(e) for e in right]) if len(rows) == len(columns) else None
            if found is None:
                raise self._unsolved(unknowns, "their equations have no unique solution")
            solution |= zip(columns, found, strict=True)
        return [solution[j] for j in range(len(w))]

    def _is_large(self, entries: Sequence[Sequence[Any]], right: Sequence[Any]) -> bool:
        """Whether the solution of a linear system would be beyond reading."""
        count = sum(int(sympy.count_ops(e)) for row in (*entries, right) for e in row)
        return len(right) > self.limits.block or count > self.limits.longest

    def _named(self, entries: Sequence[Sequence[Any]], right: Sequence[Any], labels: Sequence[str]) -> list[Any] | None:
        """Symbols for the unknowns of a linear system, which is kept; None if its matrix may be singular."""
        closing = self.system.closing
        if self.system.indeterminate or (closing is not None and closing.repeating):
            return None
        notes = self.definitions
        w = [notes.fresh(label) for label in labels]
        A = sympy.Matrix([[notes.short("", e, ()) for e in row] for row in entries])
        b = sympy.Matrix([notes.short("", e, ()) for e in right])
        notes.systems.append(LinearSystem(tuple(symbol.name for symbol in w), A, b))
        return w

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
