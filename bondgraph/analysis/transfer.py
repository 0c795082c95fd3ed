"""Transfer function from one input to one output: zeros, poles, gain, and both polynomials.

Scaling of (A, B, C, D), and its invariant zeros and minimal realisation by orthogonal compressions.

References
----------
A. Emami-Naeini, P. Van Dooren, "Computation of zeros of linear multivariable systems", Automatica 18 (1982) 415-430.
A. Varga, "Computation of irreducible generalized state-space realizations", Kybernetika 26 (1990) 89-106.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondgraph.output.cells import typeset
from bondgraph.output.short_repr import short_repr
from bondgraph.output.tex import decimal_latex
from screws.calls import explain_methods

Matrices = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

_MAX_SWEEPS = 20


def balanced(matrices: Matrices) -> tuple[Matrices, np.ndarray]:
    """Balance a system by states z = x / scale, so that rows and columns have similar norms; scales are powers of two.

    Inputs and outputs are also scaled to unit columns and rows, which moves neither poles nor zeros. Time is not scaled.
    Returns the matrices and `scale` (n,).
    """
    a, b, c, d = (np.array(matrix, dtype=float) for matrix in matrices)
    n = len(a)
    scale = np.ones(n)
    for _ in range(_MAX_SWEEPS):
        changed = False
        for ports, through in ((b, d), (c.T, d.T)):
            size = np.linalg.norm(ports, axis=0)
            factor = np.exp2(-np.round(np.log2(np.where(size > 0, size, 1.0))))
            ports *= factor
            through *= factor
            changed = changed or bool(np.any(factor != 1.0))
        for i in range(n):
            off = np.arange(n) != i
            row = np.linalg.norm(np.concatenate([a[i, off], b[i]]))
            column = np.linalg.norm(np.concatenate([a[off, i], c[:, i]]))
            if row > 0 and column > 0:
                share = float(np.exp2(np.round(0.5 * np.log2(row / column))))
                if share != 1.0:
                    changed = True
                    a[i], b[i] = a[i] / share, b[i] / share
                    a[:, i], c[:, i] = a[:, i] * share, c[:, i] * share
                    scale[i] *= share
        if not changed:
            break
    return (a, b, c, d), scale


def _size(matrices: Iterable[np.ndarray]) -> float:
    return float(np.sqrt(sum(np.sum(matrix**2) for matrix in matrices)))


def _rows(matrix: np.ndarray, small: float) -> tuple[np.ndarray, int]:
    """Return an orthogonal U (square) such that U^T matrix has its `rank` nonzero rows first, and the rank."""
    u, s, _ = np.linalg.svd(matrix)
    return u, int(np.sum(s > small))


def invariant_zeros(matrices: Matrices, tolerance: float | None = None) -> np.ndarray:
    """Return the values of s where [[A - s I, B], [C, D]] loses rank, for any numbers of inputs and outputs.

    Infinite zeros are deflated by orthogonal compressions first, so that no infinite zero appears as a large number (Emami-Naeini
    and Van Dooren 1982).
    """
    from scipy.linalg import eigvals

    (a, b, c, d), _ = balanced(matrices)
    small = (tolerance or 10.0 * np.finfo(float).eps * (sum(a.shape) + sum(d.shape))) * max(_size((a, b, c, d)), 1e-300)
    a, b, c, d = _full_rows(a, b, c, d, small)
    a, c, b, d = (matrix.T for matrix in _full_rows(a.T, c.T, b.T, d.T, small))
    n, m = b.shape
    if not n:
        return np.zeros(0)
    if not m:
        return by_real_part(eigvals(a))
    # columns of W in the null space of [C, D]; on them the pencil is regular
    _, _, w = np.linalg.svd(np.hstack([c, d]))
    free = w[m:].T
    return by_real_part(eigvals(np.hstack([a, b]) @ free, free[:n]))


def _full_rows(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, small: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    while len(d):
        u, rank = _rows(d, small)
        if rank == len(d):
            break
        c, d = u.T @ c, u.T @ d
        c_remaining = c[rank:]
        c, d = c[:rank], d[:rank]
        v, held_count = _rows(c_remaining.T, small)
        if not held_count:
            break
        # outputs c_remaining x = 0 hold the `held_count` first directions of v at zero: their rates become outputs
        a, b, c = v.T @ a @ v, v.T @ b, c @ v
        c = np.vstack([a[:held_count, held_count:], c[:, held_count:]])
        d = np.vstack([b[:held_count], d])
        a, b = a[held_count:, held_count:], b[held_count:]
    return a, b, c, d


def _reached(a: np.ndarray, b: np.ndarray, small: float) -> tuple[np.ndarray, int]:
    """Return an orthogonal basis whose first `rank` columns span the reachable subspace (staircase form), and the rank."""
    n = len(a)
    basis = np.eye(n)
    a, entry, done = a.copy(), b, 0
    while done < n:
        u, rank = _rows(entry, small)
        if not rank:
            break
        a[done:] = u.T @ a[done:]
        a[:, done:] = a[:, done:] @ u
        basis[:, done:] = basis[:, done:] @ u
        entry = a[done + rank :, done : done + rank]
        done += rank
    return basis, done


def minimal_basis(matrices: Matrices, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return matrices L (r, n), K (n, r) of the minimal realisation (L A K, L B, C K, D), L K = I.

    First unreachable, then unobservable states are dropped. Singular values count as zero below `tolerance` times the norm of the
    balanced system.
    """
    (a, b, c, _), scale = balanced(matrices)
    small = tolerance * max(_size((a, b, c)), 1e-300)
    basis, rank = _reached(a, b, small)
    basis = basis[:, :rank]
    observable, order = _reached((basis.T @ a @ basis).T, (c @ basis).T, small)
    basis = basis @ observable[:, :order]
    return basis.T / scale, basis * scale[:, None]


