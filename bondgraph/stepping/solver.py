"""A quadratic program min 1/2 y'H y + f'y with A y >= lower (equalities last) in; its solution and multipliers out.

The one place that knows the solvers: daqp (Arnstrom, Bemporad, Axehill 2022), a dual active set method whose answers are exact to
rounding, and clarabel (Goulart, Chen 2024), an interior-point method for second-order cones. A singular H is met with proximal
steps by the former.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bondgraph.output.extras import required
from bondgraph.stepping.cone import Cone

SOLVED, EXCLUDED, UNSUPPORTED, FAILED = "solved", "excluded", "unsupported", "failed"
"""What becomes of a program: a minimum; no y fits the rows; the minimum is infinitely far; the solver gives up."""

PRIMAL = 1e-12
"""Of a row, relative to the scaled size of the program: the default of 1e-6 is a gap that one can see."""

BALANCE = 1e-14
"""Of forces, where those that move a stiff unknown by 1 m are 1e-3: coarser, and proximal steps end before a body has fallen."""

_NONE = 1e30
_NOTHING = np.zeros(0)
_EQUALITY = 5


class Answer(NamedTuple):
    """Solution y (n,), multipliers (rows,) that are not negative for rows that press, what became of it, steps of the solver."""

    y: np.ndarray
    multipliers: np.ndarray
    outcome: str
    iterations: int


@dataclass
class ActiveSet:
    """daqp, warm from one program to the next while their sizes stay."""

    coarseness: ClassVar[float] = 1.0
    """What its answers agree to, in units of `coulomb.AGREES`."""
    equalities: int
    _model: Any = None
    _size: tuple[int, int] = (-1, -1)
    _program: tuple[np.ndarray, np.ndarray, np.ndarray] = (_NOTHING, _NOTHING, _NOTHING)
    _upper: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        required("a step with contacts", "daqp")
        self._outcomes = {1: SOLVED, 2: SOLVED, -1: EXCLUDED, -3: UNSUPPORTED}

    def solve(self, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray) -> Answer:
        """A new program."""
        if not len(lower):
            return _without_rows(H, f)
        self._program = H, f, A
        if not len(f):
            fits = bool(np.all(lower <= PRIMAL))
            return Answer(f.copy(), np.zeros(len(lower)), SOLVED if fits else EXCLUDED, 0)
        if A.shape != self._size or self._model.update(H, f, A, self._bounded(lower), lower) < 0:
            return self._afresh(lower)
        answer = self._answer()
        return answer if answer.outcome == SOLVED else self._afresh(lower)

    def again(self, lower: np.ndarray) -> Answer:
        """The same program with other bounds."""
        if not len(self._program[1]):
            return self.solve(*self._program, lower)
        self._model.update(bupper=self._bounded(lower), blower=lower)
        answer = self._answer()
        return answer if answer.outcome == SOLVED else self._afresh(lower)

    def _afresh(self, lower: np.ndarray) -> Answer:
        """The answer without what is left of earlier programs, which may have led astray."""
        H, f, A = self._program
        if self._begin(H, f, A, lower):
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
        y, cost, flag, info = self._model.solve()
        outcome = self._outcomes.get(flag, FAILED) if cost == cost else FAILED  # a cost that is no number
        return Answer(y, -info["lam"], outcome, info["iterations"])


def _without_rows(H: np.ndarray, f: np.ndarray) -> Answer:
    """The minimum where nothing bounds it."""
    y = np.linalg.lstsq(H, -f, rcond=None)[0]
    borne = np.all(np.abs(H @ y + f) <= 1e-9 * np.max(np.abs(f), initial=0.0))
    return Answer(y, np.zeros(0), SOLVED if borne else UNSUPPORTED, 1)


@dataclass
class InteriorPoint:
    """clarabel, with the exact cones of some contacts."""

    coarseness: ClassVar[float] = 1e3
    equalities: int
    cones: tuple[Cone, ...]
    _kept: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def __post_init__(self) -> None:
        required("a step with exact cones", "clarabel", "scipy")

    def solve(self, H: np.ndarray, f: np.ndarray, A: np.ndarray, lower: np.ndarray) -> Answer:
        """A new program."""
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
        # forces and displacements of the size of one, whatever their units: its tolerances are absolute too
        size = float(np.max(np.abs(f), initial=0.0)) or 1.0
        way = size / (float(np.max(np.abs(H), initial=0.0)) or size)
        P, rows = triu(csc_matrix(H * way / size), format="csc"), csc_matrix(-A[near])
        found = clarabel.DefaultSolver(P, f / size, rows, -lower[near] / way, cones, settings).solve()
        multipliers = np.zeros(len(lower))
        multipliers[near] = np.array(found.z) * size
        told = str(found.status)
        outcome = FAILED
        if told in ("Solved", "AlmostSolved"):
            outcome = SOLVED
        elif "PrimalInfeasible" in told:
            outcome = EXCLUDED
        elif "DualInfeasible" in told:
            outcome = UNSUPPORTED
        return Answer(np.array(found.x) * way, multipliers, outcome, int(found.iterations))

    def again(self, lower: np.ndarray) -> Answer:
        """The same program with other bounds."""
        assert self._kept is not None
        return self.solve(*self._kept, lower)
