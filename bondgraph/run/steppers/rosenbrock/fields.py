"""Fields of the table of Rodas5P, behind the pointer c."""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record
from bondgraph.run.steppers.method import with_method_fields

# jacobian, nonzeros: its kernel, and the kernel's output; rate, drift: rates of a stage, and their time derivative; ahead,
# beyond: rates a little later; u, rest: of all stages, and the contribution of earlier stages to the right-hand side of one;
# speed: as in `weights`.
# system: the table of the linear systems (`linear.system`).
# f, flows: coefficients of the dense output of states, and for each power its values at the nodes of a step, times the step size.
FIELDS = with_method_fields("jacobian nonzeros rate drift ahead beyond u rest speed system f flows", "nonzero_count")


def record_of(write: Procedure) -> Record:
    """Return the table passed as argument c."""
    return Record(write["c"], FIELDS)
