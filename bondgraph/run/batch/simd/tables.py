"""Table of the loop over runs in SIMD lanes: the tables of single runs, more than there are lanes, the SIMD kernels, and
procedures that move numbers between both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.emit.kernel import LaneKernels
from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.batch.simd.lane_jacobians import lane_couplings
from bondgraph.run.batch.simd.lane_steps import DRIVER, FIELDS, LaneTable
from bondgraph.run.batch.simd.natural_scales import lane_scales
from bondgraph.run.program import Program
from bondgraph.run.status import Status
from bondgraph.run.steppers.explicit import FIELDS as INTEGRATOR
from bondgraph.run.steppers.integrator import OneStep
from bondgraph.run.table import FieldTable

UNDER_WAY = 2
"""Runs under way per lane: while some wait for a joint refresh of their weights, every lane still has one."""


NOBODY = -1
"""Run number of an empty slot."""


def lane_table(
    kernels: LaneKernels, program: Program, integrators: Sequence[OneStep], weights: Sequence[FieldTable], samples: int
) -> FieldTable:
    """Return the table of `lane_loop`: `integrators` are those of the runs under way, `weights` the tables of their error
    control."""
    table, lanes, method, first = FieldTable(FIELDS), kernels.lanes, integrators[0].method, integrators[0].table
    counts = {name: int(first[name]) for name in ("n", "width")} | {"lanes": lanes, "slots": len(integrators)}
    counts |= {"parameters": program.parameters, "modes": program.modes, **method.sizes}
    table.allocate(LaneTable, **counts)
    table.point("window", np.array([-np.inf, np.inf]))
    table.arrays["rows"] = np.empty((len(integrators), samples, counts["width"]))
    blocks = list(table.arrays["rows"])
    addresses = {"tables": [each.table.address for each in integrators], "row_blocks": [block.ctypes.data for block in blocks]}
    for name, numbers in addresses.items():
        table.point(name, np.array(numbers, dtype=np.uint64))
    table.arrays["found"][:] = Status.LANE_WAITS
    for name in ("rates", "powers", "rates_and_powers"):
        table.point(name, kernels.addresses.get(name, 0))
    for name, ahead in zip(("couplings", "scales"), _tables_ahead(program, lanes, weights), strict=False):
        table.point(name, ahead)
    for name in DRIVER:
        table.point(name, integrators[0].library.address(name))
    table["parameters"] = program.parameters
    for name in ("n", "width", "quadratures", "watch", "origin", "rtol"):
        table[name] = first[name]
    return table


def _tables_ahead(program: Program, lanes: int, weights: Sequence[FieldTable]) -> tuple[FieldTable, ...]:
    """Return the tables of the couplings and scales of runs in lanes, if couplings are interpreted and not too many."""
    kernel, structures = program.jacobian_couplings
    couplings = None if kernel is None or kernel.steps is None else lane_couplings(kernel.steps, lanes, weights)
    return () if couplings is None else (couplings, lane_scales(program.states, len(structures.rows), weights))


def emptied(table: FieldTable) -> FieldTable:
    """Reset the table: no run is under way."""
    table.arrays["seats"][:] = table.arrays["runs"][:] = NOBODY
    table["following"] = table["paused"] = 0
    return table


def exchange(lanes: int) -> list[Procedure]:
    """Return the procedures that `move` calls."""
    return [_gather(lanes), _spread(lanes)]


def table_of(record: Record, slot: Temporary) -> Record:
    """Return the integrator's table of a run under way."""
    return Record(record.get("tables").load(slot, "ptr"), INTEGRATOR)


def of_lane(record: Record, lane: Temporary) -> Record:
    """Return the integrator's table of the run in a lane."""
    return table_of(record, record.get("seats").load(lane, "i64"))


def move(write: Procedure, way: str, record: Record, integrator: Record, names: tuple[str, ...], lane: Temporary) -> None:
    """Move arrays of the length of the state from the lanes to the tables of one run ("gather"), or back ("spread")."""
    for name in names:
        pair = (integrator, record) if way == "gather" else (record, integrator)
        write.call(way, [pair[0].get(name), pair[1].get(name), record.get("width"), lane])


def _gather(lanes: int) -> Procedure:
    """Gather numbers of one lane into an array."""
    write = Procedure("gather", {"out": "ptr noalias", "given": "ptr", "count": "i64", "lane": "i64"}, internal=True)
    with write.loop(write["count"]) as i:
        write["out"][i] = write["given"][i * lanes + write["lane"]]
    write.give()
    return write


def _spread(lanes: int) -> Procedure:
    """Scatter an array to one lane."""
    write = Procedure("spread", {"out": "ptr noalias", "given": "ptr", "count": "i64", "lane": "i64"}, internal=True)
    with write.loop(write["count"]) as i:
        write["out"][i * lanes + write["lane"]] = write["given"][i]
    write.give()
    return write
