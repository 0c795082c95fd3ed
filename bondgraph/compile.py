"""Compilation: Model -> Compiled, with every statement traced once on a tape and turned into kernels.

Parameters, start values and modes stay inputs of the kernels: changing them never compiles again.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondgraph.causality import Causality, assign_causality
from bondgraph.checks import check_energies
from bondgraph.collection import paused_collection
from bondgraph.equations.execute import computed, evaluate_statements
from bondgraph.equations.starts import contradicting_starts
from bondgraph.equations.system import System
from bondgraph.errors import ModelError, Problem, raise_if_any
from bondgraph.graph.builder import Graph
from bondgraph.graph.laws import Parameter
from bondgraph.graph.model import Model
from bondgraph.ops import TIME_DERIVATIVE
from bondgraph.passes.pipeline import equations
from bondgraph.report import report
from bondgraph.run.program import Clock, Layout, NewtonLoop, Program, Slot, Transition
from bondgraph.schedule.build import Scheduled, is_large, kernels_in_loops, scheduled
from bondgraph.tape.routine import Choice, Routine
from bondgraph.tracing.implicit import Unsolvable, Untraceable
from bondgraph.tracing.routines import Pattern, output_names, trace_for_runs
from bondgraph.tracing.unsolvable import unsolvable, untraceable

if TYPE_CHECKING:
    from bondgraph.emit.kernel import Kernel
    from bondgraph.run.result import Result


@dataclass(frozen=True)
class Compiled:
    """A model ready to run: equations, machine code (or its NumPy reference) and the names of everything."""

    model: Model
    causality: Causality
    system: System
    program: Program
    prepare: Kernel
    """Parameters (n,) -> what the kernels need besides, computed once per set of parameters."""
    timings: Mapping[str, float]
    """Wall time of each stage, s: build, trace, compile."""

    def parameters(self, changes: Mapping[str, Any] | None = None) -> np.ndarray:
        """Parameter vector of the kernels, with the named parameters changed."""
        flat = _flat(self._numbers(changes or {}).values())
        return np.concatenate([flat, self.prepare(flat)])

    def _numbers(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Every parameter by name, with some changed."""
        values = dict(self.system.parameters)
        for name, value in changes.items():
            known = self.system.resolve(name)
            if known not in values:
                raise ModelError(self.model.name, [_no("E121", f'"{name}" is no parameter', values)])
            values[known] = _fitting(self.model.name, name, value, values[known])
            path, _, local = known.rpartition(".")
            element = self.model.elements[path]
            changed = replace(element, parameters={**element.parameters, local: Parameter(values[known])})
            raise_if_any(self.model.name, list(check_energies(replace(self.model, elements={path: changed}))))
        return values

    def initial(
        self, changes: Mapping[str, Any] | None = None, parameters: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Start state x and modes m; start values that follow from others are computed here.

        `changes` names states (`spring.q`) or automata (`contact`, by the name of a state); `parameters` are changed as in
        `simulate`, for start values may follow from them.
        """
        if changes or parameters:
            return self._initial(changes or {}, parameters or {})
        x, m = self._unchanged_start
        return x.copy(), m.copy()

    @cached_property
    def _unchanged_start(self) -> tuple[np.ndarray, np.ndarray]:
        return self._initial({}, {})

    def _initial(self, changes: Mapping[str, Any], parameters: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        states = {state.name: np.asarray(state.initial, dtype=float) for state in self.system.states}
        modes = {name.removesuffix(".mode"): start for name, (_, start) in self.system.modes.items()}
        given: set[str] = set()
        for name, value in changes.items():
            known = self.system.resolve(name)
            given.add(known)
            if known in states:
                states[known] = _fitting(self.model.name, name, value, states[known])
            elif name in modes:
                modes[name] = value
            else:
                raise ModelError(
                    self.model.name, [_no("E122", f'"{name}" is no state and no automaton', {**states, **modes})]
                )
        numbers = self._numbers(parameters)
        for start in self.system.starts:
            values = [computed(self.system, self.system.resolve(a), {**numbers, **states}) for a in start.arguments]
            for name, value in zip(start.results, start.function(*values), strict=True):
                known = self.system.resolve(name)
                if known in given or name in given:
                    continue
                if known in states:
                    states[known] = _fitting(self.model.name, name, value, states[known])
                else:
                    modes[name] = value
        places = [
            float(names.index(modes[name.removesuffix(".mode")])) for name, (names, _) in self.system.modes.items()
        ]
        return _flat(states.values()), np.array(places)

    def report(self) -> str:
        """Strokes, storages in derivative causality, algebraic loops, constraints and modes, and why, for reading."""
        return report(self.model, self.causality, self.system)

    def simulate(
        self,
        t_end: float,
        *,
        parameters: Mapping[str, Any] | None = None,
        initial: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Result:
        """Run from 0 to t_end (s). `settings` are those of `bondgraph.run.simulate` (rtol, method, samples ...)."""
        from bondgraph.run.simulate import simulate

        x0, m0 = self.initial(initial, parameters)
        return simulate(self.program, x0, self.parameters(parameters), m0, t_end, **settings)

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
        names = [u.value for u in unknowns]
        names += [s.outs[0] for s in self.system.statements if s.op is TIME_DERIVATIVE]
        if not names or self.program.outputs is None:
            return {}
        out = self.program.outputs(t, x, p, m)
        slots = {name: self.program.layout[name] for name in names}
        return {name: out[slot.start : slot.stop].reshape(slot.shape)[()] for name, slot in slots.items()}


@paused_collection()
def compile_model(model: Model | Graph, *, backend: str = "auto") -> Compiled:
    """Compile a graph or model.

    Parameters
    ----------
    model : a `Graph` is frozen (and so checked) first.
    backend : "llvm" (machine code), "numpy" (the reference) or "auto" (LLVM where llvmlite is installed).

    Raises
    ------
    ModelError
        With all problems of the stage that found them.
    """
    begin = time.perf_counter()
    model = model.freeze() if isinstance(model, Graph) else model
    causality = assign_causality(model)
    system = equations(model, causality)
    built = time.perf_counter()
    try:
        routines, system, differentiate = scheduled(system) if is_large(system) else trace_for_runs(system)
    except Unsolvable as stuck:
        raise ModelError(model.name, [unsolvable(stuck, system, model)]) from None
    except Untraceable as stuck:
        raise ModelError(model.name, [untraceable(stuck, model)]) from stuck
    traced = time.perf_counter()
    kernels = _kernels(routines, backend)
    program = _program(system, kernels, functools.partial(_jacobian, differentiate, kernels, backend))
    done = time.perf_counter()
    timings = {"build": built - begin, "trace": traced - built, "compile": done - traced}
    compiled = Compiled(model, causality, system, program, kernels["prepare"], timings)
    raise_if_any(model.name, _start_problems(compiled))
    raise_if_any(model.name, contradicting_starts(model, causality, system, compiled.evaluate))
    return compiled


def simulate(model: Model | Graph | Compiled, t_end: float, **settings: Any) -> Result:
    """Compile where needed, and run from 0 to `t_end` (s); see `Compiled.simulate` for the settings."""
    compiled = model if isinstance(model, Compiled) else compile_model(model)
    return compiled.simulate(t_end, **settings)


# --- kernels and program ---------------------------------------------------------------------------------------------


def _kernels(routines: Mapping[str, Routine | Choice] | Scheduled, backend: str) -> dict[str, Kernel]:
    from bondgraph.emit.machine import have_llvm

    if backend not in ("auto", "llvm", "numpy"):
        raise ModelError(
            "compile", [_no("E123", f'backend "{backend}" is unknown', {"auto": 0, "llvm": 0, "numpy": 0})]
        )
    if isinstance(routines, Scheduled):
        return kernels_in_loops(routines, backend == "llvm" or (backend == "auto" and have_llvm()))
    wanted = {name: r for name, r in routines.items() if r.outputs or name in ("rates", "prepare")}
    if backend == "llvm" or (backend == "auto" and have_llvm()):
        from bondgraph.emit.kernel import DeferredKernel
        from bondgraph.emit.llvm import compile_routines

        now = [routine for name, routine in wanted.items() if name not in DEFERRED]
        library = compile_routines(now)
        kernels: dict[str, Kernel] = {routine.name: library.kernel(routine.name) for routine in now}
        for name in DEFERRED & set(wanted):
            make = functools.partial(_compiled_alone, wanted[name])
            kernels[name] = DeferredKernel(name, wanted[name].sizes, len(wanted[name].outputs), make)
        return kernels
    from bondgraph.emit.numpy import numpy_kernel

    return {name: numpy_kernel(routine) for name, routine in wanted.items()}


DEFERRED = frozenset({"outputs"})
"""Large routines that not every run needs: compiled at their first use."""


def _compiled_alone(routine: Routine | Choice) -> Kernel:
    from bondgraph.emit.llvm import compile_routines

    return compile_routines([routine]).kernel(routine.name)


@paused_collection()
def _jacobian(
    differentiate: Callable[[], tuple[Routine | None, Pattern]], kernels: Mapping[str, Kernel], backend: str
) -> tuple[Kernel | None, Pattern]:
    """The kernel of the Jacobian and its pattern; that of a large model is among the kernels."""
    routine, pattern = differentiate()
    if routine is None:
        return kernels.get("jacobian"), pattern
    return (_kernels({"jacobian": routine}, backend)["jacobian"] if routine.outputs else None), pattern


def _program(system: System, kernels: Mapping[str, Kernel], differentiate: Callable[[], Any]) -> Program:
    transitions = tuple(
        Transition(
            e.automaton,
            e.slot,
            float(e.source),
            float(e.target),
            e.kind,
            e.internal,
            Problem("E320", e.error, (f'automaton "{e.automaton}"',)) if e.error else None,
            None if e.accumulates is None else float(e.accumulates),
        )
        for e in system.events
    )
    return Program(
        name=system.name,
        rates=kernels["rates"],
        nominal=_flat(s.nominal for s in system.states),
        layout=_layout(system),
        guards=kernels.get("guards"),
        powers=kernels.get("powers"),
        energies=kernels.get("energies"),
        outputs=kernels.get("outputs"),
        resets=tuple(kernels.get(f"reset_{index}") for index in range(len(system.events))),
        pushes=tuple(kernels.get(f"push_{index}") for index in range(len(system.events))),
        transitions=transitions,
        differentiate=differentiate,
        power_names=tuple(power.element for power in system.powers),
        power_roles=tuple(power.role for power in system.powers),
        energy_names=tuple(path for path, _ in system.energies),
        rates_and_powers=kernels.get("rates_and_powers"),
        loops=_newton_loops(system, kernels),
        clocks=_clocks(system, kernels),
    )


def _clocks(system: System, kernels: Mapping[str, Kernel]) -> tuple[Clock, ...]:
    """Clocks with their times as places in p; a break at several times is one for each."""
    layout, clocks = _layout(system), []
    for index, clock in enumerate(system.clocks):
        period = math.inf if clock.period is None else layout[clock.period].start
        offset = layout[clock.offset]
        clocks += [Clock(clock.element, period, at, kernels.get(f"tick_{index}")) for at in range(offset.start, offset.stop)]
    return tuple(clocks)


def _newton_loops(system: System, kernels: Mapping[str, Kernel]) -> tuple[NewtonLoop, ...]:
    starts, at = {}, 0
    for state in system.states:
        starts[state.name] = (at, at + int(np.size(state.initial)))
        at = starts[state.name][1]
    nonlinear = [loop for loop in system.loops if loop.guesses]
    return tuple(
        NewtonLoop(
            tuple(dict.fromkeys(s.element for s in system.statements[loop.start : loop.stop])),
            tuple(k for name in loop.guesses for k in range(*starts[name])),
            kernels[f"newton_{index}"],
        )
        for index, loop in enumerate(nonlinear)
    )


def _layout(system: System) -> Layout:
    slots: dict[str, Slot] = {}
    groups = (
        ("x", [s.name for s in system.states]),
        ("p", list(system.parameters)),
        ("m", list(system.modes)),
        ("out", output_names(system)),
    )
    for block, names in groups:
        start = 0
        for name in names:
            value = system.values[name]
            shape = value.shape or ()
            slots[name] = Slot(block, start, shape, value.unit)
            start += math.prod(shape)
    slots |= {alias: slots[name] for alias, name in system.aliases.items() if name in slots}
    return Layout(slots)


# --- small helpers ---------------------------------------------------------------------------------------------------


def _flat(values: Any) -> np.ndarray:
    pieces = [np.asarray(value, dtype=float).ravel() for value in values]
    return np.concatenate(pieces) if pieces else np.zeros(0)


def _fitting(model: str, name: str, value: Any, known: Any) -> np.ndarray:
    array = np.asarray(value, dtype=float)
    if array.shape != np.shape(known) or not np.all(np.isfinite(array)):
        problem = Problem(
            "E124",
            f'"{name}" cannot be {value!r}',
            (f"it needs finite numbers of shape {np.shape(known)}, given is shape {array.shape}",),
        )
        raise ModelError(model, [problem])
    return array


def _no(code: str, title: str, known: Mapping[str, Any]) -> Problem:
    return Problem(code, title, (f"known: {', '.join(known)}",))


def _start_problems(compiled: Compiled) -> list[Problem]:
    """Statements that give no finite number at the start, first ones first."""
    x, m = compiled.initial()
    program, p = compiled.program, compiled.parameters()
    kernels = [k for k in (program.rates, program.powers, program.energies) if k is not None]
    if all(np.all(np.isfinite(kernel(0.0, x, p, m))) for kernel in kernels):
        return []
    env = compiled.evaluate()
    for statement in compiled.system.statements:
        bad = [out for out in statement.outs if not np.all(np.isfinite(np.asarray(env[out], dtype=float)))]
        if bad:
            element = compiled.model.elements.get(statement.element)
            arguments = ", ".join(
                f"{arg} = {np.array2string(np.asarray(env[arg]), precision=6)}" for arg in statement.args
            )
            return [
                Problem(
                    "E125",
                    f'"{bad[0]}" is not finite at the start',
                    (f"{statement.op.name} of {arguments}",),
                    (element.place if element else None,),
                    ("other start values or parameters",),
                )
            ]
    return []
