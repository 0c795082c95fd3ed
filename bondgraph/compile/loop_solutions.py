"""Solutions of nonlinear algebraic loops at a start, and the choice of one: the only solution, or the solution nearest to a
guess.

The solutions of a loop are the real roots of a few equations; a search from many starting points finds them.

A single residual is bracketed: it is evaluated on a logarithmic grid, which is refined where Newton steps from both ends of an
interval lead into it, and changes of sign are bisected. Several residuals are solved by damped Newton iteration from many starts,
then again with the known roots deflated (Farrell, Birkisson, Funke 2015).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.compile.source_stepping import follow_sources, without_solution
from bondgraph.errors import ModelError, Problem, caller_place
from bondgraph.model.arguments import in_unit
from bondgraph.model.model import Model
from bondgraph.quantities import real
from bondgraph.run.bound import Bound
from bondgraph.run.program import NewtonLoop, Program

DECADES, PER_DECADE = 15, 48
"""Number of decades above and below one, and of points per decade, in the grid of an unknown."""

REFINEMENTS, FINER, MAX_MINIMA = 4, 24, 16
"""Number of refinements of the grid; new intervals per old interval; maximum number of refined intervals without a change of
sign."""

STARTS, ITERATIONS, UNDAMPED_ITERATIONS = 96, 400, 1500
"""Number of starts of Newton's method for several unknowns; maximum numbers of damped and undamped iterations of each."""

EQUAL = 1e-7
"""Relative distance up to which two solutions count as one."""

CONVERGED = 1e-9
"""Largest relative Newton step at a solution."""

SENSITIVITY_STEP = 1e-6
"""Relative change of an unknown that must change the residuals at a solution by far more than the size of the residuals."""

MAX_SOLUTIONS = 8

Evaluate = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Function of unknowns (rows, k) that returns residuals and Newton steps, (rows, k) each."""


def real_roots(evaluate: Evaluate, first: np.ndarray) -> np.ndarray:
    """Return the real roots (count, k) found, at most `MAX_SOLUTIONS`; several unknowns are also started at `first` (k,)."""
    return _roots_of_one(evaluate) if len(first) == 1 else _roots_of_several(evaluate, first)


def _roots_of_one(evaluate: Evaluate) -> np.ndarray:
    ladder = 10.0 ** (np.arange(-DECADES * PER_DECADE, DECADES * PER_DECADE + 1) / PER_DECADE)
    grid = np.concatenate([-ladder[::-1], [0.0], ladder])
    values = _columns(evaluate, grid)
    for _ in range(REFINEMENTS):
        more = _between(grid, *values)
        grid, order = np.unique(np.concatenate([grid, more]), return_index=True)
        values = np.concatenate([values, _columns(evaluate, more)], axis=1)[:, order]
    residuals = values[0]
    change = np.flatnonzero(np.sign(residuals[:-1]) * np.sign(residuals[1:]) < 0.0)
    exact = grid[residuals == 0.0]
    low, high = _bisected(evaluate, grid[change], grid[change + 1], np.sign(residuals[change]))
    roots = _attracting(evaluate, np.concatenate([exact, low])[:, None], np.concatenate([exact, high])[:, None])
    return _merged(evaluate, np.sort(distinct(roots[:, None]), axis=0))[:MAX_SOLUTIONS]


def _columns(evaluate: Evaluate, at: np.ndarray) -> np.ndarray:
    return np.concatenate(evaluate(at[:, None]), axis=1).T


def _between(grid: np.ndarray, residuals: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return finer points in the intervals that may hide roots: intervals into which the Newton steps from both ends lead without
    a change of sign, and intervals with or next to a change of sign."""
    width, ahead, back = np.diff(grid), steps[:-1], -steps[1:]
    signs = np.sign(residuals[:-1]) * np.sign(residuals[1:])
    inward = np.flatnonzero((signs > 0.0) & (ahead > 0.0) & (back > 0.0) & np.isfinite(ahead) & np.isfinite(back))
    length = (ahead[inward] + back[inward]) / width[inward]
    change = np.flatnonzero(signs < 0.0)
    intervals = np.concatenate([inward[np.argsort(length, kind="stable")][:MAX_MINIMA], change - 1, change, change + 1])
    intervals = np.unique(intervals[(intervals >= 0) & (intervals < len(width))])
    part = np.arange(1, FINER) / FINER
    return np.ravel(np.outer(grid[intervals], 1.0 - part) + np.outer(grid[intervals + 1], part))


