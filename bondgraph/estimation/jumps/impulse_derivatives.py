"""Derivatives of a collision's impulses by the implicit function theorem, their degeneracies, and the context of jump conditions.

By the complementarity conditions, each scalar of the impact obeys one of two equations: a contact pushes and its flow afterwards
is known, or it does not push; a friction element sticks, or slips at its limit. The impulses z solve the square system of the
active equations, and their derivatives follow from the implicit function theorem:

    E(z, a, b) = 0,  a = A z + q,  b = B z   ->   (E_z + E_a A + E_b B) dz = -(E_a (dA z + dq) + E_b dB z)

At an edge, both equations are satisfied: the derivatives from both sides agree only if they obey both. Collisions at which they
differ are refused (E374).

Source: Facchinei, Pang, Finite-Dimensional Variational Inequalities, 2003, chapter 5.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from bondgraph.errors import Problem, RunError
from bondgraph.estimation.variational import PreparedKernel, Variational
from bondgraph.run.bound import Bound
from bondgraph.run.events.impacts.friction_cones import Cones
from bondgraph.run.events.impacts.simultaneous import Impact
from bondgraph.run.events.records import Event

EQUAL = 1e-9
"""Relative difference up to which two values of x, or of dt, count as equal."""


@dataclass
class SensitivityState:
    """State of a run with its sensitivities: time since the start, x (n,), S (n, k), modes (modes,)."""

    t: float
    x: np.ndarray
    S: np.ndarray
    m: np.ndarray


@dataclass
class PrecedingSegment:
    """Segment of a run before an event: its length (s), x at its start, and guards before a tick at its end."""

    length: float = 0.0
    x: np.ndarray = field(default_factory=lambda: np.zeros(0))
    tick_guards: tuple[np.ndarray, np.ndarray] | None = None
    """Guards (transitions,) before the tick or time event that ends the segment, and the derivatives dt (k,) of the end time."""


@dataclass(frozen=True)
class _Call:
    time: np.ndarray
    modes: np.ndarray
    blocks: tuple[np.ndarray, ...]
    run: Callable[[], object]
    out: np.ndarray

    @staticmethod
    def of(prepared: PreparedKernel, p: np.ndarray, values: Sequence[np.ndarray]) -> _Call:
        """Bind a kernel to consecutive blocks of the shapes of `values`, with matrices stored by columns."""
        time, y, parameters, modes = arrays = [np.zeros(size) for size in prepared.kernel.sizes]
        parameters[:] = prepared.parameters(p)
        ends = np.cumsum([block.size for block in values])
        blocks = [
            y[end - block.size : end].reshape(block.shape[::-1]).T for end, block in zip(ends.tolist(), values, strict=True)
        ]
        out = np.zeros(prepared.kernel.n_out)
        return _Call(time, modes, tuple(blocks), prepared.kernel.bind(*arrays, out=out), out)


class RunKernels:
    """Kernels for the events of a run, evaluated with the parameters of the run.

    Parameters
    ----------
    bound : the model at the parameters of the run.
    p : the user's parameters.
    rtol : tolerance of the run.
    sizes : sizes of the states (n,).
    """

    def __init__(self, variational: Variational, bound: Bound, p: np.ndarray, rtol: float, sizes: np.ndarray):
        self.variational, self.bound = variational, bound
        self.p, self.rtol, self.sizes = p, rtol, sizes
        self._calls: dict[int, _Call] = {}
        self.guard, self.reset = functools.cache(variational.guard), functools.cache(variational.reset)
        self.surfaces_of_rates = functools.cache(variational.surfaces_of_rates)
        self.surfaces_of_guard = functools.cache(variational.surfaces_of_guard)

    def values(self, prepared: PreparedKernel, at: SensitivityState, *more: np.ndarray) -> np.ndarray:
        """Evaluate a kernel of an event at states, modes and the blocks that follow: D (n, k), dt (k,), f (n,), ..."""
        call = self._calls.get(id(prepared))
        if call is None:
            call = self._calls[id(prepared)] = _Call.of(prepared, self.p, (at.x, *more))
        call.time[0], call.modes[:] = self.bound.time(at.t), at.m
        for block, value in zip(call.blocks, (at.x, *more), strict=True):
            block[...] = value
        call.run()
        return call.out.copy()

    def rates(self, at: SensitivityState) -> np.ndarray:
        return self.bound.rates(at.t, at.x, at.m)

    def solved(self, at: SensitivityState, D: np.ndarray, dt: np.ndarray) -> np.ndarray:
        """Return D with derivatives of the unknowns of algebraic loops filled in."""
        D = D.copy() if self.bound.program.loops else D
        for index, loop in enumerate(self.bound.program.loops):
            prepared = self.variational.solution(index)
            out = self.values(prepared, at, D, dt, np.zeros(len(at.x)))
            D[list(loop.states)] = out[-len(loop.states) * len(dt) :].reshape(len(dt), -1).T
        return D

    def matches(self, x: np.ndarray, before: np.ndarray, after: np.ndarray) -> bool:
        if (x == after).all():
            return True
        size = np.maximum(self.sizes, np.maximum(np.abs(before), np.abs(after)))
        return bool(np.all((np.abs(x - after) <= EQUAL * size)[self.bound.true_states]))


def agree(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.all(np.abs(a - b) <= EQUAL * np.maximum(np.abs(a), np.abs(b)).max(initial=0.0)))


_RANK, _BALANCED, _NO_LIMIT = 1e-10, 1e-6, 1e-13
"""Singular value that counts as zero, relative to the largest; fraction of the energy that counts as zero for impulses chosen to
add no energy; friction limit that counts as zero, relative to the impact's flows."""


