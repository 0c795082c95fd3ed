"""Coefficients of the Radau IIA method of order 5: collocation at three points, the last of which is the end of a step.

E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996, IV.8. Let z be the differences of the three stages from
the start of a step, and z = T w. The Newton iteration for w splits into a real system with 1 - h / REAL J and a complex system
with 1 - h / (PAIR - i TURN) J, here with two real unknowns per state.
"""

from __future__ import annotations

import math

from bondgraph.run.steppers.implicit.quadrature import Rule

_ROOT = math.sqrt(6.0)

NODES = ((4.0 - _ROOT) / 10.0, (4.0 + _ROOT) / 10.0, 1.0)
"""Times of the stages, as fractions of the step."""

REAL, PAIR, TURN = 3.637834252744496, 2.6810828736277523, 3.0504301992474105
"""Eigenvalues of the inverse of the Runge-Kutta matrix: REAL, and PAIR -+ i TURN."""

REAL_GAMMA = 1.0 / REAL

T = (
    (0.09443876248897524, -0.14125529502095421, 0.03002919410514742),
    (0.25021312296533332, 0.20412935229379994, -0.38294211275726192),
    (1.0, 1.0, 0.0),
)
INVERSE = (
    (4.17871859155190428, 0.32768282076106237, 0.52337644549944951),
    (-4.17871859155190428, -0.32768282076106237, 0.47662355450055044),
    (0.50287263494578682, -2.57192694985560522, 0.59603920482822492),
)
"""Inverse of the matrix T."""

ERROR = ((-13.0 - 7.0 * _ROOT) / 3.0, (-13.0 + 7.0 * _ROOT) / 3.0, -1.0 / 3.0)
"""Weights of z in the error estimate of order 3, (h f + sum ERROR_i z_i) / REAL, which compares f with the slope of the
collocation polynomial at the start of the step."""

POLYNOMIAL = (
    tuple(-weight for weight in ERROR),
    ((-23.0 - 22.0 * _ROOT) / 3.0, (-23.0 + 22.0 * _ROOT) / 3.0, -8.0 / 3.0),
    (10.0 / 3.0 + 5.0 * _ROOT, 10.0 / 3.0 - 5.0 * _ROOT, 10.0 / 3.0),
)
"""Weights of z in the coefficients of theta, theta^2 and theta^3 of the collocation polynomial."""

BEND = (-0.1, 0.45, -0.6, 0.25)
"""Coefficients of theta, ..., theta^4 of the integral of (theta - c1) (theta - c2) (theta - 1), the polynomial that keeps
the slopes at the stages and changes the slope at the start of the step by -1/10."""


def _difference(nodes: tuple[float, ...]) -> tuple[float, ...]:
    """Return the weights of the divided difference of values at nodes, relative to the weight of the first value."""
    weights = [1.0 / math.prod(node - other for other in nodes if other != node) for node in nodes]
    return tuple(weight / weights[0] for weight in weights)


RULE = Rule(
    nodes=(0.0, *NODES),
    weights=(0.0, (16.0 - _ROOT) / 36.0, (16.0 + _ROOT) / 36.0, 1.0 / 9.0),
    error=tuple(REAL_GAMMA * weight for weight in _difference((0.0, *NODES))),
)
