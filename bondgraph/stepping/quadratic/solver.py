"""A quadratic program min 1/2 y'H y + f'y with A y >= lower (equalities last) in; its solution and multipliers out.

The one place that knows the solvers: daqp (Arnstrom, Bemporad, Axehill 2022), a dual active set method whose answers are exact to
rounding, and clarabel (Goulart, Chen 2024), an interior-point method for second-order cones. A singular H is met with proximal
steps by the former. Both get programs without units, since their tolerances are absolute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bondgraph.output.extras import require_package
from bondgraph.stepping.quadratic.cone import Cone

SOLVED, EXCLUDED, UNSUPPORTED, FAILED = "solved", "excluded", "unsupported", "failed"
"""What becomes of a program: a minimum; no y fits the rows; the minimum is infinitely far; the solver gives up."""

PRIMAL = 1e-12
"""Of a row, in lengths of the step (`Units`): the default of 1e-6 is a gap that one can see."""

BALANCE = 1e-14
"""Of forces, where those that move a stiff unknown by the length of the step are 1e-3: coarser, and proximal steps end before a
body has fallen."""

_SIZE = 1e-3
"""What the largest entry of H is made: proximal steps of a singular H are then exact to rounding."""
_GROWN, _KEPT, _SHORT = 1e3, 1e-3, 1e-9
"""Ways, in lengths of the step: beyond which another is looked for, what stays of it at least, and what is rounding."""
_HELD, _TINY = 1e-6, 1e-6
"""Part of the largest stiffness from which an unknown is held, since a spring that is a little askew holds nothing; part of a
radius of gyration below which a lever is rounding."""

_NONE = 1e30
_NOTHING = np.zeros(0)
_EQUALITY = 5


class Answer(NamedTuple):
    """Solution y (n,), multipliers (rows,) that are not negative for rows that press, what became of it, steps of the solver."""

    y: np.ndarray
    multipliers: np.ndarray
    outcome: str
    iterations: int


class Units:
    """Units in which the numbers of a program are of the size of one, whatever the user's: y = length * arms * z.

    The arm is 1 for a translation and 1 / lever for a turn. The length is the way that springs, inertia and moved bodies make for
    in a step; where something is free to fall, the gaps too.

    Parameters
    ----------
    turns : which unknowns are angles, (n,).
    A, lower : of contacts alone, (rows, n) and (rows,).
    former : the longest length of earlier programs.
    """

    def __init__(self, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray, turns: np.ndarray, former: float):
        stiff, load, near = np.diagonal(H), np.abs(f), np.append(lower[np.isfinite(lower)], 0.0)
        gaps, straight = float(np.max(np.abs(near))), ~turns
        lever = float(np.max(np.abs(A[:, turns]), initial=0.0))
        radius = math.sqrt(_largest(stiff[turns]) / (_largest(stiff[straight]) or math.inf))
        ways = np.divide(load, stiff, out=np.zeros_like(load), where=stiff > _HELD * _largest(stiff[straight]))
        self.lever = max(lever if lever > _TINY * radius else radius, _KEPT * max(_KEPT * gaps, _largest(ways[straight]))) or 1.0
        self.arms, self.turning = np.where(turns, 1.0 / self.lever, 1.0), bool(np.any(turns))
        stiff, load = stiff * self.arms**2, load * self.arms
        strongest = _largest(load)
        largest = _largest(stiff) or strongest or 1.0
        held = stiff > _HELD * largest
        ways = np.divide(load, stiff, out=load / largest if np.any(stiff) else 0.0 * load, where=held)
        way = max(_largest(ways), gaps if np.any(load[~held]) else float(np.max(near)))
        self.is_known = way > _SHORT * former
        """Whether anything but rounding says how long it is."""
        self.length = (max(way, _KEPT * former) if self.is_known else former or gaps) or 1.0
        """In the unit of the contacts' gaps."""
        self.longest = max(self.length, former)
        energy = _SIZE / (largest if np.any(stiff) else largest / self.length)
        self.stiffness, self.load = np.outer(self.arms, self.arms) * energy, self.arms * energy / self.length
        """What H and f are multiplied by."""
        self.ways, self.force = self.arms * self.length, self.length / energy
        """What z and multipliers are."""


def _largest(values: np.ndarray) -> float:
    return float(np.max(values, initial=0.0))


def _units(solver: ActiveSet | InteriorPoint, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray) -> Units:
    """Those of the next program."""
    contacts = slice(len(lower) - solver.equalities)
    return Units(H, f, A[contacts], lower[contacts], solver.turns, 0.0 if solver.units is None else solver.units.longest)


