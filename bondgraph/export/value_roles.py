"""Roles of values: values used only by the energy balance, by transitions or by solvers, and values that change at ticks."""

from __future__ import annotations

from bondgraph.assembly.system import Clock, System
from bondgraph.model.ops import SLIPPING, TIME_DERIVATIVE


def solver_values(system: System) -> set[str]:
    """Return the names of values that only the equations of unknowns use, and of residuals of algebraic loops."""
    names = {name for u in system.implicit for name in (u.held, u.residual, u.stopped) if name != u.vanishing}
    names |= {unknown.residual for loop in system.loops for unknown in loop.unknowns}
    producer = system.producers
    read_by: dict[str, set[str]] = {}
    for statement in system.statements:
        for arg in statement.args:
            read_by.setdefault(arg, set()).update(statement.outs)
    inner = {
        arg
        for unknown in system.implicit
        if unknown.held
        for name in (unknown.held, unknown.residual)
        for arg in producer[name].args
        if arg in producer and (producer[arg].op in (TIME_DERIVATIVE, SLIPPING) or not producer[arg].args)
    }
    return names | {name for name in inner if read_by[name] <= names}


def transition_values(system: System) -> set[str]:
    """Return the names of values that only guards and resets need; they are written with their transition."""
    named = {event.guard for event in system.events} | {value for event in system.events for _, value in event.resets}
    return {name for name in named if ":" in name}


def balance_values(system: System) -> set[str]:
    """Return the names of energies and powers that only the energy balance uses."""
    ledger = {value for _, value in system.energies} | {p.value for p in system.powers}
    ledger |= {out for s in system.statements for out in s.outs if out.endswith((".power", " along the arrow"))}
    read = {arg for s in system.statements if not ledger.issuperset(s.outs) for arg in s.args}
    return ledger - read - {s.rate for s in system.states}


def tick_updates(system: System) -> dict[str, tuple[str, Clock]]:
    return {state: (value, clock) for clock in system.clocks if clock.period is not None for state, value in clock.updates}
