"""The table of the loop over many runs, behind the pointer r: names of its fields in; places, and the other tables, out."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.accuracy.fields import FIELDS as ERROR_CONTROL
from bondgraph.run.steppers.method import COMMON as INTEGRATOR
from bondgraph.run.table import fields_of

# p, x, m: of all runs, in rows, `..._stride` apart; ends (runs, width), modes_end (runs, modes), times_end, status, ..._counts
# (runs,). rows, modes: of the present run at its samples, the modes `mode_stride` apart; lost: what its events took away before
# each sample, J, of which the first `lost_rows` are known, and `lost_total` up to now. present: which it is; under_way: whether
# it has begun.
# wanted: of each sample whether it is asked for, and not only looked at; the numbers of those are wanted_rows (wanted_count,).
# rules, sources, places, starts: of each number that is kept, into kept (runs, kept_count), how it is taken, from where, and with
# what it begins; meant: of each measure of events which transitions are; series (runs, wanted_count, series_count).
# Along a run so many samples are `measured`, and so many `nodes` of trapezia, the last at node_time with the values `before`;
# totals: sums and counts; best: largest values (3, kept_count) of samples and of both sides of events, tops: their samples;
# event_time: when the last event was; jumps: 1 where there is one between a sample and the one before it, the last at `gap`;
# window: samples around a peak.
# look: as `rows.FIELDS`, 0 for runs alone whose constraints are not watched.
# loop_steps: as in `program.NewtonLoop`; of all `unknowns`, one loop after the other, loop_near: what is zero; loop_sizes,
# loop_further: the largest value and the largest step that is left over the samples, which is too large from `off` on.
_POINTERS = """table begin advance p x m times dates rows modes ends modes_end times_end status
    step_counts rejected_counts rate_counts event_counts
    outputs out rules sources places starts meant kept before totals best tops jumps window
    series_sources series_places series signs energies rates powers lost
    loop_steps loop_near loop_sizes loop_further loop_out x_solved wanted wanted_rows look"""
_WHOLES = """runs p_count p_stride x_stride m_stride mode_stride samples wanted_count kept_count series_count output_count most
    lost_rows event_count unknowns present under_way measured nodes gap"""
FIELDS = fields_of(
    _POINTERS.split(), _WHOLES.split(), ("limit", "span", "lost_total", "off", "event_time", "node_time", "minus_infinity")
)


def tables_of(write: Procedure) -> tuple[Record, Record, Record]:
    """Those of the loop, of the integrator, and of the error control."""
    record = Record(write["r"], FIELDS)
    integrator = Record(record.get("table"), INTEGRATOR)
    return record, integrator, Record(integrator.get("weights"), ERROR_CONTROL)


def modes_at(record: Record, sample: Temporary) -> Temporary:
    """The modes at a sample."""
    return record.get("modes").at(sample * record.get("mode_stride"))
