"""Tracing: sorted System -> routines on one tape, parameter work hoisted, with the sparsity of the Jacobian."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.equations.execute import environment, run_statements
from bondgraph.equations.system import System
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.hoist import hoist
from bondgraph.tape.routine import Choice, Routine
from bondgraph.tape.scalar import Tape
from bondgraph.tape.sparsity import compressed_columns
from bondgraph.tape.specialise import specialise
from screws.scalars import equal, where


@dataclass(frozen=True)
class Traced:
    """A system on a tape: the input blocks t, x, p, m by name, and every value by name."""

    system: System
    """The system with all shapes known."""
    tape: Tape
    inputs: dict[str, np.ndarray]
    values: dict[str, Any]


def values_on_tape(system: System) -> Traced:
    """Run all statements on tape scalars."""
    tape = Tape()
    sizes = {
        "t": 1,
        "x": sum(int(np.size(s.initial)) for s in system.states),
        "p": sum(int(np.size(v)) for v in system.parameters.values()),
        "m": len(system.modes),
    }
    inputs = {name: tape.inputs(name, size) for name, size in sizes.items()}
    env = run_statements(system, environment(system, inputs["t"][0], inputs["x"], inputs["p"], inputs["m"]))
    values = {name: replace(value, shape=np.shape(env[name])) for name, value in system.values.items()}
    return Traced(replace(system, values=values), tape, inputs, env)


def scalars_of(value: Any) -> list[Any]:
    """The scalars of a value, in row-major order."""
    return list(np.asarray(value).flat) if np.ndim(value) else [value]


def trace(system: System) -> tuple[dict[str, Routine | Choice], System, tuple[np.ndarray, np.ndarray]]:
    """Routines of a system.

    Returns the routines by name (blocks t, x, p, m; `prepare` has p alone), the system with all shapes known, and the
    sparsity of the Jacobian (indptr, indices).
    """
    traced = values_on_tape(system)
    system, tape, env = traced.system, traced.tape, traced.values
    x, p, m = (traced.inputs[name] for name in ("x", "p", "m"))

    rates = [scalar for s in system.states for scalar in scalars_of(env[s.rate])]
    derivatives = jacobian(rates, list(x))
    pattern = compressed_columns(derivatives)
    outputs: dict[str, list[Any]] = {
        "rates": rates,
        "jacobian": list(derivatives.values),
        "guards": [where(equal(m[e.slot], float(e.source)), env[e.guard], -1.0) for e in system.events],
        "powers": [env[power.value] for power in system.powers],
        "energies": [env[value] for _, value in system.energies],
        "outputs": [scalar for name in output_names(system) for scalar in scalars_of(env[name])],
    }
    outputs["rates_and_powers"] = outputs["rates"] + outputs["powers"]
    for index, event in enumerate(system.events):
        if event.resets:
            after = dict(event.resets)
            outputs[f"reset_{index}"] = [
                scalar for s in system.states for scalar in scalars_of(env[after.get(s.name, s.name)])
            ]
    everything = [scalar for group in outputs.values() for scalar in group]
    hoisted = hoist(tape, everything)
    blocks = tuple((name, hoisted.tape.blocks[name]) for name in ("t", "x", "p", "m"))
    routines: dict[str, Routine | Choice] = {"prepare": Routine("prepare", tape, (("p", len(p)),), hoisted.prepared)}
    start = 0
    for name, group in outputs.items():
        routines[name] = Routine(name, hoisted.tape, blocks, hoisted.outputs[start : start + len(group)])
        start += len(group)
    for name in ("rates", "rates_and_powers"):
        routines[name] = _by_chart(system, routines[name])
    return routines, system, pattern


CASES = 8
"""At most so many combinations of internal modes get code of their own."""


def _by_chart(system: System, routine: Routine | Choice) -> Routine | Choice:
    """Code of its own for every combination of internal modes (charts), which then costs nothing at run time.

    Two closed surfaces in contact have four combinations; measured, the two-egg model gains a sixth.
    """
    internal = {e.slot for e in system.events if e.internal}
    slots = tuple(sorted(internal - {e.slot for e in system.events if not e.internal}))
    counts = tuple(len(states) for slot, (states, _) in enumerate(system.modes.values()) if slot in slots)
    if not slots or int(np.prod(counts)) > CASES or not isinstance(routine, Routine):
        return routine
    cases = []
    for values in itertools.product(*(range(count) for count in counts)):
        fixed = {("m", slot): float(value) for slot, value in zip(slots, values, strict=True)}
        outputs = specialise(routine.tape, routine.outputs, fixed)
        name = "_".join([routine.name, *map(str, values)])
        cases.append(Routine(name, routine.tape, routine.blocks, outputs))
    return Choice(routine.name, "m", slots, counts, tuple(cases), routine)


def output_names(system: System) -> list[str]:
    """Values that are worth a place in the results: all but states, parameters and modes."""
    given = {s.name for s in system.states} | set(system.parameters) | set(system.modes) | {"time"}
    return [name for name in system.values if name not in given and not name.startswith("-")]