class DegeneracyKind(Enum):
    PUSHES = '"{}" is at the boundary between contact and separation'
    STICKS = '"{}" is at the boundary between sticking and slipping'
    APPROACHES = '"{}" touches without approaching, so that a slight change decides whether it takes part'
    GAINS = "the restitution is at the limit above which the impulses would add energy or do not exist"
    DEPENDS = "contacts are redundant, so that the impulse of each is undetermined"


PUSHES, STICKS, APPROACHES, GAINS, DEPENDS = DegeneracyKind


@dataclass(frozen=True)
class InputDerivatives:
    """Derivatives of the inputs of an impact, at fixed impulses, along k directions: of the flows before it, of the flows that
    impulses add, of restitutions (c, k), and of friction limits (groups, k)."""

    flows: np.ndarray
    responses: np.ndarray
    restitutions: np.ndarray
    limits: np.ndarray


@dataclass(frozen=True)
class Degeneracy:
    """Edge where derivatives from both sides differ: its kind, the scalar of the impact (-1 for none), and the directions."""

    kind: DegeneracyKind
    scalar: int
    directions: np.ndarray


@dataclass(frozen=True)
class _Equation:
    """Equations by_z dz + by_flow da + by_limit db = 0."""

    by_z: np.ndarray
    by_flow: np.ndarray
    by_limit: np.ndarray


