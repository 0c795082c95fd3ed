"""Solvers of the quadratic program min 1/2 y'H y + f'y with A y >= lower (equalities last).

daqp (Arnstrom, Bemporad, Axehill 2022) is a dual active set method, exact up to rounding errors, with proximal steps for a
singular H; clarabel (Goulart, Chen 2024) is an interior-point method for second-order cones. Both solvers get dimensionless
programs, because their tolerances are absolute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bondgraph.output.extras import require_package
from bondgraph.stepping.quadratic.candidates import Cone

SOLVED, EXCLUDED, UNSUPPORTED, FAILED = "solved", "excluded", "unsupported", "failed"
"""Outcomes of a quadratic program: it has a minimum, no feasible point, or no lower bound, or the solver fails."""

PRIMAL = 1e-12
"""Tolerance of a row, in the step's unit of length (`Units`): daqp's default of 1e-6 would leave a visible gap."""

BALANCE = 1e-14
"""Tolerance of forces, scaled so that a force of 1e-3 moves the stiffest unknown by the step's unit of length: with a coarser
tolerance, proximal steps end before a body has fallen."""

_SIZE = 1e-3
"""Largest entry of the scaled H; with this value, proximal steps are exact up to rounding errors even if H is singular."""
_MAX_DISPLACEMENT, _MIN_LENGTH, _ROUNDING = 1e3, 1e-3, 1e-9
"""Limits on the step's unit of length: the largest displacement in this unit, the smallest ratio to the former unit, and the
ratio to the former unit below which a displacement is rounding error."""
_HELD, _TINY = 1e-6, 1e-6
"""Fraction of the largest stiffness above which an unknown counts as held, so that a slightly misaligned spring does not hold it;
fraction of a radius of gyration below which a lever arm is rounding error."""

_INFINITE = 1e30
_EMPTY = np.zeros(0)
_EQUALITY = 5


class ProgramSolution(NamedTuple):
    """Solution y (n,), multipliers b (rows,) with H y + f = A' b, the outcome, and the number of iterations."""

    y: np.ndarray
    multipliers: np.ndarray
    outcome: str
    iterations: int


class Units:
    """Scaling of a quadratic program to values of order one, whatever the user's units: y = length * arms * z.

    The arm is 1 for a translation and 1 / lever for a turn. The length is the displacement that springs, inertia and moved bodies
    cause in a step; if a body can fall freely, it also covers the gaps.

    Parameters
    ----------
    turns : True for unknowns that are angles, (n,).
    A, lower : rows and bounds of contacts only, (rows, n) and (rows,).
    former : largest length of earlier programs.
    """

    def __init__(self, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray, turns: np.ndarray, former: float):
        stiff, load, near = np.diagonal(H), np.abs(f), np.append(lower[np.isfinite(lower)], 0.0)
        gaps, straight = float(np.max(np.abs(near))), ~turns
        lever = float(np.max(np.abs(A[:, turns]), initial=0.0))
        radius = math.sqrt(_largest(stiff[turns]) / (_largest(stiff[straight]) or math.inf))
        displacements = np.divide(load, stiff, out=np.zeros_like(load), where=stiff > _HELD * _largest(stiff[straight]))
        shortest = _MIN_LENGTH * max(_MIN_LENGTH * gaps, _largest(displacements[straight]))
        self.lever = max(lever if lever > _TINY * radius else radius, shortest) or 1.0
        self.arms, self.turning = np.where(turns, 1.0 / self.lever, 1.0), bool(np.any(turns))
        stiff, load = stiff * self.arms**2, load * self.arms
        strongest = _largest(load)
        largest = _largest(stiff) or strongest or 1.0
        held = stiff > _HELD * largest
        displacements = np.divide(load, stiff, out=load / largest if np.any(stiff) else 0.0 * load, where=held)
        displacement = max(_largest(displacements), gaps if np.any(load[~held]) else float(np.max(near)))
        self.is_known = displacement > _ROUNDING * former
        """True if the length is larger than its rounding error."""
        self.length = (max(displacement, _MIN_LENGTH * former) if self.is_known else former or gaps) or 1.0
        """Length that scales the unknowns of the step, in the unit of the contacts' gaps."""
        self.longest = max(self.length, former)
        energy = _SIZE / (largest if np.any(stiff) else largest / self.length)
        self.stiffness, self.load = np.outer(self.arms, self.arms) * energy, self.arms * energy / self.length
        """Factors of H and f."""
        self.displacement, self.force = self.arms * self.length, self.length / energy
        """Units of the unknowns and of the multipliers."""


