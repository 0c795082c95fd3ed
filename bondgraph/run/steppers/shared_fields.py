"""Shared fields of integrators in machine code: the table with the arrays of a run, guards, samples and noise.

Every procedure accesses all its data through one pointer, c, so that the code is the same for all models and threads and is
compiled once per machine. Vectors hold states, then integrated powers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.accuracy.reference.error_weights import Weights
from bondgraph.run.bound import Bound
from bondgraph.run.codegen_helpers import clock_time
from bondgraph.run.events.root_finding import POINTS, StepTable
from bondgraph.run.steppers.segment import Tolerances
from bondgraph.run.table import FieldTable, fields_of

# Besides `root_finding.StepTable`: p, m, levels: parameters, modes, and as in `segment.Integrator`; size, floor, noise, exceeded:
# as in `error_weights`; patience: rejections before the noise test;
# times, rows: sample times, and room for `samples` rows; drain: callback that makes room for more, or 0.
# origin, window: as in `bound.Bound`; t is the time since the start of the run.
_POINTERS = "rates powers guards p m levels size floor noise exceeded window times rows drain"
_WHOLES = "n quadratures samples written guard_calls steps patience noisy_steps fresh"
_REALS = "origin stop rtol h"

Fields = Mapping[str, tuple[int, str]]

# A state that has never exceeded the rounding error of a step by this factor is only rounding.
_ROUNDING_ONLY_RATIO = 1e3


def with_shared(pointers: str, wholes: str, reals: str) -> Fields:
    """Return the fields of an integrator, after the fields that all share."""
    steps = StepTable.layout()
    own = fields_of(f"{_POINTERS} {pointers}".split(), f"{_WHOLES} {wholes}".split(), f"{_REALS} {reals}".split())
    return {**steps, **{name: (len(steps) + index, kind) for name, (index, kind) in own.items()}}


def table_of(fields: Fields, bound: Bound, tolerances: Tolerances, weights: Weights, **lengths: int) -> FieldTable:
    """Return the table of a run, with arrays of these lengths for the integrator's own fields."""
    table, program = FieldTable(fields), bound.program
    guards, width = 0 if program.guards is None else program.guards.n_out, program.states + bound.quadratures
    shared = {"m": program.modes, "levels": guards, "g": POINTS * guards, "g_dense": guards, "theta": guards, "y_dense": width}
    for name, length in {**shared, **lengths}.items():
        table.point(name, np.zeros(length))
    for name in ("fired", "steep"):
        table.point(name, np.zeros(guards, dtype=np.int64))
    table.point("p", bound.p)
    table.point("window", bound.window)
    for name in fields.keys() & {"rates", "powers", "guards", "rates_and_powers", "jacobian"}:
        kernel = getattr(program, name)
        table.point(name, 0 if kernel is None else kernel.address or 0)
    for name in fields.keys() & {"size", "floor", "noise", "speed", "exceeded"}:
        table.point(name, getattr(weights, name))
    table["origin"], table["rtol"], table["patience"] = bound.origin, tolerances.relative, weights.patience
    table["n"], table["quadratures"], table["guard_count"] = program.states, bound.quadratures, guards
    return table


def fired(table: FieldTable) -> tuple[int, ...]:
    """Return the indices of the guards that fired."""
    return tuple(int(i) for i in np.flatnonzero(table.arrays["fired"]))


def guard_values(fields: Fields) -> Procedure:
    """Evaluate guards minus their levels at (t, y) into g."""
    write = Procedure("guard_values", {"c": "ptr", "t": "double", "y": "ptr", "g": "ptr"}, internal=True)
    record = Record(write["c"], fields)
    t = clock_time(write, record, write["t"])
    write.call(record.get("guards"), [t, write["y"], record.get("p"), record.get("m"), write["g"]])
    record.count("guard_calls")
    with write.loop(record.get("guard_count")) as i:
        write["g"][i] = write["g"][i] - record.get("levels")[i]
    write.give()
    return write


@contextmanager
def rows_until(
    write: Procedure, record: Record, until: Temporary, width: Temporary
) -> Iterator[tuple[Temporary, Temporary, str]]:
    """Loop over the remaining sample times up to `until`: yield the time, its row to fill, and the label of the next.

    When the rows are full, `drain` is called to empty them.
    """
    with write.repeat() as (again, done):
        k = record.get("written")
        with write.when(k >= record.get("samples")):
            drain = record.get("drain")
            with write.when(~drain.is_given()):
                write.jump(done)
            write.call(drain, [])
            write.jump(again)
        time = record.get("times")[k]
        with write.when(time > until):
            write.jump(done)
        record.set("written", k + 1)
        yield time, record.get("rows").at(k * width), again


def note_rounding(write: Procedure, record: Record, i: Temporary, rounding: Temporary, allowed: Temporary) -> Temporary:
    """Return 1 if the rounding error of a step exceeds the allowed error of state i, and record by how much.

    A state that is only rounding (such as the difference of two equal ones) does not count.
    """
    exceeded = record.get("exceeded")
    decides = (rounding / allowed > 1.0) & (record.get("size")[i] > rounding * _ROUNDING_ONLY_RATIO)
    with write.when(decides):
        exceeded[i] = write.intrinsic("maxnum", exceeded[i], rounding)
    return decides
