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
        names, together = " and ".join(self.states), " together" if len(self.states) > 1 else ""
        more = (f"max_steps={needed:.0e}",) if needed <= _REACHABLE else ()
        if abs(self.eigenvalue.imag) > abs(self.eigenvalue.real):
            what = f"oscillate{'' if together else 's'}{together} with a period of {2.0 * np.pi / abs(self.eigenvalue):.2g} s"
            others = ("damping of this oscillation, or one storage less in it", *more)
        else:
            change = "decay" if self.eigenvalue.real < 0.0 else "grow"
            what = f"{change}{'' if together else 's'}{together} with a time constant of {1.0 / abs(self.eigenvalue):.2g} s"
            others = more if stiff else ('method="auto" or "rodas5p"', *more)
        return (f"a check of the values and units around {names}, which {what}", *others)


def fastest_mode(
    bound: Bound, t: float, x: np.ndarray, m: np.ndarray, size: np.ndarray, pace: float, states: Sequence[int]
) -> FastestMode | None:
    """Return the fastest mode of the `states` at (t, x) if steps of `pace`, s, follow it; `size` (n,) are sizes of all states.

    None if the rates are not smooth there, or with more than MAX_STATES states.
    """
    used = np.array([k for k in states if size[k] > 0.0 or x[k] != 0.0], dtype=int)
    if not 0 < len(used) <= MAX_STATES:
        return None
    scale = np.fmax(np.abs(x), size)[used]
    eigenvalues, participations = [], []
    for sign in (1.0, -1.0):
        matrix = _jacobian(bound, t, x, m, used, sign * np.sqrt(np.finfo(float).eps) * scale) * scale / scale[:, None]
        if not np.isfinite(matrix).all():
            return None
        values, right = np.linalg.eig(matrix)
        fastest = int(np.argmax(np.abs(values)))
        values_of_transpose, left = np.linalg.eig(matrix.T)
        partner = int(np.argmin(np.abs(values_of_transpose - values[fastest])))
        eigenvalues.append(complex(values[fastest]))
        participations.append(np.abs(right[:, fastest] * left[:, partner]))
    eigenvalue = eigenvalues[0]
    if not abs(abs(eigenvalues[1]) - abs(eigenvalue)) <= _AGREEMENT * abs(eigenvalue):
        return None
    if not _FOLLOWS[0] <= pace * abs(eigenvalue) <= _FOLLOWS[1]:
        return None
    share = np.round(participations[0] / participations[0].max(), 6)
    order = [k for k in np.argsort(-share, kind="stable") if share[k] >= _SHARE][:_MOST_NAMES]
    names = dict.fromkeys(bound.program.layout.label("x", int(used[k])) for k in order)
    return FastestMode(eigenvalue, tuple(names))


def _jacobian(bound: Bound, t: float, x: np.ndarray, m: np.ndarray, states: np.ndarray, steps: np.ndarray) -> np.ndarray:
    base, columns = bound.rates(t, x, m)[states], np.empty((len(states), len(states)))
    for k, (state, step) in enumerate(zip(states, steps, strict=True)):
        moved = x.copy()
        moved[state] += step
        columns[:, k] = (bound.rates(t, moved, m)[states] - base) / (moved[state] - x[state])
    return columns