def _bisected(evaluate: Evaluate, low: np.ndarray, high: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return neighbouring numbers between which a residual changes sign, from brackets on one side of zero; `below` is its sign
    at their lower ends. 63 bisections of the bit patterns suffice, since floats of one sign are ordered like integers of the same
    bits."""
    low, high = low.copy(), high.copy()
    for _ in range(63 if len(low) else 0):
        bits = np.abs(low).view(np.int64), np.abs(high).view(np.int64)
        middle = np.copysign((bits[0] + (bits[1] - bits[0]) // 2).view(np.float64), low + high)
        same = np.sign(evaluate(middle[:, None])[0][:, 0]) == below
        inside = (middle != low) & (middle != high)
        low, high = np.where(inside & same, middle, low), np.where(inside & ~same, middle, high)
    return low, high


def _attracting(evaluate: Evaluate, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the points (rows, 1) between neighbours to which Newton's method converges from slightly farther away; poles, jumps
    and noise are left out."""
    starts = np.concatenate([low - EQUAL * np.abs(low), high + EQUAL * np.abs(high)])
    ends = _newton(evaluate, starts)
    from_below, from_above = ends[: len(low)], ends[len(low) :]
    size = np.maximum(np.abs(low), np.abs(high))
    near = (np.abs(from_below - low) <= EQUAL * size) & (np.abs(from_above - high) <= EQUAL * size)
    return np.where(np.abs(low) <= np.abs(high), low, high)[near[:, 0]]


def _roots_of_several(evaluate: Evaluate, first: np.ndarray) -> np.ndarray:
    everywhere, roots = np.concatenate([first[None], _starts(len(first))]), np.zeros((0, len(first)))
    starts = everywhere
    while len(roots) < MAX_SOLUTIONS:
        ends = _newton(evaluate, starts, roots)
        solved = ends[_solves(evaluate, ends)]
        if not len(roots) and not len(solved):
            ends = _newton(evaluate, starts, damped=False)
            solved = ends[_solves(evaluate, ends) & _vanishes(evaluate, ends, starts)]
        new = _merged(evaluate, distinct(np.concatenate([roots, solved])))
        if len(new) == len(roots):
            break
        roots = new
        starts = np.concatenate([everywhere, *map(_multiples, roots)])
    return roots[np.lexsort(roots.T[::-1])]


def _starts(count: int) -> np.ndarray:
    """Return starting points (rows, count): zero, and random numbers of either sign with magnitudes from 1e-7 to 1e7.

    The numbers of one row differ by a factor of up to 100.
    """
    rng = np.random.default_rng(count)
    together = 10.0 ** rng.uniform(-6.0, 6.0, (STARTS, 1)) * 10.0 ** rng.uniform(-1.0, 1.0, (STARTS, count))
    return np.concatenate([np.zeros((1, count)), rng.choice([-1.0, 1.0], (STARTS, count)) * together])


def _multiples(root: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(len(root))
    shape = STARTS // 4, len(root)
    return np.asarray(root * rng.choice([-1.0, 1.0], shape) * 10.0 ** rng.uniform(-1.0, 1.0, shape))


def _newton(evaluate: Evaluate, starts: np.ndarray, roots: np.ndarray | None = None, damped: bool = True) -> np.ndarray:
    """Return the final iterates (rows, k) of Newton's method from many starting points (rows, k); NaN if an iteration fails.

    Each step is halved until the residual falls, or, if not `damped`, until it is finite: with exponentials in series, damped
    steps end in a narrow valley, but each undamped step divides too large an exponential by e. With known `roots` (count, k), the
    residuals are deflated, to keep iterations from ending at a known root.
    """
    roots = starts[:0] if roots is None else roots
    at, part = starts.copy(), np.ones(len(starts))
    size, step = _deflated(evaluate, at, roots)
    for _ in range(ITERATIONS if damped else UNDAMPED_ITERATIONS):
        moving = (size > 0.0) & (np.abs(step) > np.finfo(float).eps * np.abs(at)).any(axis=1) & (part > np.finfo(float).eps)
        if not moving.any():
            break
        trial = at[moving] + part[moving, None] * step[moving]
        trial_size, trial_step = _deflated(evaluate, trial, roots)
        better = trial_size < (size[moving] if damped else np.inf)
        rows = np.flatnonzero(moving)
        at[rows[better]], size[rows[better]], step[rows[better]] = trial[better], trial_size[better], trial_step[better]
        part[rows] = np.where(better, np.minimum(1.0, 4.0 * part[rows]), 0.5 * part[rows])
    return np.where(np.isfinite(size)[:, None], at, np.nan)


def _deflated(evaluate: Evaluate, at: np.ndarray, roots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the size of the residuals (rows,) and the Newton steps (rows, k), with each known root deflated by the factor 1 + 1
    / distance^2."""
    residual, step = evaluate(at)
    size = np.abs(residual).max(axis=1)
    if len(roots):
        scale = np.abs(roots).max(axis=0)
        with np.errstate(all="ignore"):
            away = (at[:, None] - roots) / np.where(scale > 0.0, scale, 1.0)
            squared = (away**2).sum(axis=2)
            factors = 1.0 + 1.0 / squared
            slopes = (-2.0 / (squared**2 * factors))[..., None] * away / np.where(scale > 0.0, scale, 1.0)
            size = size * factors.prod(axis=1)
            step = step / (1.0 - (slopes.sum(axis=1) * step).sum(axis=1))[:, None]
    size = np.where(np.isfinite(size) & np.isfinite(at).all(axis=1) & np.isfinite(step).all(axis=1), size, np.inf)
    return size, np.where(np.isfinite(step), step, 0.0)


def _solves(evaluate: Evaluate, ends: np.ndarray) -> np.ndarray:
    """Return True (rows,) for final iterates (rows, k) at which Newton's method stops and the residuals are small compared with
    nearby residuals: if a matrix is singular to within rounding error, steps are small even far from a solution."""
    finite = np.isfinite(ends).all(axis=1)
    residual, step = evaluate(np.where(finite[:, None], ends, 0.0))
    small = (np.abs(step) <= CONVERGED * np.abs(ends) + _rounding(ends)) | (residual == 0.0).all(axis=1)[:, None]
    solves = finite & np.isfinite(residual).all(axis=1) & np.isfinite(step).all(axis=1) & small.all(axis=1)
    near = np.flatnonzero(solves)
    solves[near] = (np.abs(residual[near]) <= 0.1 * _changes(evaluate, ends[near], SENSITIVITY_STEP)).all(axis=1)
    return solves


def _vanishes(evaluate: Evaluate, ends: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return True (rows,) for final iterates (rows, k) whose residuals are nearly zero compared with the smallest at the starting
    points: undamped steps may run away to numbers so large that every step is relatively small."""
    least = _deflated(evaluate, starts, starts[:0])[0].min()
    return np.asarray(np.abs(evaluate(ends)[0]).max(axis=1) <= SENSITIVITY_STEP * least)


def distinct(roots: np.ndarray) -> np.ndarray:
    kept: list[np.ndarray] = []
    for root in roots:
        if not any(
            (np.abs(root - other) <= EQUAL * np.maximum(np.abs(root), np.abs(other)) + _rounding(root)).all() for other in kept
        ):
            kept.append(root)
    return np.array(kept).reshape(len(kept), roots.shape[1])


def _rounding(at: np.ndarray) -> np.ndarray:
    """Return the last bit of the largest unknown (..., 1): the rounding error of an unknown that is zero."""
    return np.asarray(np.finfo(float).eps * np.abs(at).max(axis=-1, keepdims=True, initial=0.0))


def _changes(evaluate: Evaluate, at: np.ndarray, part: float) -> np.ndarray:
    """Return the largest change of each residual (rows, k) as one unknown at a time changes by the fraction `part` of itself."""
    rows, count = at.shape
    moved = (at[:, None] * (1.0 + part * np.eye(count))).reshape(-1, count)
    change = evaluate(moved)[0].reshape(rows, count, count) - evaluate(at)[0][:, None]
    return np.fmax.reduce(np.abs(change), axis=1)


def _merged(evaluate: Evaluate, roots: np.ndarray) -> np.ndarray:
    """Return roots (count, k) without any that differ from an earlier root by rounding error alone: between the two roots, the
    residuals do not exceed what rounding of the unknowns can cause, as for exp(x) - 1 around zero."""
    noise = 100.0 * (np.abs(evaluate(roots)[0]) + _changes(evaluate, roots, 4.0 * np.finfo(float).eps))
    part, kept = (np.arange(1, FINER) / FINER)[:, None], list(range(len(roots[:1])))
    for k in range(1, len(roots)):
        between = np.concatenate([roots[i] + part * (roots[k] - roots[i]) for i in kept])
        sizes = np.abs(evaluate(between)[0]).reshape(len(kept), len(part), -1)
        if ((sizes <= np.maximum(noise[kept], noise[k])[:, None]).all(axis=2).mean(axis=1) < 0.5).all():
            kept.append(k)
    return roots[kept]


def solutions_of(loops: Sequence[NewtonLoop], t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> list[np.ndarray]:
    """Return the state x (n,) with each combination of solutions of nonlinear loops that is found from many starts, at most
    `MAX_SOLUTIONS`."""
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
    """Return guesses, converted to SI if they have a unit; raises E175 for a unit of another dimension."""
    units = {name: kind.unit for name in guesses if (kind := system.values.get(system.resolve(name))) is not None}
    return {name: in_unit(model.name, name, value, units.get(name, "")) for name, value in guesses.items()}


def unexpected_guesses(model: Model, program: Program, guesses: Mapping[str, Any]) -> list[Problem]:
    problems = []
    for name, value in guesses.items():
        exists = name in program.layout and program.layout[name].block in ("out", "x")
        numbers = real(value)
        if exists and numbers is not None and numbers.shape == program.layout[name].shape and np.isfinite(numbers).all():
            continue
        if exists:
            title = f'the guess {value!r} of "{name}" is not finite or has the wrong shape'
            cure = f"finite numbers of shape {program.layout[name].shape}"
        else:
            title = f'"{name}" is not a value to guess'
            likely = ", ".join(_one_port_variables(model, program)[:4]) or "one of its elements"
            cure = f"an effort or flow in an algebraic loop, such as {likely}"
        element = model.elements.get(name.rpartition(".")[0])
        place = element.place if element is not None and element.guess else caller_place()
        problems.append(Problem("E216", title, (), (place,), (cure,)))
    return problems


def start_on_branch(
    model: Model,
    program: Program,
    t: float,
    x: np.ndarray,
    parameters: Callable[[float], np.ndarray],
    m: np.ndarray,
    guesses: Mapping[str, Any],
    with_starts: frozenset[int],
) -> np.ndarray:
    """Return the start state x (n,) with the solution of the nonlinear loops: the only solution, or the solution nearest to the
    guesses by name. A start from which Newton's method finds the only solution is returned unchanged. Newton's method alone
    solves a loop if the elements of all its unknowns have start values; `with_starts` are the indices of such unknowns in x. If
    no solution is found, the loops are solved again as the sources are scaled up from zero; `parameters`(part) returns p with the
    sources at the fraction `part` of their values.

    Raises `ModelError` E215 if there are several solutions and no guess distinguishes them, E206 if residuals overflow and no
    solution is found.
    """
    p = parameters(1.0)
    first, failed = Bound(program, p).consistent(t, x, m)
    loops = [loop for loop in program.loops if not with_starts.issuperset(loop.states)]
    states = solutions_of(loops, t, first if with_starts else x, p, m)
    if not states:
        if failed is None:
            return x
        stepped = follow_sources(program, t, x, parameters, m)
        if stepped.x is not None and stepped.part == 1.0:
            return stepped.x
        if stepped.part > 0.0 and not np.isfinite(failed.kernel.many(t, x[None], p, m)).all():
            raise ModelError(model.name, [without_solution(model, failed, stepped.part)])
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
    outputs = np.zeros((len(x), 0)) if program.outputs is None else program.outputs.many(t, x, p, m)
    blocks = {"out": outputs, "x": x}

    def value(name: str) -> np.ndarray:
        slot = program.layout[name]
        return blocks[slot.block][:, slot.start : slot.stop]

    return value


def _one_port_variables(model: Model, program: Program) -> list[str]:
    """Return the names of efforts and flows of the one-ports in nonlinear loops, one-ports with a user's formula first."""
    paths = dict.fromkeys(path for loop in program.loops for path in loop.elements if path in model.elements)
    both = ("effort", "flow")
    one_ports = [path for path in paths if all(f"{path}.{variable}" in program.layout for variable in both)]
    one_ports.sort(key=lambda path: (bool(getattr(model.elements[path].law, "linear", True)), path))
    return [f"{path}.{variable}" for path in one_ports for variable in both]


def _ambiguous(
    model: Model, program: Program, values: Callable[[str], np.ndarray], count: int, guesses: Mapping[str, Any]
) -> Problem:
    differing = [name for name in _one_port_variables(model, program) if np.ptp(values(name), axis=0).any()] or list(
        program.layout.names("out")
    )
    shown, unit = differing[:2], {name: program.layout.unit(name) for name in differing}
    order = np.argsort(values(shown[0])[:, 0], kind="stable")
    lines = [", ".join(f"{name} = {_number(values(name)[k])} {unit[name]}".rstrip() for name in shown) for k in order]
    elements = [model.elements[name.rpartition(".")[0]] for name in shown if name.rpartition(".")[0] in model.elements]
    where = ", ".join(dict.fromkeys(f'{element.kind} "{element.name}"' for element in elements))
    guess = f'{{"{shown[0]}": {_number(values(shown[0])[order[-1]])}}}'
    title = f"the algebraic loop through {where or 'these values'} has {count} solutions at the start"
    why = f"the guess {dict(guesses)} does not distinguish them" if guesses else "choose one solution"
    cures = (
        f"guess={guess} of compile_model or graph.compile, which picks the nearest solution",
        f"initial={guess} of a run of a compiled model",
        "a small C or I in the loop: its initial value then selects the solution",
    )
    places = tuple(dict.fromkeys(element.place for element in elements))
    return Problem("E215", title, (*lines, why), places, cures)


def _number(value: np.ndarray) -> str:
    numbers = ", ".join(f"{number:.6g}" for number in value)
    return numbers if len(value) == 1 else f"[{numbers}]"
