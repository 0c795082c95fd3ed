"""Inputs replaced by ramps, to find what depends on the time derivatives of the inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph.assembly.system import Statement, System
from bondgraph.errors import ModelError, refusal
from bondgraph.model.ops import TIME_DERIVATIVE, Op
from bondgraph.tape.differentiate import jacobian
from bondgraph.tape.interpret import blocks_of_tape, evaluate_nodes, term_sizes
from bondgraph.tape.routine import Routine
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.context import samples_of
from bondgraph.tracing.on_tape.values import scalars_of
from bondgraph.tracing.routines import output_names, outputs_of, values_on_tape

START = "start of ramps"
"""Name of the parameter that is the time at which ramps start, s."""
_AT_START, _SLOPE = " at the start", " slope"
_RAMP = Op("ramp", lambda value, slope, time, start: value + slope * (time - start))

SMALLEST_EFFECT = 1e-9
"""Effect of the time derivative of an input, as a fraction of its terms, up to which it counts as rounding error."""

_GROUP = 16
"""Number of sample states that are evaluated together."""


def has_time_derivatives(system: System) -> bool:
    return any(statement.op is TIME_DERIVATIVE for statement in system.statements)


def with_ramps(system: System, names: Iterable[str]) -> tuple[System, dict[str, str]]:
    """Return the system in which the named parameters are ramps, and the name of each ramp's slope, a parameter that is zero.

    The indices of the system's other parameters do not change.
    """
    slopes = {name: f"{name}{_SLOPE}" for name in dict.fromkeys(names)}
    first = {name: f"{name}{_AT_START}" if name in slopes else name for name in system.parameters}
    ramps = [
        Statement((name,), _RAMP, (first[name], slope, "time", START), name.rpartition(".")[0]) for name, slope in slopes.items()
    ]
    values = {copy: replace(system.values[name], symbol="") for name in slopes for copy in (first[name], slopes[name])}
    zeros = {slopes[name]: np.zeros(np.shape(system.parameters[name])) for name in slopes}
    count = len(ramps)
    return replace(
        system,
        statements=[*ramps, *system.statements],
        loops=tuple(replace(loop, start=loop.start + count, stop=loop.stop + count) for loop in system.loops),
        values={**system.values, **values, START: replace(system.values["time"], symbol="")},
        parameters={**{first[name]: value for name, value in system.parameters.items()}, START: np.zeros(()), **zeros},
        conversions={first.get(name, name): conversion for name, conversion in system.conversions.items()},
    ), slopes


def acting(routine: Routine, which: Iterable[int], blocks: Sequence[np.ndarray]) -> np.ndarray:
    """Return, for each of these outputs of a routine, whether it exceeds the rounding error of its terms, at each point of the
    blocks (..., length)."""
    values: dict[int, Any] = {}
    roots, points = [routine.tape.scalar(routine.outputs[k]).index for k in which], np.shape(blocks[0])[:-1]
    evaluate_nodes(routine.tape, roots, blocks_of_tape(routine, blocks), values)
    acts = np.zeros((len(roots), *points), dtype=bool)
    if any(np.any(values[root]) for root in roots):
        with np.errstate(invalid="ignore"):
            sizes = term_sizes(routine.tape, values)
        for k, root in enumerate(roots):
            acts[k] = np.abs(values[root]) > SMALLEST_EFFECT * sizes[root]
    return acts


Causes = dict[str, tuple[str, ...]]
"""Names of the inputs whose time derivatives have an effect, by the name of the affected part or value."""


def dependents_of_rates(system: System, inputs: Iterable[str]) -> tuple[Causes, Causes]:
    """Return the parts of a run, and the values, that depend on the time derivatives of inputs (parameters), each with these
    inputs.

    The parts are rates such as "mass.p'", "events" and "ticks". Guesses of loops are omitted: they follow their loops anyway.
    """
    inputs = list(inputs)
    if not inputs or not has_time_derivatives(system):
        return {}, {}
    system, slopes = with_ramps(system, inputs)
    traced = values_on_tape(system)
    parts, values = _parts(traced), {name: scalars_of(traced.values[name]) for name in output_names(traced.context.system)}
    owners = [(group, name) for group in (parts, values) for name, scalars in group.items() for _ in scalars]
    p, places = traced.context.inputs["p"], system.parameter_places
    columns = [(name, p[k]) for name in inputs for k in places[slopes[name]]]
    matrix = jacobian(
        [s for group in (parts, values) for part in group.values() for s in part], [scalar for _, scalar in columns]
    )
    blocks = tuple((block, len(entries)) for block, entries in traced.context.inputs.items())
    routine = Routine("effects", traced.context.tape, blocks, matrix.values)
    met: tuple[dict[str, dict[str, None]], dict[str, dict[str, None]]] = {}, {}
    for t, x, numbers, m in _points(traced.context.system, inputs):
        numbers[:, places[START].start] = t[:, 0]
        for k in np.flatnonzero(acting(routine, range(len(routine.outputs)), (t, x, numbers, m)).any(axis=-1)):
            group, name = owners[matrix.rows[k]]
            met[group is values].setdefault(name, {})[columns[matrix.columns[k]][0]] = None
    of_parts, of_values = ({name: tuple(causes) for name, causes in each.items()} for each in met)
    return of_parts, of_values


def rate_refusal(code: str, dependent: str, name: str, reason: str, about: str) -> ModelError:
    title = f'{dependent} depends on the time derivative of the input "{name}", {reason}'
    cures = (
        f'the derivative as the input, and "{name}" from an integrator',
        "an R or a lowpass between the input and the part that it drives",
    )
    return refusal(code, title, *cures, about=about, places=())


def _parts(traced: Traced) -> dict[str, list[Any]]:
    system, parts = traced.context.system, dict[str, list[Any]]()
    for state in system.states:
        if state.name not in system.guesses:
            parts[f"{state.name}'"] = scalars_of(traced.values[state.rate])
    for name, scalars in outputs_of(traced).items():
        if name.startswith(("guards", "reset", "push", "tick")):
            parts.setdefault("ticks" if name.startswith("tick") else "events", []).extend(scalars)
    return parts


def _points(system: System, inputs: Sequence[str]) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield groups of sample states (t, x, p, m), each also with other values of the inputs: an effect may vanish at zero."""
    rng, samples = np.random.default_rng(0), samples_of(system)
    moved = [k for name in inputs for k in system.parameter_places[f"{name}{_AT_START}"]]
    for first in range(0, len(samples), _GROUP):
        group = samples[first : first + _GROUP]
        t, x, p, m = (np.array([*block, *block]) for block in zip(*group, strict=True))
        size = np.where(p[:1, moved] == 0.0, 1.0, np.abs(p[:1, moved]))
        p[len(group) :, moved] += size * rng.normal(size=(len(group), len(moved)))
        yield t, x, p, m
