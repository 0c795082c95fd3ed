"""Forward and inverse kinematics of the delta robot, with derivatives, checks and initial states.

Angles are q = (phi of arm 1, of arm 2, of arm 3), (9,), as in Bortoff 2018; computations use the coordinates theta (9,) of `arm`.
y are the three motor angles, x the six unmeasured angles of q, w is the tool position. Arms 2 and 3 are arm 1 turned by +120 and
-120 degrees about x3, which points down.

Forward kinematics is Newton's method on the six equations of closure (Bortoff 2018, eq. (27) and (28)), started by default at the
intersection of three spheres about the elbows. Inverse kinematics is the intersection of two circles in the plane of each arm.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics.arm import by_arms, direction, phi_of, phi_rate, theta_of, theta_rate, tip
from screwbond.models.delta.kinematics.closure import ROTATIONS, closure, closure_jacobian, compiled_formulas
from screwbond.models.delta.kinematics.parameters import DeltaParameters

from bondgraph.errors import refusal
from screws.errors import plural
from screws.numeric_arguments import floats

error = functools.partial(refusal, about="delta robot", places=())

SINGULARITY_TOLERANCE = 1e-7
"""Size below which sines and determinants of unit vectors count as zero."""


def check_assembled(y: np.ndarray, reach: float) -> None:
    if np.isnan(reach):
        title = "the forward kinematics is singular: the elbows lie on one line, or the distal links are parallel"
        why = (f"at y = {format_numbers(y, 'rad')}", "the motor angles do not determine the motion of the tool")
        raise error("E464", title, "stay clear of this posture", why=why)
    if reach < 0.0:
        title = f"no tool position exists at the motor angles y = {format_numbers(y, 'rad')}"
        cure = "motor angles inside the workspace, or a longer distal link L2"
        raise error("E463", title, cure, why="the elbows are farther apart than the distal links can span")


def check_reached(w: np.ndarray, reach: np.ndarray) -> None:
    unreached = [i for i in range(3) if not reach[i] >= 0.0]
    if unreached:
        title = f"the tool cannot reach w = {format_numbers(w, 'm')}"
        why = [f"arm {i + 1} is too short, or cannot fold that far" for i in unreached]
        raise error("E463", title, "a point inside the workspace (`screwbond.models.delta.kinematics.workspace`)", why=why)


def check_mode(y: np.ndarray, w: np.ndarray, side: float, sign: float, distance: float, tolerance: float) -> None:
    if distance <= tolerance and side * sign >= SINGULARITY_TOLERANCE:
        return
    where = f"at y = {format_numbers(y, 'rad')}, w = {format_numbers(w, 'm')}"
    if abs(side) < SINGULARITY_TOLERANCE:
        title = "the forward kinematics is singular: the three distal links lie in one plane or are parallel"
        why = (where, "the motor angles do not determine the motion of the tool")
        raise error("E464", title, "stay clear of this posture; the stabilised dynamics can pass through it", why=why)
    if not distance <= tolerance:
        title = "Newton's method does not converge from this start"
        cure = "start closer, or omit the start: the closed form is then used"
        raise error("E465", title, cure, why=(f"the tips are {distance:.3g} m apart after the last step", where))
    actual, expected = ("above", "below") if sign > 0.0 else ("below", "above")
    title = "the start leads to the other assembly mode"
    why = (f"the tool is {actual} the plane of the elbows (x3 points down), not {expected} it", where)
    raise error("E465", title, "a start in the desired assembly mode, or none", f'mode="{actual}" if this is intended', why=why)


def check_arms(theta: np.ndarray, stretch: np.ndarray | None, w: np.ndarray) -> None:
    along = np.abs(np.cos(theta[2::3])) < SINGULARITY_TOLERANCE
    straight = np.zeros(3, dtype=bool) if stretch is None else np.abs(stretch) < SINGULARITY_TOLERANCE
    if not (along.any() or straight.any()):
        return
    i = int(np.argmax(along)) if along.any() else int(np.argmax(straight))
    where = f"arm {i + 1} at the angles {format_numbers(theta[3 * i : 3 * i + 3], 'rad')}, w = {format_numbers(w, 'm')}"
    if along[i]:
        title = f"arm {i + 1}: the distal link lies along its motor's shaft"
        why = (where, "the elbow moves perpendicular to the link, and the two rods of a real arm would lie on one line")
        raise error("E464", title, "another pose: this one is on the edge of the workspace", why=why)
    title = f"arm {i + 1} is stretched or folded: the edge of the workspace"
    why = (where, "its two branches meet here, and the motor cannot move the tool along the links")
    raise error("E464", title, "a pose slightly inside the workspace", why=why)


def checked_numbers(name: str, values: Any, size: int) -> np.ndarray:
    out = floats(values, (size,))
    if out is None:
        raise error(
            "E466", f"{name} = {values!r}", f"a list of {plural(size, 'number')}", why=f"{name} must be {size} finite numbers"
        )
    return out


def checked_choice(name: str, word: str, options: Mapping[str, float]) -> float:
    if word not in options:
        names = " or ".join(f'"{option}"' for option in options)
        raise error("E466", f"{name} {word!r} is unknown", names)
    return options[word]


def format_numbers(values: np.ndarray, unit: str) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in values) + f") {unit}"


MODES = {"below": 1.0, "above": -1.0}
"""Assembly modes: the side of the elbows' plane on which the tool lies; x3 points down."""

