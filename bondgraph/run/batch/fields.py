"""Fields of the table of the loop over many runs, behind the pointer r, and access to the tables in it."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.accuracy.fields import FIELDS as ERROR_CONTROL
from bondgraph.run.steppers.shared_fields import COMMON as INTEGRATOR
from bondgraph.run.table import fields_of

# p, x, m: rows of all runs, `..._stride` apart; ends (runs, width), modes_end (runs, modes), times_end, status, ..._counts
# (runs,). rows, modes: samples of the present run, the modes `mode_stride` apart; lost: energy that each of the `balances` lost
# at events before each sample, J, of which the first `lost_rows` rows are set, and `lost_totals` up to now. storage_balances,
# power_balances: the balance of each storage and power; begun, worst, play_most, closing, play: of each balance the energy at the
# start, the largest residual and energy in play, and both at a sample. present: number of the present run; under_way: 1 once it
# has begun. wanted: flag of each sample that the user requested, not only a check; wanted_rows (wanted_count,): their numbers.
# rules, sources, places, starts: rule, source, index and initial value of each kept number, in kept (runs, kept_count); meant:
# transitions of each event measure; series (runs, wanted_count, series_count). measured: samples measured so far; nodes: nodes of
# the trapezoidal rule so far, the last at node_time with the values `before`; totals: sums and counts; best: largest values (3,
# kept_count) of samples and of both sides of events, tops: their samples; event_time: time of the last event; jumps: 1 if an
# event lies between a sample and the one before it, the last at `gap`; window: samples around a peak. look: as `rows.FIELDS`, 0
# for single runs whose constraints are not checked. loop_steps: as in `program.NewtonLoop`; loop_near: threshold for zero of all
# `unknowns`, one loop after the other; loop_sizes, loop_further: the largest value and the largest remaining step over the
# samples, too large from `off` on.
_POINTERS = """table begin advance p x m times dates rows modes ends modes_end times_end status
    step_counts rejected_counts rate_counts event_counts
    outputs out rules sources places starts meant kept before totals best tops jumps window
    series_sources series_places series signs energies rates powers lost lost_totals
    storage_balances power_balances begun worst play_most closing play
    loop_steps loop_near loop_sizes loop_further loop_out x_solved wanted wanted_rows look"""
_WHOLES = """runs p_count p_stride x_stride m_stride mode_stride samples wanted_count kept_count series_count output_count most
    lost_rows balances event_count unknowns present under_way measured nodes gap"""
FIELDS = fields_of(_POINTERS.split(), _WHOLES.split(), ("limit", "span", "off", "event_time", "node_time", "minus_infinity"))


def tables_of(write: Procedure) -> tuple[Record, Record, Record]:
    """Return the tables of the loop, the integrator and the error control."""
    record = Record(write["r"], FIELDS)
    integrator = Record(record.get("table"), INTEGRATOR)
    return record, integrator, Record(integrator.get("weights"), ERROR_CONTROL)


def modes_at(record: Record, sample: Temporary) -> Temporary:
    """Return the modes at a sample."""
    return record.get("modes").at(sample * record.get("mode_stride"))


def balance_of(record: Record, kind: str, i: Temporary) -> Temporary:
    """Return the index of the energy balance of this storage or power."""
    return record.get(f"{kind}_balances").load(i, "i64")


def add_to(sums: Temporary, i: Temporary, value: Temporary) -> None:
    """Add a value to one of the sums."""
    sums[i] = sums[i] + value
