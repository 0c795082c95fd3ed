"""Nonlinear Gauss-Seidel method for contacts of many bodies: impulses and velocities with unilateral contact and friction.

At contact k with the relative velocity u = J v + b (normal first), impulses r and friction mu obey the complementarity conditions
of Signorini and Coulomb:

    0 <= r_n  _|_  u_n >= 0        |r_t| <= mu r_n, and against u_t with |r_t| = mu r_n where it slips

They are solved contact by contact, with the latest velocities, until a sweep changes no velocity by more than a tolerance
(nonsmooth contact dynamics, NSCD: Moreau 1988, Jean 1999; the steps are projections, de Saxce and Feng 1998). A sweep is machine
code, and costs some 100 ns a contact. The matrix of all contacts is never assembled.

A sweep propagates impulses from one body to the next, so that high stacks and heavy bodies on light ones would need very many.
After `PLAIN` sweeps, each therefore begins at an extrapolation of the last two (Nesterov 1983), with a restart where that goes
too far (O'Donoghue and Candes 2015).
"""

from __future__ import annotations

import ctypes
import functools
import math
from dataclasses import dataclass

import numpy as np

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Ints, Reals, Table, inline, larger, sqrt, unrolled
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.run.table import FieldTable

PLAIN = 40
"""Sweeps without acceleration; most steps need fewer."""
MAX_GROWTH, MIN_SHARE = 10.0, 1e-2
"""Growth of changes over the least from which the iteration returns to the least and halves the extrapolation, since friction has
no descent direction; smallest extrapolation."""


@dataclass(frozen=True)
class Contacts:
    """Rows of k contacts between bodies with twists v (bodies, 6)."""

    bodies: np.ndarray
    """Numbers of both bodies, (k, 2) integers."""
    J: np.ndarray
    """Jacobian d u / d v of both, (k, 3, 12): normal and two tangents."""
    response: np.ndarray
    """Changes of both twists by a unit impulse along each row, M^-1 J^T, (k, 3, 12); zero for fixed bodies."""
    b: np.ndarray
    """Offset of u, (k, 3), m/s: gap over step, or restitution."""
    friction: np.ndarray
    """Friction coefficients (k,)."""


@dataclass(frozen=True)
class Impulses:
    """Impulses (k, 3), N s, the twists (bodies, 6), the last change of a velocity in m/s, and the number of sweeps."""

    impulses: np.ndarray
    twists: np.ndarray
    change: float
    sweeps: int


def solve_contacts(contacts: Contacts, twists: np.ndarray, guess: np.ndarray, tolerance: float, most: int) -> Impulses:
    """Solve for impulses and twists, from twists (bodies, 6) without contact and a guess of the impulses (k, 3).

    It stops when a sweep changes no relative velocity by more than `tolerance`, m/s, or after `most` sweeps.
    """
    count = len(contacts.friction)
    r = np.ascontiguousarray(guess, dtype=float).copy()
    v = np.ascontiguousarray(twists, dtype=float).copy()
    for side in range(2):
        moved = np.einsum("kji,kj->ki", contacts.response[:, :, 6 * side : 6 * side + 6], r)
        np.add.at(v, contacts.bodies[:, side], moved)
    local = np.matmul(contacts.J, np.swapaxes(contacts.response, 1, 2))
    trace, determinant = local[:, 1, 1] + local[:, 2, 2], local[:, 1, 1] * local[:, 2, 2] - local[:, 1, 2] * local[:, 2, 1]
    stiff = np.stack([local[:, 0, 0], 0.5 * (trace + np.sqrt(np.maximum(trace**2 - 4.0 * determinant, 0.0)))], axis=1)
    table = FieldTable(ContactTable)
    rows = {"J": contacts.J, "response": contacts.response, "stiff": stiff, "b": contacts.b, "friction": contacts.friction}
    for name, array in rows.items():
        table.point(name, np.ascontiguousarray(array, dtype=float))
    for name, array in {"bodies": np.ascontiguousarray(contacts.bodies, dtype=np.int64), "r": r, "v": v}.items():
        table.point(name, array)
    table["count"] = count
    _function()(table.address, min(most, PLAIN), tolerance)
    sweeps, change, momentum, largest_share = int(table["sweeps"]), table["change"], 1.0, 1.0
    ended = best = (r.copy(), v.copy())
    least = change
    while change > tolerance and sweeps < most:
        begun = r.copy()
        _function()(table.address, 1, tolerance)
        sweeps, change = sweeps + 1, table["change"]
        before, ended = ended, (r.copy(), v.copy())
        if change < least:
            least, best = change, ended
        elif change > MAX_GROWTH * least and largest_share > MIN_SHARE:
            largest_share, momentum, ended = 0.5 * largest_share, 1.0, best
            r[:], v[:] = best
            continue
        if np.vdot(r - begun, r - before[0]) < 0.0:
            momentum = 1.0
        next_momentum = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum))
        share, momentum = min((momentum - 1.0) / next_momentum, largest_share), next_momentum
        r += share * (r - before[0])  # twists are linear in impulses
        v += share * (v - before[1])
    return Impulses(*ended, change, sweeps)


