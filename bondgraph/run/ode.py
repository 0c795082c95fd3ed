"""Ordinary differential equation of a model for external solvers: rates, Jacobian, events and start as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondgraph.errors import Problem, RunError, caller_place
from bondgraph.model.ops import Frozen
from bondgraph.output.short_repr import short_repr
from bondgraph.run.bound import Bound
from bondgraph.run.program import Program
from screws.calls import explain_methods
from screws.errors import plural
from screws.numeric_arguments import floats, shown


@explain_methods
@short_repr
@dataclass(frozen=True, eq=False)
class OdeFunctions(Frozen):
    """x' = rates(t, x) of a model in fixed modes, for `scipy.integrate.solve_ivp`, scikit-sundae or diffrax.

    Constraints and dependent storages are solved inside the rates, so there is no mass matrix. Only one thread at a time may call
    the functions of a record; `compiled.ode()` makes another record.

    Parameters
    ----------
    states : names of the components of x, (n,), in their units.
    event_names : names of the guards, (k,): "element: kind".
    t_start : start time, s.
    start : x at that time, (n,), consistent with algebraic loops.
    parameters, modes : values that the functions use, in the order of the kernels.
    sparse : True if `jacobian` returns a `scipy.sparse` array.
    """

    states: tuple[str, ...]
    event_names: tuple[str, ...]
    t_start: float
    start: np.ndarray
    parameters: np.ndarray
    modes: np.ndarray
    sparse: bool
    _bound: Bound = field(repr=False)

    _cure_of_call = ".rates(t, x)"

    def rates(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return dx/dt (n,) at the time t, s, and the state x (n,), in the units of the states per second."""
        return self._bound.rates(t, self._state(x), self.modes)

    def jacobian(self, t: float, x: np.ndarray) -> Any:
        """Return d rates / dx, (n, n), as an array, or as a `scipy.sparse.csc_array` if the record is `sparse`."""
        bound, program = self._bound, self._bound.program
        x = self._state(x)
        if program.jacobian is None or program.jacobian_pattern is None:  # no rate depends on a state
            indptr, indices, values = np.zeros(len(x) + 1, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)
        elif not self.sparse:
            return bound.jacobian(t, x, self.modes)
        else:
            (indptr, indices), values = program.jacobian_pattern, bound.nonzeros(t, x, self.modes)
        if not self.sparse:
            return np.zeros((len(x), len(x)))
        from scipy.sparse import csc_array

        return csc_array((values, indices, indptr), shape=(len(x), len(x)))

    def events(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return the guards (k,): an event is due when its guard rises through zero; the guard is -1 if the event cannot fire in
        these modes."""
        return self._bound.guards(t, self._state(x), self.modes)

    def _state(self, x: Any) -> np.ndarray:
        state = floats(x, (len(self.states),)) if not isinstance(x, np.ndarray) or x.dtype != float else x
        if state is None or state.shape != (len(self.states),):
            cure = f"{plural(len(self.states), 'number')}: {', '.join(self.states[:8])}"
            raise RunError(Problem("E305", f"the state cannot be {shown(x)}", (), (caller_place(),), (cure,)))
        return state

    @property
    def event_functions(self) -> tuple[Callable[[float, np.ndarray], float], ...]:
        """Guards as separate functions, with the attributes that make `solve_ivp` stop when a guard rises through zero."""
        return tuple(_guard(self, k) for k in range(len(self.event_names)))

    def after(self, event: int, t: float, x: np.ndarray) -> OdeFunctions:
        """Return the functions after event number `event` at the time t, s, and the state x (n,), in the new modes and with
        the state after the reset as `start`. Other events due at that instant are not handled. Raises `RunError` E305 for an
        unknown number, E349 if no solution of an algebraic loop is found in the new modes."""
        if event not in range(len(self.event_names)):
            listed = ", ".join(f"{k} ({name})" for k, name in enumerate(self.event_names[:8]))
            cure = f"one of the events: {listed}" if listed else "`rates` alone: the model has no events"
            raise RunError(Problem("E305", f"there is no event {event}", (), (caller_place(),), (cure,)))
        bound, edge = self._bound, self._bound.program.transitions[event]
        x, modes = self._state(x), self.modes.copy()
        modes[edge.slot] = float(edge.target)
        return _functions(bound.program, t, bound.reset(event, t, x, self.modes), self.parameters, modes, self.sparse)


def _guard(ode: OdeFunctions, k: int) -> Callable[[float, np.ndarray], float]:
    def guard(t: float, x: np.ndarray) -> float:
        return float(ode.events(t, x)[k])

    guard.__dict__.update(terminal=True, direction=1.0)
    return guard


def ode_functions(program: Program, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray, sparse: bool) -> OdeFunctions:
    """Return the functions of a program from a start (n,) with parameters p and modes m.

    Raises `RunError` E349 for a model with sampled blocks or delays, and if no solution of an algebraic loop is found.
    """
    if program.delays:
        title = f'"{program.name}" has delays, whose signals depend on more than a time and a state'
        raise RunError(Problem("E349", title, cures=("`simulate`, which keeps their history",)))
    if program.clocks:
        title = f'"{program.name}" has sampled blocks, whose ticks are not functions of time and state'
        cures = ("`simulate`, which runs the clocks", "a continuous controller")
        raise RunError(Problem("E349", title, (f'"{program.clocks[0].name}" has ticks',), cures=cures))
    return _functions(program, t, x, p, m, sparse)


def _functions(program: Program, t: float, x: np.ndarray, p: np.ndarray, m: np.ndarray, sparse: bool) -> OdeFunctions:
    bound = Bound(program, np.array(p, dtype=float))
    start, unsolved = bound.consistent(t, x, m)
    if unsolved is not None:
        title = f"Newton's method finds no solution for the algebraic loop through {', '.join(unsolved.elements)} at t = {t:g} s"
        cure = 'a guess near a solution: compile_model(graph, guess={"load.effort": 72.0})'
        raise RunError(Problem("E349", title, cures=(cure,)))
    states = tuple(program.layout.label("x", k) for k in range(program.states))
    events = tuple(f"{edge.name}: {edge.kind}" for edge in program.transitions)
    return OdeFunctions(states, events, float(t), start, bound.p, np.array(m, dtype=float), sparse, bound)
