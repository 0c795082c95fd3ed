"""Table of event handling: kernels and state machines of the run, its current state, workspace, and the outcome at an instant."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Annotated, Any

from bondgraph.emit.kernel_language.language import Code, Ints, Kernel, Kernels, Length, Reals
from bondgraph.run.algebraic_loops import LoopTable
from bondgraph.run.complementarity.table import BoxTable
from bondgraph.run.events.guard_history import PAIRS

MAX_COMBINATIONS = 2000
HISTORY = 1000

CHATTERING, ZENO = 1, 2
PATTERNS = ("", "chattering", "Zeno")


class EventOutcome(IntEnum):
    """Outcome of the events at an instant: modes and states are consistent and the run continues, or the reason why it ends."""

    CONSISTENT = 0
    CYCLING = 1
    """Transitions repeat endlessly, and no consistent modes are found."""
    STUCK = 2
    """Bounces do not bring their guards back below zero."""
    TERMINAL = 3
    TOO_MANY = 4
    """The run has more than `max_events` events."""
    ACCUMULATION = 5
    """Events accumulate, and no state of rest follows."""
    UNSOLVED = 6
    NOT_FINITE = 7
    STOPPED = 8
    """Python has raised an exception, or is not available for callbacks (`questions`)."""


Question = Annotated[Callable[[Any], int], Code(int)]
PerState = Annotated[Reals, Length(lambda s: s.n)]
PerMode = Annotated[Reals, Length(lambda s: s.modes)]
PerTransition = Annotated[Reals, Length(lambda s: s.transitions)]
Flags = Annotated[Ints, Length(lambda s: s.transitions)]
TransitionKernels = Annotated[Kernels, Length(lambda s: s.transitions)]
StatesNear = Annotated[Reals, Length(lambda s: 2 * PAIRS * s.n)]
GuardsNear = Annotated[Reals, Length(lambda s: 2 * PAIRS * s.transitions)]
PerCombination = Annotated[Ints, Length(lambda s: MAX_COMBINATIONS)]
Pushed = Annotated[Reals, Length(lambda s: s.transitions + s.n)]
AllFired = Annotated[Ints, Length(lambda s: s.max_fired)]
BoxNumbers = Annotated[Reals, Length(lambda s: s.box_width)]
PerBoxEffort = Annotated[Reals, Length(lambda s: s.box_room)]
PerBoxRow = Annotated[Ints, Length(lambda s: s.box_room)]
PerRow = Annotated[Ints, Length(lambda s: s.max_rows)]
Times = Annotated[Reals, Length(lambda s: HISTORY * s.transitions)]


class EventTable(LoopTable):
    # The run: kernels.
    rates: Kernel
    guards: Kernel
    # Guards, as in `guard_history`; p_factors: ratios of p_near to p; known_bounces: bounces known before a run; drift: rounding
    # errors of states that have not moved; drift_kept: the same in consistent modes; moved: 1 once a state is well above its
    # drift.
    sizes: Reals
    by_x: Reals
    p_near: Reals
    p_factors: Reals
    later: Reals
    bounces: Ints
    known_bounces: Ints
    drift: Reals
    moved: Ints
    # Accumulation; times: ring buffers of the times of the last `HISTORY` events of each transition; counts: numbers of events,
    # reduced to stay below 2 `HISTORY`.
    times: Times
    counts: Flags
    # Callbacks to Python, as in `questions`.
    compile_kernels: Question
    enlarge_log: Question
    collide: Question
    # Transitions; order: indices in order of name; self_loop: 1 if a transition leads into its own state; ready: 1 if its kernels
    # are compiled; collides: 1 if a bounce may be one of simultaneous collisions; may_rest: 1 if a state of rest may follow;
    # rest_...: edge to this state, its mode, its label; pass_...: edge with the resets when the flow passes zero, edge
    # that stops it beyond zero, mode beyond zero, label (`dead_centres`); resets, supplies, pushes: kernels, or 0.
    slots: Ints
    sources: Reals
    targets: Reals
    order: Ints
    last: Ints
    self_loop: Ints
    ready: Flags
    collides: Ints
    may_rest: Ints
    rest_edges: Ints
    rest_modes: Reals
    rest_labels: Reals
    pass_edges: Ints
    pass_stops: Ints
    pass_modes: Reals
    pass_labels: Reals
    resets: TransitionKernels
    supplies: TransitionKernels
    pushes: TransitionKernels
    # Complementarity problems of dry friction, as in `friction_modes`: kernel of the numbers `box_numbers`; counts of the rows
    # and entries of each problem; row and column of each entry; for each row, 1 in box_gated if a mode switches it, slot of its
    # friction, and modes. boxed: 1 for the edges of such friction; box: the problem at an instant.
    box_kernel: Kernel
    box: BoxTable
    box_numbers: BoxNumbers
    box_counts: Ints
    box_entries: Ints
    box_rows: Ints
    box_columns: Ints
    box_gated: Ints
    box_slots: Ints
    box_sticks: Reals
    box_lows: Reals
    box_highs: Reals
    boxed: Ints
    box_places: PerBoxRow
    box_fixed: PerBoxEffort
    m_box: PerMode
    x_saved: PerState
    m_saved: PerMode
    # Indices of states that are not unknowns of loops.
    kept: Ints
    # Present state: y, m, levels, fired of the integrator; start_levels: levels and depths at the start of the segment; reached:
    # sizes of states at the ends of its steps; rows: samples; held: modes at these samples (all_held: at all samples); log: rows
    # as in `log.RowLayout`.
    y: Reals
    m: Reals
    levels: Reals
    start_levels: Annotated[Reals, Length(lambda s: 2 * s.transitions)]
    fired: Ints
    reached: Reals
    rows: Reals
    held: Reals
    all_held: Reals
    log: Reals
    # Workspace of event detection.
    x_here: PerState
    m_here: PerMode
    x_after: PerState
    m_after: PerMode
    x_shift: PerState
    x_shifted: PerState
    x_near: PerState
    # Last evaluation by `guards.firing_guards`: states, modes, guards, rounding errors of the guards, and sizes of states for
    # which these are valid. guard_sizes: largest value of each guard at events of the run.
    x_seen: PerState
    m_seen: PerMode
    guards_seen: PerTransition
    zero_seen: PerTransition
    zero_sizes: PerState
    guard_sizes: PerTransition
    x_ahead: PerState
    speed: PerState
    speed_near: StatesNear
    speed_later: PerState
    drift_now: PerState
    drift_kept: PerState
    drift_measured: PerState
    was: PerTransition
    now: PerTransition
    zero: PerTransition
    soon: PerTransition
    change: PerTransition
    least: PerTransition
    still: PerTransition
    near: GuardsNear
    near_now: GuardsNear
    firm: Flags
    undecided: Flags
    unclear: Flags
    bounce: Flags
    open: Flags
    rising: Flags
    once: Flags
    left: Flags
    # Trials of bounces.
    trials: Reals
    tried: PerState
    tried_after: PerState
    tried_size: PerState
    tried_speed: PerState
    tried_ahead: PerState
    tried_now: PerTransition
    tried_soon: PerTransition
    # Mode search; continues: 1 if the run continues after a transition; code_steps: change of the code of modes.
    continues: Ints
    code_steps: Ints
    allowed: Flags
    guards_at_start: PerTransition
    parents: PerCombination
    edges: PerCombination
    codes: PerCombination
    x_start: PerState
    m_start: PerMode
    # Workspace of impulses and accumulation; taken: the transition of each row of an iteration; struck: all transitions in the
    # last row; stuck: bounces that do not bring their guards back below zero; all_fired: all transitions of an iteration, with
    # their rows.
    pushed: Pushed
    struck: Flags
    stuck: Flags
    all_fired: AllFired
    all_fired_rows: AllFired
    taken: PerRow
    resting: Flags
    marked: Flags
    rested: Flags
    # Sizes; max_rows, max_fired: maximum numbers of rows and of transitions of an iteration; boxes: number of complementarity
    # problems; box_room: maximum number of rows of a problem; box_width: count of all box_numbers.
    n: int
    modes: int
    parameters: int
    transitions: int
    quadratures: int
    kept_count: int
    width: int
    max_rows: int
    max_fired: int
    boxes: int
    box_room: int
    box_width: int
    # Numbers of samples that are written, whose sizes have been recorded, and whose modes are known.
    written: int
    seen: int
    held_rows: int
    # Log: `logged` rows of at most log_room, of which at least `reserve` are free when a segment begins; events_left of
    # most_events may still occur.
    logged: int
    log_room: int
    reserve: int
    row_width: int
    events_left: int
    most_events: int
    # Event iteration: `EventOutcome`, with the log row and the pattern that explain it; lengths of the arrays above;
    # is_evaluated: guards have been evaluated.
    outcome: int
    suspect: int
    pattern: int
    struck_count: int
    stuck_count: int
    all_fired_count: int
    resting_count: int
    is_evaluated: bool
    # Requests to Python: transition and row concerned; transition that must follow; consulted: Python was called to solve
    # collisions at this instant; stopped: Python raised an exception or is not available; consultations: number of instants at
    # which Python was consulted or that ended the run.
    requested_transition: int
    requested_row: int
    answer: int
    consulted: bool
    stopped: bool
    consultations: int
    # Times since the start, s: now, start of the segment, last evaluation by `firing_guards`.
    t: float
    segment_start: float
    time_seen: float
    # Settings of the run.
    start: float
    span: float
    rtol: float
    probe: float
    segment_part: float
    time_resolution: float
