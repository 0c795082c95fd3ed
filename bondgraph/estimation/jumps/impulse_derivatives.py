"""How the impulses of a collision depend on what it starts from: an impact, and derivatives of its flows and limits, in; those of
its impulses, and where they are at an edge, out.

Each scalar of the impact obeys one of a few equations: a contact pushes and its flow afterwards is known, or it does not push; a
friction has stopped what it rubs on, or has its limit against what slips on. With the equations that hold the impulses z are the
solution of a square system, whose derivative follows from the implicit function theorem:

    E(z, a, b) = 0,  a = A z + q,  b = B z   ->   (E_z + E_a A + E_b B) dz = -(E_a (dA z + dq) + E_b dB z)

Where two of the equations hold at once, the derivative is the same from both sides only if it obeys both.

Source: Facchinei, Pang, Finite-Dimensional Variational Inequalities, 2003, chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from bondgraph.run.events.impacts.friction_cones import Cones
from bondgraph.run.events.impacts.simultaneous import Impact

_RANK, _BALANCED, _NOTHING = 1e-10, 1e-6, 1e-13
"""Singular values that count as none, beside the largest; part of the energy of impulses that is none where these are chosen so
that they give none; a limit of friction that is none, beside all that meets."""


class DegeneracyKind(Enum):
    """Kinds of degeneracy of an impact, each with its message about a contact."""

    PUSHES = '"{}" is on the edge between pushing and letting go'
    STICKS = '"{}" is on the edge between sticking and slipping'
    APPROACHES = '"{}" touches and does not approach, so that a little more or less decides whether it takes part'
    GAINS = "the restitution is on the edge beyond which the impulses would gain energy, or there are none"
    DEPENDS = "contacts hold more than there is to move, so that what each of them takes is not known"


PUSHES, STICKS, APPROACHES, GAINS, DEPENDS = DegeneracyKind


@dataclass(frozen=True)
class Given:
    """Derivatives of what an impact starts from, at fixed impulses, along k directions: of its flows before, of what the impulses
    add to them, of restitutions (c, k), and of the limits of frictions (groups, k)."""

    flows: np.ndarray
    responses: np.ndarray
    restitutions: np.ndarray
    limits: np.ndarray


@dataclass(frozen=True)
class Degeneracy:
    """Where derivatives from two sides differ: which kind, the scalar of the impact (-1 for none), and along which directions."""

    kind: DegeneracyKind
    place: int
    directions: np.ndarray


@dataclass(frozen=True)
class _Equation:
    """Equations that hold: by_z dz + by_flow da + by_limit db = 0."""

    by_z: np.ndarray
    by_flow: np.ndarray
    by_limit: np.ndarray


class ImpulseSlopes:
    """Derivatives of the impulses of an impact.

    Parameters
    ----------
    near : how far from an edge counts as at it, in parts of the terms of its impulse or flow.
    apart : how far derivatives may be off an equation and obey it, in parts of its terms.
    shares : how large a derivative along each direction counts as none, in the same sizes (k,).
    """

    def __init__(self, impact: Impact, given: Given, near: float, apart: float, shares: np.ndarray):
        self._impact, self._apart = impact, apart
        self._unit, root = impact.cones.scaled()
        self._root, self._sizes = root, np.array([root[own.start] for own in self._unit.places()])
        self._flow, self._e = impact.flow / root, impact.restitution
        offset = (1.0 + impact.part * self._e) * self._flow
        self._most = float(np.abs(offset).max(initial=0.0))
        self._floor, self._near = shares * self._most, near
        self._z = _inside(self._unit, impact.found * root, offset)
        self._a, self._b = self._unit.response @ self._z + offset, self._unit.bounds @ self._z
        self._terms = np.abs(self._unit.response) @ np.abs(self._z) + np.abs(offset)
        self._before, self._responses = given.flows / root[:, None], given.responses / root[:, None]
        self._da = (
            self._responses
            + (1.0 + impact.part * self._e)[:, None] * self._before
            + impact.part * self._flow[:, None] * given.restitutions
        )
        self._db = given.limits * self._sizes[:, None]
        self._edges: list[Degeneracy] = []
        self.slopes: np.ndarray = self._solved() / root[:, None]
        """Derivatives of the impulses (c, k)."""

    @property
    def edges(self) -> tuple[Degeneracy, ...]:
        """Where they are none, for derivatives from two sides differ."""
        return tuple(self._edges)

    def _solved(self) -> np.ndarray:
        chosen, others = self._equations()
        matrix = np.concatenate([self._by_impulses(row) for row in chosen])
        right = np.concatenate([self._by_given(row, self._da, self._db) for row in chosen])
        energy, count = self._energy(), len(self._z)
        if self._impact.part < 1.0:  # what is left of the restitutions is an unknown, and the energy one more equation
            more = np.concatenate([self._by_given(row, (self._e * self._flow)[:, None], 0.0 * self._db[:, :1]) for row in chosen])
            matrix = np.block([[matrix, more], [energy[0][None], np.zeros((1, 1))]])
            right = np.concatenate([right, energy[1][None]])
        left, values, turned = np.linalg.svd(matrix)
        kept = values > _RANK * values.max(initial=0.0)
        dz = -turned[kept].T @ ((left.T @ right)[kept] / values[kept, None])
        self._check(DEPENDS, -1, matrix, right, dz)
        self._determined(turned[~kept][:, :count])
        dz = dz[:count]
        for kind, place, row in others:
            self._check(kind, place, self._by_impulses(row), self._by_given(row, self._da, self._db), dz)
        if self._impact.part == 1.0 and self._unit.groups and energy[2] <= self._near:
            self._check(GAINS, -1, energy[0][None], energy[1][None], dz)
        elif self._impact.part < 1.0 and not energy[2] <= _BALANCED:  # with more of it there are no impulses at all
            self._edges.append(Degeneracy(GAINS, -1, np.ones(self._da.shape[1], dtype=bool)))
        return dz

    def _equations(self) -> tuple[list[_Equation], list[tuple[DegeneracyKind, int, _Equation]]]:
        """Those that hold, and at edges the others that would: (kind, place, equation)."""
        n, groups, unit = len(self._z), len(self._b), np.eye(len(self._z))
        none, no_limit = np.zeros((1, n)), np.zeros((1, groups))
        chosen, others = [], []
        for i in range(self._unit.count):
            flows, rests = _Equation(none, unit[i : i + 1], no_limit), _Equation(unit[i : i + 1], none, no_limit)
            acts = self._z[i] > self._a[i]
            chosen.append(flows if acts else rests)
            least = self._near * self._terms[i]
            if max(abs(self._z[i]), abs(self._a[i])) <= least:
                others.append((PUSHES, i, rests if acts else flows))
            elif acts and abs(self._flow[i]) <= least:
                self._waits(i)
        for g, own in enumerate(self._unit.places()):
            self._rubbing(g, own, chosen, others)
        return chosen, others

    def _rubbing(self, g: int, own: slice, chosen: list[_Equation], others: list[tuple[DegeneracyKind, int, _Equation]]) -> None:
        z, a, b = self._z[own], self._a[own], max(float(self._b[g]), 0.0)
        n, size, unit = len(self._z), own.stop - own.start, np.eye(len(self._z))[own]
        no_limit, by_limit = np.zeros((2, size, len(self._b)))
        stops = _Equation(np.zeros((size, n)), unit, no_limit)
        slip = float(np.linalg.norm(a))
        least = self._near * float(np.linalg.norm(self._terms[own]))
        if b <= _NOTHING * self._most and slip <= least:  # nothing presses there, and nothing slips
            chosen.append(_Equation(unit, np.zeros((size, n)), no_limit))
            pressed = np.zeros((1, len(self._b)))
            pressed[0, g] = 1.0
            others.append((STICKS, own.start, _Equation(np.zeros((1, n)), np.zeros((1, n)), pressed)))
            return
        spare = b - float(np.linalg.norm(z))
        at_edge = spare <= self._near * b and slip <= least
        if slip <= spare and not at_edge:
            chosen.append(stops)
            return
        length = float(np.linalg.norm(z - a))
        along = (z - a) / length
        turn = b / length * (np.eye(size) - np.outer(along, along))
        by_limit[:, g] = -along
        if slip > spare:
            chosen.append(_Equation((np.eye(size) - turn) @ unit, turn @ unit, by_limit))
            others += [(STICKS, own.start, stops)] if at_edge else []
        else:
            chosen.append(stops)
            others.append((STICKS, own.start, _Equation(along[None] @ unit, np.zeros((1, n)), along[None] @ by_limit)))

    def _by_impulses(self, row: _Equation) -> np.ndarray:
        return np.asarray(row.by_z + row.by_flow @ self._unit.response + row.by_limit @ self._unit.bounds)

    @staticmethod
    def _by_given(row: _Equation, da: np.ndarray, db: np.ndarray) -> np.ndarray:
        return np.asarray(row.by_flow @ da + row.by_limit @ db)

    def _energy(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Of the energy that impulses give: derivatives by these (c,) and along the directions (k,), and how near it is to zero,
        in parts of its terms."""
        z, A = self._z, self._unit.response
        by_z, energy = self._flow + 0.5 * (A + A.T) @ z, float(z @ (self._flow + 0.5 * A @ z))
        terms = float(np.abs(z) @ (np.abs(self._flow) + 0.5 * np.abs(A) @ np.abs(z)))
        return by_z, z @ (self._before + 0.5 * self._responses), abs(energy) / terms if terms else 0.0

    def _waits(self, i: int) -> None:
        """Note a contact that is pushed, although it does not approach, along directions in which it begins to."""
        off = np.abs(self._before[i]) > self._apart * np.maximum(self._floor, np.abs(self._before).max(axis=0))
        if off.any():
            self._edges.append(Degeneracy(APPROACHES, i, off))

    def _check(self, kind: DegeneracyKind, place: int, matrix: np.ndarray, right: np.ndarray, dz: np.ndarray) -> None:
        """Note an edge where derivatives do not obey an equation."""
        floor = np.maximum(self._floor, np.maximum(np.abs(self._da).max(axis=0), np.abs(dz[: len(self._z)]).max(axis=0)))
        terms = np.abs(matrix) @ np.abs(dz) + np.abs(right) + np.abs(matrix).max(axis=1, initial=0.0)[:, None] * floor
        off = np.any(np.abs(matrix @ dz + right) > self._apart * terms, axis=0)
        if off.any():
            self._edges.append(Degeneracy(kind, place, off))

    def _determined(self, free: np.ndarray) -> None:
        """Impulses may be known in their sums alone, as long as these are what acts."""
        if len(free) and np.abs(self._unit.response @ free.T).max() > _RANK**0.5 * np.abs(self._unit.response).max():
            self._edges.append(Degeneracy(DEPENDS, -1, np.ones(self._da.shape[1], dtype=bool)))


def _inside(unit: Cones, z: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The same impulses where frictions that hold the same share what they do: each in proportion to its limit, so that one is at
    its limit only if all are."""
    a, b = unit.response @ z + offset, unit.bounds @ z
    stopped = [
        (own, b[g])
        for g, own in enumerate(unit.places())
        if b[g] > 0.0 and np.linalg.norm(a[own]) < b[g] - np.linalg.norm(z[own]) + _RANK * b[g]
    ]
    if len(stopped) < 2:
        return z
    columns = np.concatenate([np.arange(own.start, own.stop) for own, _ in stopped])
    weights = np.concatenate([np.full(own.stop - own.start, 1.0 / most) for own, most in stopped])
    _, values, turned = np.linalg.svd(unit.response[:, columns])
    free = turned[np.concatenate([values, np.zeros(len(columns) - len(values))]) <= _RANK * values.max()].T
    if not free.size:
        return z
    shared = z.copy()
    shared[columns] += free @ np.linalg.lstsq(weights[:, None] * free, -weights * z[columns], rcond=None)[0]
    return shared
