"""Fastest mode of the linearised rates: the oscillation or decay that sets the step size of a run that takes too many steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.run.bound import Bound

MAX_STATES = 300
_SHARE = 0.2
"""Minimum participation in a mode, relative to the largest, of a state that is named."""
_MOST_NAMES = 4
_FOLLOWS = (0.01, 20.0)
"""Range of the mean step size times the magnitude of the eigenvalue in which the steps follow the mode."""
_REACHABLE = 1e9
"""Largest number of steps that a cure suggests."""
_AGREEMENT = 0.1
"""Largest relative difference of the eigenvalue between two difference quotients of a smooth law."""


@dataclass(frozen=True)
class FastestMode:
    """Eigenvalue, 1/s, of the fastest mode, and the states that participate most, with the largest first."""

    eigenvalue: complex
    states: tuple[str, ...]

    def cures(self, stiff: bool, needed: float) -> tuple[str, ...]:
        """Return what to try in a run by a method for `stiff` models or not, which needs up to `needed` steps."""
        several = len(self.states) > 1
        more = (f"max_steps={needed:.0e}",) if needed <= _REACHABLE else ()
        if abs(self.eigenvalue.imag) > abs(self.eigenvalue.real):
            verb, measure, time = "oscillate", "period", 2.0 * np.pi / abs(self.eigenvalue)
            others = ("damping of this oscillation, or one storage less in it", *more)
        else:
            verb, measure, time = "decay" if self.eigenvalue.real < 0.0 else "grow", "time constant", 1.0 / abs(self.eigenvalue)
            others = more if stiff else ('method="auto" or "rodas5p"', *more)
        what = f"{verb}{' together' if several else 's'} with a {measure} of {time:.2g} s"
        names = " and ".join(self.states)
        return (f"a check of the values and units around {names}, which {what}", *others)


def fastest_mode(
    bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray, pace: float, states: Sequence[int]
) -> FastestMode | None:
    """Return the fastest mode of the `states` at (t, x) if steps of `pace`, s, follow it; `size` (n,) are sizes of all states.

    Return None if the rates are not smooth there, or with more than MAX_STATES states. Participation factors: Perez-Arriaga,
    Verghese and Schweppe 1982, Selective modal analysis.
    """
    used = np.array([k for k in states if size[k] > 0.0 or x[k] != 0.0], dtype=int)
    if not 0 < len(used) <= MAX_STATES:
        return None
    from scipy.linalg import eig

    scale = np.fmax(np.abs(x), size)[used]
    forward, backward = (
        _jacobian(bound, t, x, m, used, sign * np.sqrt(np.finfo(float).eps) * scale) * scale / scale[:, None]
        for sign in (1.0, -1.0)
    )
    if not (np.isfinite(forward).all() and np.isfinite(backward).all()):
        return None
    values, left, right = eig(forward, left=True)
    fastest = int(np.argmax(np.abs(values)))
    speed = float(np.abs(values[fastest]))
    if not abs(float(np.abs(np.linalg.eigvals(backward)).max()) - speed) <= _AGREEMENT * speed:
        return None
    if not _FOLLOWS[0] <= pace * speed <= _FOLLOWS[1]:
        return None
    participation = np.abs(left[:, fastest] * right[:, fastest])
    share = np.round(participation / participation.max(), 6)
    order = [k for k in np.argsort(-share, kind="stable") if share[k] >= _SHARE][:_MOST_NAMES]
    names = dict.fromkeys(bound.program.layout.label("x", int(used[k])) for k in order)
    return FastestMode(complex(values[fastest]), tuple(names))


def _jacobian(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, states: np.ndarray, steps: np.ndarray) -> np.ndarray:
    base, columns = bound.rates(t, x, m)[states], np.empty((len(states), len(states)))
    for k, (state, step) in enumerate(zip(states, steps, strict=True)):
        moved = x.copy()
        moved[state] += step
        columns[:, k] = (bound.rates(t, moved, m)[states] - base) / (moved[state] - x[state])
    return columns