def _largest(values: np.ndarray) -> float:
    return float(np.max(values, initial=0.0))


def _units(solver: ActiveSet | InteriorPoint, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray) -> Units:
    contacts = slice(len(lower) - solver.equalities)
    return Units(H, f, A[contacts], lower[contacts], solver.turns, 0.0 if solver.units is None else solver.units.longest)


@dataclass
class ActiveSet:
    """Active-set solver daqp, warm-started from one quadratic program to the next of the same size."""

    coarseness: ClassVar[float] = 1.0
    """Error of the solutions, in units of `step.SLIP_TOLERANCE`."""
    equalities: int
    turns: np.ndarray
    units: Units | None = None
    _model: Any = None
    _size: tuple[int, int] = (-1, -1)
    _program: tuple[np.ndarray, np.ndarray, np.ndarray] = (_EMPTY, _EMPTY, _EMPTY)
    _bounds: np.ndarray = field(default_factory=lambda: np.zeros(0))
    _upper: np.ndarray = field(default_factory=lambda: np.zeros(0))
    _fresh: bool = False
    """True while the units are suitable for another quadratic program."""

    def __post_init__(self) -> None:
        require_package("a step with contacts", "daqp")
        self._outcomes = {1: SOLVED, 2: SOLVED, -1: EXCLUDED, -3: UNSUPPORTED}

    def solve(self, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray) -> ProgramSolution:
        if not len(lower):
            return _without_rows(H, f)
        self._program, self._bounds = (H, f, A), lower
        if not len(f):
            fits = bool(np.all(lower <= PRIMAL))
            return ProgramSolution(f.copy(), np.zeros(len(lower)), SOLVED if fits else EXCLUDED, 0)
        if A.shape != self._size or self.units is None or not self._fresh:
            return self._cold_start(lower)
        units, low = self.units, lower / self.units.length
        rows = A * units.arms if units.turning else A
        if self._model.update(H * units.stiffness, f * units.load, rows, self._bounded(low), low) < 0:
            return self._cold_start(lower)
        solution = self._run()
        if solution.outcome != SOLVED:
            return self._cold_start(lower)
        z = solution.y / units.displacement
        if (moved := float(z @ z)) > _MAX_DISPLACEMENT**2:
            self._fresh, units.longest = False, max(units.longest, units.length * math.sqrt(moved))
        return solution

    def solve_again(self, lower: np.ndarray) -> ProgramSolution:
        if not len(self._program[1]):
            return self.solve(*self._program, lower)
        assert self.units is not None
        low = lower / self.units.length
        self._model.update(bupper=self._bounded(low), blower=low)
        solution = self._run()
        return solution if solution.outcome == SOLVED else self._cold_start(lower)

    def _cold_start(self, lower: np.ndarray) -> ProgramSolution:
        H, f, A = self._program
        units = self.units = _units(self, H, f, A, self._bounds)  # omit the bounds of diverging slips
        self._fresh = units.is_known
        if self._set_up(H * units.stiffness, f * units.load, A * units.arms, lower / units.length):
            return self._run()
        return ProgramSolution(np.zeros(len(f)), np.zeros(len(lower)), FAILED, 0)

    def _bounded(self, lower: np.ndarray) -> np.ndarray:
        if self.equalities:
            self._upper[-self.equalities :] = lower[-self.equalities :]
        return self._upper

    def _set_up(self, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray) -> bool:
        import daqp

        rows, _ = self._size = A.shape
        self._upper = np.full(rows, _INFINITE)
        sense = np.zeros(rows, dtype=np.int32)
        if self.equalities:
            sense[-self.equalities :] = _EQUALITY
        self._model = daqp.Model()
        self._model.settings = {"primal_tol": PRIMAL, "eta_prox": BALANCE}
        status, _ = self._model.setup(H, f, A, self._bounded(lower), lower, sense)
        if status < 0:
            self._size = -1, -1
        return bool(status >= 0)

    def _run(self) -> ProgramSolution:
        z, cost, flag, info = self._model.solve()
        outcome = self._outcomes.get(flag, FAILED) if cost == cost else FAILED  # the cost is NaN
        assert self.units is not None
        return ProgramSolution(z * self.units.displacement, info["lam"] * -self.units.force, outcome, info["iterations"])


