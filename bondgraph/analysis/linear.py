"""Linear: a model near a point, dx' = A dx + B du, dy = C dx + D du, in the user's names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bondgraph.analysis.pencil import Matrices, balanced, by_real_part, invariant_zeros, minimal_basis
from bondgraph.analysis.transfer import TransferFunction, transfer
from bondgraph.compile.points import Point
from bondgraph.errors import refusal
from bondgraph.output.cells import cell, line, plural, table
from bondgraph.output.plot_style import CYCLE, styled
from bondgraph.output.short_repr import short_repr

SHOWN = 12
"""States, inputs and outputs up to which the matrices are printed."""
DENSE = 4000
"""States up to which all eigenvalues are computed: beyond it, ask for some of them."""
_SHOWN = 16
"""States up to which notebooks show matrices and poles."""


@short_repr
@dataclass(frozen=True, eq=False)
class Linear:
    """dx' = A dx + B du, dy = C dx + D du around a point where x' = `rates` and y = `values`; printed, its matrices.

    Of a sampled system (`period`) it is dx[k+1] = A dx[k] + B du[k], and `rates` is what x changes by in a period.

    Parameters
    ----------
    A, B, C, D : (n, n), (n, inputs), (outputs, n), (outputs, inputs); NumPy arrays, or SciPy's sparse ones if n is large.
    states, inputs, outputs : a name for every row and column.
    rates : x' at the point, (n,); zero at an operating point.
    values : outputs at the point.
    point : where the model was linearised; None after a change of states.
    period : of a sampled system, s.
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
    period: float | None = None

    def __str__(self) -> str:
        """The matrices with the names of their rows and columns, where that can be read."""
        sampled = "" if self.period is None else f", sampled every {self.period:g} s"
        head = f'linear system of "{self.name}": {self.order} states{sampled}'
        if max(self.order, len(self.inputs), len(self.outputs)) > SHOWN:
            return f"{head}, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        following = "'" if self.period is None else "[k+1]"
        rows = ("A", self.A, self.states, self.states, following), ("B", self.B, self.states, self.inputs, following)
        more = ("C", self.C, self.outputs, self.states, ""), ("D", self.D, self.outputs, self.inputs, "")
        tables = [_table(*table) for table in (*rows, *more) if table[2] and table[3]]
        return "\n\n".join([head, *tables])

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
        part = self._single(input, output)
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
        """C (j omega - A)^-1 B + D at circular frequencies (k,), rad/s: (k, outputs, inputs), complex; of a sampled system with
        exp(j omega period) in the place of j omega."""
        s = 1j * np.atleast_1d(np.asarray(omega, dtype=float))
        return self.at(s if self.period is None else np.exp(s * self.period))

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
        blocks = [line(self.name, ", ".join(plural(*each) for each in counts))]
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
        control = self._control()
        names = {"states": list(self.states), "inputs": list(self.inputs), "outputs": list(self.outputs)}
        names = {kind: [label.replace(".", "_") for label in labels] for kind, labels in names.items()}
        return control.ss(*self.dense(), self.period or 0, **names, name=self.name.replace(".", "_"))

    def bode(
        self, input: str | None = None, output: str | None = None, *, omega: Any = None, margins: bool = False, axes: Any = None
    ) -> np.ndarray:
        """Magnitude in dB and phase in degrees over frequency, as python-control draws them: axes of Matplotlib, (2,).

        Parameters
        ----------
        input, output : which; they may be left out where there is only one.
        omega : frequencies, rad/s; by default those around poles and zeros.
        margins : whether gain and phase margins are shown; without a crossing there is none.
        axes : two of your own.

        Raises `ModelError` E255 if there is no such input or output, E258 without python-control.
        """
        control, part = self._control(), self._single(input, output)
        look = {"dB": True, "deg": True, "display_margins": margins}
        loop = part.to_control()
        with styled():
            drawn = control.bode_plot(loop, omega, ax=_axes(axes, 2), title=part._title, **look)
            if margins:
                np.ravel(drawn.axes)[0].set_title(_margins(*control.margin(loop)))
            return _labelled(drawn.axes, "circular frequency (rad/s)", "gain (dB)", "phase (degrees)")

    def step(
        self, input: str | None = None, output: str | None = None, *, t_end: float | None = None, axes: Any = None
    ) -> np.ndarray:
        """The answer to a unit step, from python-control: axes of Matplotlib, (1,). Names and errors as `bode`; `t_end` in s."""
        control, part = self._control(), self._single(input, output)
        answer = control.step_response(part.to_control(), t_end, **({} if self.period else {"T_num": 500}))
        with styled():
            drawn = answer.plot(title=part._title, color=CYCLE[0], ax=_axes(axes, 1))
            return _labelled(drawn.axes, "time (s)", part.outputs[0])

    def pzmap(self, input: str | None = None, output: str | None = None, *, axes: Any = None) -> np.ndarray:
        """Poles and zeros in the complex plane (1/s), of python-control: axes of Matplotlib, (1,). Names, errors as `bode`."""
        control, part = self._control(), self._single(input, output)
        unit = "" if self.period else " (1/s)"
        with styled():
            drawn = control.pole_zero_plot(part.to_control(), title=part._title, ax=_axes(axes, 1))
            return _labelled(drawn.axes, f"real part{unit}", f"imaginary part{unit}")

    def c2d(self, period: float, method: str = "zoh") -> Linear:
        """The same system sampled every `period` seconds, as python-control does it: "zoh", "foh", "tustin", "matched" ...

        Raises `ModelError` E564 for one that is sampled already, E258 without python-control.
        """
        if self.period is not None:
            cure = "the linear system before it was sampled"
            raise refusal("E564", f"the system is sampled already, every {self.period:g} s", cure, about=self.name)
        found = self._control().sample_system(self.to_control(), period, method)
        a, b, c, d = (np.asarray(getattr(found, letter)) for letter in "ABCD")
        return replace(self, A=a, B=b, C=c, D=d, rates=self.rates * period, point=None, period=float(period))

    def _single(self, input: str | None, output: str | None) -> Linear:
        return self.part(_one(self, "input", input, self.inputs), _one(self, "output", output, self.outputs))

    @property
    def _title(self) -> str:
        return f"{self.inputs[0]} to {self.outputs[0]}"

    def _control(self) -> Any:
        try:
            import control
        except ImportError as missing:
            cure = 'pip install "screwbond[control]"'
            raise refusal("E258", "python-control is not installed", cure, about=self.name, places=()) from missing
        return control


