"""Passivity of a linear system with power ports: the positive-real test of G(s) + G(s)^H right of the imaginary axis.

References
----------
S. Boyd, V. Balakrishnan, P. Kabamba, "A bisection method for computing the H-infinity norm of a transfer matrix",
Math. Control Signals Systems 2 (1989) 207-219: the eigenvalues of a Hamiltonian matrix give every crossing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.analysis.linear import Linear
from bondgraph.errors import refusal
from bondgraph.model.arguments import refused
from bondgraph.quantities import real
from screws.errors import plural

_POINTS = 300


@dataclass(frozen=True)
class Passivity:
    """Result of the positive-real test.

    Parameters
    ----------
    passive : True if the system is positive real, as far as the method shows.
    strict : True if power is lost at every frequency; None for the method "grid", which cannot show it.
    margin : smallest eigenvalue of G + G^H relative to the norm of G; -inf for an unstable pole.
    frequency : frequency of this eigenvalue or pole, rad/s.
    method : "hamiltonian" (all frequencies are covered), "grid" (D + D^T is not positive definite), or "poles" (an unstable pole
        was found first).
    reason : why the system is not passive; empty if it is.
    """

    passive: bool
    strict: bool | None
    margin: float
    frequency: float
    method: str
    reason: str = ""

    def __bool__(self) -> bool:
        return self.passive


def passivity(linear: Linear, frequencies: Any = None, tolerance: float = 1e-7) -> Passivity:
    """Test whether a system is passive (positive real); input k and output k are the effort and flow of port k, in either
    order, with power positive inward.

    G is evaluated along a line just right of the imaginary axis, so that poles on the axis are tested by their residues: at the
    frequencies of all poles and zeros, on a logarithmic grid, and - if D + D^T is positive definite - between all frequencies
    where an eigenvalue of G + G^H can change sign, which are eigenvalues of a Hamiltonian matrix.

    Parameters
    ----------
    frequencies : further frequencies to test, rad/s.
    tolerance : amount by which rounding errors may lower a margin below zero.

    Raises `ModelError` E257 if the numbers of inputs and outputs differ or are zero; E564 for a sampled system; E256 for more
    than 4000 states; E100 for anything but a `Linear`.
    """
    if not isinstance(linear, Linear):
        title = f"passivity takes a linear system, not {type(linear).__name__}"
        cures = ("passivity(linearise(model, inputs=[...], outputs=[...])), with the efforts and flows of its ports",)
        raise refusal("E100", title, *cures, about="passivity")
    if len(linear.inputs) != len(linear.outputs) or not linear.inputs:
        title = f"{plural(len(linear.inputs), 'input')} and {plural(len(linear.outputs), 'output')} are not power ports"
        cures = ("linear.part(inputs, outputs), with the flow of each effort and the effort of each flow, in the same order",)
        raise refusal("E257", title, *cures, about=linear.name, places=())
    if linear.period is not None:
        title = f"the system is discrete, with period {linear.period:g} s"
        raise refusal("E564", title, "the continuous system", about=linear.name, places=())
    further = real(() if frequencies is None else frequencies)
    if further is None:
        raise refused("frequencies", frequencies, "numbers, rad/s", "frequencies=[1.0, 10.0]")
    system = linear.minimal().balance() if linear.order else linear
    a, b, c, d = system.dense()
    poles = system.poles()
    speed = np.abs(poles[np.abs(poles) > 1e-9 * np.abs(poles).max(initial=0.0)])
    slow, fast = (float(speed.min()), float(speed.max())) if len(speed) else (1.0, 1.0)
    right = poles[poles.real > 1e-9 * fast]
    if len(right):
        worst = right[np.argmax(right.real)]
        return Passivity(False, False, -np.inf, float(abs(np.imag(worst))), "poles", f"unstable pole at {worst:.6g} 1/s")
    shift = 1e-7 * slow
    special = np.concatenate([np.abs(poles), np.abs(np.imag(poles)), np.abs(np.imag(system.zeros()))])
    grid = np.concatenate([[0.0], special, np.geomspace(1e-3 * slow, 1e3 * fast, _POINTS), np.abs(further).ravel()])
    d_sum = d + d.T
    size = np.linalg.norm(d_sum)
    covered = bool(size > 0 and np.linalg.eigvalsh(d_sum)[0] > 1e-12 * size)
    crossings = np.zeros(0)
    if covered:
        crossings = _crossings(a - shift * np.eye(len(a)), b, c, d_sum)
        ends = np.concatenate([[0.0], np.sort(crossings), [2.0 * crossings.max(initial=0.0) + fast]])
        grid = np.concatenate([grid, 0.5 * (ends[1:] + ends[:-1])])
    grid = np.unique(grid[np.isfinite(grid)])
    response = system.at(shift + 1j * grid)
    lowest = np.linalg.eigvalsh(response + np.conj(np.swapaxes(response, 1, 2)))[:, 0]
    margins = lowest / np.maximum(np.linalg.norm(response, axis=(1, 2)), 1e-300)
    worst_at = int(np.argmin(margins))
    margin, frequency = float(margins[worst_at]), float(grid[worst_at])
    passive = margin >= -tolerance
    strict = bool(passive and not len(crossings) and margin > tolerance) if covered else None
    reason = "" if passive else f"the system delivers power at {frequency:.6g} rad/s"
    return Passivity(passive, strict, margin, frequency, "hamiltonian" if covered else "grid", reason)


def _crossings(a: np.ndarray, b: np.ndarray, c: np.ndarray, d_sum: np.ndarray) -> np.ndarray:
    """Return frequencies where G + G^H is singular or nearly so; `d_sum`, D + D^T, is positive definite."""
    from scipy.linalg import eigvals

    through, toward = np.linalg.solve(d_sum, c), np.linalg.solve(d_sum, b.T)
    core = a - b @ through
    hamiltonian = np.block([[core, -b @ toward], [c.T @ through, -core.T]])
    values = eigvals(hamiltonian)
    near = np.abs(values.real) <= 1e-7 * np.abs(values)
    return np.abs(values.imag[near])