BRANCHES = {"out": -1.0, "in": 1.0}
"""Working branches of an arm: its elbow away from the robot's axis, or towards it."""

TOLERANCE = 1e-13
"""Closure error (m) at which the Newton iteration ends."""

_MAX_ITERATIONS = 25


@dataclass(frozen=True, eq=False)
class Configuration:
    """Posture of the robot with first derivatives.

    Parameters
    ----------
    theta : (9,) coordinates, arm after arm, rad.
    w : (3,) tool position, m.
    jacobian : (3, 3) dw/dy, m: tool velocity from motor velocities.
    dtheta_dy : (9, 3) derivative of the coordinates with respect to the motor angles.
    closure : (6,) position of tip 1 minus those of tips 2 and 3, m.
    side : determinant of the three distal directions: +1 to -1, positive below the elbows; 0 where the forward
        kinematics is singular.
    stretch : (3,) cosine between each distal link and the velocity of its elbow; 0 where the arm is stretched or folded.
    iterations : Newton steps taken.
    """

    theta: np.ndarray
    w: np.ndarray
    jacobian: np.ndarray
    dtheta_dy: np.ndarray
    closure: np.ndarray
    side: float
    stretch: np.ndarray
    iterations: int

    @property
    def q(self) -> np.ndarray:
        """Angles phi (9,), arm after arm, rad."""
        return by_arms(phi_of, self.theta)

    @property
    def dq_dy(self) -> np.ndarray:
        """Derivative (9, 3) of q with respect to the motor angles; rows of phi2 and phi3 are zero for a rod along x2 (see
        `arm`)."""
        return np.stack([by_arms(phi_rate, self.theta, column) for column in self.dtheta_dy.T], axis=1)

    @property
    def y(self) -> np.ndarray:
        """Motor angles (3,), rad."""
        return self.theta[::3]

    @property
    def x(self) -> np.ndarray:
        """Unmeasured angles (6,), rad: q12, q13, q22, q23, q32, q33."""
        return self.q[_UNMEASURED]


_UNMEASURED = np.array([1, 2, 4, 5, 7, 8])