def _table(letter: str, matrix: Any, rows: tuple[str, ...], columns: tuple[str, ...], after: str) -> str:
    """A matrix with the names of its rows, which have `after` behind them, and its columns."""
    numbers = [[f"{value:.5g}" for value in row] for row in np.asarray(matrix)]
    widths = [max(map(len, (name, *column))) for name, column in zip(columns, zip(*numbers, strict=True), strict=True)]
    labels = [f"{name}{after}" for name in rows]
    first = max(map(len, (letter, *labels)))
    lines = [(letter, *columns), *((label, *row) for label, row in zip(labels, numbers, strict=True))]
    cells = [[f"{cell:>{width}}" for cell, width in zip(line[1:], widths, strict=True)] for line in lines]
    return "\n".join("  ".join([f"{line[0]:{first}}", *row]) for line, row in zip(lines, cells, strict=True))


def _axes(given: Any, count: int) -> np.ndarray | None:
    """Axes below each other (count, 1), or None with a new figure begun: python-control draws over what the current one shows."""
    if given is not None:
        return np.reshape(given, (count, 1))
    from matplotlib import pyplot

    pyplot.figure()
    return None


def _labelled(axes: Any, along: str, *upright: str) -> np.ndarray:
    """Axes below each other, as they are, with labels in the words of all pictures."""
    axes = np.ravel(axes)
    axes[-1].set_xlabel(along)
    for panel, words in zip(axes, upright, strict=True):
        panel.set_ylabel(words)
    return np.asarray(axes)


def _margins(gain: float, phase: float, turned: float, level: float) -> str:
    """Margins in words, from the gain (1) and the phase (degrees) that are free, at the frequencies of their crossings, rad/s."""
    margins = (("gain", 20.0 * np.log10(gain), "dB", turned), ("phase", phase, "degrees", level))
    said = (f"{value:.4g} {unit} at {at:.4g} rad/s" if np.isfinite(value) else "no crossing" for _, value, unit, at in margins)
    return ", ".join(f"{name} margin: {words}" for (name, *_), words in zip(margins, said, strict=True))


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
