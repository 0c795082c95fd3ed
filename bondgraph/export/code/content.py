"""Content of generated code in any language: routines step by step, tables of names, the start, events and ticks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from bondgraph.assembly.system import Loop, LoweredTransition, System
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.points import Point, consistent, point_of
from bondgraph.errors import refusal
from bondgraph.export.code.identifiers import MAX_LENGTH, Entry, entries, is_taken, model_identifier
from bondgraph.tape.routine import Listing, listing
from bondgraph.tracing.routines import output_names, trace

BLOCKS = ("t", "x", "p", "m")
"""Arguments of every routine, in the order of the blocks of its steps; `prepare` has p alone."""


@dataclass(frozen=True)
class ClockTick:
    """Clock that changes states: its element, its times as indices in p (no period: one tick only), and x after a tick."""

    element: str
    offset: int
    period: int | None
    routine: Listing


@dataclass(frozen=True)
class Content:
    """Content of generated code of a model.

    Parameters
    ----------
    name : an identifier.
    system : with all shapes known.
    routines : `prepare`, `rates`, `jacobian`, `outputs`, `guards`, `powers`, `energies`.
    x, p, m, y, guards, powers, energies : entries of each array; p as the user gives it.
    pattern : (columns (n + 1,), rows (nonzeros,)) of the Jacobian in compressed columns.
    resets, pushes : of transitions that have one, by number.
    loops : nonlinear algebraic loops with residuals and Newton steps.
    ticks : in the order in which simultaneous ticks are executed.
    start : a consistent start.
    """

    name: str
    system: System
    routines: Mapping[str, Listing]
    x: tuple[Entry, ...]
    p: tuple[Entry, ...]
    m: tuple[Entry, ...]
    y: tuple[Entry, ...]
    guards: tuple[Entry, ...]
    powers: tuple[Entry, ...]
    energies: tuple[Entry, ...]
    pattern: tuple[np.ndarray, np.ndarray]
    resets: Mapping[int, Listing]
    pushes: Mapping[int, Listing]
    loops: tuple[tuple[Loop, Listing], ...]
    ticks: tuple[ClockTick, ...]
    start: Point

    @property
    def tables(self) -> dict[str, tuple[Entry, ...]]:
        """Return name of an array -> its entries."""
        return {
            "states": self.x,
            "parameters": self.p,
            "modes": self.m,
            "outputs": self.y,
            "guards": self.guards,
            "powers": self.powers,
            "energies": self.energies,
        }

    @property
    def added_count(self) -> int:
        """Return how many numbers `prepare` appends to the user's parameters."""
        return len(self.routines["prepare"].outputs)


def content_of(model: Compilable, name: str | None, caller: str) -> Content:
    """Return the content of a model's code; `caller` is the exporting function, `name` the user's name or None.

    Raises `ModelError` E100 for no model, E270 if `name` is no identifier or a word of a language, E262 if an algebraic loop has
    no solution at the start.
    """
    compiled = compiled_form(model, caller)
    name = _checked(compiled, name)
    routines, system, pattern = trace(compiled.system)
    steps = {word: listing(routine.reference) for word, routine in routines.items()}
    loops = [loop for loop in system.loops if loop.guesses]
    modes = [(n.removesuffix(".mode"), (), "", f": {_options(states)}") for n, (states, _) in system.modes.items()]
    x = entries(_valued(system, [state.name for state in system.states]), BLOCKS)
    p = entries(_valued(system, list(system.parameters)), [*BLOCKS, *_named(x)])
    m = entries(modes, [*BLOCKS, *_named(x), *_named(p)])
    start_of = {entry.name: entry.start for entry in p}
    return Content(
        name=name,
        system=system,
        routines=MappingProxyType(
            {word: steps[word] for word in ("prepare", "rates", "jacobian", "outputs", "guards", "powers", "energies")}
        ),
        x=x,
        p=p,
        m=m,
        y=entries(_valued(system, output_names(system))),
        guards=entries([(transition_text(system, event), (), "", "") for event in system.events]),
        powers=entries([(power.element, (), "W", f", {power.role}") for power in system.powers]),
        energies=entries([(path, (), "J", "") for path, _ in system.energies]),
        pattern=pattern,
        resets=_of_events(system, steps, "reset"),
        pushes=_of_events(system, steps, "push"),
        loops=tuple((loop, steps[f"newton_{k}"]) for k, loop in enumerate(loops)),
        ticks=tuple(
            ClockTick(
                clock.element,
                start_of[clock.offset],
                None if clock.period is None else start_of[clock.period],
                steps[f"tick_{k}"],
            )
            for k, clock in enumerate(system.clocks)
            if clock.updates
        ),
        start=consistent(compiled, point_of(compiled)),
    )


def transition_text(system: System, event: LoweredTransition) -> str:
    """Return a transition in words: the automaton and its states before and after."""
    states = list(system.modes.values())[event.slot][0]
    return f"{event.automaton}: {states[event.source]} to {states[event.target]}"


def _checked(compiled: Compiled, name: str | None) -> str:
    if name is None:
        return model_identifier(compiled.model.name)
    if not re.fullmatch(rf"[A-Za-z][A-Za-z0-9_]{{0,{MAX_LENGTH - 1}}}", name) or is_taken(name):
        title = f'"{name}" is no name for code in all languages'
        cures = ("a letter, then letters, digits and underscores", "no word of C, Python or MATLAB, no module of Python")
        raise refusal("E270", title, *cures, about=compiled.model.name, places=())
    return name


def _valued(system: System, names: Sequence[str]) -> list[tuple[str, tuple[int, ...], str, str]]:
    """Return name, shape and unit of values, and a remark with at most two aliases of each."""
    aliases: dict[str, list[str]] = {}
    for alias, target in system.aliases.items():
        if ":" not in alias and not alias.startswith("-"):
            aliases.setdefault(target, []).append(alias)
    values = [(name, system.values[name]) for name in names]
    remarks = [f"; also {', '.join(sorted(aliases[name])[:2])}" if name in aliases else "" for name in names]
    return [(name, value.shape or (), value.unit, remark) for (name, value), remark in zip(values, remarks, strict=True)]


def _options(states: Sequence[str]) -> str:
    return ", ".join(f"{k} {state}" for k, state in enumerate(states))


def _named(entries: Iterable[Entry]) -> list[str]:
    return [entry.identifier for entry in entries if entry.identifier]


def _of_events(system: System, steps: Mapping[str, Listing], word: str) -> Mapping[int, Listing]:
    routines = {k: steps.get(f"{word}_{k}") for k in range(len(system.events))}
    return MappingProxyType({k: routine for k, routine in routines.items() if routine is not None})