@dataclass
class ActiveSet:
    """daqp, warm from one program to the next while their sizes stay."""

    coarseness: ClassVar[float] = 1.0
    """What its answers agree to, in units of `coulomb.AGREES`."""
    equalities: int
    turns: np.ndarray
    """Which unknowns are angles, (n,)."""
    units: Units | None = None
    """Of the last program."""
    _model: Any = None
    _size: tuple[int, int] = (-1, -1)
    _program: tuple[np.ndarray, np.ndarray, np.ndarray] = (_NOTHING, _NOTHING, _NOTHING)
    _bounds: np.ndarray = field(default_factory=lambda: np.zeros(0))
    _upper: np.ndarray = field(default_factory=lambda: np.zeros(0))
    _fresh: bool = False
    """Whether the units are good for one more program."""

    def __post_init__(self) -> None:
        require_package("a step with contacts", "daqp")
        self._outcomes = {1: SOLVED, 2: SOLVED, -1: EXCLUDED, -3: UNSUPPORTED}

    def solve(self, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray) -> Answer:
        """A new program."""
        if not len(lower):
            return _without_rows(H, f)
        self._program, self._bounds = (H, f, A), lower
        if not len(f):
            fits = bool(np.all(lower <= PRIMAL))
            return Answer(f.copy(), np.zeros(len(lower)), SOLVED if fits else EXCLUDED, 0)
        if A.shape != self._size or self.units is None or not self._fresh:
            return self._afresh(lower)
        units, low = self.units, lower / self.units.length
        rows = A * units.arms if units.turning else A
        if self._model.update(H * units.stiffness, f * units.load, rows, self._bounded(low), low) < 0:
            return self._afresh(lower)
        answer = self._answer()
        if answer.outcome != SOLVED:
            return self._afresh(lower)
        z = answer.y / units.ways
        if (moved := float(z @ z)) > _GROWN**2:
            self._fresh, units.longest = False, max(units.longest, units.length * math.sqrt(moved))
        return answer

    def again(self, lower: np.ndarray) -> Answer:
        """The same program with other bounds."""
        if not len(self._program[1]):
            return self.solve(*self._program, lower)
        assert self.units is not None
        low = lower / self.units.length
        self._model.update(bupper=self._bounded(low), blower=low)
        answer = self._answer()
        return answer if answer.outcome == SOLVED else self._afresh(lower)

    def _afresh(self, lower: np.ndarray) -> Answer:
        """The answer in new units, without what is left of earlier programs, which may have led astray."""
        H, f, A = self._program
        units = self.units = _units(self, H, f, A, self._bounds)  # not those of slips that run away
        self._fresh = units.is_known
        if self._begin(H * units.stiffness, f * units.load, A * units.arms, lower / units.length):
            return self._answer()
        return Answer(np.zeros(len(f)), np.zeros(len(lower)), FAILED, 0)

    def _bounded(self, lower: np.ndarray) -> np.ndarray:
        if self.equalities:
            self._upper[-self.equalities :] = lower[-self.equalities :]
        return self._upper

    def _begin(self, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray) -> bool:
        """Whether the solver takes the program: a first one, or of another size."""
        import daqp

        rows, _ = self._size = A.shape
        self._upper = np.full(rows, _NONE)
        sense = np.zeros(rows, dtype=np.int32)
        if self.equalities:
            sense[-self.equalities :] = _EQUALITY
        self._model = daqp.Model()
        self._model.settings = {"primal_tol": PRIMAL, "eta_prox": BALANCE}
        taken, _ = self._model.setup(H, f, A, self._bounded(lower), lower, sense)
        if taken < 0:
            self._size = -1, -1
        return bool(taken >= 0)

    def _answer(self) -> Answer:
        z, cost, flag, info = self._model.solve()
        outcome = self._outcomes.get(flag, FAILED) if cost == cost else FAILED  # a cost that is no number
        assert self.units is not None
        return Answer(z * self.units.ways, info["lam"] * -self.units.force, outcome, info["iterations"])


def _without_rows(H: np.ndarray, f: np.ndarray) -> Answer:
    """The minimum where nothing bounds it."""
    stiff = np.diagonal(H)
    arms = 1.0 / np.sqrt(np.where(stiff > 0.0, stiff, 1.0))  # turns and translations alike, in whatever units
    H, load = H * np.outer(arms, arms), arms * f
    z = np.linalg.lstsq(H, -load, rcond=None)[0]
    borne = np.all(np.abs(H @ z + load) <= 1e-9 * np.max(np.abs(load), initial=0.0))
    y = arms * z
    return Answer(y, np.zeros(0), SOLVED if borne else UNSUPPORTED, 1)


@dataclass
class InteriorPoint:
    """clarabel, with the exact cones of some contacts."""

    coarseness: ClassVar[float] = 1e3
    equalities: int
    turns: np.ndarray
    cones: tuple[Cone, ...]
    units: Units | None = None
    """Of the last program."""
    _kept: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def __post_init__(self) -> None:
        require_package("a step with exact cones", "clarabel", "scipy")

    def solve(self, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray, units: Units | None = None) -> Answer:
        """A new program, in units of its own."""
        import clarabel
        from scipy.sparse import csc_matrix, triu

        self._kept = H, f, A
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
        stiff = 1.0 / _SIZE  # for this one the largest of H is 1
        P, rows = triu(csc_matrix(H * units.stiffness * stiff), format="csc"), csc_matrix(-A[near] * units.arms)
        found = clarabel.DefaultSolver(P, f * units.load * stiff, rows, -lower[near] / units.length, cones, settings).solve()
        multipliers = np.zeros(len(lower))
        multipliers[near] = np.array(found.z) * units.force * _SIZE
        told = str(found.status)
        outcome = FAILED
        if told in ("Solved", "AlmostSolved"):
            outcome = SOLVED
        elif "PrimalInfeasible" in told:
            outcome = EXCLUDED
        elif "DualInfeasible" in told:
            outcome = UNSUPPORTED
        return Answer(np.array(found.x) * units.ways, multipliers, outcome, int(found.iterations))

    def again(self, lower: np.ndarray) -> Answer:
        """The same program with other bounds."""
        assert self._kept is not None
        return self.solve(*self._kept, lower, self.units)
