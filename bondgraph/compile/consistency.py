"""Consistent initial values: the constraints that are active at the start, the misfit of start velocities, and the nearest
consistent velocities.

An active constraint has zero flow. If the start velocities give it a flow, stabilisation would remove that flow with a force that
also adds or removes energy. The nearest consistent velocities are the result of an impulse: the least change in the kinetic
metric,

    minimise dx^T G dx / 2  with  f(x + dx) = 0,   G = d2E / dx2,

over the states x of inertias that are not kept. Both f and dE/dx are linear in x (or nearly so), so that differences of any size
give their derivatives. Everything is scaled by G, so that units do not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.assembly.system import System, Unknown
from bondgraph.errors import Problem, refusal
from bondgraph.model.arguments import names_of
from bondgraph.model.laws import IdealConstraint, Storing
from bondgraph.model.model import Model
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.run.program import Program, Slot
from bondgraph.run.results.failure import CURES
from bondgraph.run.validation.constraint_matrix import ConstraintMatrix
from bondgraph.run.validation.constraint_rank import MAX_CONTRADICTION
from screws.errors import plural
from screws.names import similar_names

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel


Values = Callable[[np.ndarray], np.ndarray]
"""Function of states (k, n) that returns rows of values."""

VELOCITY_RTOL = 1e-6
"""Largest inconsistency of start velocities, relative to the speeds in the kinetic metric; start values given to six digits
pass."""

RANK_RTOL = 1e-9

MAX_NEWTON_STEPS = 20
"""Maximum number of Newton iterations for velocities if the inertia is not constant."""


@dataclass(frozen=True)
class Motion:
    """Functions of the states x (n,) of a compiled model that define consistent start velocities."""

    flows: Values
    energy: Values
    sizes: np.ndarray
    moving: np.ndarray
    """Indices of the states that an impulse of these constraints moves."""


@dataclass(frozen=True)
class Misfit:
    """Misfit of start velocities: `flows` (k,) of the constraints; and the energies, J, of the smallest change that removes these
    flows, of all motion, and of all storages."""

    flows: np.ndarray
    energy: float
    kinetic: float
    stored: float

    @property
    def fits(self) -> bool:
        """True if the misfit is within rounding error, or within the error of start values given to six digits."""
        return not self.energy > VELOCITY_RTOL**2 * max(self.kinetic, self.stored)


def misfit(motion: Motion, x: np.ndarray) -> Misfit:
    flows = motion.flows(x[None])[0]
    if not np.any(flows):
        return Misfit(flows, 0.0, 0.0, 0.0)
    metric, strides = _metric(motion, x)
    change, slopes = _step(motion, x, metric, strides, np.arange(len(motion.moving)))
    speeds = x[motion.moving]
    residual = flows + slopes @ change
    size = max(float(np.abs(flows).max()), float((np.abs(slopes) @ np.abs(speeds)).max()))
    unsolvable = float(np.abs(residual).max()) > VELOCITY_RTOL * size
    energy = np.inf if unsolvable else change @ metric @ change / 2
    stored = float(np.abs(motion.energy(x[None])).sum())
    return Misfit(flows, float(energy), float(speeds @ metric @ speeds / 2), stored)


def nearest_consistent(motion: Motion, x: np.ndarray, kept: Sequence[int]) -> np.ndarray | None:
    """Find, by Newton iteration, the states with the nearest consistent velocities, without changing the states at the indices
    `kept`; None if no velocities are consistent."""
    x = x.copy()
    free = np.flatnonzero(~np.isin(motion.moving, list(kept)))
    metric, strides = _metric(motion, x)
    first = float(np.abs(motion.flows(x[None])).max(initial=0.0))
    for _ in range(MAX_NEWTON_STEPS):
        change, slopes = _step(motion, x, metric, strides, free)
        size = float(np.abs(slopes * x[motion.moving]).sum(axis=1).max(initial=0.0)) + first
        x[motion.moving] += change
        residual = float(np.abs(motion.flows(x[None])).max(initial=0.0))
        if not residual > 1e-13 * size:
            return x
    return x if residual <= VELOCITY_RTOL**2 * size else None


def _step(
    motion: Motion, x: np.ndarray, metric: np.ndarray, strides: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least change of the `free` moving states that removes the flows, and df/dx (k, moving)."""
    steps = strides[:, None] * np.eye(len(x))[motion.moving]
    samples = motion.flows(np.vstack([x[None], x + steps, x - steps]))
    count = 1 + len(steps)
    flows, slopes = samples[0], ((samples[1:count] - samples[count:]) / (2.0 * strides)[:, None]).T
    change, inert = np.zeros(len(motion.moving)), ~(np.diag(metric) > 0.0)
    free = free[~inert[free]]
    if len(free):
        root = np.linalg.cholesky(metric[np.ix_(free, free)])
        normal = np.linalg.solve(root, slopes[:, free].T).T  # f = normal @ y, and |y|^2 is twice the energy
        rows = np.linalg.norm(normal, axis=1)
        scale = 1.0 / np.where(rows > 0.0, rows, 1.0)
        least = np.linalg.lstsq(normal * scale[:, None], -flows * scale, rcond=RANK_RTOL)[0]
        change[free] = np.linalg.solve(root.T, least)
    return change, slopes


