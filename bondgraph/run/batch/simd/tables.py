"""Table of the loop over runs in SIMD lanes, with a table for each active run and the SIMD kernels; procedures copy values
between tables and lanes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.emit.kernel import LaneKernels
from bondgraph.emit.kernel_language.language import Disjoint, Fixed, Reals
from bondgraph.run.batch.simd.lane_jacobians import lane_couplings
from bondgraph.run.batch.simd.lane_steps import DRIVER, LaneTable
from bondgraph.run.batch.simd.natural_scales import lane_scales
from bondgraph.run.program import Program
from bondgraph.run.status import Status
from bondgraph.run.steppers.integrator import OneStep
from bondgraph.run.table import FieldTable

RUNS_PER_LANE = 2
"""Number of active runs per lane, so that no lane idles while runs wait for a joint update of their weights."""


NO_RUN = -1


def lane_table(
    kernels: LaneKernels, program: Program, integrators: Sequence[OneStep], weights: Sequence[FieldTable], samples: int
) -> FieldTable:
    table, lanes, method, first = FieldTable(LaneTable), kernels.lanes, integrators[0].method, integrators[0].table
    counts = {name: int(first[name]) for name in ("n", "width")} | {"lanes": lanes, "slots": len(integrators)}
    counts |= {"parameters": program.parameters, "modes": program.modes, **method.sizes}
    table.allocate(**counts)
    table.point("window", np.array([-np.inf, np.inf]))
    table.arrays["rows"] = np.empty((len(integrators), samples, counts["width"]))
    blocks = list(table.arrays["rows"])
    addresses = {"tables": [each.table.address for each in integrators], "row_blocks": [block.ctypes.data for block in blocks]}
    for name, numbers in addresses.items():
        table.point(name, np.array(numbers, dtype=np.uint64))
    table.arrays["statuses"][:] = Status.LANE_WAITS
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
    kernel, structures = program.jacobian_couplings
    couplings = None if kernel is None or kernel.steps is None else lane_couplings(kernel.steps, lanes, weights)
    return () if couplings is None else (couplings, lane_scales(program.states, len(structures.rows), weights))


def reset_lanes(table: FieldTable) -> FieldTable:
    table.arrays["seats"][:] = table.arrays["runs"][:] = NO_RUN
    table["following"] = table["paused"] = 0
    return table


def gather(out: Disjoint, values: Reals, count: int, lane: int, lanes: Fixed) -> None:
    for i in range(count):
        out[i] = values[i * lanes + lane]


def spread(out: Disjoint, values: Reals, count: int, lane: int, lanes: Fixed) -> None:
    for i in range(count):
        out[i * lanes + lane] = values[i]
