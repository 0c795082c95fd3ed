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
from bondgraph.emit.kernel import address_of
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure, Temporary

__all__ = ["Contacts", "Impulses", "solve_contacts"]

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
    arrays = (
        np.ascontiguousarray(contacts.bodies, dtype=np.int64),
        *(np.ascontiguousarray(a, dtype=float) for a in (contacts.J, contacts.response, stiff, contacts.b, contacts.friction)),
        r,
        v,
        np.zeros(2),
    )
    addresses, status = [address_of(array) for array in arrays], arrays[-1]
    _function()(count, *addresses, min(most, PLAIN), tolerance)
    sweeps, change, momentum, largest_share = int(status[1]), float(status[0]), 1.0, 1.0
    ended = best = (r.copy(), v.copy())
    least = change
    while change > tolerance and sweeps < most:
        begun = r.copy()
        _function()(count, *addresses, 1, tolerance)
        sweeps, change = sweeps + 1, float(status[0])
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
    pointers = [ctypes.c_void_p] * 9
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, *pointers, ctypes.c_int64, ctypes.c_double)(machine_code().address("settle"))


@build_once
def machine_code() -> Library:
    """Return the sweeps as machine code."""
    return compile_written(procedures)


def procedures() -> list[Procedure]:
    """Return the procedures of the sweeps."""
    return [_sweeps()]


def _sweeps() -> Procedure:
    arrays = ("bodies", "J", "response", "stiff", "b", "friction", "r", "v", "status")
    write = Procedure("settle", {"count": "i64", **dict.fromkeys(arrays, "ptr noalias"), "most": "i64", "tolerance": "double"})
    done, status = write.local(0, "i64"), write["status"]
    change = write.local(0.0)
    with write.repeat() as (_, out):
        change.set(0.0)
        with write.loop(write["count"]) as k:
            _contact(write, k, change)
        done.set(done.get() + 1)
        status[0], status[1] = change.get(), write.real(done.get())
        with write.when((change.get() <= write["tolerance"]) | (done.get() >= write["most"])):
            write.jump(out)
    write.give()
    return write


def _contact(write: Procedure, k: Temporary, change: object) -> None:
    """Write the update of one contact at the latest velocities: first the normal, then both tangents together."""
    twists = [write["v"].at(write["bodies"].load(k * 2 + side, "i64") * 6) for side in range(2)]
    J, response = write["J"].at(k * 36), write["response"].at(k * 36)
    r, b, stiff = write["r"].at(k * 3), write["b"].at(k * 3), write["stiff"].at(k * 2)

    def velocity(row: int) -> Temporary:
        total = b[row]
        for side in range(2):
            for i in range(6):
                total = total + J[12 * row + 6 * side + i] * twists[side][i]
        return total

    def push(row: int, by: Temporary) -> None:
        r[row] = r[row] + by
        for side in range(2):
            for i in range(6):
                twists[side][i] = twists[side][i] + response[12 * row + 6 * side + i] * by

    def note(by: Temporary, factor: Temporary) -> None:
        change.set(write.intrinsic("maxnum", change.get(), write.intrinsic("fabs", by * factor)))  # type: ignore[attr-defined]

    normal = write.intrinsic("maxnum", r[0] - velocity(0) / stiff[0], 0.0)
    by = normal - r[0]
    push(0, by)
    note(by, stiff[0])
    x, y = r[1] - velocity(1) / stiff[1], r[2] - velocity(2) / stiff[1]
    size = write.intrinsic("sqrt", x * x + y * y)
    limit = write["friction"][k] * normal
    share = write.select(size > limit, limit / write.intrinsic("maxnum", size, 1e-300), 1.0)
    across, along = x * share - r[1], y * share - r[2]
    push(1, across)
    push(2, along)
    note(across, stiff[1])
    note(along, stiff[1])
