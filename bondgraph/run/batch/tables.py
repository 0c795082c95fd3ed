"""Table of the loop over many runs, with the data common to all runs and the values of a slice of the runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.emit.kernel import Kernel
from bondgraph.run.batch.collect import RunBatch
from bondgraph.run.batch.fields import BatchTable
from bondgraph.run.batch.native_measures import EVENT
from bondgraph.run.batch.results import KeptOfRun
from bondgraph.run.bound import Bound
from bondgraph.run.measures import MachineRule
from bondgraph.run.program import Program
from bondgraph.run.settings import Settings
from bondgraph.run.table import FieldTable
from bondgraph.run.validation.concerns import MAX_RESIDUAL, RTOL_FACTOR
from bondgraph.run.validation.lost_solution import NEWTON_ROUNDING, ZERO_RATIO

# Fraction of the limit above which Python, which sums in another order, computes a balance again.
_NEAR = 0.5


def table_of(
    bound: Bound,
    settings: Settings,
    samples: tuple[np.ndarray, np.ndarray],
    requested: np.ndarray,
    kept: Sequence[KeptOfRun],
    outputs: Kernel | None,
) -> FieldTable:
    """Return the table of a batch without rows and modes at the samples; `samples` are the sample times from the start and on
    the user's clock, `requested` the requested times among them."""
    program, (times, dates), table = bound.program, samples, FieldTable(BatchTable)
    loops, out_count = program.loops, 0 if outputs is None else outputs.n_out
    storages, unknowns = program.storages, len(program.loop_states)
    (rules, sources, indices, starts), counted = _numbers_of(program, kept)
    series = [(item.source, index) for item in kept if item.over_time for index in item.indices]
    of_storages, of_powers = program.balances.island_of(storages, program.quadratures)
    balances = max(len(program.balances.islands), 1)
    wholes = {
        "rules": rules,
        "sources": sources,
        "places": indices,
        "counted": counted,
        "tops": [0] * len(rules),
        "jumps": [0] * len(requested),
        "series_sources": [source for source, _ in series],
        "series_places": [index for _, index in series],
        "loop_steps": [loop.steps for loop in loops],
        "storage_balances": of_storages,
        "power_balances": of_powers,
        "requested": np.isin(times, requested),
        "requested_rows": np.flatnonzero(np.isin(times, requested)),
    }
    for name, values in wholes.items():
        table.point(name, np.array(values, dtype=np.int64))
    signs = [1.0 if role in ("dissipated", "converted") else -1.0 for role in program.power_roles]
    near = [ZERO_RATIO * size for loop in loops for size in loop.sizes]
    arrays = {"times": times, "dates": dates, "signs": np.array(signs), "loop_near": np.array(near), "starts": np.array(starts)}
    for name, array in arrays.items():
        table.point(name, array)
    table.point("outputs", 0 if outputs is None else outputs.address or 0)
    counts = {
        "p_count": program.parameters,
        "samples": len(times),
        "requested_count": len(requested),
        "unknowns": unknowns,
        "balances": balances,
    }
    counts |= {"kept_count": len(rules), "series_count": len(series), "output_count": out_count, "mode_stride": program.modes}
    limits = {
        "span": settings.span,
        "limit": _NEAR * min(RTOL_FACTOR * settings.rtol, MAX_RESIDUAL),
        "minus_infinity": -np.inf,
        "loop_limit": max(RTOL_FACTOR * settings.rtol, NEWTON_ROUNDING),
    }
    for field, value in {**counts, **limits}.items():
        table[field] = value
    sizes = {"states": program.states, "storages": storages, "quadratures": program.quadratures}
    sizes["longest_loop"] = max((len(loop.states) for loop in loops), default=0)
    table.allocate(**counts, **sizes)
    return table


def _numbers_of(
    program: Program, kept: Sequence[KeptOfRun]
) -> tuple[tuple[list[int], list[int], list[int], list[float]], list[int]]:
    rules, sources, indices, starts, counted = list[int](), list[int](), list[int](), list[float](), list[int]()
    for item in kept:
        rule = item.measure.kind.machine
        if item.over_time:
            continue
        rules += [int(rule)] * item.size
        sources += [item.source] * item.size
        starts += [np.nan if rule == MachineRule.FIRST_TIME else 0.0] * item.size
        indices += [len(counted)] if item.source == EVENT else item.indices
        if item.source == EVENT:
            counted += [int(k in item.indices) for k in range(len(program.transitions))]
    return (rules, sources, indices, starts), counted


def put_runs(table: FieldTable, blocks: tuple[np.ndarray, np.ndarray, np.ndarray], runs: slice, batch: RunBatch) -> None:
    for name, block in zip(("p", "x", "m"), blocks, strict=True):
        table[f"{name}_stride"] = 0 if len(block) == 1 else block.shape[1]
        table.point(name, block if len(block) == 1 else block[runs])
    for name, array in batch.arrays().items():
        table.point(name, array[runs])
    table["runs"], table["present"], table["under_way"] = runs.stop - runs.start, 0, 0