@functools.cache
def _function() -> ctypes._CFunctionType:
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double)(machine_code().address("sweep"))


@build_once
def machine_code() -> Library:
    """Return the sweeps as machine code."""
    return compile_written(procedures)


def procedures() -> list[Procedure]:
    """Return the procedures of the sweeps."""
    return translate([sweep], ["sweep"])


class ContactTable(Table):
    """Contacts as in `Contacts`, stiff: change of the normal velocity by a unit impulse, and the largest of the tangents' (k, 2);
    r, v: impulses and twists; change: largest change of a velocity in the last sweep; sweeps: their number in the last call."""

    bodies: Ints
    J: Reals
    response: Reals
    stiff: Reals
    b: Reals
    friction: Reals
    r: Reals
    v: Reals
    count: int
    sweeps: int
    change: float


def sweep(c: ContactTable, most: int, tolerance: float) -> None:
    """Sweep over all contacts until a sweep changes no velocity by more than the tolerance, or `most` times."""
    sweeps = 0
    while True:
        change = 0.0
        for k in range(c.count):
            J, response, stiff = c.J[k * 36 :], c.response[k * 36 :], c.stiff[k * 2 :]
            change = larger(change, update(c.bodies[k * 2 :], J, response, stiff, c.b[k * 3 :], c.r[k * 3 :], c.v, c.friction[k]))
        sweeps += 1
        if change <= tolerance or sweeps >= most:
            c.sweeps, c.change = sweeps, change
            return


def update(
    bodies: Ints, J: Disjoint, response: Disjoint, stiff: Disjoint, b: Disjoint, r: Disjoint, v: Disjoint, friction: float
) -> float:
    """Update the impulses of one contact, and the twists of its bodies, at the latest velocities: first the normal, then both
    tangents together. Return the largest change of a velocity."""
    one, other = v[bodies[0] * 6 :], v[bodies[1] * 6 :]
    normal = larger(r[0] - velocity(J, b, one, other, 0) / stiff[0], 0.0)
    by = normal - r[0]
    push(response, r, one, other, 0, by)
    x, y = r[1] - velocity(J, b, one, other, 1) / stiff[1], r[2] - velocity(J, b, one, other, 2) / stiff[1]
    size = sqrt(x * x + y * y)
    limit = friction * normal
    share = limit / larger(size, 1e-300) if size > limit else 1.0
    across, along = x * share - r[1], y * share - r[2]
    push(response, r, one, other, 1, across)
    push(response, r, one, other, 2, along)
    return larger(larger(abs(by * stiff[0]), abs(across * stiff[1])), abs(along * stiff[1]))


@inline
def velocity(J: Reals, b: Reals, one: Reals, other: Reals, row: Fixed) -> float:
    """Return the relative velocity along a row of the contact, from the twists of both bodies."""
    total = float(b[row])
    for i in unrolled(range(6)):
        total = total + J[12 * row + i] * one[i]
    for i in unrolled(range(6)):
        total = total + J[12 * row + 6 + i] * other[i]
    return total


@inline
def push(response: Reals, r: Reals, one: Reals, other: Reals, row: Fixed, by: float) -> None:
    """Add to the impulse along a row, and change the twists of both bodies."""
    r[row] = r[row] + by
    for i in unrolled(range(6)):
        one[i] = one[i] + response[12 * row + i] * by
    for i in unrolled(range(6)):
        other[i] = other[i] + response[12 * row + 6 + i] * by
