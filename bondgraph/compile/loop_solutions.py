"""Solutions of nonlinear algebraic loops at a start, and the one that is meant: the only one, or the nearest to a guess."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.compile.loop_roots import EQUAL, MAX_SOLUTIONS, distinct, real_roots
from bondgraph.errors import ModelError, Problem, caller_place
from bondgraph.model.arguments import in_unit
from bondgraph.model.model import Model
from bondgraph.quantities import real
from bondgraph.run.program import NewtonLoop, Program


def solutions_of(loops: Sequence[NewtonLoop], t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> list[np.ndarray]:
    """Return the state x (n,) with each combination of solutions of nonlinear loops that is seen from many starts."""
    states = [x]
    for loop in loops:
        states = [solved for state in states for solved in _solved(loop, t, state, p, m)][:MAX_SOLUTIONS]
    return states


def _solved(loop: NewtonLoop, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> Iterator[np.ndarray]:
    unknowns, sizes, weights = np.array(loop.states), np.array(loop.sizes), np.array(loop.weights)

    def evaluate(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states = np.tile(x, (len(rows), 1))
        states[:, unknowns] = rows * sizes
        with np.errstate(all="ignore"):
            out = loop.kernel.many(t, states, p, m)
            return out[:, : len(unknowns)] * weights, out[:, len(unknowns) :] / sizes

    for root in real_roots(evaluate, x[unknowns] / sizes):
        solved = x.copy()
        solved[unknowns] = root * sizes
        yield solved


def guesses_in_si(model: Model, system: System, guesses: Mapping[str, Any]) -> dict[str, Any]:
    """Return guesses with those that have a unit in SI; E175 for a unit of another dimension."""
    units = {name: kind.unit for name in guesses if (kind := system.values.get(system.resolve(name))) is not None}
    return {name: in_unit(model.name, name, value, units.get(name, "")) for name, value in guesses.items()}


def unexpected_guesses(model: Model, program: Program, guesses: Mapping[str, Any]) -> list[Problem]:
    """Report guesses that name no value of the model, or are no finite number (E216)."""
    problems = []
    for name, value in guesses.items():
        exists = name in program.layout and program.layout[name].block in ("out", "x")
        numbers = real(value)
        if exists and numbers is not None and numbers.shape == program.layout[name].shape and np.isfinite(numbers).all():
            continue
        title = f'the guess {value!r} of "{name}" does not fit' if exists else f'"{name}" is no value to guess'
        cure = f"an effort or flow in an algebraic loop, such as {', '.join(_shown(model, program)[:4]) or 'one of its elements'}"
        element = model.elements.get(name.rpartition(".")[0])
        place = element.place if element is not None and element.guess else caller_place()
        problems.append(Problem("E216", title, (), (place,), (cure,)))
    return problems


def start_on_branch(
    model: Model,
    program: Program,
    t: float,
    x: np.ndarray,
    p: np.ndarray,
    m: np.ndarray,
    guesses: Mapping[str, Any],
    begun: frozenset[int],
) -> np.ndarray:
    """Return the start state x (n,) with the solution of the nonlinear loops that is meant: the only one, or the nearest to the
    guesses by name. A start from which Newton's method finds the only one is returned as it is. Loops of `begun` unknowns
    (indices in x), whose elements have start values of their own, are left to Newton's method.

    Raises `ModelError` E215 where there are several solutions and no guess tells them apart.
    """
    from bondgraph.run.bound import Bound

    first, failed = Bound(program, p).consistent(t, x, m)
    loops = [loop for loop in program.loops if not begun.issuperset(loop.states)]
    states = solutions_of(loops, t, first if begun else x, p, m)
    if not states:
        return x
    if len(states) == 1:
        unknowns = [state for loop in loops for state in loop.states]
        return x if failed is None and len(distinct(np.array([states[0][unknowns], first[unknowns]]))) == 1 else states[0]
    values = _values(program, t, np.array(states), p, m)
    if guesses:
        targets = np.concatenate([np.ravel(value) for value in guesses.values()])
        columns = np.concatenate([values(name) for name in guesses], axis=1)
        spread = np.ptp(columns, axis=0)
        distances = (((columns - targets) / np.where(spread > 0.0, spread, 1.0)) ** 2).sum(axis=1)
        nearest = np.sort(distances)
        if spread.any() and nearest[0] < nearest[1] * (1.0 - EQUAL):
            return states[int(np.argmin(distances))]
    raise ModelError(model.name, [_ambiguous(model, program, values, len(states), guesses)])


def _values(program: Program, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> Callable[[str], np.ndarray]:
    """Return a function from the name of a value to its rows at the states x (rows, n)."""
    outputs = np.zeros((len(x), 0)) if program.outputs is None else program.outputs.many(t, x, p, m)
    blocks = {"out": outputs, "x": x}

    def value(name: str) -> np.ndarray:
        slot = program.layout[name]
        return blocks[slot.block][:, slot.start : slot.stop]

    return value


def _shown(model: Model, program: Program) -> list[str]:
    """Return the names of efforts and flows of the one-ports in nonlinear loops, those with a formula of the user's first."""
    paths = dict.fromkeys(path for loop in program.loops for path in loop.elements if path in model.elements)
    both = ("effort", "flow")
    one_ports = [path for path in paths if all(f"{path}.{variable}" in program.layout for variable in both)]
    one_ports.sort(key=lambda path: (bool(getattr(model.elements[path].law, "linear", True)), path))
    return [f"{path}.{variable}" for path in one_ports for variable in both]


def _ambiguous(
    model: Model, program: Program, values: Callable[[str], np.ndarray], count: int, guesses: Mapping[str, Any]
) -> Problem:
    """Return E215 with every solution, in the values of the loops' elements that differ."""
    differing = [name for name in _shown(model, program) if np.ptp(values(name), axis=0).any()] or list(
        program.layout.names("out")
    )
    shown, unit = differing[:2], {name: program.layout[name].unit for name in differing}
    order = np.argsort(values(shown[0])[:, 0], kind="stable")
    lines = [", ".join(f"{name} = {_number(values(name)[k])} {unit[name]}".rstrip() for name in shown) for k in order]
    elements = [model.elements[name.rpartition(".")[0]] for name in shown if name.rpartition(".")[0] in model.elements]
    where = ", ".join(dict.fromkeys(f'{element.kind} "{element.name}"' for element in elements))
    guess = f'{{"{shown[0]}": {_number(values(shown[0])[order[-1]])}}}'
    title = f"the algebraic loop through {where or 'these values'} has {count} solutions at the start"
    why = f"the guess {dict(guesses)} does not tell them apart" if guesses else "nothing says which of them is meant"
    cures = (
        f"guess={guess} of compile_model or graph.compile, which picks the nearest solution",
        f"initial={guess} of a run",
        "a small C or I in the loop: its start then decides",
    )
    places = tuple(dict.fromkeys(element.place for element in elements))
    return Problem("E215", title, (*lines, why), places, cures)


def _number(value: np.ndarray) -> str:
    numbers = ", ".join(f"{number:.6g}" for number in value)
    return numbers if len(value) == 1 else f"[{numbers}]"
