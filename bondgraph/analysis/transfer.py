"""A pair of one input and one output -> its transfer function: zeros, poles, gain, and the two polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.analysis.pencil import Matrices, by_real_part, invariant_zeros, minimal_basis
from bondgraph.output.brief import brief


@brief
@dataclass(frozen=True, eq=False)
class TransferFunction:
    """gain * prod(s - zeros) / prod(s - poles) = num(s) / den(s), from `input` to `output`.

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
        """Count of poles."""
        return len(self.poles)

    def __call__(self, s: Any) -> Any:
        """Value at complex frequencies s, rad/s; from the factors, which keep their digits where polynomials do not."""
        s = np.asarray(s, dtype=complex)
        value = np.full(s.shape, self.gain, dtype=complex)
        for k in range(max(len(self.zeros), len(self.poles))):
            if k < len(self.zeros):
                value = value * (s - self.zeros[k])
            if k < len(self.poles):
                value = value / (s - self.poles[k])
        return value[()]


def transfer(matrices: Matrices, input_name: str, output_name: str, tolerance: float) -> TransferFunction:
    """Transfer function of a system with one input and one output, common poles and zeros cancelled."""
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
