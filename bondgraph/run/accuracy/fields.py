"""Table of a run's error control: its fields and their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from bondgraph.emit.interpreter.code import FIELDS
from bondgraph.emit.kernel_language.language import Array, Callback, Code, CodeFirst, Ints, Kernel, Length, Reals, Routine, Table
from bondgraph.run.accuracy.strong_cycles import StrongCycles
from bondgraph.run.sparsity.coupling_graph import CouplingGraph
from bondgraph.run.sparsity.structure import Structure

MODE_SETS = 64
SPANS, POINTS = (2.0**-45, 2.0**-39, 2.0**-33, 2.0**-27), 9
"""Rounding noise is measured at POINTS points along each line, with the spacings SPANS relative to the sizes of the states;
the longest line only tests breaks."""
PATTERNS = 8
"""Number of sparsity patterns of couplings that a run keeps."""
FASTEST_RATES, PROPAGATED = 1, 2
"""Progress of natural scales that are computed ahead: only the fastest rates, or also the scales propagated along couplings."""


class SparsityPattern(Table):
    """Sparsity pattern of a Jacobian and the structure that follows from it; machine code compares structures by their keys.

    `nonzero_flags` are 1 or 0 for each entry; `on_diagonal` are the indices of the nonzeros on the diagonal, in the rows
    `diagonal_rows`; `off_diagonal` are the indices of the other nonzeros.
    """

    nonzero_flags: Ints
    structure: Structure
    on_diagonal: Ints
    diagonal_rows: Ints
    off_diagonal: Ints
    diagonal_count: int
    off_diagonal_count: int
    structure_key: int


class Callbacks(Table):
    x: Reals
    m: Reals
    refresh: Callback
    test_noise: Callback
    decay: Callback
    t: float
    h: float
    relative: float


StepRows = Annotated[Ints, CodeFirst(FIELDS)]
Patterns = Annotated[list[Any], Array(SparsityPattern), Length(lambda c: PATTERNS)]
PatternBuffers = Annotated[list[Any], Array(SparsityPattern)]
PatternLookup = Annotated[Callable[[Any], Any], Code(SparsityPattern)]
PerState = Annotated[Reals, Length(lambda c: c.n)]
PerComponent = Annotated[Reals, Length(lambda c: c.n + c.quadratures)]
PerValue = Annotated[Reals, Length(lambda c: max(c.n, c.storages, c.quadratures))]
PerParameter = Annotated[Reals, Length(lambda c: c.parameters)]
PerEntry = Annotated[Reals, Length(lambda c: c.entry_count)]
Flags = Annotated[Ints, Length(lambda c: c.entry_count)]
SeenModes = Annotated[Reals, Length(lambda c: MODE_SETS * c.modes)]
Point = Annotated[Reals, Length(lambda c: 1 + c.n + c.modes)]
Balance = Annotated[Reals, Length(lambda c: 3 * c.n + 1)]
Reached = Annotated[Reals, Length(lambda c: c.n + c.entry_count)]
Points = Annotated[Reals, Length(lambda c: len(SPANS) * POINTS * (c.n + c.quadratures))]
Numbers = Annotated[Reals, Length(lambda c: c.number_count)]


class Control(Table):
    # Kernels; `couple` or interpreted steps (`emit.interpreter`) compute the Jacobian. p, window: as in `bound.Bound`.
    rates: Kernel
    powers: Kernel
    rates_and_powers: Kernel
    energies: Kernel
    couple: Kernel
    interpret: Routine
    p: Reals
    window: Reals
    # As in `table.ErrorWeights`; nominal, absolute: the user's hints, and absolute tolerances divided by rtol.
    size: Reals
    floor: Reals
    noise: Reals
    exceeded: Reals
    speed: Reals
    scale: Reals
    nominal: Reals
    # has_moved: 1 for a state whose size far exceeds its rounding error; terms: for another state whose rate is rounding error,
    # scale of the terms that cancel in this rate.
    has_moved: PerState
    terms: PerState
    p_moved: PerParameter
    absolute: PerState
    # seen: modes (MODE_SETS, modes); squares: energy per square of each state in the modes square_modes; ladder: trial factors.
    seen: SeenModes
    squares: Reals
    square_modes: Reals
    ladder: Reals
    directions: Reals
    # Kept sparsity patterns, and the current pattern; look_up_pattern: function that looks up a pattern by `nonzero_flags`.
    # coupled_at: time, states and modes of the current couplings. guesses: 1 for the guess for a loop unknown, on which the rates
    # only seem to depend. For a run without Python (`pattern_buffers`): buffers for patterns, graph to be searched. Rows and
    # columns of the entries of the Jacobian.
    patterns: Patterns
    pattern: SparsityPattern
    look_up_pattern: PatternLookup
    nonzero_flags: Flags
    nonzeros: PerEntry
    diagonal: PerState
    values: PerEntry
    coupled_at: Point
    guesses: PerState
    pattern_buffers: PatternBuffers
    graph: CouplingGraph
    entry_rows: Ints
    entry_columns: Ints
    # Interpreted steps, as in `emit.interpreter`; stride: groups of columns in one pass.
    place_blocks: Ints
    place_indices: Ints
    places: Ints
    constants: Reals
    numbers: Numbers
    rows: Reals
    steps: StepRows
    columns: Ints
    seeded: Ints
    seed_groups: Ints
    entries: Ints
    entry_groups: Ints
    # Workspace.
    fastest: PerState
    balance: Balance
    reached: Reached
    cycles: StrongCycles
    later: PerState
    moved: PerState
    at_end: PerState
    scales: PerState
    apart: PerState
    held: PerValue
    beyond: PerValue
    sharp: PerValue
    points: Points
    third: PerComponent
    fourth: PerComponent
    rest: PerComponent
    interval: PerComponent
    unbroken: PerComponent
    broken: PerComponent
    sigma: PerComponent
    driven: PerState
    # SIMD kernels with `lanes` lanes, 0 if there are none, and their blocks.
    wide_rates: Kernel
    wide_powers: Kernel
    wide_t: Reals
    wide_x: Reals
    wide_p: Reals
    wide_m: Reals
    wide_out: Reals
    # Weights in Python.
    callbacks: Callbacks
    n: int
    quadratures: int
    storages: int
    modes: int
    entry_count: int
    interpreted: bool
    # Numbers of kept patterns and mode sets, and the index of the next of each.
    pattern_count: int
    oldest: int
    seen_count: int
    seen_next: int
    # coupled: the current couplings are valid; ahead: the nonzeros for their next use are ready (`batch.simd.lane_jacobians`);
    # rated: the rates are in `driven`; scaled: progress of the natural scales for the next update
    # (`batch.simd.natural_scales`): 0, `FASTEST_RATES` or `PROPAGATED`.
    coupled: bool
    ahead: bool
    rated: bool
    scaled: int
    rejections_before_test: int
    has_absolute: bool
    autonomous: bool
    modes_known: bool
    resting: bool
    number_count: int
    input_count: int
    step_count: int
    group_count: int
    stride: int
    lanes: int
    parameters: int
    origin: float
    rtol: float
    longest: float
    collected: float
    energy: float
    spread: float
    idle: float
    boost: float
    boosted: float
