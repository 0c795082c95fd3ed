"""Linear: a model near a point, dx' = A dx + B du, dy = C dx + D du, in the user's names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bondgraph.analysis.pencil import Matrices, balanced, by_real_part, invariant_zeros, minimal_basis
from bondgraph.analysis.transfer import TransferFunction, transfer
from bondgraph.compile.points import Point
from bondgraph.errors import refusal
from bondgraph.output.brief import brief
from bondgraph.output.cells import cell, counted, line, table

DENSE = 4000
"""States up to which all eigenvalues are computed: beyond it, ask for some of them."""
_SHOWN = 16
"""States up to which notebooks show matrices and poles."""


@brief
@dataclass(frozen=True, eq=False)
class Linear:
    """dx' = A dx + B du, dy = C dx + D du around a point where x' = `rates` and y = `values`.

    Parameters
    ----------
    A, B, C, D : (n, n), (n, inputs), (outputs, n), (outputs, inputs); NumPy arrays, or SciPy's sparse ones if n is large.
    states, inputs, outputs : a name for every row and column.
    rates : x' at the point, (n,); zero at an operating point.
    values : outputs at the point.
    point : where the model was linearised; None after a change of states.
    """

    name: str
    A: Any = field(repr=False)
    B: Any = field(repr=False)
    C: Any = field(repr=False)
    D: Any = field(repr=False)
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rates: np.ndarray = field(repr=False)
    values: np.ndarray = field(repr=False)
    point: Point | None = field(repr=False, default=None)

    @property
    def order(self) -> int:
        """Count of states."""
        return len(self.states)

    @property
    def is_sparse(self) -> bool:
        """Whether the matrices are sparse arrays."""
        return hasattr(self.A, "toarray")

    def dense(self) -> Matrices:
        """A, B, C, D as NumPy arrays; E256 with more than 4000 states."""
        if not self.is_sparse:
            return self.A, self.B, self.C, self.D
        if self.order > DENSE:
            cures = ("poles(count=10, near=0.0)", "frequency_response, which stays sparse")
            title = f"{self.order} states are too many for dense algebra"
            raise refusal("E256", title, *cures, about=self.name, why=f"the limit is {DENSE}", places=())
        return self.A.toarray(), self.B.toarray(), self.C.toarray(), self.D.toarray()

    def poles(self, count: int | None = None, near: complex = 0.0) -> np.ndarray:
        """Eigenvalues of A, 1/s, by real part: all of them, or the `count` ones nearest to `near`; E256 if all are wanted of
        more than 4000 states."""
        if count is not None and self.is_sparse and count < self.order - 2:
            from scipy.sparse import csc_array
            from scipy.sparse.linalg import eigs

            # a little aside, where A itself may be singular
            shift = near + 1e-9 * max(abs(near), abs(self.A).max())
            matrix = csc_array(self.A, dtype=complex if np.imag(shift) else float)
            return by_real_part(eigs(matrix, k=count, sigma=shift, return_eigenvectors=False))
        poles = np.linalg.eigvals(self.dense()[0]) if self.order else np.zeros(0)
        if count is not None:
            poles = poles[np.argsort(np.abs(poles - near), kind="stable")[:count]]
        return by_real_part(poles)

    def zeros(self, tolerance: float | None = None) -> np.ndarray:
        """Invariant zeros, 1/s: where [[A - s I, B], [C, D]] has less than its usual rank; any count of inputs and outputs.

        Parameters
        ----------
        tolerance : relative size below which a compression counts as zero; by default some rounding errors.
        """
        return invariant_zeros(self.dense(), tolerance)

    def transfer_function(
        self, input: str | None = None, output: str | None = None, tolerance: float = 1e-11
    ) -> TransferFunction:
        """From one input to one output, what cancels taken out; the names may be left out where there is only one. E255 if there
        is no such input or output."""
        part = self.part(_one(self, "input", input, self.inputs), _one(self, "output", output, self.outputs))
        return transfer(part.dense(), part.inputs[0], part.outputs[0], tolerance)

    def part(self, inputs: str | tuple[str, ...], outputs: str | tuple[str, ...]) -> Linear:
        """The same system with some of its inputs and outputs only, in the order given; E255 if there is no such one."""
        columns, rows = _places(self, "input", inputs, self.inputs), _places(self, "output", outputs, self.outputs)
        return replace(
            self,
            B=self.B[:, columns],
            C=self.C[rows, :],
            D=self.D[rows, :][:, columns],
            inputs=tuple(self.inputs[k] for k in columns),
            outputs=tuple(self.outputs[k] for k in rows),
            values=self.values[rows],
        )

    def minimal(self, tolerance: float = 1e-11) -> Linear:
        """A realisation with the fewest states: without what no input reaches and what no output sees.

        Its states are mixtures of the model's, called "z[0]" and so on. `tolerance` is relative to the norm of the
        balanced system.
        """
        a, b, c, d = self.dense()
        left, right = minimal_basis((a, b, c, d), tolerance)
        names = tuple(f"z[{k}]" for k in range(len(left)))
        return replace(self, A=left @ a @ right, B=left @ b, C=c @ right, D=d, states=names, rates=left @ self.rates, point=None)

    def balance(self) -> Linear:
        """The same system in scaled states, so that numbers in rows and columns are of like size."""
        (a, _, _, _), scale = balanced(self.dense())
        _, b, c, d = self.dense()
        return replace(self, A=a, B=b / scale[:, None], C=c * scale, D=d, rates=self.rates / scale, point=None)

    def frequency_response(self, omega: Any) -> np.ndarray:
        """C (j omega - A)^-1 B + D at circular frequencies (k,), rad/s: (k, outputs, inputs), complex."""
        return self.at(1j * np.atleast_1d(np.asarray(omega, dtype=float)))

    def at(self, s: Any) -> np.ndarray:
        """C (s - A)^-1 B + D at complex frequencies (k,), rad/s: (k, outputs, inputs)."""
        s = np.atleast_1d(np.asarray(s, dtype=complex))
        if not self.is_sparse:
            system = self.balance()
            resolvent = s[:, None, None] * np.eye(self.order) - system.A
            inner = np.linalg.solve(resolvent, np.broadcast_to(system.B.astype(complex), (len(s), *system.B.shape)))
            return np.asarray(system.C @ inner + system.D)
        from scipy.sparse import csc_array, eye_array
        from scipy.sparse.linalg import splu

        one, b, d = eye_array(self.order, format="csc"), self.B.toarray().astype(complex), self.D.toarray()
        return np.array([self.C @ splu(csc_array(value * one - self.A)).solve(b) + d for value in s])

    def _repr_html_(self) -> str:
        counts = (self.order, "state"), (len(self.inputs), "input"), (len(self.outputs), "output")
        blocks = [line(self.name, ", ".join(counted(*each) for each in counts))]
        if self.order > _SHOWN:
            return cell(*blocks)
        a, b, c, d = self.dense()
        columns, rows = (*self.states, *self.inputs), (*(f"d/dt {name}" for name in self.states), *self.outputs)
        numbers = np.block([[a, b], [c, d]])
        blocks.append(table(("", *columns), [(name, *row) for name, row in zip(rows, numbers, strict=True)]))
        poles = [(pole, abs(pole), -pole.real / abs(pole) if pole else 1.0) for pole in self.poles()]
        blocks.append(table(("pole (1/s)", "frequency (rad/s)", "damping"), poles))
        return cell(*blocks)

    def to_control(self) -> Any:
        """The system as a `control.StateSpace` of python-control, names kept; E258 where that is not installed."""
        try:
            import control
        except ImportError as missing:
            cure = 'pip install "screwbond[control]"'
            raise refusal("E258", "python-control is not installed", cure, about=self.name, places=()) from missing
        names = {"states": list(self.states), "inputs": list(self.inputs), "outputs": list(self.outputs)}
        names = {kind: [label.replace(".", "_") for label in labels] for kind, labels in names.items()}
        return control.ss(*self.dense(), **names, name=self.name.replace(".", "_"))


def _one(system: Linear, kind: str, name: str | None, known: tuple[str, ...]) -> str:
    if name is None:
        if len(known) == 1:
            return known[0]
        name = ""
    _places(system, kind, name, known)
    return name


def _places(system: Linear, kind: str, names: str | tuple[str, ...], known: tuple[str, ...]) -> list[int]:
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if name not in known:
            title = f'the linear system has no {kind} "{name}"' if name else f"which {kind} is meant?"
            why = f"{kind}s: {', '.join(known) or 'none'}"
            raise refusal("E255", title, "one of these", about=system.name, why=why, places=())
    return [known.index(name) for name in names]
