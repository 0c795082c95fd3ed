"""Dormand and Prince's method of order 5(4), for segments of a step or two: its tableau, and the machine code of its loop.

J. R. Dormand, P. J. Prince, A family of embedded Runge-Kutta formulae, J. Comp. Appl. Math. 6, 1980; dense output of order 4: E.
Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 1993, II.6, and their code DOPRI5.
"""

from __future__ import annotations

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.elementary.functions import power
from bondgraph.emit.kernel_language.language import inline
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.run.steppers.driver import procedures
from bondgraph.run.steppers.explicit import ExplicitStepper, Tableau, method_of


@inline
def _fifth_root(x: float) -> float:
    return power(x, 0.2)


TABLEAU = Tableau(
    name="dopri5",
    a=(
        {},
        {0: 1 / 5},
        {0: 3 / 40, 1: 9 / 40},
        {0: 44 / 45, 1: -56 / 15, 2: 32 / 9},
        {0: 19372 / 6561, 1: -25360 / 2187, 2: 64448 / 6561, 3: -212 / 729},
        {0: 9017 / 3168, 1: -355 / 33, 2: 46732 / 5247, 3: 49 / 176, 4: -5103 / 18656},
        {0: 35 / 384, 2: 500 / 1113, 3: 125 / 192, 4: -2187 / 6784, 5: 11 / 84},
    ),
    c=(0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    last=6,
    errors=({0: 71 / 57600, 2: -71 / 16695, 3: 71 / 1920, 4: -17253 / 339200, 5: 22 / 525, 6: -1 / 40},),
    dense=(
        {
            0: -12715105075 / 11282082432,
            2: 87487479700 / 32700410799,
            3: -10690763975 / 1880347072,
            4: 701980252875 / 199316789632,
            5: -1453857185 / 822651844,
            6: 69997945 / 29380423,
        },
    ),
    boundary=3.25,
    root=_fifth_root,
)


def written() -> list[Procedure]:
    return procedures(method_of(TABLEAU))


@build_once
def machine_code() -> Library:
    return compile_written(written)


STEPPER = ExplicitStepper(TABLEAU, machine_code)
