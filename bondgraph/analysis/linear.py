"""Linearisation of a model: its linear state-space system near a point, dx' = A dx + B du, dy = C dx + D du."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bondgraph.analysis.frequency_plots import thin_out_labels, with_resonances
from bondgraph.analysis.margins import Margins, margins_of
from bondgraph.analysis.transfer import (
    Matrices,
    TransferFunction,
    balanced,
    by_real_part,
    invariant_zeros,
    minimal_basis,
    transfer,
)
from bondgraph.compile.points import Point
from bondgraph.errors import refusal
from bondgraph.model.arguments import choice, refused
from bondgraph.output.cells import cell, line, table
from bondgraph.output.plot_style import CYCLE, styled
from bondgraph.output.short_repr import short_repr
from screws.arrays import Count
from screws.errors import plural
from screws.names import answer_old_names
from screws.numeric_arguments import floats, real

Frequencies = Sequence[float] | np.ndarray | None
MAX_PRINTED = 12
"""Maximum number of states, inputs or outputs of printed matrices."""
MAX_DENSE = 4000
"""Maximum number of states for dense algebra, such as all eigenvalues."""
_MAX_SHOWN = 16
"""Maximum number of states for which notebooks show matrices and poles."""
_EXACT = ("zoh", "foh", "impulse")
"""Methods of sampling with the exact matrix exponential of A; the others approximate the derivative."""
_SAMPLINGS = (*_EXACT, "tustin", "bilinear", "euler", "backward_diff")


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class Linear:
    """Linear system dx' = A dx + B du, dy = C dx + D du around a point where x' = `rates` and y = `values`.

    For a sampled system (`period`) it is dx[k+1] = A dx[k] + B du[k], and `rates` is the change of x in a period. Methods that
    need dense matrices raise E256 for more than 4000 states: all but `part`, `at`, `frequency_response` and `poles(count)`.

    Parameters
    ----------
    A, B, C, D : (n, n), (n, inputs), (outputs, n), (outputs, inputs); NumPy arrays, or SciPy's sparse arrays if n is large.
    states, inputs, outputs : a name for every row and column.
    rates : x' at the point, (n,); zero at an operating point, except for its `moving` states.
    values : outputs at the point.
    point : point of linearisation; None after a change of states.
    period : period of a sampled system, s; None for a continuous one.
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

    _cure_of_arithmetic = (
        "arithmetic with its matrices .A, .B, .C, .D; systems in series are blocks of a graph, "
        'signals.state_space("plant", "controller.y", A, B, C, D)'
    )

    def __str__(self) -> str:
        sampled = "" if self.period is None else f", sampled every {self.period:g} s"
        head = f'linear system of "{self.name}": {plural(self.order, "state")}{sampled}'
        if max(self.order, len(self.inputs), len(self.outputs)) > MAX_PRINTED:
            return f"{head}, {plural(len(self.inputs), 'input')}, {plural(len(self.outputs), 'output')}"
        following = "'" if self.period is None else "[k+1]"
        rows = ("A", self.A, self.states, self.states, following), ("B", self.B, self.states, self.inputs, following)
        more = ("C", self.C, self.outputs, self.states, ""), ("D", self.D, self.outputs, self.inputs, "")
        tables = [_table(*table) for table in (*rows, *more) if table[2] and table[3]]
        return "\n\n".join([head, *tables])

    @property
    def order(self) -> int:
        """Number of states."""
        return len(self.states)

    @property
    def is_sparse(self) -> bool:
        """True if the matrices are sparse arrays."""
        return hasattr(self.A, "toarray")

    def dense(self) -> Matrices:
        """Return A, B, C, D as NumPy arrays."""
        if not self.is_sparse:
            return self.A, self.B, self.C, self.D
        if self.order > MAX_DENSE:
            cures = ("poles(count=10, near=0.0)", "frequency_response, which stays sparse")
            title = f"{self.order} states are too many for dense algebra"
            raise refusal("E256", title, *cures, about=self.name, why=f"the limit is {MAX_DENSE}", places=())
        return self.A.toarray(), self.B.toarray(), self.C.toarray(), self.D.toarray()

    def poles(self, count: Count | None = None, near: complex = 0.0) -> np.ndarray:
        """Return the eigenvalues of A (1/s for a continuous system) by real part: all, or the `count` nearest to `near`. Raises
        E150 unless `near` is one finite number."""
        if np.shape(near) or isinstance(near, str) or not np.all(np.isfinite(np.asarray(near, dtype=complex))):
            raise refused("near", near, "one finite number, which may be complex", "near=0.0", self.name)
        if count is not None and self.is_sparse and count < self.order - 2:
            from scipy.sparse import csc_array
            from scipy.sparse.linalg import eigs

            # a small shift, since A itself may be singular
            shift = near + 1e-9 * max(abs(near), abs(self.A).max())
            matrix = csc_array(self.A, dtype=complex if np.imag(shift) else float)
            return by_real_part(eigs(matrix, k=count, sigma=shift, return_eigenvectors=False))
        poles = np.linalg.eigvals(self.dense()[0]) if self.order else np.zeros(0)
        if count is not None:
            poles = poles[np.argsort(np.abs(poles - near), kind="stable")[:count]]
        return by_real_part(poles)

    def zeros(self, tolerance: float | None = None) -> np.ndarray:
        """Return the invariant zeros s (1/s for a continuous system), at which [[A - s I, B], [C, D]] loses rank.

        Parameters
        ----------
        tolerance : relative size below which singular values count as zero; by default a few rounding errors.

        Raises E150 for a tolerance that is not from 0 to 1.
        """
        if tolerance is not None and not 0.0 <= real(tolerance) <= 1.0:
            raise refused("tolerance", tolerance, "a number from 0 to 1", "tolerance=1e-12", self.name)
        return invariant_zeros(self.dense(), tolerance)

    def transfer_function(
        self, input: str | None = None, output: str | None = None, tolerance: float = 1e-11
    ) -> TransferFunction:
        """Return the transfer function from one input to one output, without common poles and zeros; a name may be left out if
        there is only one. Raises E255 for an unknown name, or for a missing one of several."""
        part = self._single(input, output)
        return replace(transfer(part.dense(), part.inputs[0], part.outputs[0], tolerance), period=self.period)

    def part(self, inputs: str | tuple[str, ...], outputs: str | tuple[str, ...]) -> Linear:
        """Return the system with some of its inputs and outputs, in the given order; raise E255 for an unknown name."""
        columns, rows = _indices(self, "input", inputs, self.inputs), _indices(self, "output", outputs, self.outputs)
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
        """Return a minimal realisation, without unreachable and unobservable states.

        Its states are combinations of the model's states, called "z[0]" and so on. `tolerance` is relative to the norm of the
        balanced system.
        """
        a, b, c, d = self.dense()
        left, right = minimal_basis((a, b, c, d), tolerance)
        names = tuple(f"z[{k}]" for k in range(len(left)))
        return replace(self, A=left @ a @ right, B=left @ b, C=c @ right, D=d, states=names, rates=left @ self.rates, point=None)

    def balance(self) -> Linear:
        """Return the system in scaled states, so that rows and columns have entries of similar size."""
        (a, _, _, _), scale = balanced(self.dense())
        _, b, c, d = self.dense()
        return replace(self, A=a, B=b / scale[:, None], C=c * scale, D=d, rates=self.rates / scale, point=None)

    def frequency_response(self, omega: float | Sequence[float] | np.ndarray) -> np.ndarray:
        """Return C (j omega - A)^-1 B + D at angular frequencies (k,), rad/s: (k, outputs, inputs), complex; for a sampled
        system, with exp(j omega period) instead of j omega."""
        s = 1j * np.atleast_1d(_frequencies(self.name, omega))
        return self.at(s if self.period is None else np.exp(s * self.period))

    def at(self, s: Any) -> np.ndarray:
        """Return C (s - A)^-1 B + D, (k, outputs, inputs), at complex frequencies s (k,), rad/s, or z of a sampled system."""
        try:
            s = np.atleast_1d(np.asarray(s, dtype=complex))
        except (TypeError, ValueError):
            raise refused("s", s, "a complex number, rad/s, or a list of them", "s=[1j, 10j]", self.name) from None
        if not self.is_sparse:
            system = self.balance()
            resolvent = s[:, None, None] * np.eye(self.order) - system.A
            inner = np.linalg.solve(resolvent, np.broadcast_to(system.B.astype(complex), (len(s), *system.B.shape)))
            return np.asarray(system.C @ inner + system.D)
        from scipy.sparse import csc_array, eye_array
        from scipy.sparse.linalg import splu

        unit, b, d = eye_array(self.order, format="csc"), self.B.toarray().astype(complex), self.D.toarray()
        return np.array([self.C @ splu(csc_array(value * unit - self.A)).solve(b) + d for value in s])

    def _repr_html_(self) -> str:
        counts = (self.order, "state"), (len(self.inputs), "input"), (len(self.outputs), "output")
        blocks = [line(self.name, ", ".join(plural(*each) for each in counts))]
        if self.order > _MAX_SHOWN:
            return cell(*blocks)
        a, b, c, d = self.dense()
        changes = (f"d/dt {name}" if self.period is None else f"{name}[k+1]" for name in self.states)
        columns, rows = (*self.states, *self.inputs), (*changes, *self.outputs)
        numbers = np.block([[a, b], [c, d]])
        blocks.append(table(("", *columns), [(name, *row) for name, row in zip(rows, numbers, strict=True)]))
        if self.period is None:
            poles = [(pole, abs(pole), -pole.real / abs(pole) if pole else 1.0) for pole in self.poles()]
            blocks.append(table(("pole (1/s)", "frequency (rad/s)", "damping"), poles))
        else:
            blocks.append(table(("pole", "magnitude"), [(pole, abs(pole)) for pole in self.poles()]))
        return cell(*blocks)

    def to_control(self) -> Any:
        """Return a `control.StateSpace` with underscores for the dots in names; raise E258 without python-control."""
        control = self._control()
        names = {"states": list(self.states), "inputs": list(self.inputs), "outputs": list(self.outputs)}
        names = {kind: [label.replace(".", "_") for label in labels] for kind, labels in names.items()}
        return control.ss(*self.dense(), self.period or 0, **names, name=self.name.replace(".", "_"))

    def bode(
        self,
        input: str | None = None,
        output: str | None = None,
        *,
        omega: Frequencies = None,
        margins: bool = False,
        axes: Any = None,
    ) -> np.ndarray:
        """Plot magnitude in dB and phase in degrees against frequency with python-control; return Matplotlib axes, (2,).

        Parameters
        ----------
        input, output : names; may be left out if there is only one.
        omega : frequencies, rad/s; by default those around poles and zeros.
        margins : True to show gain and phase margins in the title.
        axes : two existing Matplotlib axes to draw on.

        Raises `ModelError` E255 for an unknown input or output, E150 for frequencies that are not positive, E258 without
        python-control.
        """
        omega, control, part = _positive_frequencies(self.name, omega), self._control(), self._single(input, output)
        look = {"dB": True, "deg": True, "display_margins": margins}
        loop = part.to_control()
        with styled():
            drawn = control.bode_plot(loop, omega, ax=_axes(axes, 2), title=part._title, **look)
            if margins:
                np.ravel(drawn.axes)[0].set_title(_margins(*control.margin(loop)))
            return _labelled(drawn.axes, "angular frequency (rad/s)", "gain (dB)", "phase (degrees)")

    def nyquist(
        self, input: str | None = None, output: str | None = None, *, omega: Frequencies = None, axes: Any = None
    ) -> np.ndarray:
        """Plot the Nyquist curve of a loop and the point -1 with python-control; return Matplotlib axes, (1,). Names and errors
        are those of `bode`."""
        omega, control, part = _positive_frequencies(self.name, omega), self._control(), self._single(input, output)
        with styled():
            omega = with_resonances(part.poles(), part.period) if omega is None else omega
            drawn = control.nyquist_plot(part.to_control(), omega, title=part._title, ax=_axes(axes, 1))
            return _labelled(drawn.axes, "real part", "imaginary part")

    def nichols(
        self, input: str | None = None, output: str | None = None, *, omega: Frequencies = None, axes: Any = None
    ) -> np.ndarray:
        """Plot the Nichols chart of a loop, gain in dB against phase in degrees, with python-control; return Matplotlib axes,
        (1,). Names and errors are those of `bode`."""
        omega, control, part = _positive_frequencies(self.name, omega), self._control(), self._single(input, output)
        with styled():
            if omega is None and (resonant := with_resonances(part.poles(), part.period)) is not None:
                omega = resonant[1:]
            drawn = control.nichols_plot(part.to_control(), omega, title=part._title, ax=_axes(axes, 1))
            for panel in np.ravel(drawn.axes):
                thin_out_labels(panel)
            return _labelled(drawn.axes, "phase (degrees)", "gain (dB)")

    def margins(self, input: str | None = None, output: str | None = None) -> Margins:
        """Return the gain, phase and delay margins of a loop with unity negative feedback, from crossings that python-control
        finds. Names and errors are those of `bode`."""
        control, part = self._control(), self._single(input, output)
        return margins_of(control, part.to_control(), part.dense(), part.period)

    def loop_transfer(self, at: str) -> Linear:
        """Return the loop transfer L, for negative feedback (1 + L = 0), from a signal back to itself, with the loop cut there.

        The signal must be an input and an output of this system, as in `linearise(model, ["u.y"], ["u.y"]).loop_transfer("u.y")`;
        other loops stay closed. Raises `ModelError` E255 for a signal that is not scalar, or not both an input and an output.
        """
        part = self.part(at, at)
        a, b, c, d = part.dense()  # y = C x + D v, with v added to the signal; the signal is w instead of y if v = (w - C x) / D
        name = f"-{at} around the loop"
        through = np.linalg.inv(d)
        return replace(
            part,
            A=a - b @ through @ c,
            B=b @ through,
            C=-through @ c,
            D=through - np.eye(1),
            outputs=(name,),
            values=-part.values,
        )

    def step(
        self, input: str | None = None, output: str | None = None, *, t_end: float | None = None, axes: Any = None
    ) -> np.ndarray:
        """Plot the response to a unit step with python-control; return Matplotlib axes, (1,). Names and errors are those of
        `bode`; `t_end` in s."""
        control, part = self._control(), self._single(input, output)
        if t_end is not None and not 0.0 < real(t_end) < np.inf:
            raise refused("t_end", t_end, "a positive time, s", "t_end=1.0", self.name)
        response = control.step_response(part.to_control(), t_end, **({} if self.period else {"T_num": 500}))
        with styled():
            drawn = response.plot(title=part._title, color=CYCLE[0], ax=_axes(axes, 1))
            return _labelled(drawn.axes, "time (s)", part.outputs[0])

    def pzmap(self, input: str | None = None, output: str | None = None, *, axes: Any = None) -> np.ndarray:
        """Plot poles and zeros in the complex plane with python-control; return Matplotlib axes, (1,). Names and errors are those
        of `bode`."""
        control, part = self._control(), self._single(input, output)
        unit = "" if self.period else " (1/s)"
        with styled():
            drawn = control.pole_zero_plot(part.to_control(), title=part._title, ax=_axes(axes, 1))
            return _labelled(drawn.axes, f"real part{unit}", f"imaginary part{unit}")

    def c2d(self, period: float, method: str = "zoh") -> Linear:
        """Return the system sampled every `period` seconds with python-control: "zoh", "foh", "tustin", "euler" ...

        Raises `ModelError` E564 for a sampled system, E142 for a period that is not positive, E110 for an unknown method, E258
        without python-control.
        """
        choice("linear system", self.name, method=(method, _SAMPLINGS))
        if self.period is not None:
            cure = "the continuous system, before c2d"
            raise refusal("E564", f"the system is already discrete, with period {self.period:g} s", cure, about=self.name)
        if not 0.0 < period < math.inf:
            raise refusal("E142", f"the period {period} s is not positive and finite", "c2d(0.01), in s", about=self.name)
        control, (a, b, c, d) = self._control(), self.dense()
        sampled, rates = control.sample_system(control.ss(a, b, c, d), period, method), period * self.rates
        if method in _EXACT:  # the rates act like a constant input
            constant = control.ss(a, self.rates[:, None], c, np.zeros((len(c), 1)))
            rates = np.ravel(control.sample_system(constant, period).B)
        a, b, c, d = (np.asarray(getattr(sampled, letter)) for letter in "ABCD")
        return replace(self, A=a, B=b, C=c, D=d, rates=rates, point=None, period=float(period))

    def _single(self, input: str | None, output: str | None) -> Linear:
        return self.part(_name_or_only(self, "input", input, self.inputs), _name_or_only(self, "output", output, self.outputs))

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
    numbers = [[f"{value:.5g}" for value in row] for row in np.asarray(matrix)]
    widths = [max(map(len, (name, *column))) for name, column in zip(columns, zip(*numbers, strict=True), strict=True)]
    labels = [f"{name}{after}" for name in rows]
    first = max(map(len, (letter, *labels)))
    lines = [(letter, *columns), *((label, *row) for label, row in zip(labels, numbers, strict=True))]
    cells = [[f"{cell:>{width}}" for cell, width in zip(line[1:], widths, strict=True)] for line in lines]
    return "\n".join("  ".join([f"{line[0]:{first}}", *row]) for line, row in zip(lines, cells, strict=True))


