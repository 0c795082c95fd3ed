"""Dynamics of a tree, as formulas for any scalar type: mass matrix, forces, weight, and forward dynamics by articulated bodies.

The last arguments of every formula, `numbers`, are the values of the parameters of `inertia_numbers`, in this order; by default,
the tree's own. Parameters that are zero in the tree are constants of the equations and cost nothing.

Source: Featherstone 2008, tables 5.1 (recursive Newton-Euler), 6.2 (composite bodies) and 7.1 (articulated bodies); Walker
and Orin 1982.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.chains.kinematics import Frame, section_frame, section_frames, section_twists
from screwbond.models.chains.links import Link, UncheckedInertia, Vector
from screwbond.models.chains.rows import of_rows
from screwbond.models.chains.trees import SNAP, Section, Tree

from bondgraph.errors import Problem, caller_place, raise_if_any, refusal
from screws.linear import solve_spd
from screws.rotations import tilde
from screws.scalars import array
from screws.vectors import cross

ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@dataclass(frozen=True, eq=False)
class Moments:
    mass: Any
    first: np.ndarray
    """Mass times centre (3,), kg m."""
    second: np.ndarray
    """Rotational inertia (3, 3) about the origin, kg m^2."""

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.mass + other.mass, self.first + other.first, self.second + other.second)

    def momentum(self, omega: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.second @ omega + cross(self.first, v), self.mass * v + cross(omega, self.first)

    def seen_from(self, R: np.ndarray, p: np.ndarray) -> Moments:
        first = R @ self.first
        half = R @ self.second
        ahead = self.mass * p + first
        centred = p @ (ahead + first)
        second = np.zeros((3, 3), dtype=object)
        for i, j in ENTRIES:
            turned = half[i] @ R[j]
            entry = turned - (p[i] * ahead[j] + first[i] * p[j])
            second[i, j] = second[j, i] = entry + centred if i == j else entry
        return Moments(self.mass, ahead, second)


def inertia_numbers(tree: Tree) -> dict[str, tuple[float, str]]:
    """Return the value and unit, by name, of the links' masses, and of their other inertia parameters unless they are zero.

    `<link> mass`, `<link> centre x`, `<link> inertia xx` (about the centre of mass, in the link's frame),
    `<link> armature` ...
    """
    numbers: dict[str, tuple[float, str]] = {}
    turns = iter(section.turns for section in tree.sections.freedoms)
    for link in tree.links:
        for name, value in zip(_armature_names(link), np.broadcast_to(link.armature, link.joint.freedoms), strict=True):
            unit = "kg m^2" if next(turns) else "kg"
            numbers |= {name: (float(value), unit)} if value else {}
        if link.inertia is None:
            continue
        J, centre = link.inertia.rotational, link.inertia.centre
        gyration = np.sqrt(abs(np.trace(J)) / link.inertia.mass) if link.inertia.mass else 0.0
        size = max(float(np.abs(centre).max()), float(gyration))
        numbers[f"{link.name} mass"] = (link.inertia.mass, "kg")
        for i in range(3):
            if abs(centre[i]) > SNAP * size:
                numbers[f"{link.name} centre {'xyz'[i]}"] = (float(centre[i]), "m")
        for i, j in ENTRIES:
            if abs(J[i, j]) > SNAP * abs(np.trace(J)):
                numbers[f"{link.name} inertia {'xyz'[i]}{'xyz'[j]}"] = (float(J[i, j]), "kg m^2")
    return numbers


def _armature_names(link: Link) -> list[str]:
    n = link.joint.freedoms
    return [f"{link.name} armature"] if n == 1 else [f"{link.name} armature {k}" for k in range(1, n + 1)]


def _named(tree: Tree, numbers: Sequence[Any]) -> dict[str, Any]:
    entries = inertia_numbers(tree)
    return dict(zip(entries, numbers or [value for value, _ in entries.values()], strict=True))


def armatures(tree: Tree, numbers: Sequence[Any]) -> list[Any]:
    values = _named(tree, numbers)
    return [values.get(name, 0.0) for link in tree.links for name in _armature_names(link)]


def section_moments(tree: Tree, numbers: Sequence[Any]) -> list[Moments]:
    values = _named(tree, numbers)
    sections = tree.sections
    out = [Moments(0.0, np.zeros(3), np.zeros((3, 3))) for _ in sections.freedoms]
    for link, carrier, R, p in zip(tree.links, sections.carrier, sections.R, sections.p, strict=True):
        if link.inertia is None or carrier == 0:
            continue
        mass = values[f"{link.name} mass"]
        centre = np.array([values.get(f"{link.name} centre {axis}", 0.0) for axis in "xyz"], dtype=object)
        inertia = np.zeros((3, 3), dtype=object)
        for i, j in ENTRIES:
            inertia[i, j] = inertia[j, i] = values.get(f"{link.name} inertia {'xyz'[i]}{'xyz'[j]}", 0.0)
        about_centre = Moments(mass, np.zeros(3), inertia)
        out[carrier - 1] = out[carrier - 1] + about_centre.seen_from(R, p + R @ centre)
    return out


def _composites(tree: Tree, moves: Sequence[Frame], carried: Sequence[Moments]) -> list[Moments]:
    composites = list(carried)
    for k in range(len(moves) - 1, -1, -1):
        before = tree.sections.freedoms[k].before
        if before:
            composites[before - 1] = composites[before - 1] + composites[k].seen_from(*moves[k])
    return composites


@of_rows("q")
def mass_matrix(tree: Tree, q: Any, *numbers: Any) -> np.ndarray:
    """Return the mass matrix M(q) (n, n) of the joint coordinates, kg m^2, kg m or kg, by composite bodies.

    `numbers` : values of all inertia parameters, as `inertia_numbers` lists them; by default the tree's own.

    Raises `ModelError` E538 for a coordinate that moves no mass, E526 for a link whose kinetic energy could be negative (both
    only without `numbers`).
    """
    moves, freedoms = section_frames(tree, q), tree.sections.freedoms
    carried = section_moments(tree, numbers)
    if not numbers:
        raise_if_any(tree.name, mass_problems(tree, tree.name, carried))
    composites = _composites(tree, moves, carried)
    screws, rotors = [section.screw for section in freedoms], armatures(tree, numbers)
    M = np.zeros((len(moves), len(moves)), dtype=object)
    for k in range(len(moves)):
        moment, force = composites[k].momentum(*screws[k])
        M[k, k] = _along(screws[k], moment, force) + rotors[k]
        j = k
        while freedoms[j].before:
            R, p = moves[j]
            force = R @ force
            moment = R @ moment + cross(p, force)
            j = freedoms[j].before - 1
            M[k, j] = M[j, k] = _along(screws[j], moment, force)
    if not moves:
        return np.zeros((0, 0))
    rows = tree.sections.gathered(list(M))
    return array([list(row) for row in np.array(tree.sections.gathered(list(np.array(rows).T))).T])


def mass_problems(tree: Tree, name: str, carried: Sequence[Moments] | None = None) -> list[Problem]:
    """Return E538 for coordinates that move no mass and E526 for links whose kinetic energy could be negative.

    `carried` : moments of the sections, if they are known already.
    """
    about, place = f'{type(tree).__name__.lower()} "{name}"', tree.place or caller_place()
    problems: list[Problem] = []
    coordinates = massless(tree, section_moments(tree, ()) if carried is None else carried)
    if coordinates:
        title = about + ': no mass moves with "' + '", "'.join(coordinates) + '"'
        cures = (
            "inertia for this link or one that it carries, or fixed() as its joint",
            "for a URDF: <inertial> in the file, or read_urdf(..., tip=...) with a tip that has mass",
        )
        problems.append(Problem("E538", title, ("any force would accelerate it infinitely",), (place,), cures))
    for link in tree.links:
        if isinstance(link.inertia, UncheckedInertia) and not link.inertia.is_passive:
            title = f'{about}: the kinetic energy of "{link.name}" could be negative'
            cures = ("moments about the centre of mass, all positive", "the <inertial> of a real body in the file")
            problems.append(Problem("E526", title, (link.inertia.defect,), (link.inertia.place,), cures))
    return problems


def massless(tree: Tree, carried: Sequence[Moments]) -> list[str]:
    freedoms = tree.sections.freedoms
    loaded = [bool(body.mass) or bool(np.any(body.second)) for body in carried]
    for k in range(len(freedoms) - 1, -1, -1):
        if freedoms[k].before:
            loaded[freedoms[k].before - 1] |= loaded[k]
    rotors = tree.freedom_values("armature")
    moving = {drive.coordinate for drive, load, rotor in zip(tree.sections.drives, loaded, rotors, strict=True) if load or rotor}
    return [name for k, name in enumerate(tree.coordinates) if k not in moving]


def _along(screw: tuple[np.ndarray, np.ndarray], moment: Any, force: Any) -> Any:
    terms = [a * b for a, b in zip([*screw[0], *screw[1]], [*moment, *force], strict=True) if a]
    return sum(terms[1:], terms[0])


@of_rows("q", "v")
def bias(tree: Tree, q: Any, v: Any, *numbers: Any) -> np.ndarray:
    """Return the Coriolis and centrifugal forces h(q, v) (n,) in M v' + h = e, without weight, by recursive Newton-Euler."""
    return _newton_euler(tree, q, v, None, np.zeros(3), numbers)


@of_rows("q", "v", "acceleration")
def inverse_dynamics(
    tree: Tree, q: Any, v: Any, acceleration: Any, gravity: Vector | Sequence[Any] = (0.0, 0.0, 0.0), *numbers: Any
) -> np.ndarray:
    """Return the efforts M v' + h + dV/dq (n,), N m or N, that give the `acceleration` v' (n,), without damping and springs, by
    recursive Newton-Euler, in uniform `gravity` (3,) m/s^2 in world coordinates."""
    return _newton_euler(tree, q, v, acceleration, -_in_base(tree, gravity), numbers)


def _newton_euler(tree: Tree, q: Any, v: Any, acceleration: Any, rise: np.ndarray, numbers: Sequence[Any]) -> np.ndarray:
    """Return the efforts of a motion whose base has the acceleration `rise` (3,), in the base's axes; `acceleration` is (n,), or
    None for zero."""
    moves, freedoms = section_frames(tree, q), tree.sections.freedoms
    carried = section_moments(tree, numbers)
    twists = section_twists(tree, moves, v)
    rates: list[tuple[np.ndarray, np.ndarray]] = [(np.zeros(3), rise)]
    wrenches: list[tuple[Any, Any]] = []
    along_joints = [None] * len(moves) if acceleration is None else tree.sections.rates(acceleration)
    for section, (R, p), body, (omega, linear), speed, second in zip(
        freedoms, moves, carried, twists[1:], tree.sections.rates(v), along_joints, strict=True
    ):
        spin, rate = rates[section.before]
        rate = R.T @ (rate + cross(spin, p))
        spin = R.T @ spin
        along, shift = section.screw
        turning, sliding = along * speed, shift * speed
        spin = spin + cross(omega, turning)
        rate = rate + cross(omega, sliding) + cross(linear, turning)
        if second is not None:
            spin, rate = spin + along * second, rate + shift * second
        rates.append((spin, rate))
        angular, momentum = body.momentum(omega, linear)
        moment, force = body.momentum(spin, rate)
        wrenches.append((moment + cross(omega, angular) + cross(linear, momentum), force + cross(omega, momentum)))
    out: list[Any] = [0.0] * len(moves)
    rotors = armatures(tree, numbers)
    for k in range(len(moves) - 1, -1, -1):
        moment, force = wrenches[k]
        out[k] = _along(freedoms[k].screw, moment, force)
        if along_joints[k] is not None:
            out[k] = out[k] + rotors[k] * along_joints[k]
        before = freedoms[k].before
        if before:
            R, p = moves[k]
            force = R @ force
            wrenches[before - 1] = wrenches[before - 1][0] + (R @ moment + cross(p, force)), wrenches[before - 1][1] + force
    return array(tree.sections.gathered(out))


@of_rows("q", "v")
def kinetic_energy(tree: Tree, q: Any, v: Any, *numbers: Any) -> Any:
    """Return the kinetic energy, J."""
    carried = section_moments(tree, numbers)
    total: Any = 0.0
    for body, (omega, linear) in zip(carried, section_twists(tree, section_frames(tree, q), v)[1:], strict=True):
        angular, momentum = body.momentum(omega, linear)
        total = total + 0.5 * (omega @ angular + linear @ momentum)
    for rotor, rate in zip(armatures(tree, numbers), tree.sections.rates(v), strict=True):
        total = total + 0.5 * rotor * rate * rate
    return total


@of_rows("q")
def potential(tree: Tree, gravity: Vector, q: Any, *numbers: Any) -> Any:
    """Return the gravitational potential energy, J, in uniform `gravity` (3,) m/s^2 in world axes; it is zero at the world's
    origin."""
    mass, first = first_moment(tree, q, numbers)
    return -(_in_base(tree, gravity) @ first + mass * (np.asarray(gravity) @ tree.base[:3, 3]))


def _in_base(tree: Tree, gravity: Any) -> np.ndarray:
    if np.shape(gravity) != (3,):
        cure = "three numbers in world axes, m/s^2: (0, 0, -9.81)"
        raise refusal("E338", f'gravity of "{tree.name}" is {gravity!r}', cure, about=tree.name)
    return tree.base[:3, :3].T @ np.asarray(gravity)


def first_moment(tree: Tree, q: Any, numbers: Sequence[Any]) -> tuple[Any, Any]:
    """Return the mass of all moving links, kg, and mass times centre (3,) in the frame of the base, kg m."""
    freedoms, positions = tree.sections.freedoms, tree.sections.positions(q)
    carried = [(body.mass, body.first) for body in section_moments(tree, numbers)]
    total: tuple[Any, Any] = (0.0, np.zeros(3))
    for k in range(len(carried) - 1, -1, -1):
        R, p = section_frame(freedoms[k], positions[k])
        mass, first = carried[k]
        first = R @ first + mass * p
        before = freedoms[k].before
        if before:
            carried[before - 1] = mass + carried[before - 1][0], first + carried[before - 1][1]
        else:
            total = mass + total[0], first + total[1]
    return total


@of_rows("q")
def gravity_forces(tree: Tree, gravity: Vector, q: Any, *numbers: Any) -> np.ndarray:
    """Return dV/dq (n,): the efforts that hold the tree at rest in uniform `gravity` (3,) m/s^2 in world axes, N m or N."""
    moves = section_frames(tree, q)
    composites = _composites(tree, moves, section_moments(tree, numbers))
    pulls = [_in_base(tree, gravity)]
    out = []
    for section, (R, _), body in zip(tree.sections.freedoms, moves, composites, strict=True):
        pull = R.T @ pulls[section.before]
        pulls.append(pull)
        out.append(-_along(section.screw, cross(body.first, pull), body.mass * pull))
    return array(tree.sections.gathered(out))


Screw = tuple[Any, Any]
"""Angular and linear part (3,) of a twist or an acceleration, or moment and force of a wrench."""


@dataclass(frozen=True, eq=False)
class Articulated:
    """Articulated body, wrench = [[A, B], [B^T, C]] @ acceleration + bias, in the frame of a section, about its origin."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    bias: Screw

    def __add__(self, other: Articulated) -> Articulated:
        bias = self.bias[0] + other.bias[0], self.bias[1] + other.bias[1]
        return Articulated(self.A + other.A, self.B + other.B, self.C + other.C, bias)

    def __matmul__(self, acceleration: Screw) -> Screw:
        spin, rate = acceleration
        return self.A @ spin + self.B @ rate, self.B.T @ spin + self.C @ rate

    def seen_from(self, R: np.ndarray, p: np.ndarray) -> Articulated:
        A, C, B = _congruent(R, self.A), _congruent(R, self.C), R @ self.B @ R.T
        arm = tilde(p)
        B_there = B + arm @ C
        twice, back = B @ arm, arm @ B_there.T
        force = R @ self.bias[1]
        return Articulated(
            _symmetric(lambda i, j: A[i, j] + (back[i, j] - twice[i, j])), B_there, C, (R @ self.bias[0] + cross(p, force), force)
        )


def _symmetric(entry: Callable[[int, int], Any]) -> np.ndarray:
    matrix = np.zeros((3, 3), dtype=object)
    for i, j in ENTRIES:
        matrix[i, j] = matrix[j, i] = entry(i, j)
    return matrix


def _congruent(R: np.ndarray, M: np.ndarray) -> np.ndarray:
    half = R @ M
    return _symmetric(lambda i, j: half[i] @ R[j])


def _rigid(body: Moments, twist: Screw) -> Articulated:
    omega, v = twist
    angular, momentum = body.momentum(omega, v)
    bias = cross(omega, angular) + cross(v, momentum), cross(omega, momentum)
    return Articulated(body.second, np.asarray(tilde(body.first)), body.mass * np.eye(3), bias)


@dataclass(frozen=True, eq=False)
class _Hinged:
    """Articulated body projected onto its joint, about or along the positive axis (screw s): U = inertia @ s, D = s . U +
    armature, and the net effort u."""

    U: Screw
    D: Any
    u: Any
    has_rotor: bool

    @classmethod
    def of(cls, section: Section, body: Articulated, effort: Any, rotor: Any) -> _Hinged:
        a, h, has_rotor = section.axis, section.pitch, not (isinstance(rotor, float) and rotor == 0.0)
        if not section.turns:
            return cls((body.B[:, a], body.C[:, a]), body.C[a, a] + rotor, effort - body.bias[1][a], has_rotor)
        U = body.A[:, a], body.B[a]
        if not h:
            return cls(U, U[0][a] + rotor, effort - body.bias[0][a], has_rotor)
        U = U[0] + h * body.B[:, a], U[1] + h * body.C[:, a]
        effort = effort - (body.bias[0][a] + h * body.bias[1][a])
        return cls(U, U[0][a] + h * U[1][a] + rotor, effort, has_rotor)

    def reduced(self, section: Section, body: Articulated, velocity_term: Screw) -> Articulated:
        a, turning, sliding = section.axis, section.turns and not section.pitch, not section.turns
        turning, sliding = (each and not self.has_rotor for each in (turning, sliding))
        over = self.U[0] / self.D, self.U[1] / self.D
        # Without armature, the free direction takes no wrench: these entries are zero and cost nothing.
        A = _symmetric(lambda i, j: 0.0 if turning and a in (i, j) else body.A[i, j] - self.U[0][i] * over[0][j])
        C = _symmetric(lambda i, j: 0.0 if sliding and a in (i, j) else body.C[i, j] - self.U[1][i] * over[1][j])
        B = np.zeros((3, 3), dtype=object)
        for i in range(3):
            for j in range(3):
                free = (turning and i == a) or (sliding and j == a)
                B[i, j] = 0.0 if free else body.B[i, j] - self.U[0][i] * over[1][j]
        reduced = Articulated(A, B, C, body.bias)
        moment, force = reduced @ velocity_term
        bias = body.bias[0] + moment + over[0] * self.u, body.bias[1] + force + over[1] * self.u
        return Articulated(A, B, C, bias)


@of_rows("q", "v", "effort")
def forward_dynamics(
    tree: Tree, q: Any, v: Any, effort: Any, gravity: Vector | Sequence[Any] = (0.0, 0.0, 0.0), *numbers: Any
) -> np.ndarray:
    """Return the accelerations v' (n,) of M v' + h + dV/dq = effort, in uniform `gravity` (3,) m/s^2 in world coordinates.

    Joints that mimic other joints couple distant bodies; then the mass matrix is formed and solved.
    """
    sections = tree.sections
    if not all(drive.direct for drive in sections.drives):
        forces = bias(tree, q, v, *numbers) + gravity_forces(tree, gravity, q, *numbers)
        return array(list(solve_spd(mass_matrix(tree, q, *numbers), effort - forces)))
    moves = section_frames(tree, q)
    twists = section_twists(tree, moves, v)
    bodies = [_rigid(body, twist) for body, twist in zip(section_moments(tree, numbers), twists[1:], strict=True)]
    velocity_terms = [
        _velocity_term(section, twist, rate) for section, twist, rate in zip(sections.freedoms, twists[1:], v, strict=True)
    ]
    hinged: dict[int, _Hinged] = {}
    rotors = armatures(tree, numbers)
    for k in range(len(moves) - 1, -1, -1):
        section = sections.freedoms[k]
        hinged[k] = _Hinged.of(section, bodies[k], section.sign * effort[k], rotors[k])
        if section.before:
            reduced = hinged[k].reduced(section, bodies[k], velocity_terms[k])
            bodies[section.before - 1] = bodies[section.before - 1] + reduced.seen_from(*moves[k])
    pull = _in_base(tree, gravity)
    accelerations: list[Screw] = [(np.zeros(3), -pull)]
    joint_accelerations: list[Any] = []
    for k, (section, (R, p)) in enumerate(zip(sections.freedoms, moves, strict=True)):
        spin, rate = accelerations[section.before]
        rate = R.T @ (rate + cross(spin, p)) + velocity_terms[k][1]
        spin = R.T @ spin + velocity_terms[k][0]
        U, a = hinged[k].U, section.axis
        along = (hinged[k].u - (U[0] @ spin + U[1] @ rate)) / hinged[k].D
        joint_accelerations.append(section.sign * along)
        unit = np.eye(3)[a]
        if section.turns:
            accelerations.append((spin + unit * along, rate + unit * (section.pitch * along) if section.pitch else rate))
        else:
            accelerations.append((spin, rate + unit * along))
    return array(joint_accelerations)


def _velocity_term(section: Section, twist: Screw, rate: Any) -> Screw:
    along, shift = section.screw
    turning, sliding = along * rate, shift * rate
    return cross(twist[0], turning), cross(twist[0], sliding) + cross(twist[1], turning)
