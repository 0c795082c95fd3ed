"""Elimination: the values of a small system as expressions in states, parameters, inputs and time.

The stages are the same as on the tape (`bondgraph.tracing.evaluate`), but with symbols: linear algebraic loops are solved where
they occur, and dependent storages and constraints with time derivatives by the chain rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.assembly.stages import Stages
from bondgraph.assembly.system import Statement, System, Unknown, is_internal
from bondgraph.compile.state_names import own_states
from bondgraph.errors import ModelError, ScrewbondError, refusal
from bondgraph.export.forms.algebra.canonical import reduced
from bondgraph.export.forms.algebra.definitions import Definitions, TimeDerivatives
from bondgraph.export.forms.algebra.through_tape import expression_size, through_tape
from bondgraph.export.forms.records import LinearSystem
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.output.lazy import sympy
from bondgraph.output.tables import labels_of
from bondgraph.tracing.linear.modewise import parts_of
from bondgraph.tracing.on_tape.values import Values, owners_of, placed, residuals_of, scalars_of, shaped, shapes_of
from screws.errors import GeometryError


@dataclass(frozen=True)
class Limits:
    """Limits on the expressions that are written in one piece; longer expressions are defined on separate lines."""

    longest: int
    """Maximum number of operations of an expression."""
    at_once: int
    """Maximum number of operations in all results of a formula evaluated by SymPy, repeated parts included."""
    block: int
    """Maximum number of unknowns that are solved for simultaneously."""
    value: int
    """Maximum number of operations of a complete value of the model."""


READABLE = Limits(400, 4000, 6, 400)
BY_PARTS = Limits(60, 60, 1, 12)
IN_ONE_PIECE = Limits(10**9, 10**9, 10**9, 10**9)
"""No limits: nothing may be defined separately, since all expressions go into matrices."""


def eliminate(
    system: System,
    stages: Stages,
    known_values: Values,
    slopes: Mapping[Any, Any],
    definitions: Definitions | None = None,
    limits: Limits = READABLE,
) -> Values:
    """Return all values of the stages by name, from the known values, with all floats exact.

    `slopes` are the time derivatives of independent variables: time, and inputs that vary. Expressions beyond the limits become
    symbols of `definitions`. Raises `ModelError` E273 for equations without a closed form, E274 for a formula that does not
    accept symbols.
    """
    computed = {out for index in stages.statements for out in system.statements[index].outs}
    unknowns = tuple(u for u in system.unknowns if u.residual in computed and u.value not in known_values)
    notes = definitions if definitions is not None else Definitions(system.values, limits.longest)
    elimination = _Elimination(system, stages, slopes, notes, limits)
    w = elimination.symbols(unknowns)
    mark = notes.mark()
    sought = dict(zip(w, owners_of(system, unknowns), strict=True))
    values, decided = elimination.run_late(elimination.run_early(known_values | elimination.placed(unknowns, w), w), sought, {})
    if not unknowns:
        return values
    solution = elimination.solution(unknowns, w, values)
    notes.forget(mark, [*solution, *(e for each in decided.values() for e in each)])
    return elimination.run_late(elimination.run_early(known_values | elimination.placed(unknowns, solution), ()), {}, decided)[0]


@dataclass(frozen=True)
class _Elimination:
    system: System
    stages: Stages
    slopes: Mapping[Any, Any]
    definitions: Definitions
    limits: Limits

    def symbols(self, unknowns: Sequence[Unknown]) -> list[Any]:
        return [sympy.Dummy(f"w{k}", real=True) for k in range(len(owners_of(self.system, unknowns)))]

    def placed(self, unknowns: Sequence[Unknown], scalars: Sequence[Any]) -> Values:
        return placed(unknowns, shapes_of(self.system, unknowns), scalars)

    def run_early(self, known_values: Values, sought: Sequence[Any]) -> Values:
        values = dict(known_values)
        for step in self.stages.early:
            if step.loop is not None:
                unknowns = tuple(u for u in step.loop.unknowns if u.value not in known_values)
                mark = self.definitions.mark()
                w = self.symbols(unknowns)
                inner = values | self.placed(unknowns, w)
                self._run(step.statements, inner, [*sought, *w])
                solution = self.solution(unknowns, w, inner)
                self.definitions.forget(mark, solution)
                values |= self.placed(unknowns, solution)
            self._run(step.statements, values, sought)
        return values

    def run_late(
        self, values: Values, sought: Mapping[Any, Unknown], derivatives: Mapping[str, list[Any]]
    ) -> tuple[Values, dict[str, list[Any]]]:
        """Add the time derivatives along the motion and the values that follow from them. Also return, for each element in
        `stages.yielding`, the expressions that are differentiated: those in `derivatives`, or else those of
        `_without_unknowns`."""
        moving, decided = dict(self.slopes), dict(derivatives)
        for state in own_states(self.system)[0]:
            if state.rate in values and state.name in values:
                moving |= zip(scalars_of(values[state.name]), map(sympy.S, scalars_of(values[state.rate])), strict=True)
        slopes = TimeDerivatives(self.definitions, moving, sought)
        for index in self.stages.late:
            statement = self.system.statements[index]
            if statement.op is not TIME_DERIVATIVE:
                self._run([index], values, sought)
                continue
            value, (out,) = values[statement.args[0]], statement.outs
            flat = [sympy.S(scalar) for scalar in scalars_of(value)]
            if statement.element in self.stages.yielding:
                if statement.element not in decided:
                    decided[statement.element] = self._without_unknowns(flat, values, sought)
                flat = decided[statement.element]
            values[out] = self._shortened(out, [slopes.time_derivative(scalar) for scalar in flat], np.shape(value), sought)
        return values, decided

    def _without_unknowns(self, flat: Sequence[Any], values: Values, sought: Mapping[Any, Unknown]) -> list[Any]:
        """Return `flat`, scalars that must vanish, with the unknowns set to zero; 0 for a scalar that an acting unknown makes
        vanish."""

        def yields(scalar: Any) -> bool:
            met = (w for w in scalar.free_symbols & sought.keys() if self.stages.acts(sought[w], values))
            return any(reduced(sympy.diff(scalar, w)) != 0 for w in met)

        zero = dict.fromkeys(sought, sympy.S.Zero)
        return [sympy.S.Zero if yields(scalar) else scalar.xreplace(zero) for scalar in flat]

    def _run(self, statements: Iterable[int], values: Values, sought: Collection[Any]) -> None:
        for index in statements:
            statement = self.system.statements[index]
            results = self._results(statement, [values[arg] for arg in statement.args], sought)
            for name, (shape, scalars) in zip(statement.outs, results, strict=True):
                values[name] = self._shortened(name, scalars, shape, sought)

    def _results(
        self, statement: Statement, arguments: Sequence[Any], sought: Collection[Any]
    ) -> list[tuple[tuple[int, ...], list[Any]]]:
        try:
            if self._is_long(statement, arguments):
                return through_tape(statement.op, list(zip(statement.args, arguments, strict=True)), self.definitions, sought)
            results = statement.results(arguments)
            return [(np.shape(result), [self.definitions.exact(s) for s in scalars_of(result)]) for result in results]
        except Exception as error:  # show the error of a user's formula with its element
            if isinstance(error, ScrewbondError) and not isinstance(error, GeometryError):
                raise
            title = f'the formula of "{statement.outs[0]}" does not accept symbols'
            cure = "only functions of `screws.scalars` and + - * / in the formula"
            why = (f'element "{statement.element}"', f"{type(error).__name__}: {error}")
            raise refusal("E274", title, cure, about=self.system.name, why=why, places=()) from error

    def _is_long(self, statement: Statement, arguments: Sequence[Any]) -> bool:
        try:
            return expression_size(statement.op, arguments) > self.limits.at_once
        except Exception:  # the formula itself runs next and reports its error
            return False

    def _shortened(self, name: str, scalars: Sequence[Any], shape: tuple[int, ...], sought: Collection[Any]) -> Any:
        labels = labels_of(name, shape) if not is_internal(name) else [""] * len(scalars)
        longest = self.limits.longest if is_internal(name) else self.limits.value
        return shaped([self.definitions.shorten(n, s, sought, longest) for n, s in zip(labels, scalars, strict=True)], shape)

    def solution(self, unknowns: Sequence[Unknown], w: Sequence[Any], values: Values) -> list[Any]:
        residuals = [sympy.S(scalar) for scalar in residuals_of(values, unknowns)]
        every = {(i, j): sympy.diff(r, x) for i, r in enumerate(residuals) for j, x in enumerate(w) if x in r.free_symbols}
        matrix = {index: entry for index, slope in every.items() if (entry := reduced(slope)) != 0}
        if any(entry.free_symbols & set(w) for entry in matrix.values()):
            raise self._unsolved(unknowns, "they depend on each other nonlinearly")
        zero, solution = dict.fromkeys(w, sympy.S.Zero), dict[int, Any]()
        shapes = shapes_of(self.system, unknowns)
        labels = [label for u, shape in zip(unknowns, shapes, strict=True) for label in labels_of(u.value, shape)]
        for rows, columns in sorted(parts_of(matrix, len(w))):
            right = [-residuals[i].xreplace(zero) for i in rows]
            entries = [[matrix.get((i, j), sympy.S.Zero) for j in columns] for i in rows]
            if len(rows) == len(columns) and self._is_large(entries, right):
                part = self._as_linear_system(entries, right, [labels[j] for j in columns])
            else:
                part = _linear(entries, [reduced(e) for e in right]) if len(rows) == len(columns) else None
            if part is None:
                raise self._unsolved(unknowns, "their equations have no unique solution")
            solution |= zip(columns, part, strict=True)
        return [solution[j] for j in range(len(w))]

    def _is_large(self, entries: Sequence[Sequence[Any]], right: Sequence[Any]) -> bool:
        count = sum(int(sympy.count_ops(e)) for row in (*entries, right) for e in row)
        return len(right) > self.limits.block or count > self.limits.longest

    def _as_linear_system(
        self, entries: Sequence[Sequence[Any]], right: Sequence[Any], labels: Sequence[str]
    ) -> list[Any] | None:
        """Store a linear system and return symbols for its unknowns; None if its matrix may be singular."""
        closing = self.system.closing
        if self.system.indeterminate or (closing is not None and closing.repeating):
            return None
        notes = self.definitions
        w = [notes.new_symbol(label) for label in labels]
        A = sympy.Matrix([[notes.shorten("", e, ()) for e in row] for row in entries])
        b = sympy.Matrix([notes.shorten("", e, ()) for e in right])
        notes.systems.append(LinearSystem(tuple(symbol.name for symbol in w), A, b))
        return w

    def _unsolved(self, unknowns: Sequence[Unknown], why: str) -> ModelError:
        elements = ", ".join(dict.fromkeys(unknown.element for unknown in unknowns))
        title = f"no closed form for {', '.join(unknown.value for unknown in unknowns)}"
        cures = ("`bondgraph.export.latex(compiled)`: one line for each statement", "a small C or I that breaks the loop")
        return refusal("E273", title, *cures, about=self.system.name, why=(why, f"elements: {elements}"), places=())


def _linear(matrix: Sequence[Sequence[Any]], right: Sequence[Any]) -> list[Any] | None:
    A = sympy.Matrix(matrix)
    try:
        solution = A.LUsolve(sympy.Matrix(right), iszerofunc=lambda entry: reduced(entry) == 0)
    except (ValueError, ZeroDivisionError):  # SymPy's NonInvertibleMatrixError is a ValueError
        return None
    entries = [reduced(entry) for entry in solution]
    return None if any(entry.has(sympy.nan, sympy.zoo, sympy.oo) for entry in entries) else entries