def _axes(axes: Any, count: int) -> np.ndarray | None:
    """Return stacked axes (count, 1), or begin a new figure and return None: python-control draws into the current one."""
    if axes is not None:
        return np.reshape(axes, (count, 1))
    from matplotlib import pyplot

    pyplot.figure()
    return None


def _labelled(axes: Any, along: str, *upright: str) -> np.ndarray:
    axes = np.ravel(axes)
    axes[-1].set_xlabel(along)
    for panel, words in zip(axes, upright, strict=True):
        panel.set_ylabel(words)
    return np.asarray(axes)


def _margins(gain: float, phase: float, phase_crossing: float, gain_crossing: float) -> str:
    margins = (("gain", 20.0 * np.log10(gain), "dB", phase_crossing), ("phase", phase, "degrees", gain_crossing))
    texts = (f"{value:.4g} {unit} at {at:.4g} rad/s" if np.isfinite(value) else "no crossing" for _, value, unit, at in margins)
    return ", ".join(f"{name} margin: {words}" for (name, *_), words in zip(margins, texts, strict=True))


def _name_or_only(system: Linear, kind: str, name: str | None, labels: tuple[str, ...]) -> str:
    if name is None:
        if len(labels) == 1:
            return labels[0]
        name = ""
    if not isinstance(name, str):
        raise refused(kind, name, "the name of one channel", f'"{labels[0]}"; omega= takes frequencies', system.name)
    _indices(system, kind, name, labels)
    return name


def _frequencies(name: str, omega: Any) -> np.ndarray:
    numbers = floats(omega, (), (np.size(omega) if np.ndim(omega) else 0,))
    if numbers is None:
        raise refused("omega", omega, "angular frequencies, rad/s, in one list", "omega=[0.1, 1.0, 10.0]", name)
    return numbers


def _positive_frequencies(name: str, omega: Any) -> Any:
    if omega is not None and not np.all(_frequencies(name, omega) > 0.0):
        raise refused("omega", omega, "positive angular frequencies, rad/s", "omega=[0.1, 1.0, 10.0]", name)
    return omega


def _indices(system: Linear, kind: str, names: str | tuple[str, ...], labels: tuple[str, ...]) -> list[int]:
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if name not in labels:
            title = f'the linear system has no {kind} "{name}"' if name else f"several {kind}s: name one"
            if not labels:
                raise refusal("E255", f"the linear system has no {kind}s", f"{kind}s= of linearise", about=system.name, places=())
            why = f"{kind}s: {', '.join(labels)}"
            raise refusal("E255", title, "one of these", about=system.name, why=why, places=())
    return [labels.index(name) for name in names]
