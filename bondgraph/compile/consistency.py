"""Consistent starts: which constraints hold at the start of a compiled model, whether its velocities fit, and ones that do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.assembly.system import System, Unknown
from bondgraph.compile.velocities import Motion, Values, fitting, misfit
from bondgraph.errors import Problem, refusal
from bondgraph.model.laws import IdealConstraint, Storing
from bondgraph.model.model import Model
from bondgraph.model.names import names_of
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.run.program import Program, Slot
from bondgraph.run.results.failure import CURES
from bondgraph.run.validation.constraint_matrix import ConstraintMatrix
from bondgraph.run.validation.constraint_rank import MAX_CONTRADICTION

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel

Keep = Sequence[str] | Mapping[str, Any]
"""Names of states, parts or other values that stay; or with the values that they are to have."""

MOTIONS = 3
"""Random motions at which redundant constraints are tried."""

MOST = 8
"""Constraints that a message lists at most."""


@dataclass(frozen=True, eq=False)
class HeldConstraints:
    """Constraints that hold in some modes: the places of their flows among those of all, (k,), where each has its own among
    these, by its path; and those of the states that their impulses move."""

    chosen: np.ndarray
    places: Mapping[str, slice]
    moving: np.ndarray

    def motion(self, program: Program, flows_of: Kernel, t: float, p: np.ndarray, m: np.ndarray) -> Motion:
        """What start velocities must fit; `flows_of` is a kernel that gives the flows of all constraints first."""
        energies = program.energies
        assert energies is not None

        def flows(x: np.ndarray) -> np.ndarray:
            return flows_of.many(t, x, p, m)[:, self.chosen]

        return Motion(flows, lambda x: energies.many(t, x, p, m), program.typical, self.moving)


def held_in(model: Model, system: System, program: Program, m: np.ndarray) -> HeldConstraints | None:
    """What holds in the modes m; None where nothing does."""
    held, closing = _holding(model, system, m), program.closing
    if not held or closing is None or program.closures is None or program.energies is None:
        return None
    rows = {u.element: [k for k, element in enumerate(closing.flows) if element == u.element] for u in held}
    ends = np.cumsum([len(own) for own in rows.values()])
    places = {path: slice(int(end) - len(own), int(end)) for (path, own), end in zip(rows.items(), ends, strict=True)}
    return HeldConstraints(np.array([k for own in rows.values() for k in own]), places, _moved(model, system))


def contradicting_closures(
    model: Model, system: System, program: Program, x: np.ndarray, m: np.ndarray, p: np.ndarray
) -> list[Problem]:
    """E433 where constraints repeat each other at the start, and contradict each other as soon as the mechanism moves."""
    if program.closing is None or not program.closing.repeating:
        return []
    held, kernel = held_in(model, system, program, m), program.closures
    if held is None or kernel is None:
        return []
    motion, rng, closures = held.motion(program, kernel, 0.0, p, m), np.random.default_rng(0), ConstraintMatrix(program, p)
    for _ in range(MOTIONS):
        moved = x.copy()
        moved[motion.moving] += rng.normal(size=len(motion.moving)) * motion.sizes[motion.moving]
        fitted = fitting(motion, moved, ())
        if fitted is None:
            continue
        parts, shares = closures.contradictions(np.zeros(1), fitted[None], m[None])
        if parts[0] > MAX_CONTRADICTION:
            elements = closures.owners(program.closing.repeating, shares[0])
            named = ", ".join(f'"{path}"' for path in elements)
            title = "constraints that repeat each other at the start contradict each other as soon as it moves"
            details = (f"these take part: {named}", "the velocities that they allow lead to places that they do not")
            places = tuple(model.elements[path].place for path in elements)
            return [Problem("E433", title, details, places, CURES["contradiction"])]
    return []


def values_of(program: Program, t: float, p: np.ndarray, m: np.ndarray) -> Callable[[str], Values]:
    """name -> that value, in rows, as a function of states (k, n)."""
    outputs = program.outputs
    assert outputs is not None

    def values(slot: Slot, x: np.ndarray) -> np.ndarray:
        blocks = {"out": outputs.many(t, x, p, m), "x": x, "m": np.tile(m, (len(x), 1))}
        return blocks[slot.block][:, slot.start : slot.stop]

    return lambda name: partial(values, program.layout[name])


def foreign_velocities(model: Model, motion: Motion, places: Mapping[str, slice], x: np.ndarray) -> list[Problem]:
    """E455 where start velocities do not fit the constraints."""
    found = misfit(motion, x)
    if found.fits:
        return []
    largest = float(np.abs(found.flows).max())
    off = {path: found.flows[own] for path, own in places.items() if np.abs(found.flows[own]).max() > 1e-6 * largest}
    named = [f'"{path}" starts with the flow {np.array2string(flow, precision=4)}' for path, flow in off.items()]
    if np.isfinite(found.energy):
        said = f"of {found.whole:.4g} J of motion, a change of {found.energy:.4g} J is needed at the least"
    else:
        said = "no start velocities fit: what sources move, or the constraints, contradict each other"
    return [
        Problem(
            "E455",
            f"start velocities do not fit {len(off)} constraint{'s' if len(off) > 1 else ''}, which hold no flow",
            (*named[:MOST], *([f"and {len(named) - MOST} more"] if len(named) > MOST else []), said),
            tuple(model.elements[path].place for path in off),
            (
                "simulate(t_end, initial=compiled.consistent()): the nearest velocities that fit; its keep={...} gives the "
                "rate of a joint, or the state of a part, and the others follow",
                'closing="smooth" of the constraint or joint: what is off decays, and gives or takes energy',
            ),
        )
    ]


def _holding(model: Model, system: System, modes: np.ndarray) -> list[Unknown]:
    """Constraints that hold in these modes and bring their flow to zero at once where they begin to hold."""
    names, found = list(system.modes), []
    for unknown in system.unknowns:
        law = model.elements[unknown.element].law
        if not isinstance(law, IdealConstraint) or law.released is not None or not law.impulsive:
            continue
        if unknown.algebraic:  # its flow is what the efforts make it
            continue
        if law.automaton is not None:
            name = law.mode
            if system.modes[name][0][int(modes[names.index(name)])] not in law.active:
                continue
        found.append(unknown)
    return found


def _moved(model: Model, system: System) -> np.ndarray:
    """Places of the states of storages on whose rates unknown efforts and flows act."""
    reached, before = {unknown.value for unknown in system.unknowns}, 0
    while len(reached) > before:  # loops of statements take more than one round
        before = len(reached)
        for statement in system.statements:
            if statement.op is not TIME_DERIVATIVE and reached & set(statement.args):
                reached |= set(statement.outs)
    found: list[int] = []
    places = system.places
    for state in system.states:
        element = model.elements.get(state.name.rpartition(".")[0])
        if state.rate in reached and element is not None and isinstance(element.law, Storing):
            found += places[state.name]
    return np.array(found, dtype=int)


def fitting_start(
    model: Model, system: System, motion: Motion, x: np.ndarray, keep: Keep, values: Callable[[str], Values]
) -> dict[str, Any]:
    """Start values by name with velocities that fit, while what `keep` names stays or becomes what it says.

    `values`(name) gives a value that is no state as a function of x. E122 unknown names, E432 none fit.
    """
    places = {name: where for name, where in system.places.items() if np.isin(motion.moving, where).any()}
    x, kept, rows = x.copy(), [], [motion.flows]
    targets = keep if isinstance(keep, Mapping) else dict.fromkeys(names_of(keep, "keep"))
    for name, target in targets.items():
        known = system.resolve(name)
        own = [k for state, where in places.items() if state == known or state.startswith(f"{known}.") for k in where]
        if own:
            kept += own
            if target is not None:
                x[own] = np.broadcast_to(np.ravel(np.asarray(target, dtype=float)), len(own))
        elif known in system.values and known not in system.parameters:
            rows.append(_towards(values(known), x, target))
        else:
            title = f'"{name}" is no value and no part with a state of motion'
            raise refusal("E122", title, about=model.name, why=f"known: {', '.join(places)}", places=())
    wanted = replace(motion, flows=lambda at: np.concatenate([row(at) for row in rows], axis=1))
    found = fitting(wanted, x, kept)
    if found is None:
        staying = f" while {', '.join(targets)} stay{'s' if len(targets) == 1 else ''}" if targets else ""
        cures = (
            ("less in keep: one rate for each freedom, such as a joint's",)
            if targets
            else ("other velocities of the sources", "places at which it can move so")
        )
        raise refusal("E432", f"no start velocities fit the constraints{staying}", *cures, about=model.name, places=())
    shapes = {state.name: np.shape(state.initial) for state in system.states}
    return {name: found[where.start : where.stop].reshape(shapes[name])[()] for name, where in places.items()}


def _towards(value: Values, x: np.ndarray, target: Any) -> Values:
    """What a value lacks to its target, or to what it is at x."""
    here = value(x[None])[0]
    goal = here if target is None else np.broadcast_to(np.ravel(np.asarray(target, dtype=float)), here.shape)
    return lambda at: value(at) - goal