def _without_rows(H: np.ndarray, f: np.ndarray) -> ProgramSolution:
    stiff = np.diagonal(H)
    arms = 1.0 / np.sqrt(np.where(stiff > 0.0, stiff, 1.0))  # make turns and translations comparable, in any units
    H, load = H * np.outer(arms, arms), arms * f
    z = np.linalg.lstsq(H, -load, rcond=None)[0]
    balanced = np.all(np.abs(H @ z + load) <= 1e-9 * np.max(np.abs(load), initial=0.0))
    y = arms * z
    return ProgramSolution(y, np.zeros(0), SOLVED if balanced else UNSUPPORTED, 1)


@dataclass
class InteriorPoint:
    """Interior-point solver clarabel, with exact cones for some contacts."""

    coarseness: ClassVar[float] = 1e3
    equalities: int
    turns: np.ndarray
    cones: tuple[Cone, ...]
    units: Units | None = None
    _program: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def __post_init__(self) -> None:
        require_package("a step with exact cones", "clarabel", "scipy")

    def solve(
        self, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray, units: Units | None = None
    ) -> ProgramSolution:
        """Solve a new quadratic program, in units of its own unless `units` is given."""
        import clarabel
        from scipy.sparse import csc_matrix, triu

        self._program = H, f, A
        ends = len(lower) - self.equalities
        beyond = (ends - sum(cone.rows for cone in self.cones)) // 3  # pairs of candidates
        parts = [(cone.rows, cone.exact) for cone in self.cones] + [(3, True)] * beyond
        cones, near, start = list[Any](), np.isfinite(lower), 0
        for count, exact in parts:
            if np.all(near[start : start + count]):
                cones.append(clarabel.SecondOrderConeT(count) if exact else clarabel.NonnegativeConeT(count))
            else:
                near[start : start + count] = False
            start += count
        cones += [clarabel.ZeroConeT(self.equalities)] if self.equalities else []
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        units = self.units = units or _units(self, H, f, A, lower)
        stiff = 1.0 / _SIZE  # the largest entry of H is 1 for this solver
        P, rows = triu(csc_matrix(H * units.stiffness * stiff), format="csc"), csc_matrix(-A[near] * units.arms)
        result = clarabel.DefaultSolver(P, f * units.load * stiff, rows, -lower[near] / units.length, cones, settings).solve()
        multipliers = np.zeros(len(lower))
        multipliers[near] = np.array(result.z) * units.force * _SIZE
        status = str(result.status)
        outcome = FAILED
        if status in ("Solved", "AlmostSolved"):
            outcome = SOLVED
        elif "PrimalInfeasible" in status:
            outcome = EXCLUDED
        elif "DualInfeasible" in status:
            outcome = UNSUPPORTED
        return ProgramSolution(np.array(result.x) * units.displacement, multipliers, outcome, int(result.iterations))

    def solve_again(self, lower: np.ndarray) -> ProgramSolution:
        assert self._program is not None
        return self.solve(*self._program, lower, self.units)