def by_real_part(numbers: np.ndarray) -> np.ndarray:
    """Return the finite numbers sorted by real part, conjugate pairs next to each other; a real array if all are real."""
    numbers = np.asarray(numbers)
    numbers = numbers[np.isfinite(numbers)]
    rounded = np.round(numbers.real / np.abs(numbers).max(initial=1e-300), 12)
    numbers = numbers[np.lexsort((numbers.imag, rounded))]
    return numbers if np.any(numbers.imag) else numbers.real


@explain_methods
@short_repr
@dataclass(frozen=True, eq=False)
class TransferFunction:
    """Transfer function gain * prod(s - zeros) / prod(s - poles) = num(s) / den(s), from `input` to `output`.

    `num` and `den` hold coefficients, the highest power first; `den` starts with 1. For a sampled system (`period`, s) they are
    polynomials in z.
    """

    input: str
    output: str
    zeros: np.ndarray
    poles: np.ndarray
    gain: float
    period: float | None = None

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
        symbol = "s" if self.period is None else "z"
        polynomials = max(len(self.zeros), self.order) <= _POLYNOMIALS
        if polynomials:
            over, under = _powers(self.num, symbol), _powers(self.den, symbol)
        else:
            over, under = _factors(self.zeros, symbol), _factors(self.poles, symbol)
        gain = "" if polynomials else rf"{decimal_latex(self.gain, _DIGITS)}\,"
        quotient = over if under == "1" else rf"\frac{{{over}}}{{{under}}}"
        names = rf"\frac{{{_words(self.output)}}}{{{_words(self.input)}}}"
        return f"\\begin{{align*}}\n{names} &= {gain}{quotient}\n\\end{{align*}}\n"

    def _repr_latex_(self) -> str | None:
        return typeset(self.latex())

    def __call__(self, s: Any) -> Any:
        """Return the value at complex frequencies s, rad/s, or z of a sampled system, computed from the factors, which remain
        accurate when polynomials do not."""
        s = np.asarray(s, dtype=complex)
        value = np.full(s.shape, self.gain, dtype=complex)
        for k in range(max(len(self.zeros), len(self.poles))):
            if k < len(self.zeros):
                value = value * (s - self.zeros[k])
            if k < len(self.poles):
                value = value / (s - self.poles[k])
        return value[()]


def transfer(matrices: Matrices, input_name: str, output_name: str, tolerance: float) -> TransferFunction:
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
"""Maximum number of poles written as polynomials; more are written as factors, which keep more digits."""
_DIGITS = 5


def _powers(coefficients: np.ndarray, symbol: str) -> str:
    top, terms = len(coefficients) - 1, []
    for k, value in enumerate(coefficients):
        power = {0: "", 1: symbol}.get(top - k, f"{symbol}^{{{top - k}}}")
        size = "" if abs(value) == 1.0 and power else decimal_latex(abs(value), _DIGITS)
        if value != 0.0:
            terms.append(f"{'-' if value < 0.0 else '+'} {' '.join(filter(None, (size, power)))}")
    return " ".join(terms).removeprefix("+ ") or "0"


def _factors(roots: np.ndarray, symbol: str) -> str:
    factors = []
    for root in roots:
        if root.imag == 0.0:
            factors.append(_powers(np.array([1.0, -root.real]), symbol))
        elif root.imag > 0.0:
            factors.append(_powers(np.array([1.0, -2.0 * root.real, abs(root) ** 2]), symbol))
    return r"\,".join(f"({factor})" if factor != symbol else factor for factor in factors) or "1"


def _words(name: str) -> str:
    return rf"\text{{{name.replace('_', chr(92) + '_')}}}"
