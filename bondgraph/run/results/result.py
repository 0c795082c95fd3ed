"""Result of a run: its quantities by name, its events, its energy account, and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.errors import Records, UnknownName, refusal, unknown_name
from bondgraph.model.arguments import names_of
from bondgraph.model.model import Model
from bondgraph.output.extras import require_package
from bondgraph.output.tables import labels_of
from bondgraph.run.accuracy.table import Rounding
from bondgraph.run.events.records import Event, Events
from bondgraph.run.program import Program, Slot
from bondgraph.run.program.bonds import BondValues, BondVariables
from bondgraph.run.program.start_values import start_values
from bondgraph.run.results.curves import curves
from bondgraph.run.results.energy_account import Ledger, account
from bondgraph.run.results.failure import Failure, ValidityConcern
from bondgraph.run.results.outputs import Outputs
from bondgraph.run.results.result_cell import result_cell
from bondgraph.run.results.values_at import Sampled, texts_on_bonds
from bondgraph.run_arguments import StartValues
from screws.errors import plural
from screws.names import answer_old_names

if TYPE_CHECKING:
    import pandas
    import xarray

    from bondgraph.render.diagram import Diagram

MACHINE_CODE = "machine code"


@answer_old_names
@dataclass(frozen=True)
class Statistics:
    """Cost of a run.

    Parameters
    ----------
    solver : "machine code" for a compiled integrator.
    method : name of the method, "dop853", or of all methods in order of use, "dop853, rodas5p".
    steps, rejected : numbers of accepted and of rejected steps.
    rates, jacobians, guards : numbers of evaluations.
    events : number of events.
    events_in_python : number of instants at which Python solved collisions, or an event ended the run.
    ticks : number of clock ticks.
    quadratic_programs : number of quadratic programs solved, in steps with rigid contacts.
    wall_time : duration of the whole run, with its preparation and checks, s.
    integration_time : time inside the integrator, s.
    local_rtol : relative tolerance per step that the integrator used.
    rounding : number of steps whose tolerance lay below the rounding error of the rates, the rtol that they reached, and the
        states with noisy rates.
    """

    solver: str
    method: str
    steps: int
    rejected: int
    rates: int
    jacobians: int
    guards: int
    events: int
    wall_time: float
    integration_time: float
    local_rtol: float
    ticks: int = 0
    quadratic_programs: int = 0
    events_in_python: int = 0
    rounding: Rounding = field(default_factory=Rounding)

    def __add__(self, other: Statistics) -> Statistics:
        names = {each.name for each in fields(self)} - {"solver", "method", "local_rtol"}
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        methods = dict.fromkeys([*self.method.split(", "), *other.method.split(", ")])
        return replace(self, method=", ".join(methods), **sums)

    @property
    def time_per_rate(self) -> float:
        return self.integration_time / max(self.rates, 1)


@answer_old_names
@dataclass(frozen=True, repr=False)
class Result:
    """Finished run.

    Parameters
    ----------
    t, since : sample times (k,), and sample times since the start of the run, s.
    x : states (k, n).
    m : modes (k, modes).
    integrals : integrated powers (k, powers), J.
    events : transitions in order, as a frozen sequence (`Events`).
    failure : reason why the run ended early, or None.
    warnings : reasons why the result cannot be trusted although the run reached its end.
    statistics : cost of the run.
    """

    program: Program
    p: np.ndarray
    t: np.ndarray
    since: np.ndarray
    x: np.ndarray
    m: np.ndarray
    integrals: np.ndarray
    start_energies: np.ndarray
    events: Events
    failure: Failure | None
    statistics: Statistics
    warnings: tuple[ValidityConcern, ...] = ()

    def _cure_of_assignment(self, name: str) -> str:
        return "a copy of the values: result[name].copy()"

    _cure_of_length = "len(result.t), the number of samples, or len(result.names()), the number of quantities"
    _cure_of_arithmetic = 'arithmetic with quantities, such as result["mass.flow"] - other["mass.flow"]'
    _cure_of_call = 'result["mass.flow"] at the times result.t; np.interp(t, result.t, result["mass.flow"]) between them'

    _other_words = dict.fromkeys(("time", "times"), ".t") | dict.fromkeys(("keys", "items"), ".names()")
    _other_words |= dict.fromkeys(("get", "values", "data"), 'result["mass.flow"], with a name of .names()')
    _other_words |= dict.fromkeys(("y", "states"), ".x, the states (samples, states), or result[name]")
    """Attributes of results of other programs -> those of this class."""

    def __repr__(self) -> str:
        end = "in doubt" if self.warnings else "ok"
        end = end if self.failure is None else f"ended early: {self.failure.reason}"
        span = f"{self.t[0]:g} to {self.t[-1]:g} s" if len(self.t) else "no samples"
        return (
            f'Result("{self.program.name}", {span}, {plural(len(self.t), "sample")}, {plural(len(self.events), "event")}, {end})'
        )

    def _repr_html_(self) -> str:
        return result_cell(self)

    @property
    def ok(self) -> bool:
        """True if the run reached its end and can be trusted: there is no failure and no warning."""
        return self.failure is None and not self.warnings

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a named quantity over time, (k, *shape), or a component, "body.pose[3]"; a parameter is constant, (*shape)."""
        if isinstance(name, str) and name in ("t", "time") and name not in self.program.layout:
            raise UnknownName(f'the samples have no quantity "{name}", but times; try: result.t')
        slot = self.program.layout[name]
        if slot.is_parameter:
            return slot.value_in(self.p)
        if slot.is_output:
            return _shaped(self._outputs[slot], slot)
        return _cut(self.x if slot.is_state else self.m, slot)

    @cached_property
    def indeterminate(self) -> dict[str, np.ndarray]:
        """Masks (k,) of the samples at which the equations do not determine an effort or flow, by its name. Only a sum is
        determined there, as for two closed clutches in parallel, and is divided by least norm."""
        indeterminate: dict[str, np.ndarray] = {}
        for modes in self.program.indeterminate:
            for name, here in modes.marks(self.m).items():
                if np.any(here):
                    indeterminate[name] = indeterminate.get(name, np.zeros(len(self.t), dtype=bool)) | here
        return indeterminate

    def rows(self, chosen: np.ndarray) -> Result:
        """Return the result at the samples with these indices (k,)."""
        return replace(
            self,
            t=self.t[chosen],
            since=self.since[chosen],
            x=np.ascontiguousarray(self.x[chosen]),
            m=self.m[chosen],
            integrals=np.ascontiguousarray(self.integrals[chosen]),
        )

    def __contains__(self, name: object) -> bool:
        return name in self.program.layout

    def names(self) -> tuple[str, ...]:
        """Return the names of all quantities except variables inside elements."""
        return self.program.layout.names()

    @property
    def bonds(self) -> tuple[BondVariables, ...]:
        """Every bond, with its ends and the names, units and dimension of its effort and flow."""
        return Records(self.program.bonds)

    def bond_values(self, bond: str) -> BondValues:
        """Return the effort, flow and power over time of a bond, such as "motor -> shaft". An unknown name raises a KeyError
        that lists similar names, or else names of bonds."""
        bonds = {each.name: each for each in self.bonds}
        if bond not in bonds:
            raise unknown_name("bond", bond, bonds)
        return BondValues(self[bonds[bond].effort], self[bonds[bond].flow], bonds[bond].pseudo)

    @cached_property
    def _outputs(self) -> Outputs:
        return Outputs(self.program, self.p, self.t, self.x, self.m)

    def _compute(self, names: Sequence[str]) -> None:
        self._outputs.compute(slot for slot in map(self.program.layout.__getitem__, names) if slot.is_output)

    def at_events(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a quantity just before and just after every event, (events, *shape) each."""
        slot = self.program.layout[name]
        if slot.is_parameter:
            same = np.broadcast_to(self[name], (len(self.events), *slot.shape))
            return same, same
        before, after = (
            _shaped(outputs[slot], slot) if slot.is_output else _cut(x if slot.is_state else m, slot)
            for x, m, outputs in self._sides
        )
        return before, after

    @cached_property
    def _sides(self) -> tuple[tuple[np.ndarray, np.ndarray, Outputs], ...]:
        t, sides = self.events.times, zip(self.events.x, self.events.m, strict=True)
        return tuple((x, m, Outputs(self.program, self.p, t, x, m)) for x, m in sides)

    def __getstate__(self) -> dict[str, Any]:
        evaluated = {"_outputs": self._outputs, "_sides": self._sides, "ledger": self.ledger}
        return {**self.__dict__, **evaluated, "program": self.program.described()}

    def at_event(self, event: Event | int, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a quantity just before and just after an event, given as an `Event` or by its index, (*shape) each."""
        event = self.events[event] if isinstance(event, int) else event
        if (number := self.events.index_of(event)) is None:
            return replace(self, events=Events.alone(self.program, self.p, event)).at_event(0, name)
        before, after = self.at_events(name)
        return before[number], after[number]

    def peak(self, name: str) -> tuple[float, float]:
        """Return the time and value of the maximum of a scalar quantity, among its samples and its values just before and just
        after events. A parabola through the largest sample and its neighbours refines the maximum if the samples beyond the
        neighbours also lie on it and no event happens between these samples, so the peak of a signal that is clipped or jumps is
        a value that the signal takes. Raises a ValueError for a parameter or an array."""
        return extreme(self, name)

    @cached_property
    def ledger(self) -> Ledger:
        """Energy account."""
        return self.account()

    def account(self) -> Ledger:
        """Compute the energy account."""
        kernel = self.program.energies
        energies = np.zeros((len(self.t), 0)) if kernel is None else kernel.many(self.t, self.x, self.p, self.m)
        return account(self.program, self.t, self.since, energies, self.integrals, self.events, self.start_energies)

    @property
    def final(self) -> StartValues:
        """States and modes at the end by name, as a start for another run: `simulate(5.0, initial=result.final)`.

        Like any run, the new run starts at time 0 s; to continue formulas that depend on time, pass `t_start=result.t[-1]`.
        """
        return start_values(self.program, self.x[-1], self.m[-1])

    def plot(self, *names: str | Sequence[str], axes: Any = None) -> np.ndarray:
        """Plot quantities over time with Matplotlib: one panel for each name or list of names, from top to bottom. Return the
        axes (panels,).

        Without names, plot all states. The axes show units; a tick at the upper edge marks an event; shading marks times at which
        an automaton is not in its mode at the first sample. No window is opened; `axes[0].figure.savefig("run.png")` writes a
        file.

        Parameters
        ----------
        names : quantities, "mass.p", or components, "body.pose[3]".
        axes : axes of your own figure, one per panel.

        Raises E416 (also an ImportError) if Matplotlib is not installed; `ModelError` E560 for too few axes or, without names,
        for a model without states or with more than 12; KeyError for an unknown name.
        """
        return curves(self, names, axes)

    def diagram(self, at: float, **options: Any) -> Diagram:
        """Draw the bond graph with the values of efforts and flows on its bonds at a time (s); options as for `graph.diagram`.

        For vectors, the magnitude for each unit is shown. Raises `ModelError` E582 for a time outside the run, E100 without a
        model.
        """
        from bondgraph.render.diagram import diagram

        return diagram(self._drawn_model(), labels=texts_on_bonds(self, at), **options)

    def _drawn_model(self) -> Model:
        if self.program.model is None:
            title = f'this result of "{self.program.name}" has no graph to draw: pickling keeps only values and names'
            cures = ("diagram(at) of the result before pickling", "graph.diagram() of the graph, which shows no values")
            raise refusal("E100", title, *cures, about=self.program.name)
        return self.program.model

    def to_xarray(self, names: Sequence[str] | None = None) -> xarray.Dataset:
        """Return an `xarray.Dataset` of quantities over "t" and of parameters, with their units in `attrs["units"]`. Raises E416
        (also an ImportError) if xarray is not installed."""
        require_package("a data set", "xarray")
        import xarray

        layout = self.program.layout
        names = self.names() if names is None else names_of(names)
        self._compute(names)
        variables: dict[str, Any] = {}
        for name in names:
            slot = layout[name]
            over = () if slot.is_parameter else ("t",)
            axes = (*over, *(f"{name} {k}" for k in range(len(slot.shape))))
            variables[name] = (axes, self[name].copy(), {"units": layout.unit(name)})
        return xarray.Dataset(variables, {"t": ("t", self.t, {"units": "s"})}, {"model": self.program.name})

    def to_dataframe(self, names: Sequence[str] | None = None) -> pandas.DataFrame:
        """Return quantities over time, without parameters, as columns of a DataFrame, with their units in `attrs["units"]`;
        components of an array are "name[0]" or "name[0, 1]". Raises E416 (also an ImportError) if pandas is not installed."""
        require_package("a data frame", "pandas")
        import pandas

        layout, columns = self.program.layout, dict[str, np.ndarray]()
        names = self.names() if names is None else names_of(names)
        self._compute(names)
        for name in names:
            slot = layout[name]
            if slot.is_parameter:
                continue
            columns |= zip(labels_of(name, slot.shape), self[name].reshape(len(self.t), -1).T, strict=True)
        frame = pandas.DataFrame(columns, index=pandas.Index(self.t, name="t"))
        frame.attrs["units"] = {"t": "s", **{label: layout.unit(label) for label in columns}}
        return frame


MAX_PARABOLA_ERROR = 0.25
"""Distance from the parabola, relative to its second difference, above which the parabola is not used; a sine needs at least 13
samples per period."""


def extreme(result: Sampled, name: str, sign: float = 1.0) -> tuple[float, float]:
    """Return the time and value of the maximum of a scalar, or of its minimum if the sign is -1; see `Result.peak`."""
    values = sign * np.asarray(result[name], dtype=float)
    if values.shape != result.t.shape:
        raise ValueError(f'"{name}" is not a scalar over time: its values have the shape {values.shape}')
    times = result.events.times
    time, value = _refined_peak(result.t, values, times)
    for side in result.at_events(name) if len(times) else ():
        top = int(np.argmax(sign * side))
        if (sign * side[top], -times[top]) > (value, -time):
            time, value = float(times[top]), float(sign * side[top])
    return time, sign * value


def _refined_peak(t: np.ndarray, values: np.ndarray, events: np.ndarray) -> tuple[float, float]:
    """Return the time and value of the largest sample, or of the vertex of the parabola through this sample and its neighbours.
    Machine code does the same operations in the same order (`batch.native_measures`)."""
    top = int(np.argmax(values))
    sample = float(t[top]), float(values[top])
    first, last = max(top - 2, 0), min(top + 2, len(t) - 1)
    if not 0 < top < len(t) - 1 or last - first < 3 or np.any((t[first] < events) & (events <= t[last])):
        return sample
    at, v = t[first : last + 1] - t[top], values[first : last + 1] - values[top]
    k = top - first
    left, right = float(v[k - 1] / at[k - 1]), float(v[k + 1] / at[k + 1])
    bend = (right - left) / float(at[k + 1] - at[k - 1])
    slope = left - bend * float(at[k - 1])
    width = float(max(-at[k - 1], at[k + 1]))
    limit = -MAX_PARABOLA_ERROR * 2.0 * bend * (width * width)
    if not bend < 0.0 or not np.all(np.abs(bend * (at * at) + slope * at - v) <= limit):
        return sample
    shift = -slope / (2.0 * bend)
    return sample[0] + shift, sample[1] + slope * shift + bend * (shift * shift)


def _cut(block: np.ndarray, slot: Slot) -> np.ndarray:
    return _shaped(block[:, slot.start : slot.stop], slot)


def _shaped(numbers: np.ndarray, slot: Slot) -> np.ndarray:
    return numbers.reshape(len(numbers), *slot.shape)
