"""Elimination: statements of a small system -> its values as expressions in states, parameters, inputs and time.

What the compiler does on a tape (`bondgraph.tracing.walk`) is done here with symbols: linear algebraic loops are solved where
they stand, dependent storages and constraints with time derivatives by the chain rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import Loop, Statement, System, Unknown
from bondgraph.compile.state_names import own_states
from bondgraph.errors import ModelError, Problem, ScrewbondError
from bondgraph.export.along_motion import WhatVanishes, along
from bondgraph.export.canonical import exact, reduced
from bondgraph.export.growth import written_out
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.tracing.values import scalars_of, shaped

Values = dict[str, Any]

OPERATIONS = 4000
"""Most operations of any value on the way."""
BLOCK = 6
"""Most unknowns that are solved for at once."""


def needed_statements(system: System, wanted: Iterable[str]) -> frozenset[int]:
    """Indices of the statements that the wanted values follow from; solving for one unknown takes all of its set."""
    producer = {out: index for index, s in enumerate(system.statements) for out in s.outs}
    sets = {u.value: system.unknowns for u in system.unknowns}
    sets |= {u.value: loop.unknowns for loop in system.loops for u in loop.unknowns}
    rates = [state.rate for state in own_states(system)[0]]
    todo, seen, found = list(wanted), set[str](), set[int]()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        todo += [unknown.residual for unknown in sets.get(name, ())]
        index = producer.get(name)
        if index is not None and index not in found:
            found.add(index)
            statement = system.statements[index]
            todo += statement.args
            if statement.op is TIME_DERIVATIVE:
                todo += rates
    return frozenset(found)


def too_large(system: System, what: str, cure: str = "the equations of a part of it") -> ModelError:
    """E272: text for a person to read ends here."""
    cures = ("`bondgraph.export.latex(compiled)`: one line for each statement", cure)
    return ModelError(system.name, [Problem("E272", "the model is too large for equations in one piece", (what,), (), cures)])


class Elimination:
    """Runs the needed statements on expressions, with all floats exact."""

    def __init__(self, system: System, needed: frozenset[int], given: Values, slopes: Mapping[Any, Any]):
        self.system, self.given = system, given
        self.slopes = dict(slopes)
        """Time derivatives of what moves by itself: time, and inputs that vary."""
        late: set[str] = set()
        self.early_steps: list[int] = []
        self.late_steps: list[int] = []
        for index, statement in enumerate(system.statements):
            if statement.op is TIME_DERIVATIVE or any(arg in late for arg in statement.args):
                late.update(statement.outs)
                if index in needed:
                    self.late_steps.append(index)
            elif index in needed:
                self.early_steps.append(index)
        made = {out for index in needed for out in system.statements[index].outs}
        self.unknowns = system.unknowns if {u.residual for u in system.unknowns} <= made else ()
        self.loops = [loop for loop in system.loops if set(range(loop.start, loop.stop)) & set(self.early_steps)]
        self.fresh = 0
        self.vanishing = WhatVanishes(system)
        self.sought: dict[Any, Unknown] = {}

    def values(self) -> Values:
        """All needed values by name."""
        if not self.late_steps:
            return self._run(self.given)
        if not self.unknowns:
            return self._late(self._run(self.given))
        return self._solved(self.given, self.unknowns, lambda env: self._late(self._run(env)))

    def _run(self, given: Values) -> Values:
        env = dict(given)
        inside = {index: loop for loop in self.loops for index in range(loop.start, loop.stop)}
        solved: list[Loop] = []
        for index in self.early_steps:
            loop = inside.get(index)
            if loop is None:
                self._step(env, index)
            elif loop not in solved:
                solved.append(loop)
                env = self._loop(env, loop)
        return env

    def _loop(self, given: Values, loop: Loop) -> Values:
        body = [index for index in self.early_steps if loop.start <= index < loop.stop]

        def run(start: Values) -> Values:
            env = dict(start)
            for index in body:
                self._step(env, index)
            return env

        return self._solved(given, loop.unknowns, run)

    def _step(self, env: Values, index: int) -> None:
        statement = self.system.statements[index]
        self._refuse_growth(statement, [env[arg] for arg in statement.args])
        try:
            results = statement.op(*[env[arg] for arg in statement.args])
            results = (results,) if len(statement.outs) == 1 else results
            exactly = [_each(result, exact) for result in results]
        except ScrewbondError:
            raise
        except Exception as error:  # whatever a user's formula raises is the user's to see, with its element
            raise ModelError(self.system.name, [_fails(statement, error)]) from error
        for name, result in zip(statement.outs, exactly, strict=True):
            self._refuse_long(name, result)
            env[name] = result

    def _refuse_growth(self, statement: Statement, arguments: Sequence[Any]) -> None:
        try:
            count = written_out(statement.op, arguments)
        except Exception:  # the formula itself, which runs next, says what is wrong with it
            return
        self._refuse_count(statement.outs[0], count)

    def _refuse_long(self, name: str, result: Any) -> None:
        import sympy

        count = sum(int(sympy.count_ops(scalar)) for scalar in scalars_of(result))
        self._refuse_count(name, count)

    def _refuse_count(self, name: str, count: int) -> None:
        if count > OPERATIONS:
            what = f'"{name}" would have {count:.3g} operations, and {OPERATIONS} are the limit'
            raise too_large(self.system, what, "numbers=True, or the equations of a part of it")

    def _late(self, env: Values) -> Values:
        """Time derivatives along the motion, and what follows from them."""
        import sympy

        slopes = dict(self.slopes)
        for state in own_states(self.system)[0]:
            slopes |= zip(scalars_of(env[state.name]), map(sympy.S, scalars_of(env[state.rate])), strict=True)
        for index in self.late_steps:
            statement = self.system.statements[index]
            if statement.op is not TIME_DERIVATIVE:
                self._step(env, index)
                continue
            value = env[statement.args[0]]
            if statement.element in self.vanishing.elements:
                self.vanishing.decide(statement.element, value, env, self.sought)
                found = self.vanishing.slopes(statement.element, slopes)
            else:
                found = [along(scalar, slopes) for scalar in scalars_of(value)]
            env[statement.outs[0]] = shaped(found, np.shape(value))
            self._refuse_long(statement.outs[0], env[statement.outs[0]])
        return env

    def _solved(self, given: Values, unknowns: Sequence[Unknown], run: Callable[[Values], Values]) -> Values:
        """Values with the unknowns such that their residuals vanish."""
        import sympy

        self.fresh += 1
        shapes = [self.system.values[u.value].shape or () for u in unknowns]
        count = sum(int(np.prod(shape)) for shape in shapes)
        w = [sympy.Dummy(f"w{self.fresh}_{k}", real=True) for k in range(count)]
        if unknowns is self.unknowns:
            owners = [u for u, shape in zip(unknowns, shapes, strict=True) for _ in range(int(np.prod(shape)))]
            self.sought = dict(zip(w, owners, strict=True))

        def placed(scalars: Sequence[Any]) -> Values:
            out, start = dict(given), 0
            for unknown, shape in zip(unknowns, shapes, strict=True):
                size = int(np.prod(shape))
                out[unknown.value] = shaped(scalars[start : start + size], shape)
                start += size
            return out

        env = run(placed(w))
        residuals = [sympy.S(scalar) for u in unknowns for scalar in scalars_of(env[u.residual])]
        zero = dict.fromkeys(w, sympy.S.Zero)
        matrix = {
            (i, j): entry
            for i, residual in enumerate(residuals)
            for j, unknown in enumerate(w)
            if unknown in residual.free_symbols
            for entry in (reduced(sympy.diff(residual, unknown)),)
            if entry != 0
        }
        if any(_symbols(entry) & set(w) for entry in matrix.values()):
            raise self._unsolved(unknowns, "they depend on each other by a formula that is not linear")
        solution: list[Any] = [None] * count
        for rows, columns in _blocks(matrix, count):
            if len(columns) > BLOCK:
                raise too_large(self.system, f"{len(columns)} unknowns depend on each other, and {BLOCK} are the limit")
            right = [reduced(-residuals[i].xreplace(zero)) for i in rows]
            entries = [[matrix.get((i, j), sympy.S.Zero) for j in columns] for i in rows]
            found = _linear(entries, right) if len(rows) == len(columns) else None
            if found is None:
                raise self._unsolved(unknowns, "their equations have no unique solution")
            for j, value in zip(columns, found, strict=True):
                solution[j] = value
        return run(placed(solution))

    def _unsolved(self, unknowns: Sequence[Unknown], why: str) -> ModelError:
        elements = ", ".join(dict.fromkeys(unknown.element for unknown in unknowns))
        title = f"no closed form for {', '.join(unknown.value for unknown in unknowns)}"
        cures = ("`bondgraph.export.latex(compiled)`: one line for each statement", "a small C or I that breaks the loop")
        return ModelError(self.system.name, [Problem("E273", title, (why, f"elements: {elements}"), (), cures)])


def _symbols(expression: Any) -> set[Any]:
    return set(expression.free_symbols)


def _each(value: Any, function: Callable[[Any], Any]) -> Any:
    return shaped([function(scalar) for scalar in scalars_of(value)], np.shape(value))


def _fails(statement: Statement, error: Exception) -> Problem:
    return Problem(
        "E274",
        f'the formula of "{statement.outs[0]}" takes no symbols',
        (f'element "{statement.element}"', f"{type(error).__name__}: {error}"),
        (),
        ("functions of `screws.scalars` and + - * / in the formula",),
    )


def _blocks(matrix: Mapping[tuple[int, int], Any], count: int) -> list[tuple[list[int], list[int]]]:
    """Rows and columns that hang together; one that hangs alone makes a block that is not square."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(("row", k) for k in range(count))
    graph.add_nodes_from(("column", k) for k in range(count))
    graph.add_edges_from((("row", i), ("column", j)) for i, j in matrix)
    parts = []
    for part in nx.connected_components(graph):
        rows = sorted(k for kind, k in part if kind == "row")
        columns = sorted(k for kind, k in part if kind == "column")
        parts.append((rows, columns))
    return sorted(parts)


def _linear(matrix: Sequence[Sequence[Any]], right: Sequence[Any]) -> list[Any] | None:
    """Solution of a small linear system, every entry reduced; None if there is no unique one."""
    import sympy

    A = sympy.Matrix(matrix)
    try:
        found = A.LUsolve(sympy.Matrix(right), iszerofunc=lambda entry: reduced(entry) == 0)
    except (ValueError, ZeroDivisionError):  # SymPy's NonInvertibleMatrixError is a ValueError
        return None
    out = [reduced(entry) for entry in found]
    return None if any(entry.has(sympy.nan, sympy.zoo, sympy.oo) for entry in out) else out
