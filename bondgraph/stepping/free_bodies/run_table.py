"""Run of free bodies, and its table for the machine code of the steps; the table grows as needed.

Contacts of capsules and hulls are found in Python, between the parts of a step; formulas without machine code are also evaluated
there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bondgraph.errors import refusal
from bondgraph.model.model import CollisionSet, Model
from bondgraph.run.bound import Bound
from bondgraph.run.table import FieldTable
from bondgraph.stepping.free_bodies.bodies import Bodies
from bondgraph.stepping.free_bodies.machine import tables
from bondgraph.stepping.free_bodies.machine.steps import M, P, X, machine_code
from screws.shapes import Arrangement, Ball, Box, HalfSpace, PointPairs, candidates

KINDS = {Ball: tables.BALL, Box: tables.BOX, HalfSpace: tables.HALF_SPACE}
BLOCKS = {"x": X, "m": M, "p": P, "out": P + 1}
_CONTACTS_PER_SHAPE = 8
"""Initial capacity for contacts, and for pairs, per shape."""
CONTACT_FIELDS = ("earlier_shape1", "earlier_shape2", "earlier_feature", "earlier_point", "earlier_impulse", "earlier_torque")
"""Fields per contact that a step passes on to the next."""
BODY_FIELDS = ("asleep", "quiet", "island", "held")
"""Fields per body that a step passes on to the next."""


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of impulses, and the speed, m/s, below which islands fall asleep.

    Sweeps end when no relative velocity changes by more than `tolerance` times the largest one, or after `sweeps` sweeps.
    """

    tolerance: float = 1e-4
    sweeps: int = 1000
    sleep: float = 0.0


@dataclass(frozen=True, eq=False)
class CollisionGroup:
    """Set of collisions, with its shapes arranged by the indices of their bodies among all bodies."""

    collisions: CollisionSet
    arranged: Arrangement


def collision_groups(model: Model, bodies: Bodies) -> tuple[CollisionGroup, ...]:
    number = {body.path: k for k, body in enumerate(bodies.colliders)}
    return tuple(CollisionGroup(each, each.arranged([number[body.path] for body in each.bodies])) for each in model.collisions)


