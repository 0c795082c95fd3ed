"""Dormand and Prince's method of order 8(5,3): its tableau, and the machine code of the loop around its steps."""

from __future__ import annotations

from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.once import once
from bondgraph.emit.procedure import Procedure, Temporary
from bondgraph.run.integrators.explicit import coefficients
from bondgraph.run.integrators.explicit.runge_kutta import ExplicitStepper
from bondgraph.run.integrators.explicit.steps import Tableau, method_of
from bondgraph.run.integrators.one_step.driver import procedures


def _eighth_root(write: Procedure, value: Temporary) -> Temporary:
    return write.intrinsic("sqrt", write.intrinsic("sqrt", write.intrinsic("sqrt", value)))


TABLEAU = Tableau(
    name="dop853",
    a=coefficients.A,
    c=coefficients.C,
    last=12,
    errors=(coefficients.E5, coefficients.E3),
    dense=coefficients.D,
    boundary=6.1,
    root=_eighth_root,
)


def written() -> list[Procedure]:
    """All procedures of the method, with the loops around its steps."""
    return procedures(method_of(TABLEAU))


@once
def machine_code() -> Library:
    """The method as machine code."""
    return compile_written(written)


STEPPER = ExplicitStepper(TABLEAU, machine_code)
