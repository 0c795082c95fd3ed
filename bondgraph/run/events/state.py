"""Table of event handling in machine code: the run and its state machines, its present state, and workspace.

Every procedure accesses it through one pointer, s. There are n states, k transitions, P parameters.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.table import fields_of

# Of the run: p, window as in `bound.Bound`; sizes, by_x, p_near, later, bounces, trials as in `guard_history`, p_factors: ratios
# of p_near to p; known_bounces: bounces at the start of a run; times, counts as in `AccumulationDetector`. Of the transitions
# (k,): slots, sources, targets, order by name, last, own (1: leads into its own state), ready (1: machine code may take it),
# endless (1: it ends no run), code_steps: change of the code of modes, may_rest, with the edge to the state of rest, its mode,
# and its label; resets, supplies, pushes: kernels, or 0. Of loops: kernels, numbers of unknowns and, one loop after the other,
# their indices, the inverse sizes of unknowns, the factors of residuals, and ones; kept: indices of states that are not guesses.
# Present state: y, m, levels, fired of the integrator, and reached, the sizes of states at the ends of its steps; rows: samples,
# `written` of them, `seen` for their sizes; held: modes at them, `held_rows` known (all_held: from the first sample on);
# levels_begun: levels at the time `begun` of the segment; log: rows as in `log.RowLayout`, `logged` of them written in a room for
# log_room, of which `reserve` are free when a segment begins (lacked: an instant needed more); events_left of most_events to
# come. The rest is workspace.
_POINTERS = """
    rates guards p window sizes by_x p_near p_factors later bounces known_bounces times counts
    slots sources targets order last own ready may_rest rest_edges rest_modes rest_labels
    resets supplies pushes
    loop_kernels loop_counts loop_places loop_inverse_sizes loop_weights loop_ones kept
    y m levels levels_begun fired reached rows held all_held log
    x_here m_here x_after m_after x_shift x_shifted x_near x_ahead speed speed_near speed_later
    was now zero soon change least still near near_now firm asked bounce open rising once left
    trials tried tried_after tried_size tried_speed tried_ahead tried_now tried_soon
    endless code_steps allowed parents edges codes x_start m_start
    pushed newton newton_step newton_start newton_begun watched noted_of overwritten counted resting marked rested
"""
_WHOLES = """
    n modes parameters transitions quadratures loops kept_count width turns
    written seen held_rows logged log_room reserve lacked row_width events_left most_events noted stuck
"""
_REALS = "t begun start origin span rtol probe segment_part time_resolution"

FIELDS = fields_of(_POINTERS.split(), _WHOLES.split(), _REALS.split())


def record_of(write: Procedure) -> Record:
    """Return the table passed as argument s."""
    return Record(write["s"], FIELDS)


def truth(write: Procedure, condition: Temporary) -> Temporary:
    """Return 1 if the condition holds, else 0."""
    return write.select(condition, 1, 0, "i64")


def flag(array: Temporary, index: Temporary) -> Temporary:
    """Return True if an entry (i64) is 1."""
    return array.load(index, "i64").equals(1)


def active(write: Procedure, index: Temporary) -> Temporary:
    """Return True if the source of a transition is the present mode of its automaton."""
    record = record_of(write)
    mode = record.get("m_here")[record.get("slots").load(index, "i64")]
    return mode.equals(record.get("sources")[index])
