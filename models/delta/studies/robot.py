"""Delta robot for users: kinematics, statics, linear systems and runs, with the singularities along a run."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from screwbond.models.delta.graphs.three_arms import delta_graph
from screwbond.models.delta.kinematics import arm
from screwbond.models.delta.kinematics.arm import by_arms, phi_of
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.kinematics.robot_kinematics import (
    Configuration,
    DeltaKinematics,
    InitialState,
    assembly_mode,
    checked_numbers,
    error,
    format_numbers,
    initial_state,
)
from screwbond.models.motion import Motion, reference
from screwbond.models.motion.blocks import motion_parameters

from bondgraph import Compiled, Element, Graph, compile_model
from bondgraph.analysis import Derivatives, Linear, differentiate, point_of
from bondgraph.run.results.energy_account import Ledger
from bondgraph.run.results.failure import Failure
from bondgraph.run.results.result import Result, Statistics
from screws.names import answer_old_names

NEAR_SINGULARITY = 1e-3
"""Size of sines and determinants of unit vectors below which a row of the result counts as singular."""


@dataclass(frozen=True, eq=False)
class SingularPosture:
    """Singular configuration along a run.

    Parameters
    ----------
    time : s.
    kind : description of the singularity.
    q : (9,) angles of the arms, rad.
    w : (3,) tool position, m.
    """

    time: float
    kind: str
    q: np.ndarray
    w: np.ndarray

    @property
    def y(self) -> np.ndarray:
        """Motor angles (3,), rad."""
        return self.q[::3]

    def __str__(self) -> str:
        return f"{self.kind} at {self.time:.6g} s, y = {format_numbers(self.y, 'rad')}, w = {format_numbers(self.w, 'm')}"


@answer_old_names
@dataclass(frozen=True, eq=False)
class DeltaRun:
    """Result of a run. `run["y"]` returns a quantity by name; `names()` lists all.

    Parameters
    ----------
    result : all quantities by the names of the graph.
    notes : corrections to the start.
    """

    result: Result
    compiled: Compiled = field(repr=False)
    kinematics: DeltaKinematics = field(repr=False)
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> np.ndarray:
        return self.result[name]

    def names(self) -> tuple[str, ...]:
        """List the names of all quantities."""
        return self.result.names()

    @property
    def t(self) -> np.ndarray:
        """Sample times (k,), s."""
        return self.result.t

    @property
    def ok(self) -> bool:
        """True if the run reached its end."""
        return self.result.ok

    @property
    def failure(self) -> Failure | None:
        """Reason for an early end of the run; None if it reached its end."""
        return self.result.failure

    @property
    def statistics(self) -> Statistics:
        """Cost of the run."""
        return self.result.statistics

    @property
    def ledger(self) -> Ledger:
        """Energy account."""
        return self.result.ledger

    def _arms(self, signal: str) -> np.ndarray:
        return np.concatenate([self.result[f"arm {i}.{signal}"] for i in (1, 2, 3)], axis=1)

    @cached_property
    def q(self) -> np.ndarray:
        """Angles phi (k, 9), rad."""
        return self._arms("phi")

    @cached_property
    def v(self) -> np.ndarray:
        """Rates of the angles phi (k, 9), rad/s."""
        return self._arms("rate")

    @property
    def y(self) -> np.ndarray:
        """Motor angles (k, 3), rad."""
        return self.result["y"]

    @property
    def w(self) -> np.ndarray:
        """Tool position (k, 3), m."""
        return self.result["tool"]

    @cached_property
    def energy(self) -> np.ndarray:
        """Kinetic plus potential energy (k,), J."""
        return np.sum([self.result[f"arm {i}.mechanism.energy"] for i in (1, 2, 3)], axis=0)

    @cached_property
    def drift(self) -> np.ndarray:
        """Largest distance between two tips (k,), m."""
        differences = [self.result["closure 2"], self.result["closure 3"]]
        pairs = [*differences, differences[0] - differences[1]]
        return np.max([np.linalg.norm(pair, axis=1) for pair in pairs], axis=0)

    @cached_property
    def singular_postures(self) -> tuple[SingularPosture, ...]:
        """Singular configurations of the kinematics between rows of the result, in order. Two of the same kind between two rows
        are missed."""
        if len(self.t) < 2:
            return ()
        from scipy.interpolate import CubicHermiteSpline

        theta = self._arms("theta")
        # Unlike phi, theta has no jumps.
        spline = CubicHermiteSpline(self.t, theta, self._arms("theta rate"))
        values = _singularity_measures(self.kinematics, theta)
        singularities = [
            p for column in range(values.shape[1]) for p in self._singularities_of(spline, column, values[:, column])
        ]
        return tuple(sorted(singularities, key=lambda p: p.time))

    def _singularities_of(self, spline: Any, column: int, s: np.ndarray) -> list[SingularPosture]:
        crossed = np.flatnonzero((s[:-1] > 0.0) != (s[1:] > 0.0))
        singularities = [self._refine(spline, column, int(k), int(k) + 1) for k in crossed]
        near = np.abs(s) < NEAR_SINGULARITY
        for begin, end in np.flatnonzero(np.diff(near, prepend=False, append=False)).reshape(-1, 2):
            if not np.any((crossed >= begin - 1) & (crossed < end)):
                least = int(begin + np.argmin(np.abs(s[begin:end])))
                singularities.append(self._refine(spline, column, max(least - 1, 0), min(least + 1, len(s) - 1)))
        return singularities

    def _refine(self, spline: Any, column: int, first: int, last: int) -> SingularPosture:
        t = np.concatenate([np.linspace(self.t[k], self.t[k + 1], 65) for k in range(first, last)])
        samples = spline(t)
        index = int(np.argmin(np.abs(_singularity_measures(self.kinematics, samples)[:, column])))
        w = self.kinematics.postures_at(samples[index : index + 1])["w"][0]
        return SingularPosture(float(t[index]), SINGULARITY_KINDS[column], by_arms(phi_of, samples[index]), w)


SINGULARITY_KINDS = (
    "the distal links lie in one plane or are parallel",
    *(f"arm {i} is stretched or folded" for i in (1, 2, 3)),
    *(f"the distal link of arm {i} lies along its motor's shaft" for i in (1, 2, 3)),
)


def _singularity_measures(kinematics: DeltaKinematics, theta: np.ndarray) -> np.ndarray:
    """Return measures (k, 7) of coordinates (k, 9) that are zero at the singularities, in the order of SINGULARITY_KINDS."""
    posture: dict[str, Any] = kinematics.postures_at(theta)
    return np.column_stack([posture["side"], posture["stretch"], np.cos(theta[:, 2::3])])


TORQUES = ("motor 1.torque", "motor 2.torque", "motor 3.torque")
ANGLE_OUTPUTS = ("y[0]", "y[1]", "y[2]")
VELOCITY = {"lagrangian": "v", "hamiltonian": "p"}
Numbers = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class DeltaRobot:
    """Delta robot of three arms whose tips are joined by stabilised ideal constraints; y are the motor angles (3,) in rad, w is
    the tool position (3,) in m, and x3 points down. Equal robots share a cached compiled graph.

    Parameters
    ----------
    parameters : lengths, masses, inertias and damping.
    form : form of the arms, "lagrangian" or "hamiltonian".
    alpha1, alpha0 : stabilisation, 1/s and 1/s^2.
    backend : "auto", "llvm" or "numpy".
    """

    parameters: DeltaParameters
    form: str = "lagrangian"
    alpha1: float = 10.0
    alpha0: float = 25.0
    backend: str = "auto"

    def __post_init__(self) -> None:
        if self.form not in VELOCITY:
            raise error("E468", f"form {self.form!r} is unknown", *(f'form="{form}"' for form in VELOCITY))

    @property
    def kinematics(self) -> DeltaKinematics:
        """Forward and inverse kinematics, for single postures or thousands."""
        return DeltaKinematics(self.parameters, self.backend)

    @property
    def compiled(self) -> Compiled:
        """Compiled graph; the parameters of its motors are `motor 1.torque` ..."""
        return _compiled(self, None)

    def graph(self, y: Numbers = (0.25 * np.pi,) * 3, **options: Any) -> Graph:
        """Return the bond graph, started at motor angles y; options as for `delta_graph` (rates, torques, signals, mode,
        name)."""
        return delta_graph(self.parameters, y, form=self.form, alpha1=self.alpha1, alpha0=self.alpha0, **options)

    def forward_kinematics(self, y: Numbers, **options: Any) -> Configuration:
        """Return the posture at the motor angles: tool `w`, angles `q`, `jacobian`; options as for `DeltaKinematics.forward`."""
        return self.kinematics.forward(y, **options)

    def inverse_kinematics(self, w: Numbers, *, branch: str | Sequence[str] = "out") -> np.ndarray:
        """Return the motor angles y (3,) that bring the tool to w; errors as for `DeltaKinematics.inverse`."""
        return self.kinematics.inverse(w, branch=branch)[::3]

    def jacobian(self, y: Numbers, **options: Any) -> np.ndarray:
        """Return dw/dy (3, 3), m."""
        return self.kinematics.jacobian(y, **options)

    def gravity_torque(self, y: Numbers, **options: Any) -> np.ndarray:
        """Return the motor torques (3,) in N m that hold the robot at rest: [B H^T] [u; lambda] = G, with H dtheta/dy = 0.

        Source: Bortoff 2018, eq. (32), with its order corrected.
        """
        return self._gravity_torque(self.forward_kinematics(y, **options))

    def _gravity_torque(self, posture: Configuration) -> np.ndarray:
        arms, p = posture.theta.reshape(3, 3), self.parameters
        weight = np.concatenate([np.asarray(arm.gravity_torque(theta, p), dtype=float) for theta in arms])
        return posture.dtheta_dy.T @ weight

    def inertia(self, y: Numbers, **options: Any) -> np.ndarray:
        """Return the inertia matrix (3, 3) felt by the motors, kg m^2: (dtheta/dy)^T M dtheta/dy."""
        posture = self.forward_kinematics(y, **options)
        arms = zip(posture.theta.reshape(3, 3), posture.dtheta_dy.reshape(3, 3, 3), strict=True)
        parts = [slopes.T @ np.asarray(arm.inertia(theta, self.parameters), dtype=float) @ slopes for theta, slopes in arms]
        return np.sum(parts, axis=0)

    def linearise(
        self, y: Numbers, *, inputs: Sequence[str] = TORQUES, outputs: Sequence[str] = ANGLE_OUTPUTS, **options: Any
    ) -> Linear:
        """Return the linear system of order 18 about rest at motor angles y, held by `gravity_torque`.

        Parameters
        ----------
        inputs, outputs : any parameters and signals; by default `motor 1.torque` ... and `y[0]` ...
        options : mode and start of the forward kinematics.

        Raises `ModelError` E463 to E466 where the robot cannot take this posture; E250, E251 for unknown inputs or outputs.
        """
        posture = self.forward_kinematics(y, **options)
        torques = dict(zip(TORQUES, self._gravity_torque(posture), strict=True))
        x = np.column_stack([posture.theta.reshape(3, 3), np.zeros((3, 3))]).ravel()
        derivatives = _derivatives(self, tuple(inputs), tuple(outputs))
        return derivatives(point_of(derivatives.compiled, initial=x, parameters=torques))

    def simulate(
        self,
        t_end: float,
        *,
        y: Numbers | None = None,
        w: Numbers | None = None,
        q: Numbers | None = None,
        rates: Numbers | None = None,
        v: Numbers | None = None,
        torque: Numbers | Motion | str | None = None,
        signals: str | Sequence[str] | None = None,
        blocks: Sequence[Element] = (),
        mode: str = "below",
        branch: str | Sequence[str] = "out",
        project: bool = True,
        **settings: Any,
    ) -> DeltaRun:
        """Run from `t_start` (by default 0) to t_end (s); by default the robot starts at rest with motor angles of pi/4.

        Parameters
        ----------
        y, w, q, rates, v, mode, branch, project : the start, as for `kinematics.robot_kinematics.initial_state`.
        torque : motor torques, N m: None for zero, three numbers, "hold" (holds the start), or a `Motion` of three axes.
        signals, blocks : additional torque signals, as for `delta_graph`, and their blocks; this compiles a new graph.
        settings : settings of `bondgraph.run.simulate`, such as rtol, samples, method.

        Raises `ModelError` E463 to E468 for the start and the torques; else the errors of the compiler and the run.
        """
        start = initial_state(self.kinematics, y=y, w=w, q=q, rates=rates, v=v, mode=mode, branch=branch, project=project)
        compiled, parameters = self._with_torque(torque, start, signals, blocks)
        result = compiled.simulate(t_end, parameters=parameters, initial=self.initial(start), **settings)
        return DeltaRun(result, compiled, self.kinematics, start.notes)

    def initial(self, start: InitialState) -> dict[str, np.ndarray]:
        """Return start values of the graph's states by name."""
        values = {}
        for i, (theta, rates) in enumerate(zip(start.theta.reshape(3, 3), start.v.reshape(3, 3), strict=True), start=1):
            if self.form == "hamiltonian":
                rates = np.asarray(arm.inertia(theta, self.parameters), dtype=float) @ rates
            values[f"arm {i}.mechanism.q"] = theta
            values[f"arm {i}.mechanism.{VELOCITY[self.form]}"] = rates
        return values

    def _with_torque(
        self, torque: Any, start: InitialState, signals: str | Sequence[str] | None, blocks: Sequence[Element]
    ) -> tuple[Compiled, dict[str, Any]]:
        parameters: dict[str, Any] = {}
        pieces = None
        if isinstance(torque, Motion):
            if torque.shape != (3,) or signals is not None:
                details = [f"its values have shape {torque.shape}"] if signals is None else ["`signals` is given as well"]
                raise error("E468", "this motion cannot be used as a torque", "three axes, and no other signals", why=details)
            pieces = torque.coefficients.shape
            parameters = {f"torque.{key}": value.value for key, value in motion_parameters(torque).items()}
        elif isinstance(torque, str):
            if torque != "hold":
                raise error("E468", f"torque {torque!r} is unknown", '"hold", three numbers, or a motion')
            torques = self.gravity_torque(start.theta[::3], start=start.x, mode=assembly_mode(start.theta))
            parameters = dict(zip(TORQUES, torques, strict=True))
        elif torque is not None:
            parameters = dict(zip(TORQUES, checked_numbers("torque", torque, 3), strict=True))
        if signals is None and not blocks:
            return _compiled(self, pieces), parameters
        graph = self.graph(signals=signals)
        graph.add(*blocks)
        return compile_model(graph, backend=self.backend), parameters


@functools.lru_cache(maxsize=32)
def _compiled(robot: DeltaRobot, pieces: tuple[int, ...] | None) -> Compiled:
    if pieces is None:
        return compile_model(robot.graph(), backend=robot.backend)
    graph = robot.graph(signals="torque.position")
    rest = Motion(np.arange(pieces[0] + 1.0), np.zeros(pieces))
    graph.add(reference("torque", rest, unit="N m"))
    return compile_model(graph, backend=robot.backend)


@functools.lru_cache(maxsize=32)
def _derivatives(robot: DeltaRobot, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Derivatives:
    return differentiate(robot.compiled, inputs, outputs)
