"""Table of a run of free bodies, for the machine code of its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from bondgraph.emit.kernel_language.language import Ints, Kernel, Length, Reals, Table

BALL, BOX, HALF_SPACE, OTHER = range(4)
"""Kinds of shapes; `OTHER` shapes are handled in Python."""
DONE, FULL, PAIRS_FULL, TOO_MANY = range(4)
"""Status of a call: it is done, the arrays of contacts or of pairs are full, or a set has too many contacts."""

ARM1, ARM2, LIGHT1, LIGHT2, TURN1, TURN2, OFFSET, FRICTION_PLACE = 9, 12, 15, 16, 17, 26, 35, 36
COUPLING, STIFF, SOFT, ROW = 37, 39, 41, 43
"""Offsets in the row of a contact, and length of the row. After the normal and two tangents, the row has: arms from both centres
of mass; inverse masses; changes of both spins by a unit impulse along each direction; offset of the normal velocity, m/s;
coefficient of friction; entries of the block W = d u / d r that couple the normal with both tangents; its normal entry and the
largest eigenvalue of its tangential part; inverses of these two."""
RESISTANCE = 23
"""Length of the row of rolling and spinning friction of a contact (`resistance`)."""
APART = 10000
"""Smallest feature number of contacts without friction, which only keep apart boxes that turn during the step."""
RECORD = 10
"""Number of values recorded per step: energies, overlap, slip, accuracy, pressing contacts, sweeps and sleeping bodies."""
LOST, SUPPLIED, STEP_LOSS, OVERLAP, SLIP, CHANGE, ALLOWED, PRESSING, SWEEPS, ASLEEP = range(RECORD)


def _of_contacts(width: int) -> Callable[[PileTable], int]:
    return lambda p: width * p.room


def _of_torques(width: int) -> Callable[[PileTable], int]:
    return lambda p: width * p.room * p.resisting


def _of_impulses(p: PileTable) -> int:
    return 3 * (1 + p.resisting) * p.room


def _of_bodies(width: int) -> Callable[[PileTable], int]:
    return lambda p: width * p.bodies


def _of_shapes(width: int) -> Callable[[PileTable], int]:
    return lambda p: width * p.shapes


class PileTable(Table):
    """Table of a run, with free bodies first; vectors are in world coordinates, m, s, kg.

    `velocity` and similar arrays hold the spin, and the velocity of the centre of mass (of the origin for bodies that are not
    free).
    """

    states: int
    bodies: int
    free: int
    shapes: int
    sets: int
    others: int
    room: int
    pair_room: int
    outputs_count: int
    resisting: int
    """Flag that is 1 if contacts resist rolling or spinning: torque impulses then follow the impulses in `r` and similar
    arrays."""
    # Settings of the run, and of the call.
    taken: int
    h: float
    t: float
    tolerance: float
    sleep: float
    fastest: float
    most_sweeps: int
    # The compiled graph.
    rates: Kernel
    outputs: Kernel
    moving: int
    x: Reals
    m: Reals
    p: Reals
    now: Reals
    rate: Annotated[Reals, Length(lambda p: p.states)]
    out: Annotated[Reals, Length(lambda p: p.outputs_count)]
    other: Annotated[Ints, Length(lambda p: p.others)]
    source_block: Annotated[Ints, Length(lambda p: 13 * (p.bodies - p.free))]
    source_index: Annotated[Ints, Length(lambda p: 13 * (p.bodies - p.free))]
    placement: Annotated[Reals, Length(lambda p: 13 * (p.bodies - p.free))]
    # Bodies.
    pose: Annotated[Ints, Length(_of_bodies(1))]
    momentum: Annotated[Ints, Length(_of_bodies(1))]
    centre: Annotated[Reals, Length(_of_bodies(3))]
    inverse_inertia: Annotated[Reals, Length(_of_bodies(9))]
    radius: Annotated[Reals, Length(_of_bodies(1))]
    R: Annotated[Reals, Length(_of_bodies(9))]
    origin: Annotated[Reals, Length(_of_bodies(3))]
    place: Annotated[Reals, Length(_of_bodies(3))]
    wrench: Annotated[Reals, Length(_of_bodies(6))]
    moment: Annotated[Reals, Length(_of_bodies(6))]
    light: Annotated[Reals, Length(_of_bodies(1))]
    turn: Annotated[Reals, Length(_of_bodies(9))]
    before: Annotated[Reals, Length(_of_bodies(6))]
    coming: Annotated[Reals, Length(_of_bodies(6))]
    velocity: Annotated[Reals, Length(_of_bodies(6))]
    last_velocity: Annotated[Reals, Length(_of_bodies(6))]
    moved_in: Annotated[Ints, Length(_of_bodies(1))]
    reach: Annotated[Reals, Length(_of_bodies(1))]
    asleep: Annotated[Ints, Length(_of_bodies(1))]
    quiet: Annotated[Ints, Length(_of_bodies(1))]
    island: Annotated[Ints, Length(_of_bodies(1))]
    held: Annotated[Reals, Length(_of_bodies(6))]
    # Shapes, set by set, and listed pairs of each set: pairs that cannot touch, or with `only` the pairs that can.
    kind: Annotated[Ints, Length(_of_shapes(1))]
    body: Annotated[Ints, Length(_of_shapes(1))]
    half: Annotated[Reals, Length(_of_shapes(3))]
    thickness: Annotated[Reals, Length(_of_shapes(1))]
    shape_pose: Annotated[Reals, Length(_of_shapes(12))]
    shape_R: Annotated[Reals, Length(_of_shapes(9))]
    shape_p: Annotated[Reals, Length(_of_shapes(3))]
    bounds: Annotated[Reals, Length(_of_shapes(6))]
    sorted_bounds: Annotated[Reals, Length(_of_shapes(6))]
    order: Annotated[Ints, Length(_of_shapes(1))]
    first_listed: Annotated[Ints, Length(lambda p: p.shapes + 1)]
    listed: Ints
    first_shape: Annotated[Ints, Length(lambda p: p.sets + 1)]
    only: Annotated[Ints, Length(lambda p: p.sets)]
    set_friction: Annotated[Reals, Length(lambda p: p.sets)]
    set_restitution: Annotated[Reals, Length(lambda p: p.sets)]
    set_rolling: Annotated[Reals, Length(lambda p: p.sets)]
    set_spinning: Annotated[Reals, Length(lambda p: p.sets)]
    set_most: Annotated[Ints, Length(lambda p: p.sets)]
    too_many: int
    candidates: int
    # Pairs whose bounding boxes overlap, and scratch space to sort them.
    pairs: int
    pair_first: Annotated[Ints, Length(lambda p: p.pair_room)]
    pair_second: Annotated[Ints, Length(lambda p: p.pair_room)]
    sorted_pairs: Annotated[Ints, Length(lambda p: 2 * p.pair_room)]
    starts: Annotated[Ints, Length(lambda p: p.shapes + 2)]
    # Contacts.
    contacts: int
    shape1: Annotated[Ints, Length(_of_contacts(1))]
    shape2: Annotated[Ints, Length(_of_contacts(1))]
    feature: Annotated[Ints, Length(_of_contacts(1))]
    set_of: Annotated[Ints, Length(_of_contacts(1))]
    ends: Annotated[Ints, Length(_of_contacts(2))]
    point1: Annotated[Reals, Length(_of_contacts(3))]
    point2: Annotated[Reals, Length(_of_contacts(3))]
    normal: Annotated[Reals, Length(_of_contacts(3))]
    gap: Annotated[Reals, Length(_of_contacts(1))]
    row: Annotated[Reals, Length(_of_contacts(ROW))]
    r: Annotated[Reals, Length(_of_impulses)]
    impulse: Annotated[Reals, Length(_of_contacts(3))]
    begun: Annotated[Reals, Length(_of_impulses)]
    last_r: Annotated[Reals, Length(_of_impulses)]
    resistance: Annotated[Reals, Length(_of_torques(RESISTANCE))]
    torque: Annotated[Reals, Length(_of_torques(3))]
    # Contacts of the previous step.
    earlier: int
    earlier_h: float
    earlier_shape1: Annotated[Ints, Length(_of_contacts(1))]
    earlier_shape2: Annotated[Ints, Length(_of_contacts(1))]
    earlier_feature: Annotated[Ints, Length(_of_contacts(1))]
    earlier_point: Annotated[Reals, Length(_of_contacts(3))]
    earlier_impulse: Annotated[Reals, Length(_of_contacts(3))]
    earlier_torque: Annotated[Reals, Length(_of_torques(3))]
    used: Annotated[Ints, Length(_of_contacts(1))]
    # Results of the last step.
    sweeps: int
    change: float
    allowed: float
    settled: float
    record: Reals
    course: Reals
