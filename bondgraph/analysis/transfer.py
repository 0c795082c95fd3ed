"""Transfer function from one input to one output: zeros, poles, gain, and both polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.analysis.pencil import Matrices, by_real_part, invariant_zeros, minimal_basis
from bondgraph.output.cells import typeset
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True, eq=False)
class TransferFunction:
    """Transfer function gain * prod(s - zeros) / prod(s - poles) = num(s) / den(s), from `input` to `output`.

    `num` and `den` hold the highest power first, den starts with 1.
    """

    input: str
    output: str
    zeros: np.ndarray
    poles: np.ndarray
    gain: float

    @property
    def num(self) -> np.ndarray:
        """Numerator, highest power first."""
        return self.gain * np.atleast_1d(np.real(np.poly(self.zeros)))

    @property
    def den(self) -> np.ndarray:
        """Denominator, highest power first."""
        return np.atleast_1d(np.real(np.poly(self.poles)))

    @property
    def order(self) -> int:
        """Number of poles."""
        return len(self.poles)

    def latex(self) -> str:
        """Return an `align*` environment with a quotient of polynomials, or of factors for more than six poles."""
        polynomials = max(len(self.zeros), self.order) <= _POLYNOMIALS
        over, under = (_powers(self.num), _powers(self.den)) if polynomials else (_factors(self.zeros), _factors(self.poles))
        gain = "" if polynomials else rf"{_digits(self.gain)}\,"
        quotient = over if under == "1" else rf"\frac{{{over}}}{{{under}}}"
        names = rf"\frac{{{_words(self.output)}}}{{{_words(self.input)}}}"
        return f"\\begin{{align*}}\n{names} &= {gain}{quotient}\n\\end{{align*}}\n"

    def _repr_latex_(self) -> str | None:
        return typeset(self.latex())

    def __call__(self, s: Any) -> Any:
        """Return the value at complex frequencies s, rad/s; from the factors, which keep their digits where polynomials do
        not."""
        s = np.asarray(s, dtype=complex)
        value = np.full(s.shape, self.gain, dtype=complex)
        for k in range(max(len(self.zeros), len(self.poles))):
            if k < len(self.zeros):
                value = value * (s - self.zeros[k])
            if k < len(self.poles):
                value = value / (s - self.poles[k])
        return value[()]


def transfer(matrices: Matrices, input_name: str, output_name: str, tolerance: float) -> TransferFunction:
    """Return the transfer function of a system with one input and one output, without common poles and zeros."""
    a, b, c, d = matrices
    left, right = minimal_basis(matrices, tolerance)
    a, b, c = left @ a @ right, left @ b, c @ right
    if not len(a):
        return TransferFunction(input_name, output_name, np.zeros(0), np.zeros(0), float(d[0, 0]))
    poles, zeros = by_real_part(np.linalg.eigvals(a)), invariant_zeros((a, b, c, d))
    # any point away from poles and zeros gives the gain
    radius = 2.0 * max(np.abs(poles).max(), np.abs(zeros).max(initial=0.0), 1e-300)
    unit = TransferFunction(input_name, output_name, zeros, poles, 1.0)
    value = (c @ np.linalg.solve(radius * np.eye(len(a)) - a, b) + d)[0, 0]
    return TransferFunction(input_name, output_name, zeros, poles, float(np.real(value / unit(radius))))


_POLYNOMIALS = 6
"""Largest number of poles written as polynomials; more are written as factors, which keep more digits."""


def _digits(value: float) -> str:
    """Format a number with five digits."""
    mantissa, _, power = f"{value:.5g}".partition("e")
    return mantissa + (rf" \cdot 10^{{{int(power)}}}" if power else "")


def _powers(coefficients: np.ndarray) -> str:
    """Format a polynomial in s, without terms of zero."""
    top, terms = len(coefficients) - 1, []
    for k, value in enumerate(coefficients):
        power = {0: "", 1: "s"}.get(top - k, f"s^{{{top - k}}}")
        size = "" if abs(value) == 1.0 and power else _digits(abs(float(value)))
        if value != 0.0:
            terms.append(f"{'-' if value < 0.0 else '+'} {' '.join(filter(None, (size, power)))}")
    return " ".join(terms).removeprefix("+ ") or "0"


def _factors(roots: np.ndarray) -> str:
    """Format a product of real factors, of second order for conjugate roots."""
    factors = []
    for root in roots:
        if root.imag == 0.0:
            factors.append(_powers(np.array([1.0, -root.real])))
        elif root.imag > 0.0:
            factors.append(_powers(np.array([1.0, -2.0 * root.real, abs(root) ** 2])))
    return r"\,".join(f"({factor})" if factor != "s" else factor for factor in factors) or "1"


def _words(name: str) -> str:
    return rf"\text{{{name.replace('_', chr(92) + '_')}}}"