class ImpulseDerivatives:
    """Derivatives of the impulses of an impact.

    Parameters
    ----------
    near : distance from an edge that counts as zero, relative to the terms of the impulse or flow.
    tolerance : largest residual at which derivatives satisfy an equation, relative to its terms.
    shares : size below which a derivative along each direction counts as zero, relative to the flows (k,).
    """

    def __init__(self, impact: Impact, inputs: InputDerivatives, near: float, tolerance: float, shares: np.ndarray):
        self._impact, self._tolerance = impact, tolerance
        self._unit, root = impact.cones.scaled()
        self._root, self._sizes = root, np.array([root[group.start] for group in self._unit.slices()])
        self._flow, self._e = impact.flow / root, impact.restitution
        offset = (1.0 + impact.part * self._e) * self._flow
        self._largest_offset = float(np.abs(offset).max(initial=0.0))
        self._floor, self._near = shares * self._largest_offset, near
        self._z = _redistributed(self._unit, impact.solution * root, offset)
        self._a, self._b = self._unit.response @ self._z + offset, self._unit.bounds @ self._z
        self._terms = np.abs(self._unit.response) @ np.abs(self._z) + np.abs(offset)
        self._before, self._responses = inputs.flows / root[:, None], inputs.responses / root[:, None]
        self._da = (
            self._responses
            + (1.0 + impact.part * self._e)[:, None] * self._before
            + impact.part * self._flow[:, None] * inputs.restitutions
        )
        self._db = inputs.limits * self._sizes[:, None]
        self._edges: list[Degeneracy] = []
        self.slopes: np.ndarray = self._solved() / root[:, None]
        """Derivatives of the impulses (c, k)."""

    @property
    def edges(self) -> tuple[Degeneracy, ...]:
        return tuple(self._edges)

    def _solved(self) -> np.ndarray:
        chosen, others = self._equations()
        matrix = np.concatenate([self._by_impulses(row) for row in chosen])
        right = np.concatenate([self._right_side(row, self._da, self._db) for row in chosen])
        energy, count = self._energy(), len(self._z)
        if self._impact.part < 1.0:  # the fraction of the restitutions is another unknown, and energy another equation
            more = np.concatenate(
                [self._right_side(row, (self._e * self._flow)[:, None], 0.0 * self._db[:, :1]) for row in chosen]
            )
            matrix = np.block([[matrix, more], [energy[0][None], np.zeros((1, 1))]])
            right = np.concatenate([right, energy[1][None]])
        left_vectors, values, right_vectors = np.linalg.svd(matrix)
        nonzero = values > _RANK * values.max(initial=0.0)
        dz = -right_vectors[nonzero].T @ ((left_vectors.T @ right)[nonzero] / values[nonzero, None])
        self._check(DEPENDS, -1, matrix, right, dz)
        self._check_determined(right_vectors[~nonzero][:, :count])
        dz = dz[:count]
        for kind, scalar, row in others:
            self._check(kind, scalar, self._by_impulses(row), self._right_side(row, self._da, self._db), dz)
        if self._impact.part == 1.0 and self._unit.groups and energy[2] <= self._near:
            self._check(GAINS, -1, energy[0][None], energy[1][None], dz)
        elif self._impact.part < 1.0 and not energy[2] <= _BALANCED:  # no impulses exist for a larger restitution
            self._edges.append(Degeneracy(GAINS, -1, np.ones(self._da.shape[1], dtype=bool)))
        return dz

    def _equations(self) -> tuple[list[_Equation], list[tuple[DegeneracyKind, int, _Equation]]]:
        """Return the active equations, and at edges the equations of the other side: (kind, scalar, equation)."""
        n, groups, unit = len(self._z), len(self._b), np.eye(len(self._z))
        none, no_limit = np.zeros((1, n)), np.zeros((1, groups))
        chosen, others = [], []
        for i in range(self._unit.count):
            known_flow, no_impulse = _Equation(none, unit[i : i + 1], no_limit), _Equation(unit[i : i + 1], none, no_limit)
            pushes = self._z[i] > self._a[i]
            chosen.append(known_flow if pushes else no_impulse)
            least = self._near * self._terms[i]
            if max(abs(self._z[i]), abs(self._a[i])) <= least:
                others.append((PUSHES, i, no_impulse if pushes else known_flow))
            elif pushes and abs(self._flow[i]) <= least:
                self._check_approach(i)
        for g, scalars in enumerate(self._unit.slices()):
            self._friction_equations(g, scalars, chosen, others)
        return chosen, others

    def _friction_equations(
        self, g: int, scalars: slice, chosen: list[_Equation], others: list[tuple[DegeneracyKind, int, _Equation]]
    ) -> None:
        z, a, b = self._z[scalars], self._a[scalars], max(float(self._b[g]), 0.0)
        n, size, unit = len(self._z), scalars.stop - scalars.start, np.eye(len(self._z))[scalars]
        no_limit, by_limit = np.zeros((2, size, len(self._b)))
        sticks = _Equation(np.zeros((size, n)), unit, no_limit)
        slip = float(np.linalg.norm(a))
        least = self._near * float(np.linalg.norm(self._terms[scalars]))
        if b <= _NO_LIMIT * self._largest_offset and slip <= least:  # neither pressed nor slipping
            chosen.append(_Equation(unit, np.zeros((size, n)), no_limit))
            pressed = np.zeros((1, len(self._b)))
            pressed[0, g] = 1.0
            others.append((STICKS, scalars.start, _Equation(np.zeros((1, n)), np.zeros((1, n)), pressed)))
            return
        spare = b - float(np.linalg.norm(z))
        at_edge = spare <= self._near * b and slip <= least
        if slip <= spare and not at_edge:
            chosen.append(sticks)
            return
        length = float(np.linalg.norm(z - a))
        along = (z - a) / length
        turn = b / length * (np.eye(size) - np.outer(along, along))
        by_limit[:, g] = -along
        if slip > spare:
            chosen.append(_Equation((np.eye(size) - turn) @ unit, turn @ unit, by_limit))
            others += [(STICKS, scalars.start, sticks)] if at_edge else []
        else:
            chosen.append(sticks)
            others.append((STICKS, scalars.start, _Equation(along[None] @ unit, np.zeros((1, n)), along[None] @ by_limit)))

    def _by_impulses(self, row: _Equation) -> np.ndarray:
        return np.asarray(row.by_z + row.by_flow @ self._unit.response + row.by_limit @ self._unit.bounds)

    @staticmethod
    def _right_side(row: _Equation, da: np.ndarray, db: np.ndarray) -> np.ndarray:
        return np.asarray(row.by_flow @ da + row.by_limit @ db)

    def _energy(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return derivatives of the energy that impulses add, with respect to the impulses (c,) and along the directions (k,),
        and the distance of the energy from zero, relative to its terms."""
        z, A = self._z, self._unit.response
        by_z, energy = self._flow + 0.5 * (A + A.T) @ z, float(z @ (self._flow + 0.5 * A @ z))
        terms = float(np.abs(z) @ (np.abs(self._flow) + 0.5 * np.abs(A) @ np.abs(z)))
        return by_z, z @ (self._before + 0.5 * self._responses), abs(energy) / terms if terms else 0.0

    def _check_approach(self, i: int) -> None:
        """Record a contact that is pushed without approaching, if it begins to approach along some directions."""
        off = np.abs(self._before[i]) > self._tolerance * np.maximum(self._floor, np.abs(self._before).max(axis=0))
        if off.any():
            self._edges.append(Degeneracy(APPROACHES, i, off))

    def _check(self, kind: DegeneracyKind, scalar: int, matrix: np.ndarray, right: np.ndarray, dz: np.ndarray) -> None:
        floor = np.maximum(self._floor, np.maximum(np.abs(self._da).max(axis=0), np.abs(dz[: len(self._z)]).max(axis=0)))
        terms = np.abs(matrix) @ np.abs(dz) + np.abs(right) + np.abs(matrix).max(axis=1, initial=0.0)[:, None] * floor
        off = np.any(np.abs(matrix @ dz + right) > self._tolerance * terms, axis=0)
        if off.any():
            self._edges.append(Degeneracy(kind, scalar, off))

    def _check_determined(self, free: np.ndarray) -> None:
        """Record undetermined impulses that change flows; any other undetermined impulses are harmless."""
        if len(free) and np.abs(self._unit.response @ free.T).max() > _RANK**0.5 * np.abs(self._unit.response).max():
            self._edges.append(Degeneracy(DEPENDS, -1, np.ones(self._da.shape[1], dtype=bool)))


def _redistributed(unit: Cones, z: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Redistribute redundant friction impulses in proportion to their limits, so that one impulse reaches its limit only if all
    impulses do."""
    a, b = unit.response @ z + offset, unit.bounds @ z
    sticking = [
        (group, b[g])
        for g, group in enumerate(unit.slices())
        if b[g] > 0.0 and np.linalg.norm(a[group]) < b[g] - np.linalg.norm(z[group]) + _RANK * b[g]
    ]
    if len(sticking) < 2:
        return z
    columns = np.concatenate([np.arange(group.start, group.stop) for group, _ in sticking])
    weights = np.concatenate([np.full(group.stop - group.start, 1.0 / limit) for group, limit in sticking])
    _, values, right_vectors = np.linalg.svd(unit.response[:, columns])
    free = right_vectors[np.concatenate([values, np.zeros(len(columns) - len(values))]) <= _RANK * values.max()].T
    if not free.size:
        return z
    shared = z.copy()
    shared[columns] += free @ np.linalg.lstsq(weights[:, None] * free, -weights * z[columns], rcond=None)[0]
    return shared


MAX_RESIDUAL = 100.0
"""Largest residual at which derivatives satisfy an equation, in units of the run's rtol."""

_DIFFER = "the derivatives from both sides differ"
_CURES = (
    "start values or parameters away from this boundary",
    "a run that does not vary these numbers",
    "one-sided differences of runs",
)


@dataclass(frozen=True)
class EventScales:
    """Event of a run with its scales: sizes of the states (n,), relative sizes of derivatives along each direction (k,), and the
    relative tolerance of equations for the derivatives."""

    kernels: RunKernels
    event: Event
    natural: np.ndarray
    shares: np.ndarray
    tolerance: float

    @staticmethod
    def of(kernels: RunKernels, event: Event, D: np.ndarray) -> EventScales:
        natural = natural_sizes(kernels, event)
        acting = natural > 0.0
        shares = np.asarray(np.max(np.abs(D[acting]) / natural[acting, None], axis=0, initial=0.0))
        return EventScales(kernels, event, natural, shares, MAX_RESIDUAL * kernels.rtol)


def natural_sizes(kernels: RunKernels, event: Event) -> np.ndarray:
    """Return sizes of the states (n,): the largest of their values in the run and of the changes that the rates around an event
    would cause over the run."""
    bound = kernels.bound
    around = ((event.x_before, event.m_before), (event.x_after, event.m_after))
    rates = [np.abs(bound.rates(event.since, x, m)) * bound.span for x, m in around]
    return np.maximum(kernels.sizes, np.maximum(*rates))


def refuse_separating(
    context: EventScales, transitions: Sequence[int], at: SensitivityState, D: np.ndarray, dt: np.ndarray
) -> None:
    """Raise E374 for a collision whose contacts do not stay closed together when the time of the first contact changes."""
    for transition in transitions[1:]:
        _, moved = closed(context, transition, at, D, dt)
        if moved.any():
            raise coincidence_refusal(context.kernels, context.event, transition, moved)


def refuse_opening(context: EventScales, transition: int, at: SensitivityState, D: np.ndarray, dt: np.ndarray) -> None:
    """Raise E374 for a triggered collision whose contact was already closed, at zero speed, if another parameter value opens the
    contact."""
    at_zero, moved = closed(context, transition, at, D, dt)
    if at_zero and moved.any():
        raise coincidence_refusal(context.kernels, context.event, transition, moved)


def closed(context: EventScales, transition: int, at: SensitivityState, D: np.ndarray, dt: np.ndarray) -> tuple[bool, np.ndarray]:
    """Return True if a guard is zero, and a mask (k,) of the directions along which it does not stay zero."""
    kernels, (n, k) = context.kernels, D.shape
    nothing = np.zeros(k)
    guard, f = kernels.variational.guard(transition), kernels.rates(at)
    value, *off, speed = kernels.values(guard, at, D, dt, f)
    explicit = kernels.values(guard, at, np.zeros((n, k)), nothing, np.zeros(n))[1 : 1 + k]
    slopes = [kernels.values(guard, at, np.zeros((n, k)), nothing, row)[-1] for row in np.eye(n)]
    size = float(np.abs(slopes) @ context.natural)
    terms = size * context.shares + np.abs(explicit) + np.abs(speed * dt)
    return abs(value) <= context.tolerance * size, np.abs(off) > context.tolerance * terms


def coincidence_refusal(kernels: RunKernels, event: Event, transition: int, along: np.ndarray) -> RunError:
    name = kernels.bound.program.transitions[transition].name
    why = f'"{name}" closes at the same time by chance: a change of these quantities would make it close earlier or later'
    return _refusal(kernels, event, along, (why,))


def edge_refusal(context: EventScales, edges: Sequence[Degeneracy], names: Sequence[str]) -> RunError:
    along = np.any([edge.directions for edge in edges], axis=0)
    whys = dict.fromkeys(edge.kind.value.format(names[edge.scalar] if edge.scalar >= 0 else "") for edge in edges)
    return _refusal(context.kernels, context.event, along, (*whys, _DIFFER))


def _refusal(kernels: RunKernels, event: Event, along: np.ndarray, whys: tuple[str, ...]) -> RunError:
    labels = kernels.variational.varied.labels
    by = ", ".join(f'"{label}"' for label, varies in zip(labels, along, strict=True) if varies)
    title = f'"{event.kind}" of "{event.name}" at {event.time:.6g} s has no derivative with respect to {by}'
    return RunError(Problem("E374", title, whys, cures=_CURES))


def unknown_refusal(event: Event) -> RunError:
    title = f'"{event.kind}" of "{event.name}" at {event.time:.6g} s cannot be differentiated'
    why = "its impulses come from nonlinear storages or a sequence of collisions, not from a single linear problem"
    return RunError(
        Problem("E374", title, (why,), cures=("start values or parameters that separate the collisions", "differences of runs"))
    )
