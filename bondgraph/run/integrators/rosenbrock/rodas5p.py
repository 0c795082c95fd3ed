"""Rodas5P as the loop around its steps, and a run, take it."""

from __future__ import annotations

import numpy as np

from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.once import once
from bondgraph.emit.procedure import Procedure
from bondgraph.run.bound import Bound
from bondgraph.run.error_control.shared_weights import SharedWeights
from bondgraph.run.instants.settler import Settler
from bondgraph.run.integrators.leg import Tolerances
from bondgraph.run.integrators.one_step.driver import procedures
from bondgraph.run.integrators.one_step.integrator import OneStep
from bondgraph.run.integrators.one_step.method import Method
from bondgraph.run.integrators.rosenbrock import coefficients, powers, steps
from bondgraph.run.integrators.rosenbrock.fields import FIELDS
from bondgraph.run.linear import band, dense
from bondgraph.run.linear.layout import layout_of
from bondgraph.run.ticks import Ticks


def _procedures() -> list[Procedure]:
    algebra = [dense.factor(), dense.solve(), band.factor(), band.solve()]
    stages = [steps.combination(stage) for stage in range(1, coefficients.STAGES)]
    inner = [steps.prepare_dense(), steps.inside(), powers.inside(), steps.dense(), steps.look()]
    return [*algebra, *stages, *inner, powers.integrals(), steps.drift(), steps.factors(), steps.unknowns(), steps.attempt()]


RODAS5P = Method(
    name="rodas5p",
    fields=FIELDS,
    last=steps.LAST,
    cubic="look_inside",
    explicit=False,
    root=steps.fifth_root,
    rounding=steps.rounding,
    procedures=_procedures,
)


def written() -> list[Procedure]:
    """All procedures of the method, with the loops around its steps."""
    return procedures(RODAS5P)


@once
def machine_code() -> Library:
    """The method as machine code."""
    return compile_written(written)


class Rodas5P(OneStep):
    """Rosenbrock method of order 5 with dense output of order 4 for stiff models, in machine code.

    `linear` is "dense", "band", or "auto" for the cheaper one.
    """

    def __init__(
        self,
        bound: Bound,
        tolerances: Tolerances,
        weights: SharedWeights,
        linear: str,
        ticks: Ticks | None,
        settler: Settler | None = None,
    ):
        program = bound.program
        n, powered = program.states, bound.quadratures
        rows, columns = program.jacobian_entries
        layout = layout_of(n, rows, columns, linear)
        lengths = dict.fromkeys(("rate", "drift", "ahead", "beyond", "rest", "right", "worth"), n)
        lengths |= {"k": 2 * (n + powered), "u": coefficients.STAGES * n, "f": steps.DENSE * n}
        lengths |= {"flows": len(powers.NODES) * powered, "matrix": layout.room, "nonzeros": len(rows)}
        super().__init__(RODAS5P, machine_code(), bound, tolerances, weights, lengths, ticks, settler)
        table = self.table
        table.point("pivots", np.zeros(n, dtype=np.int64))
        for name in ("order", "places", "diagonal"):
            table.point(name, np.ascontiguousarray(getattr(layout, name), dtype=np.int64))
        counts = {"layout": layout.kind, "lower": layout.lower, "upper": layout.upper, "room": layout.room}
        for name, count in {**counts, "nonzero_count": len(rows)}.items():
            table[name] = count
