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
# wanted: of each sample whether it is asked for, and not only looked at; so many of them are wanted_count.
# kinds, sources, places: of each number that is kept, into kept (runs, kept_count); series (runs, wanted_count, series_count).
# look: as `rows.FIELDS`, 0 for runs alone whose constraints are not watched.
# loop_steps: as in `program.NewtonLoop`; of all `unknowns`, one loop after the other, loop_near: what is zero; loop_sizes,
# loop_further: the largest value and the largest step that is left over the samples, which is too large from `off` on.
_POINTERS = """table begin advance p x m times dates rows modes ends modes_end times_end status
    step_counts rejected_counts rate_counts event_counts
    outputs out kinds sources places kept before series_sources series_places series signs energies rates powers lost
    loop_steps loop_near loop_sizes loop_further loop_out x_solved wanted look"""
_WHOLES = """runs p_count p_stride x_stride m_stride mode_stride samples wanted_count kept_count series_count output_count most
    lost_rows event_count unknowns present under_way"""
FIELDS = fields_of(_POINTERS.split(), _WHOLES.split(), ("limit", "span", "lost_total", "off"))


def tables_of(write: Procedure) -> tuple[Record, Record, Record]:
    """Those of the loop, of the integrator, and of the error control."""
    record = Record(write["r"], FIELDS)
    integrator = Record(record.get("table"), INTEGRATOR)
    return record, integrator, Record(integrator.get("weights"), ERROR_CONTROL)


def modes_at(record: Record, sample: Temporary) -> Temporary:
    """The modes at a sample."""
    return record.get("modes").at(sample * record.get("mode_stride"))