@dataclass(eq=False)
class FreeBodyRun:
    """Run of free bodies, with its state and the contacts of the last step."""

    bodies: Bodies
    sets: tuple[CollisionGroup, ...]
    bound: Bound
    x: np.ndarray
    m: np.ndarray
    accuracy: Accuracy
    others: np.ndarray
    """Indices in x of states of elements other than free bodies."""
    prescribed_motion: Callable[[float, np.ndarray], np.ndarray]
    """Function of time and state that returns poses and twists (n, 13) of the bodies that are not free."""
    sources: np.ndarray
    """Block and index of each value that `prescribed_motion` returns, (2, 13 n); empty if the values are constant."""
    table: FieldTable = field(init=False)

    def __post_init__(self) -> None:
        solids = [solid for each in self.sets for solid in each.arranged.solids]
        self.has_python_shapes = any(type(solid) not in KINDS for solid in solids)
        program = self.bound.program
        kernels = [program.rates, *([program.outputs] if self.sources.size else [])]
        self.has_python_formulas = not all(kernel is not None and kernel.is_machine_code for kernel in kernels)
        counts = np.cumsum([0, *(len(each.arranged.solids) for each in self.sets)])
        self._sizes = {
            "states": len(self.x),
            "bodies": len(self.bodies.colliders),
            "free": self.bodies.free,
            "shapes": int(counts[-1]),
            "sets": len(self.sets),
            "others": len(self.others),
            "resisting": int(any(each.collisions.rolling_friction or each.collisions.spinning_friction for each in self.sets)),
            "outputs_count": 0 if program.outputs is None else int(program.outputs.n_out),
        }
        self._first_shape = counts
        if self.accuracy.sleep > 0.0 and (self.has_python_shapes or self.has_python_formulas):
            title = "bodies cannot sleep in a run with capsules, hulls or Python formulas"
            other = "balls and boxes instead of capsules and hulls" if self.has_python_shapes else 'backend="llvm"'
            raise refusal("E486", title, "sleep=0", other, about=program.name)
        pairs = _CONTACTS_PER_SHAPE * len(solids) + 64
        self._make(min(pairs, 1 + sum(each.collisions.max_contacts for each in self.sets)), pairs)

    # Memory.

    def _make(self, room: int, pair_room: int) -> None:
        table, bodies, sizes = (
            FieldTable(tables.PileTable),
            self.bodies,
            {**self._sizes, "room": room + 8, "pair_room": pair_room},
        )
        for name, number in sizes.items():
            table[name] = number
        table.allocate(**sizes)
        free, arrays = bodies.free, table.arrays
        table["sleep"] = self.accuracy.sleep
        table["tolerance"], table["most_sweeps"], table["moving"] = (
            self.accuracy.tolerance,
            self.accuracy.sweeps,
            int(self.sources.size > 0),
        )
        for name, array in {"x": self.x, "m": self.m, "p": self.bound.p, "now": np.zeros(1)}.items():
            table.point(name, array)
        program = self.bound.program
        for name, kernel in (("rates", program.rates), ("outputs", program.outputs)):
            table.point(name, 0 if kernel is None or kernel.address is None else kernel.address)
        arrays["other"][:] = self.others
        if self.sources.size:
            arrays["source_block"][:], arrays["source_index"][:] = self.sources
        arrays["placement"][:] = self.prescribed_motion(0.0, self.x).ravel()
        arrays["pose"][:free], arrays["momentum"][:free] = bodies.pose[:, 0], bodies.momentum[:, 0]
        arrays["centre"][: 3 * free], arrays["light"][:free] = bodies.centre.ravel(), 1.0 / bodies.mass
        arrays["inverse_inertia"][: 9 * free] = bodies.inverse[:, :3, :3].ravel()
        self._set_shapes(table)
        self.table = table

    def _set_shapes(self, table: FieldTable) -> None:
        arrays, lists, only = table.arrays, [], []
        for k, each in enumerate(self.sets):
            of, rows = each.arranged, slice(self._first_shape[k], self._first_shape[k + 1])
            arrays["kind"][rows] = [KINDS.get(type(solid), tables.OTHER) for solid in of.solids]
            arrays["body"][rows] = of.body
            arrays["half"].reshape(-1, 3)[rows] = np.where(np.isfinite(of.placed.half), of.placed.half, 0.0)
            arrays["thickness"][rows] = of.placed.radius
            arrays["shape_pose"].reshape(-1, 12)[rows] = np.column_stack([of.placed.R.reshape(-1, 9), of.placed.p])
            for body, solid in zip(of.body, of.solids, strict=True):
                distance = np.linalg.norm(solid.position) + np.linalg.norm(solid.half) + solid.radius
                arrays["radius"][body] = max(arrays["radius"][body], distance)  # infinite for half-spaces
            apart = (
                ~of.allowed
                & (of.body[:, None] != of.body)
                & ((of.body < self.bodies.free)[:, None] | (of.body < self.bodies.free))
            )
            few = np.count_nonzero(apart) <= np.count_nonzero(of.allowed)
            only.append(not few)
            lists += [np.flatnonzero(row) + rows.start for row in (apart if few else of.allowed)]
            arrays["set_friction"][k], arrays["set_restitution"][k] = each.collisions.friction, each.collisions.restitution
            arrays["set_rolling"][k], arrays["set_spinning"][k] = (
                each.collisions.rolling_friction,
                each.collisions.spinning_friction,
            )
            arrays["set_most"][k] = each.collisions.max_contacts
        arrays["order"][:] = np.arange(len(arrays["order"]))
        arrays["first_shape"][:], arrays["only"][:] = self._first_shape, only
        arrays["first_listed"][:] = np.cumsum([0, *map(len, lists)])
        table.point("listed", np.concatenate([*lists, [0]]).astype(np.int64))

    def _grow(self, status: int) -> None:
        last = self.table
        room, pair_room = int(last["room"]), int(last["pair_room"])
        self._make(2 * room if status == tables.FULL else room, 2 * pair_room if status == tables.PAIRS_FULL else pair_room)
        for name in (*CONTACT_FIELDS, *BODY_FIELDS):
            kept = last.arrays[name]
            self.table.arrays[name][: len(kept)] = kept
        for name in ("h", "t", "taken", "earlier", "earlier_h"):
            self.table[name] = last[name]
        for name in {"record", "course"} & last.arrays.keys():
            self.table.point(name, last.arrays[name])
        self.table.arrays["order"][:] = last.arrays["order"]

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the axes (n, 3, 3) and origins (n, 3) of all bodies in the current state."""
        _function("begin")(self.table.address)
        arrays, n = self.table.arrays, len(self.bodies.colliders)
        return arrays["R"][: 9 * n].reshape(-1, 3, 3).copy(), arrays["origin"][: 3 * n].reshape(-1, 3).copy()

    def candidates(self, h: float) -> PointPairs:
        self.table["h"] = h
        while True:
            _function("begin")(self.table.address)
            status = self._search() if self.has_python_shapes else int(_function("find")(self.table.address))
            if status not in (tables.FULL, tables.PAIRS_FULL):
                return self.pairs()
            self._grow(status)

    # Steps.

    def advance(self, t: float, h: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Take up to `steps` steps of h seconds from time t; return states (taken, n) and records (taken, RECORD).

        The steps end early (taken < steps) if a set has more candidates than it may have.
        """
        record, course = np.zeros((steps, tables.RECORD)), np.zeros((steps, len(self.x)))
        table = self.table
        table["h"], table["t"], table["taken"] = h, t, 0
        table.point("record", record)
        table.point("course", course)
        while (status := self._steps(steps)) != tables.DONE:
            if status == tables.TOO_MANY:
                break
            self._grow(status)
        taken = int(self.table["taken"])
        return course[:taken], record[:taken]

    def _steps(self, steps: int) -> int:
        if not (self.has_python_shapes or self.has_python_formulas):
            return int(_function("advance", ctypes.c_int64)(self.table.address, steps))
        while self.table["taken"] < steps:
            status = self._step()
            if status != tables.DONE:
                return status
        return tables.DONE

    def _step(self) -> int:
        table, bound, t = self.table, self.bound, float(self.table["t"])
        address, rate = table.address, table.arrays["rate"]
        rate[:] = bound.rates(t, self.x, self.m)
        if self.sources.size:
            table.arrays["placement"][:] = self.prescribed_motion(t, self.x).ravel()
        _function("begin")(address)
        status = self._search() if self.has_python_shapes else int(_function("find")(address))
        if status != tables.DONE:
            return status
        _function("finish")(address)
        if len(self.others):
            rate[:] = bound.rates(t + float(table["h"]), self.x, self.m)
        _function("end")(address)
        return tables.DONE

    def _search(self) -> int:
        table = self.table
        arrays, n = table.arrays, len(self.bodies.colliders)
        R, p, reach = arrays["R"][: 9 * n].reshape(-1, 3, 3), arrays["origin"][: 3 * n].reshape(-1, 3), arrays["reach"][:n]
        begin = 0
        for k, each in enumerate(self.sets):
            pairs = candidates(each.arranged, R, p, reach)
            end = begin + len(pairs)
            if len(pairs) > each.collisions.max_contacts:
                table["too_many"], table["candidates"] = k, len(pairs)
                return tables.TOO_MANY
            if end > table["room"]:
                return tables.FULL
            arrays["shape1"][begin:end], arrays["shape2"][begin:end] = (
                pairs.shape1 + self._first_shape[k],
                pairs.shape2 + self._first_shape[k],
            )
            arrays["feature"][begin:end], arrays["set_of"][begin:end] = -1, k
            for name, values in (("point1", pairs.p1), ("point2", pairs.p2), ("normal", pairs.normal)):
                arrays[name].reshape(-1, 3)[begin:end] = values
            arrays["gap"][begin:end] = pairs.gap
            begin = end
        table["contacts"] = begin
        return tables.DONE

    def pairs(self) -> PointPairs:
        a, n = self.table.arrays, int(self.table["contacts"])
        s1, s2, body = a["shape1"][:n].copy(), a["shape2"][:n].copy(), a["body"]
        p1, p2, normal = (a[name].reshape(-1, 3)[:n].copy() for name in ("point1", "point2", "normal"))
        return PointPairs(body[s1], body[s2], s1, s2, p1, p2, normal, a["gap"][:n].copy())

    def impulses(self) -> np.ndarray:
        """Return the impulses of the last step in the world, on the second body, (contacts, 3), N s."""
        return self.table.arrays["impulse"].reshape(-1, 3)[: int(self.table["contacts"])].copy()


def _function(name: str, *arguments: type) -> ctypes._CFunctionType:
    result = ctypes.c_int64 if name in ("advance", "find") else None
    return ctypes.CFUNCTYPE(result, ctypes.c_void_p, *arguments)(machine_code().address(name))
