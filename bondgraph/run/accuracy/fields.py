"""Fields of the table of a run's error control, behind the pointer w, and the evaluation of its kernels."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.codegen_helpers import clock_time
from bondgraph.run.table import fields_of

MODE_SETS = 64
"""Number of mode sets that are remembered; beyond it the oldest are forgotten."""
PATTERNS = 8
"""Number of sparsity patterns of couplings that a run keeps; others are looked up again."""
FASTEST_RATES, PROPAGATED = 1, 2
"""Progress of the natural scales computed ahead: only the fastest rates, or also the scales propagated along the couplings."""

# p, window: as in `bound.Bound`; couple: kernel of the couplings, or interpreted steps (`emit.interpreter`). size ... scale: as
# in `error_weights.Weights`; nominal, absolute: the user's hints and absolute tolerances. seen: modes (MODE_SETS, modes);
# squares: energy per square of each state in the modes square_modes; ladder: trial factors. coupled_at: time, states and modes (1
# + n + modes) of the present couplings, valid if `coupled`; ahead: 1 if the nonzeros for their next use are ready
# (`batch.simd.lane_jacobians`); rated: 1 if the rates are in `driven`; scaled: progress of the natural scales for the next update
# (`batch.simd.natural_scales`): 0, `FASTEST_RATES` or `PROPAGATED`. wide_rates, ...: SIMD kernels with `lanes` lanes, 0 if there
# are none, and their blocks. patterns, pattern: records of the kept sparsity patterns, and the present one; meet: looks one up by
# found. autonomous: as in `program.Program`. callbacks: the table `CALLBACKS` of weights in Python.
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
"""Sparsity pattern: flags of the nonzeros of a Jacobian (1 or 0 each), the structure that follows from them, the indices of the
diagonal nonzeros with their rows, and the indices of the off-diagonal ones."""

CALLBACKS = fields_of(("x", "m", "refresh", "test_noise", "decay"), (), ("t", "h", "relative"))
"""Arguments of Python callbacks, and the callbacks `refresh`, `test_noise` and `decay`."""


def record_of(write: Procedure) -> Record:
    """Return the table behind the argument w."""
    return Record(write["w"], FIELDS)


def evaluate(write: Procedure, kernel: str, t: Temporary, x: Temporary, out: Temporary) -> None:
    """Evaluate the kernel of this field at (t, x)."""
    record = record_of(write)
    write.call(record.get(kernel), [clock_time(write, record, t), x, record.get("p"), write["m"], out])
