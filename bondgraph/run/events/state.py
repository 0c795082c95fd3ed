"""Table of event handling in machine code: the run and its state machines, its present state, and workspace.

Every procedure finds it behind one pointer, s. n are states, k transitions, P parameters.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.table import fields_of

# Of the run: p, window as in `bound.Bound`; sizes, by_x, p_near, later, bounces, trials as in `guard_history`, p_factors and
# known_bounces: what p_near is of p, and bounces when a run begins; times, counts as in `AccumulationDetector`. Of the
# transitions (k,): slots, sources, targets, order by name, last, own (1: leads into its own state), ready (1: machine code may
# take it), endless (1: it ends no run), code_steps: what each adds to the code of modes, may_rest, with the edge to the state
# of rest, its mode, and its label; resets, supplies, pushes: kernels, 0 where there is none. Of loops: kernels, counts of
# unknowns and, one loop after the other, their indices; kept: indices of states that are no guesses. Where the run stands: y,
# m, levels, fired of the integrator, and reached, how large states were at the ends of its steps; rows: samples, `written` of
# them, `seen` for their sizes; held: modes at them, `held_rows` known (all_held: from the first sample on); levels_begun: those
# at the time `begun` of the leg; log: rows as `log.RowLayout` says, `logged` of them written in a room for log_room, of which
# `reserve` are free when a leg begins (lacked: an instant needed more); events_left of most_events to come. The rest is room to
# work in.
_POINTERS = """
    rates guards p window sizes by_x p_near p_factors later bounces known_bounces times counts
    slots sources targets order last own ready may_rest rest_edges rest_modes rest_labels
    resets supplies pushes
    loop_kernels loop_counts loop_places kept
    y m levels levels_begun fired reached rows held all_held log
    x_here m_here x_after m_after x_shift x_shifted x_near x_ahead speed speed_near speed_later
    was now zero soon change least still near near_now firm asked bounce open rising once left
    trials tried tried_after tried_size tried_speed tried_ahead tried_now tried_soon
    endless code_steps allowed parents edges codes x_start m_start
    pushed newton newton_step newton_start watched noted_of overwritten counted resting marked rested
"""
_WHOLES = """
    n modes parameters transitions quadratures loops kept_count width turns
    written seen held_rows logged log_room reserve lacked row_width events_left most_events noted stuck
"""
_REALS = "t begun start origin span rtol probe segment_part time_resolution"

FIELDS = fields_of(_POINTERS.split(), _WHOLES.split(), _REALS.split())


def record_of(write: Procedure) -> Record:
    """Return the table behind the argument s."""
    return Record(write["s"], FIELDS)


def truth(write: Procedure, condition: Temporary) -> Temporary:
    """Return 1 where the condition holds, else 0."""
    return write.select(condition, 1, 0, "i64")


def flag(array: Temporary, index: Temporary) -> Temporary:
    """Return True if an entry (i64) is 1."""
    return array.load(index, "i64").equals(1)


def active(write: Procedure, index: Temporary) -> Temporary:
    """Return True if the source of a transition is the present mode of its automaton."""
    record = record_of(write)
    mode = record.get("m_here")[record.get("slots").load(index, "i64")]
    return mode.equals(record.get("sources")[index])
