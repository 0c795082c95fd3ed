"""The table of a run's error control, behind the pointer w: names of its fields in; places, and values at a state, out."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.codegen_helpers import clock_time
from bondgraph.run.table import fields_of

MODE_SETS = 64
"""Sets of modes that are remembered; then the earliest are forgotten."""
PATTERNS = 8
"""Structures of couplings that a run has at hand; others are looked up anew."""
FASTEST_RATES, PROPAGATED = 1, 2
"""What of natural scales is there: the fastest rates, or also the scales, carried along the couplings."""

# p, window: as in `bound.Bound`; couple: a kernel of the couplings, or steps, which are interpreted (`emit.interpreter`).
# size ... scale: as in `weights.Weights`; nominal, absolute: what the user hints at, and asks for.
# seen: modes (SEEN, modes); squares: energy per square of each state, in the modes square_modes; ladder: factors that are tried.
# coupled_at: time, states and modes (1 + n + modes) of the present couplings, if these are `coupled`; ahead: whether the nonzeros
# for the next time that they are asked for are there already (`lane_couplings`); rated: whether rates are, in `driven`; scaled:
# how much of `driving`'s `spread` is, the next time (`lane_scales`): nothing, the fastest rates, or all.
# wide_rates, ...: kernels for so many `lanes`, 0 where there are none, and their blocks.
# patterns, pattern: records of `sparsity.structures.Structures` that are at hand, and the present one; meet: finds one by found.
# autonomous: as in `program.Program`.
# callbacks: the table `CALLBACKS` of weights that are looked at in Python.
_POINTERS = """rates powers energies couple interpret p window size floor noise exceeded speed scale nominal absolute
    seen squares square_modes ladder directions patterns pattern meet found nonzeros diagonal values coupled_at
    blocks place_blocks place_indices places constants numbers rows steps work seeded seed_groups entries entry_groups
    fastest balance reached later moved scales apart held beyond sharp points third fourth sigma driven
    wide_rates wide_powers wide_t wide_x wide_p wide_m wide_out callbacks"""
_WHOLES = """n quadratures storages modes entry_count interpreted known oldest seen_count seen_next coupled ahead rated scaled
    patience has_absolute autonomous modes_known resting number_count input_count step_count group_count lanes parameters"""
_REALS = "origin rtol longest collected energy spread boost boosted"

FIELDS = fields_of(_POINTERS.split(), _WHOLES.split(), _REALS.split())

PATTERN = fields_of(("found", "structure", "own", "own_rows", "beside"), ("own_count", "beside_count"))
"""Which entries of a Jacobian are not zero (1 or 0 for each), what follows from them, and where those on the diagonal, with their
rows, and those beside it stand among all."""

CALLBACKS = fields_of(("x", "m", "refresh", "test_noise", "decay"), (), ("t", "h", "relative"))
"""Of weights that are looked at in Python, what is asked, and who answers `renew`, `question` and `relax`."""


def record_of(write: Procedure) -> Record:
    """The table behind the argument w."""
    return Record(write["w"], FIELDS)


def evaluate(write: Procedure, kernel: str, t: Temporary, x: Temporary, out: Temporary) -> None:
    """What the kernel of this field gives at (t, x)."""
    record = record_of(write)
    write.call(record.get(kernel), [clock_time(write, record, t), x, record.get("p"), write["m"], out])
