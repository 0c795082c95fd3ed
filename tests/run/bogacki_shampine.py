"""Bogacki and Shampine's method of order 3(2), an integrator from outside the package in a single file.

P. Bogacki, L. F. Shampine, A 3(2) pair of Runge-Kutta formulas, Applied Mathematics Letters 2, 1989.
"""

from __future__ import annotations

from tests.inner.emit import inline, power
from tests.inner.run import Tableau, explicit_method


@inline
def _third_root(x: float) -> float:
    return power(x, 1.0 / 3.0)


TABLEAU = Tableau(
    name="bs32",
    a=({}, {0: 1 / 2}, {1: 3 / 4}, {0: 2 / 9, 1: 1 / 3, 2: 4 / 9}),
    c=(0.0, 1 / 2, 3 / 4, 1.0),
    last=3,
    errors=({0: 2 / 9 - 7 / 24, 1: 1 / 3 - 1 / 4, 2: 4 / 9 - 1 / 3, 3: -1 / 8},),
    dense=(),
    boundary=2.5,
    root=_third_root,
)

BS32 = explicit_method(
    TABLEAU, order=3, dense=3, meaning="explicit Runge-Kutta (Bogacki and Shampine)", use="a rough tolerance, costly rates"
)
