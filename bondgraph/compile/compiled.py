"""Compilation: Model -> Compiled, with every statement traced once on a tape and turned into kernels.

Parameters, start values and modes stay inputs of the kernels: changing them never compiles again.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from bondgraph.assembly.execute import evaluate_statements
from bondgraph.assembly.system import System
from bondgraph.causality.assign import Causality
from bondgraph.compile.changes import Started, changed_start, checked_changes, dependent_among, mapping_of
from bondgraph.compile.consistency import HeldConstraints, Keep, fitting_start, held_in, values_of
from bondgraph.compile.report import report, report_cell
from bondgraph.compile.starts import SwitchPlaces, contradicting_starts, frictions_of
from bondgraph.emit.cached_build import LatestBuild, OnceProperty
from bondgraph.errors import raise_if_any
from bondgraph.model.copies import Frozen
from bondgraph.model.laws import IdealSwitch
from bondgraph.model.model import Model
from bondgraph.model.ops import TIME_DERIVATIVE
from bondgraph.output.lazy import LateTable
from bondgraph.output.short_repr import brief
from bondgraph.output.tables import Parameters, Quantities, Quantity
from bondgraph.run.events.guard_history import nudges
from bondgraph.run.program import Program
from bondgraph.run.program.bonds import BondVariables
from bondgraph.run_arguments import (
    Initial,
    KeepNamed,
    KeepOptions,
    RunSettings,
    Sinkable,
    StartValues,
    spelled_settings,
    start_of,
)
from bondgraph.tracing.on_tape.values import flat

if TYPE_CHECKING:
    from bondgraph.analysis.linear import Linear
    from bondgraph.emit.kernel import Kernel
    from bondgraph.prepared.runs import PreparedRun
    from bondgraph.run.batch.prepared import PreparedProgram
    from bondgraph.run.ode import OdeFunctions
    from bondgraph.run.results.result import Result


@brief
@dataclass(frozen=True)
class Compiled(Frozen):
    """A model ready to run: equations, machine code (or its NumPy reference) and the names of everything."""

    model: Model
    causality: Causality
    system: System
    program: Program
    prepare: Kernel
    """Parameters (n,) -> what the kernels need besides, computed once per set of parameters."""
    timings: Mapping[str, float] = field(repr=False)
    """Wall time of each stage, s: build, trace, compile."""

    @cached_property
    def parameters(self) -> Parameters:
        """Every parameter with its unit, by name: `compiled.parameters["spring.stiffness"].value`; called with changes by name,
        the vector of the kernels."""
        values = self.system.parameters.items()
        known = LateTable(lambda: {name: Quantity(value, self.system.values[name].unit) for name, value in values})
        return Parameters(known, self._parameters)

    @cached_property
    def states(self) -> Quantities:
        """Every state with its unit, by name: the value is what it starts from."""
        x, _ = self.initial()
        named = ((name, self.program.layout[name]) for name in self.program.layout.names("x"))
        own = {state.name for state in self.system.states} - set(self.system.guesses)
        found = {name: (slot, x[slot.start : slot.stop].reshape(slot.shape)[()]) for name, slot in named if name in own}
        return Quantities("state", {name: Quantity(value, slot.unit) for name, (slot, value) in found.items()})

    def names(self) -> tuple[str, ...]:
        """All quantities that a result can be asked for."""
        return self.program.layout.names()

    def _parameters(self, changes: Mapping[str, Any] | None = None) -> np.ndarray:
        return self._with_parameters(checked_changes(self.model, self.system, self._given("parameters", changes)))

    def _with_parameters(self, changed: Mapping[str, np.ndarray]) -> np.ndarray:
        """The parameters of the kernels with those changed that `checked_changes` gives."""
        found = self._unchanged_parameters.copy()
        if changed:
            for name, value in changed.items():
                found[self.system.parameter_places[name]] = value.ravel()
            count = self.prepare.sizes[0]
            found[count:] = self.prepare(found[:count])
        return found

    @cached_property
    def _unchanged_parameters(self) -> np.ndarray:
        own = flat(self.system.parameters.values())
        return np.concatenate([own, self.prepare(own)])

    def _given(self, what: str, changes: Any) -> Mapping[str, Any]:
        if changes is None or type(changes) is dict:
            return changes or {}
        changes = start_of(changes)
        known = self.system.parameters if what == "parameters" else (state.name for state in self.system.states)
        return mapping_of(self.model.name, what, changes, f'"{next(iter(known), "name")}": 1.0')

    def initial(
        self, changes: Initial | None = None, parameters: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Start state x and modes m; start values that follow from others are computed here, again where those are changed.

        `changes` names states (`spring.q`) or automata (`contact`, by the name of a state), or is the `final` of a run or an
        operating point, whose parameters are taken along; `parameters` are changed as in `simulate`, for start values may follow
        from them. A storage that follows others may be named too, with what follows.

        Raises `ModelError` E321 no dictionaries; E121, E122 unknown names; E124 numbers that do not fit; E213 contradictions.
        """
        x, m, _ = self.starting_point(changes, parameters)
        return x, m

    def starting_point(
        self, initial: Initial | None, parameters: Mapping[str, Any] | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Start state x (n,) and modes m (modes,) as `initial` gives them, and p (parameters,) of the kernels, so changed."""
        changes, given = self._given("initial", initial), self.with_found(initial, parameters)
        changed = checked_changes(self.model, self.system, given)
        p = self._with_parameters(changed)
        x, m, started = self._unchanged_start
        if changes or (changed and self._start_follows):
            x, m, _ = self._started(changes, changed, p, started)
        return x.copy(), m.copy(), p

    @cached_property
    def _start_follows(self) -> bool:
        """Whether start values may follow from parameters."""
        return bool(self.system.starts or frictions_of(self.model))

    def with_found(self, initial: Any, parameters: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Changes of parameters, with those that were found with the start values."""
        given, begin = self._given("parameters", parameters), start_of(initial)
        return {**begin.parameters, **given} if isinstance(begin, StartValues) else given

    @cached_property
    def _unchanged_start(self) -> tuple[np.ndarray, np.ndarray, tuple[Started, ...]]:
        return self._started({}, {}, self._unchanged_parameters, ())

    def _started(
        self, changes: Mapping[str, Any], parameters: Mapping[str, np.ndarray], p: np.ndarray, earlier: tuple[Started, ...]
    ) -> tuple[np.ndarray, np.ndarray, tuple[Started, ...]]:
        dependent, others = dependent_among(self.model, self.system, self.causality, changes)
        near = {f"{self.system.resolve(name)}~": value for name, value in dependent.items()}
        others |= {guess: value for guess, value in near.items() if guess in self.system.guesses}
        x, m, started = changed_start(self.model, self.system, others, parameters, earlier)
        evaluate = functools.partial(self.evaluate, 0.0, x, p, m)
        found = contradicting_starts(self.model, self.causality, self.system, dependent, evaluate)
        raise_if_any(self.model.name, found)
        return x, m, started

    def consistent(
        self,
        initial: Initial | None = None,
        *,
        keep: Keep = (),
        parameters: Mapping[str, Any] | None = None,
        t_start: float = 0.0,
    ) -> dict[str, Any]:
        """Start values whose velocities fit the constraints that hold at the start, for `simulate(initial=...)`.

        Parameters
        ----------
        initial, parameters, t_start : as of the run; places are taken as they are.
        keep : what stays: rates ("hinge.rate"), states ("crank.inertia.p"), or parts ("crank", for all states below it); with
            values, {"hinge.rate": 2.0}, what they are to be. All others change by the least that is needed, measured by kinetic
            energy: as by an impulse of the constraints.

        Returns `initial` with all states that an impulse can move. Raises `ModelError` as `initial`, E122 for what is no value
        and no part, and E432 where no velocities fit.
        """
        x, m, p = self.starting_point(initial, parameters)
        held, kernel, given = self.held_in(m), self.program.closures, dict(self._given("initial", initial))
        if held is None or kernel is None:
            return given
        motion, values = held.motion(self.program, kernel, t_start, p, m), values_of(self.program, t_start, p, m)
        return given | fitting_start(self.model, self.system, motion, x, keep, values)

    def held_in(self, m: np.ndarray) -> HeldConstraints | None:
        """Constraints that hold in the modes m (modes,); None for none."""
        return self._last_held.made(m.tobytes(), functools.partial(held_in, self.model, self.system, self.program, m))

    @OnceProperty
    def _last_held(self) -> LatestBuild[HeldConstraints | None]:
        return LatestBuild()

    @property
    def bonds(self) -> tuple[BondVariables, ...]:
        """Every bond, with its ends and the names, units and dimension of its effort and flow; see `Result.bond_values`."""
        return tuple(self.program.bonds)

    def report(self) -> str:
        """Strokes, storages in derivative causality, algebraic loops, constraints and modes, and why, for reading."""
        return report(self.model, self.causality, self._begun())

    def _repr_html_(self) -> str:
        return report_cell(self.model, self.causality, self._begun())

    def _begun(self) -> System:
        """The system with the states that automata begin in where functions of start values say so."""
        if not self.system.starts:
            return self.system
        begun = zip(self.system.modes.items(), self.initial()[1], strict=True)
        return replace(self.system, modes={name: (states, states[int(m)]) for (name, (states, _)), m in begun})

    @cached_property
    def switches(self) -> SwitchPlaces | None:
        """Where ideal switches, whose modes must hold at the start, have what tells that; None without any."""
        laws, outputs = (element.law for element in self.model.elements.values()), self.program.outputs
        if outputs is None or not any(isinstance(law, IdealSwitch) for law in laws):
            return None
        return SwitchPlaces(self.model, self.system, self.program.layout, outputs.n_out)

    @OnceProperty
    def last_start(self) -> LatestBuild[None]:
        """The start of a run that was found coherent last."""
        return LatestBuild()

    @OnceProperty
    def last_prepared(self) -> LatestBuild[PreparedProgram]:
        """Of runs one after the other with the same settings, what they have in common."""
        return LatestBuild()

    @OnceProperty
    def last_varied(self) -> LatestBuild[Any]:
        """Kernels of the formulas with their derivatives by what was varied last (`estimation.variational`)."""
        return LatestBuild()

    @spelled_settings
    def simulate(
        self,
        t_end: float,
        *,
        parameters: Mapping[str, Any] | None = None,
        initial: Initial | None = None,
        keep: KeepNamed | None = None,
        sink: Sinkable | None = None,
        **settings: Unpack[RunSettings],
    ) -> Result:
        """Run from `t_start` to `t_end` (s).

        Parameters
        ----------
        parameters : changes by name, {"spring.stiffness": 80.0}; nothing is compiled again.
        initial : changes of the start values, {"spring.q": 0.1}, automata by the name of a state; the `final` of another run; or
            an operating point, whose parameters are taken along.
        keep : names of the only quantities that are kept, "rotor.flow" or ["rotor.flow", "body.pose[3]"], for long runs of large
            models; or {"work": measures.integral("motor.power")}; everything by default.
        sink : where they go, while the run goes on, instead of into the result: a path ("run.parquet", or .zarr, .npz, .csv), a
            `bondgraph.sinks.Sink`, or a function of times and values by name.

        Raises `ModelError` as `initial`, E309 for parameters from which no finite quantity follows, E214 for switches whose modes
        do not hold at the start, E455 for start velocities that do not fit the constraints; `RunError` for settings, E322 for
        one that does not exist, E346 and E348 for what is to be kept.
        """
        from bondgraph.prepared.runs import run_once

        return run_once(self, t_end, parameters, initial, KeepOptions(keep, sink), settings)

    @spelled_settings
    def prepare_run(
        self, t_end: float, *, keep: KeepNamed | None = None, sink: Sinkable | None = None, **settings: Unpack[RunSettings]
    ) -> PreparedRun:
        """Bind all that runs from `t_start` to `t_end` (s) share, for many of them: `run = compiled.prepare_run(5.0)`, then
        `run(parameters={"spring.stiffness": 80.0})` is what `simulate` would give, and `run.run_many` does many at once.

        Parameters
        ----------
        keep, sink : as of `simulate`, for runs that are called; `run_many` has a `keep` of its own.

        Raises `RunError` for settings, E322 for one that does not exist.
        """
        from bondgraph.prepared.runs import prepared_run

        return prepared_run(self, t_end, KeepOptions(keep, sink), settings)

    def ode(
        self, *, t: float = 0.0, initial: Initial | None = None, parameters: Mapping[str, Any] | None = None, sparse: bool = False
    ) -> OdeFunctions:
        """The model as plain functions of arrays, for a solver of yours: `ode.rates(t, x)`, `ode.jacobian(t, x)`,
        `ode.events(t, x)`, and `ode.start`.

        Parameters
        ----------
        t : time of the start, s.
        initial, parameters : as of `simulate`.
        sparse : whether the Jacobian is a `scipy.sparse` array; else (n, n).

        >>> from scipy.integrate import solve_ivp
        >>> from bondgraph import C, Graph, J1, R
        >>> graph, v = Graph("decay"), J1("v")
        >>> graph = graph.connect(v, C("c", capacitance=1.0, initial=1.0)).connect(v, R("r", 1.0))
        >>> ode = graph.compile(progress=False).ode()
        >>> round(float(solve_ivp(ode.rates, (0.0, 1.0), ode.start, rtol=1e-9, atol=1e-9).y[0, -1]), 6)
        0.367879

        Raises as `simulate` for parameters and start values; `RunError` E349 for models with sampled blocks.
        """
        from bondgraph.prepared.runs import ode_of

        return ode_of(self, t, initial, parameters, sparse)

    def linearise(
        self,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        *,
        t: float = 0.0,
        initial: np.ndarray | Initial | None = None,
        parameters: Mapping[str, Any] | None = None,
        modes: Mapping[str, str] | None = None,
    ) -> Linear:
        """The linear system near a point: `bondgraph.analysis.linearise` of this model, which says what the arguments mean."""
        from bondgraph.analysis.derivatives import linearise

        return linearise(self, inputs, outputs, t, initial, parameters, modes)

    def near(self, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> list[dict[str, Any]]:
        """Every value by name at points that differ from the given one by rounding."""
        return [
            self.evaluate(t, x * (1.0 + by_x), p * (1.0 + by_p), m)
            for by_x, by_p in zip(nudges(len(x)), nudges(len(p)), strict=True)
        ]

    def evaluate(
        self, t: float = 0.0, x: np.ndarray | None = None, p: np.ndarray | None = None, m: np.ndarray | None = None
    ) -> dict[str, Any]:
        """Every value by name, from the plain formulas in floats: the reference that compiled code is compared with."""
        x0, m0 = self.initial()
        x, m, p = x0 if x is None else x, m0 if m is None else m, self.parameters() if p is None else p
        if self.program.loops:
            from bondgraph.run.bound import Bound

            x, _ = Bound(self.program, p).consistent(t, np.asarray(x, dtype=float), m)
        return evaluate_statements(self.system, t, x, p, m, self._solved_for(t, x, p, m))

    def _solved_for(self, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray) -> dict[str, Any]:
        """What the statements cannot give by themselves: unknowns and time derivatives, from the kernels."""
        unknowns = [*self.system.unknowns, *(u for loop in self.system.loops for u in loop.unknowns)]
        names = [*(u.value for u in unknowns), *(s.outs[0] for s in self.system.statements if s.op is TIME_DERIVATIVE)]
        if not names or self.program.outputs is None:
            return {}
        out = self.program.outputs(t, x, p, m)
        slots = {name: self.program.layout[name] for name in names}
        return {name: out[slot.start : slot.stop].reshape(slot.shape)[()] for name, slot in slots.items()}