def _metric(motion: Motion, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return d2E/dx2 over the moving states (moving, moving), by differences (exact for quadratic energies), and the difference
    steps."""
    unit = np.eye(len(x))[motion.moving]
    strides = np.maximum(np.abs(x), motion.sizes)[motion.moving]

    def total(moves: np.ndarray) -> np.ndarray:
        return motion.energy(x + moves).sum(axis=1)

    at_x = total(np.zeros((1, len(x))))[0]
    low = np.full(len(strides), True)
    while low.any():  # until the energy of the motion stands out from the other stored energy
        moves = strides[low, None] * unit[low]
        low[low] = (total(moves) + total(-moves) - 2.0 * at_x < 1e-2 * abs(at_x)) & (strides[low] < 1e150)
        strides[low] *= 100.0
    G = np.empty((len(unit), len(unit)))
    moves = strides[:, None] * unit
    for i, one in enumerate(moves):
        both, against = total(one + moves[: i + 1]), total(one - moves[: i + 1])
        back, neither = total(moves[: i + 1] - one), total(-one - moves[: i + 1])
        G[i, : i + 1] = G[: i + 1, i] = (both - against - back + neither) / (4.0 * strides[i] * strides[: i + 1])
    return G, strides


Keep = Sequence[str] | Mapping[str, Any]
"""Names of states, parts or other values that remain unchanged, or a mapping from such names to new values."""

MOTIONS = 3

MAX_LISTED = 8


@dataclass(frozen=True, eq=False)
class HeldConstraints:
    """Constraints that are active in given modes: indices (k,) of their flows, slices of these by the path of the constraint, and
    indices of the states that their impulses move."""

    flow_indices: np.ndarray
    slices: Mapping[str, slice]
    moving: np.ndarray

    def motion(self, program: Program, flows_of: Kernel, t: float, p: np.ndarray, m: np.ndarray) -> Motion:
        """Return the functions that define consistent start velocities; `flows_of` returns the flows of all constraints as its
        first outputs."""
        energies = program.energies
        assert energies is not None

        def flows(x: np.ndarray) -> np.ndarray:
            return flows_of.many(t, x, p, m)[:, self.flow_indices]

        return Motion(flows, lambda x: energies.many(t, x, p, m), program.typical, self.moving)


def held_in(model: Model, system: System, program: Program, m: np.ndarray) -> HeldConstraints | None:
    """Return the constraints that are active in the modes m and whose flow an impulse brings to zero, if there are any."""
    held, closing = _holding_constraints(model, system, m), program.closing
    if not held or closing is None or program.closures is None or program.energies is None:
        return None
    rows = {u.element: [k for k, element in enumerate(closing.flows) if element == u.element] for u in held}
    ends = np.cumsum([len(indices) for indices in rows.values()])
    slices = {path: slice(int(end) - len(indices), int(end)) for (path, indices), end in zip(rows.items(), ends, strict=True)}
    return HeldConstraints(np.array([k for indices in rows.values() for k in indices]), slices, _moved_states(model, system))


def contradicting_closures(
    model: Model, system: System, program: Program, x: np.ndarray, m: np.ndarray, p: np.ndarray
) -> list[Problem]:
    """Report constraints that are redundant at the start but contradict each other as soon as the mechanism moves (E433)."""
    if program.closing is None or not program.closing.repeating:
        return []
    held, kernel = held_in(model, system, program, m), program.closing_flows
    if held is None or kernel is None:
        return []
    motion, rng, closures = held.motion(program, kernel, 0.0, p, m), np.random.default_rng(0), ConstraintMatrix(program, p)
    for _ in range(MOTIONS):
        moved = x.copy()
        moved[motion.moving] += rng.normal(size=len(motion.moving)) * motion.sizes[motion.moving]
        fitted = nearest_consistent(motion, moved, ())
        if fitted is None:
            continue
        parts, shares = closures.contradictions(np.zeros(1), fitted[None], m[None])
        if parts[0] > MAX_CONTRADICTION:
            elements = closures.owners(program.closing.repeating, shares[0])
            named = ", ".join(f'"{path}"' for path in elements)
            title = "constraints that are redundant at the start contradict each other as soon as the mechanism moves"
            details = (f"elements: {named}", "the velocities that these constraints allow lead to positions that they forbid")
            lines = tuple(model.elements[path].place for path in elements)
            return [Problem("E433", title, details, lines, CURES["contradiction"])]
    return []


def values_of(program: Program, t: float, p: np.ndarray, m: np.ndarray) -> Callable[[str], Values]:
    outputs = program.outputs
    assert outputs is not None

    def values(slot: Slot, x: np.ndarray) -> np.ndarray:
        blocks = {"out": outputs.many(t, x, p, m), "x": x, "m": np.tile(m, (len(x), 1))}
        return blocks[slot.block][:, slot.start : slot.stop]

    return lambda name: partial(values, program.layout[name])


def misfit_problems(model: Model, motion: Motion, slices: Mapping[str, slice], x: np.ndarray) -> list[Problem]:
    error = misfit(motion, x)
    if error.fits:
        return []
    largest = float(np.abs(error.flows).max())
    off = {path: error.flows[k] for path, k in slices.items() if np.abs(error.flows[k]).max() > 1e-6 * largest}
    named = [f'"{path}" starts with the flow {np.array2string(flow, precision=4)}' for path, flow in off.items()]
    if np.isfinite(error.energy):
        reason = f"at least {error.energy:.4g} J of the kinetic energy, {error.kinetic:.4g} J, must change"
    else:
        reason = "no start velocities are consistent: sources or constraints contradict each other"
    return [
        Problem(
            "E455",
            f"start velocities violate {plural(len(off), 'constraint')} by a flow that should be zero",
            (*named[:MAX_LISTED], *([f"and {len(named) - MAX_LISTED} more"] if len(named) > MAX_LISTED else []), reason),
            tuple(model.elements[path].place for path in off),
            (
                "simulate(t_end, initial=compiled.consistent()): the nearest consistent velocities; its keep={...} gives the "
                "rate of a joint, or the state of a part, and all other velocities follow",
                'closing="smooth" of the constraint or joint: the violation decays, which adds or removes energy',
            ),
        )
    ]


def _holding_constraints(model: Model, system: System, modes: np.ndarray) -> list[Unknown]:
    """Return the constraints that are active in these modes and whose flow an impulse brings to zero when they become active."""
    holding = []
    for unknown in system.unknowns:
        law = model.elements[unknown.element].law
        if not isinstance(law, IdealConstraint) or law.released is not None or not law.impulsive:
            continue
        if unknown.algebraic:  # the unknowns determine its flow
            continue
        if law.automaton is not None and system.modes[law.mode].state_in(modes) not in law.active:
            continue
        holding.append(unknown)
    return holding


def _moved_states(model: Model, system: System) -> np.ndarray:
    """Return indices of the states of storages whose rates depend on unknown efforts and flows."""
    reached, before = {unknown.value for unknown in system.unknowns}, 0
    while len(reached) > before:  # loops of statements take more than one round
        before = len(reached)
        for statement in system.statements:
            if statement.op is not TIME_DERIVATIVE and reached & set(statement.args):
                reached |= set(statement.outs)
    indices: list[int] = []
    for state in system.states:
        element = model.elements.get(state.name.rpartition(".")[0])
        if state.rate in reached and element is not None and isinstance(element.law, Storing):
            indices += system.places[state.name]
    return np.array(indices, dtype=int)


def unconstrained(model: str, system: System, keep: Keep) -> dict[str, Any]:
    """Return the new values of states in `keep` if no constraint is active; raise E122 for new values of other quantities, and
    for unknown names."""
    targets = keep if isinstance(keep, Mapping) else dict.fromkeys(names_of(keep, "keep"))
    for name, target in targets.items():
        root = system.resolve(name)
        is_part = any(state.startswith(f"{root}.") for state in system.places)
        if root not in system.places and (target is not None or not (is_part or root in system.values)):
            title = f'"{name}" is not a state, and no constraint is active that could change the states'
            raise refusal("E122", title, 'initial={"mass.flow": 1.0}', about=model, why=f"states: {', '.join(system.places)}")
    return {name: target for name, target in targets.items() if target is not None}


def fitting_start(
    model: Model, system: System, motion: Motion, x: np.ndarray, keep: Keep, values: Callable[[str], Values]
) -> dict[str, Any]:
    """Return start values by name with consistent velocities; the states and values of `keep` remain unchanged or take their new
    values.

    `values`(name) returns the function of x for a value that is not a state. Raises E122 for unknown names, E432 if no velocities
    are consistent.
    """
    indices = {name: where for name, where in system.places.items() if np.isin(motion.moving, where).any()}
    x, kept, rows = x.copy(), [], [motion.flows]
    targets = keep if isinstance(keep, Mapping) else dict.fromkeys(names_of(keep, "keep"))
    for name, target in targets.items():
        root = system.resolve(name)
        of_name = [k for state, where in indices.items() if state == root or state.startswith(f"{root}.") for k in where]
        if of_name:
            kept += of_name
            if target is not None:
                x[of_name] = np.broadcast_to(np.ravel(np.asarray(target, dtype=float)), len(of_name))
        elif root in system.values and root not in system.parameters:
            rows.append(_residual(values(root), x, target))
        else:
            title = f'"{name}" is neither a value nor a part with a state of motion'
            near = [f'did you mean "{each}"?' for each in similar_names(name, indices, most=2)]
            raise refusal("E122", title, *near, about=model.name, why=f"known: {', '.join(indices)}", places=())
    constrained = replace(motion, flows=lambda at: np.concatenate([row(at) for row in rows], axis=1))
    solution = nearest_consistent(constrained, x, kept)
    if solution is None:
        staying = f" with {', '.join(targets)} fixed" if targets else ""
        cures = (
            ("fewer rates in keep: one for each degree of freedom",)
            if targets
            else ("other velocities of the sources", "positions that allow this motion")
        )
        raise refusal("E432", f"no start velocities satisfy the constraints{staying}", *cures, about=model.name, places=())
    shapes = {state.name: np.shape(state.initial) for state in system.states}
    return {name: solution[where.start : where.stop].reshape(shapes[name])[()] for name, where in indices.items()}


def _residual(value: Values, x: np.ndarray, target: Any) -> Values:
    at_x = value(x[None])[0]
    goal = at_x if target is None else np.broadcast_to(np.ravel(np.asarray(target, dtype=float)), at_x.shape)
    return lambda at: value(at) - goal