@dataclass(frozen=True)
class DeltaKinematics:
    """Forward and inverse kinematics of a delta robot.

    Parameters
    ----------
    parameters : the robot.
    backend : "llvm", "numpy", or "auto": machine code where llvmlite is installed, else NumPy.
    """

    parameters: DeltaParameters
    backend: str = "auto"

    def forward(
        self,
        y: Sequence[float] | np.ndarray,
        *,
        start: Sequence[float] | np.ndarray | None = None,
        mode: str = "below",
        tolerance: float = TOLERANCE,
    ) -> Configuration:
        """Return the posture at the motor angles y (3,), rad.

        Parameters
        ----------
        start : initial unmeasured angles (6,), such as the angles of the previous posture; by default the exact angles of the
            assembly mode.
        mode : "below" or "above": the assembly mode.
        tolerance : closure error, m, at which the iteration ends.

        Raises `ModelError` E463 if the tips cannot meet; E464 where they meet but do not determine the tool, or a distal link
        lies along its motor's shaft; E465 if a start leads to the other assembly mode or does not converge; E466 for invalid
        arguments.
        """
        angles = checked_numbers("y", y, 3)
        sign = checked_choice("mode", mode, MODES)
        p = np.array(self.parameters.values())
        if start is None:
            result = compiled_formulas(self.backend)["forward"](angles, p, sign)
            check_assembled(angles, float(result["reach"]))
            x = result["x"]
        else:
            x = by_arms(theta_of, _merge_angles(angles, checked_numbers("start", start, 6)))[_UNMEASURED]
        newton = compiled_formulas(self.backend)["newton"]
        best, iterations = np.inf, 0
        while True:
            values = newton(x, angles, p)
            error_norm = float(np.max(np.abs(values["closure"])))
            stalled = error_norm >= best and error_norm < 100.0 * TOLERANCE
            if error_norm <= tolerance or stalled or not np.isfinite(error_norm) or iterations == _MAX_ITERATIONS:
                break
            best, x, iterations = min(best, error_norm), values["next"], iterations + 1
        fields = {name: values[name] for name in ("w", "jacobian", "dtheta_dy", "closure", "stretch")}
        posture = Configuration(_merge_angles(angles, x), side=float(values["side"]), iterations=iterations, **fields)
        check_arms(posture.theta, None, posture.w)
        check_mode(angles, posture.w, posture.side, sign, error_norm, max(tolerance, 100.0 * TOLERANCE))
        return posture

    def inverse(self, w: Sequence[float] | np.ndarray, *, branch: str | Sequence[str] = "out") -> np.ndarray:
        """Return all nine angles q (9,), rad, that bring the tool to w (3,), m.

        Parameters
        ----------
        branch : "out" or "in" for all arms, or one word for each arm.

        Raises `ModelError` E463 for a position out of reach; E464 where an arm is stretched or folded, or its distal link lies
        along its motor's shaft; E466 for invalid arguments.
        """
        tool = checked_numbers("w", w, 3)
        result = compiled_formulas(self.backend)["inverse"](tool, np.array(self.parameters.values()), branch_signs(branch))
        check_reached(tool, result["reach"])
        theta = result["theta"]
        check_arms(theta, result["stretch"], tool)
        return by_arms(phi_of, theta)

    def jacobian(self, y: Sequence[float] | np.ndarray, **options: Any) -> np.ndarray:
        """Return the derivative dw/dy (3, 3), m, at motor angles y; options and errors as for `forward`."""
        return self.forward(y, **options).jacobian

    def forward_many(self, y: np.ndarray, *, mode: str = "below") -> tuple[np.ndarray, np.ndarray]:
        """Return tool positions (n, 3) in m, nan where the tips cannot meet, and all angles (n, 9) at motor angles (n, 3)."""
        angles = np.ascontiguousarray(y, dtype=float).reshape(-1, 3)
        p, sign = np.array(self.parameters.values()), checked_choice("mode", mode, MODES)
        results = compiled_formulas(self.backend)["forward"].evaluate_many(angles, p, sign)
        theta = _merge_angles(angles, results["x"])
        theta[results["reach"] < 0.0] = np.nan
        return results["w"], by_arms(phi_of, theta)

    def inverse_many(self, w: np.ndarray, *, branch: str | Sequence[str] = "out") -> tuple[np.ndarray, np.ndarray]:
        """Return all angles (n, 9), rad, for tool positions (n, 3), nan for arms that do not reach them, and a mask (n,) of
        positions that all arms reach."""
        tools = np.ascontiguousarray(w, dtype=float).reshape(-1, 3)
        p = np.array(self.parameters.values())
        results = compiled_formulas(self.backend)["inverse"].evaluate_many(tools, p, branch_signs(branch))
        reached = np.all(results["reach"] >= 0.0, axis=1)
        return by_arms(phi_of, results["theta"]), reached

    def postures_many(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return fields of `Configuration` at angles q (n, 9) that close the arms: w (n, 3), jacobian (n, 3, 3), side (n,),
        stretch (n, 3), closure (n, 6)."""
        return self.postures_at(by_arms(theta_of, np.asarray(q, dtype=float).reshape(-1, 9)))

    def postures_at(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Return the same fields as `postures_many` at coordinates theta (n, 9) at which the arms meet."""
        angles = np.ascontiguousarray(theta, dtype=float).reshape(-1, 9)
        values = compiled_formulas(self.backend)["newton"].evaluate_many(
            np.ascontiguousarray(angles[:, _UNMEASURED]), np.ascontiguousarray(angles[:, ::3]), np.array(self.parameters.values())
        )
        return {name: values[name] for name in ("w", "jacobian", "side", "stretch", "closure")}


def branch_signs(branch: str | Sequence[str]) -> np.ndarray:
    """Return signs (3,) of the working branches of the arms.

    >>> branch_signs(("out", "in", "out")).tolist()
    [-1.0, 1.0, -1.0]
    """
    words = (branch,) * 3 if isinstance(branch, str) else tuple(branch)
    if len(words) != 3:
        raise error("E466", f"{len(words)} working branches do not fit three arms", "one word, or one for each arm")
    return np.array([checked_choice("branch", word, BRANCHES) for word in words])


def _merge_angles(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    theta = np.empty((*np.shape(y)[:-1], 9))
    theta[..., ::3], theta[..., _UNMEASURED] = y, x
    return theta


EXACT_TOLERANCE = 1e-9
"""Closure error (m) and closure rate (m/s) up to which a start is not corrected."""

MAX_PROJECTED_GAP = 1e-3
"""Largest closure error of initial angles that is projected away, m."""

MAX_PROJECTED_SPEED = 1e-2
"""Largest relative velocity of the tips that is projected away, m/s."""

NO_PROJECTION = "project=False, if the start is intentionally off the constraint"


@dataclass(frozen=True, eq=False)
class InitialState:
    """Coordinates theta and rates v (9,) of the arms, as in `arm`, with notes on corrections."""

    theta: np.ndarray
    v: np.ndarray
    notes: tuple[str, ...]

    @property
    def x(self) -> np.ndarray:
        """Unmeasured angles phi (6,), rad."""
        return _unmeasured(self.theta)


def initial_state(
    kinematics: DeltaKinematics,
    *,
    y: Any = None,
    w: Any = None,
    q: Any = None,
    rates: Any = None,
    v: Any = None,
    mode: str = "below",
    branch: Any = "out",
    project: bool = True,
) -> InitialState:
    """Return the initial state from the motor angles y (3,), by default pi/4, the tool position w (3,) or all angles q (9,), phi
    arm after arm.

    Parameters
    ----------
    rates : (3,) velocities of the motors, rad/s; or
    v : (9,) rates of all angles, with q only. Without either, the robot is at rest.
    mode, branch : assembly mode for y, working branch for w.
    project : project q and v onto the constraint, keeping motor angles and velocities; False leaves them unchanged.

    Raises `ModelError` E463 to E466 from the kinematics, E464 also for a rod along its motor's shaft in q; E467 for angles or
    rates too far off the constraint; E468 for conflicting arguments.
    """
    arguments = [name for name, value in (("y", y), ("w", w), ("q", q)) if value is not None]
    if len(arguments) > 1 or (rates is not None and v is not None) or (v is not None and q is None):
        names = " and ".join([*arguments, *(n for n, value in (("rates", rates), ("v", v)) if value is not None)])
        raise error("E468", f"a start cannot be given by {names}", "y, w or q; rates of the motors, or v with q")
    notes: list[str] = []
    if q is not None:
        angles, slopes = _project_angles(kinematics, by_arms(theta_of, checked_numbers("q", q, 9)), project, notes)
    else:
        if w is not None:
            angles_of_w = kinematics.inverse(w, branch=branch)
            posture = _posture(kinematics, by_arms(theta_of, angles_of_w))
        else:
            posture = kinematics.forward((0.25 * np.pi,) * 3 if y is None else y, mode=mode)
        angles, slopes = posture.theta, posture.dtheta_dy
    if v is not None:
        coordinate_rates = by_arms(theta_rate, checked_numbers("q", q, 9), checked_numbers("v", v, 9))
        return InitialState(angles, _project_rates(kinematics, angles, slopes, coordinate_rates, project, notes), tuple(notes))
    motors = np.zeros(3) if rates is None else checked_numbers("rates", rates, 3)
    if slopes is None and np.any(motors):
        slopes = _posture(kinematics, angles).dtheta_dy
    return InitialState(angles, np.zeros(9) if slopes is None else slopes @ motors, tuple(notes))


def assembly_mode(theta: np.ndarray) -> str:
    n = [ROTATIONS[i] @ np.asarray(direction(theta[3 * i : 3 * i + 3]), dtype=float) for i in range(3)]
    return "below" if np.linalg.det(np.array(n)) >= 0.0 else "above"


def _posture(kinematics: DeltaKinematics, theta: np.ndarray) -> Configuration:
    return kinematics.forward(theta[::3], start=_unmeasured(theta), mode=assembly_mode(theta))


def _unmeasured(theta: np.ndarray) -> np.ndarray:
    return np.delete(by_arms(phi_of, theta), [0, 3, 6])


def _project_angles(
    kinematics: DeltaKinematics, theta: np.ndarray, project: bool, notes: list[str]
) -> tuple[np.ndarray, np.ndarray | None]:
    check_arms(theta, None, np.asarray(tip(theta[:3], kinematics.parameters), dtype=float))
    tip_distances = np.asarray(closure(theta, kinematics.parameters), dtype=float).reshape(2, 3)
    gap = float(np.max(np.linalg.norm(tip_distances, axis=1)))
    if gap <= EXACT_TOLERANCE or not project:
        return theta, None
    q = by_arms(phi_of, theta)
    if not gap <= MAX_PROJECTED_GAP:
        why = (f"the tips are {gap:.3g} m apart, more than {MAX_PROJECTED_GAP:g} m", f"q = {format_numbers(q, 'rad')}")
        cure = "the motor angles y alone, which determine all other angles"
        raise error("E467", "these angles do not close the arms", cure, NO_PROJECTION, why=why)
    posture = _posture(kinematics, theta)
    largest = float(np.max(np.abs(posture.theta - theta)))
    notes.append(f"the tips were {gap:.3g} m apart: unmeasured angles were moved by up to {largest:.3g} rad")
    return posture.theta, posture.dtheta_dy


def _project_rates(
    kinematics: DeltaKinematics, theta: np.ndarray, slopes: np.ndarray | None, v: np.ndarray, project: bool, notes: list[str]
) -> np.ndarray:
    tip_velocities = (np.asarray(closure_jacobian(theta, kinematics.parameters), dtype=float) @ v).reshape(2, 3)
    speed = float(np.max(np.linalg.norm(tip_velocities, axis=1)))
    if speed <= EXACT_TOLERANCE or not project:
        return v
    if not speed <= MAX_PROJECTED_SPEED:
        why = (f"the tips part at {speed:.3g} m/s, more than {MAX_PROJECTED_SPEED:g} m/s", f"v = {format_numbers(v, 'rad/s')}")
        cure = "the motor rates alone, which determine all other rates"
        raise error("E467", "these rates pull the arms apart", cure, NO_PROJECTION, why=why)
    if slopes is None:
        slopes = _posture(kinematics, theta).dtheta_dy
    notes.append(f"the tips parted at {speed:.3g} m/s: all rates now follow from the motor rates")
    return slopes @ v[::3]
