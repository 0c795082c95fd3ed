"""Sensitivities of a steady state, its outputs and the rates to parameters, from the tape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bondgraph.analysis.derivatives import differentiate
from bondgraph.analysis.newton import least_change
from bondgraph.analysis.steady import OperatingPoint
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.points import Point, point_of
from bondgraph.errors import refusal
from bondgraph.output.cells import cell, line, table
from bondgraph.output.short_repr import short_repr


@short_repr
@dataclass(frozen=True, eq=False)
class Sensitivities:
    """Derivatives by parameters at a point.

    Parameters
    ----------
    rates : d x' / d p at fixed state, (n, k). direct : d y / d p at fixed state, (outputs, k).
    steady_states, steady_outputs : d x / d p and d y / d p where the state follows so that the rates do not change.
    values : outputs at the point; parameter_values : parameters there.
    """

    states: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    rates: np.ndarray = field(repr=False)
    direct: np.ndarray = field(repr=False)
    steady_states: np.ndarray = field(repr=False)
    steady_outputs: np.ndarray
    values: np.ndarray
    parameter_values: np.ndarray

    def relative(self) -> np.ndarray:
        """Return (p / y) d y / d p in steady state, (outputs, k): per cent of change for one per cent; nan where y is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.steady_outputs * self.parameter_values / self.values[:, None]
        return np.where(self.values[:, None] != 0.0, ratio, np.nan)

    def _repr_html_(self) -> str:
        rows = [(name, *self.steady_outputs[:, k]) for k, name in enumerate(self.parameters)]
        return cell(line("sensitivities", "change of the steady outputs by parameters"), table(("", *self.outputs), rows))

    def __str__(self) -> str:
        width = max((len(name) for name in self.parameters), default=0)
        lines = [" " * width + "".join(f"  {name:>14}" for name in self.outputs)]
        for k, name in enumerate(self.parameters):
            lines.append(f"{name:<{width}}" + "".join(f"  {value:14.6g}" for value in self.steady_outputs[:, k]))
        return "\n".join(lines)


def sensitivities(
    model: Compilable, outputs: Sequence[str], parameters: Sequence[str], at: OperatingPoint | Point | None = None
) -> Sensitivities:
    """Return the derivatives of rates, steady state and outputs by parameters.

    Where A is singular because a quantity is conserved, its amount does not change.

    Parameters
    ----------
    outputs : named values, components allowed.
    parameters : names of parameters, components allowed.
    at : an operating point; the start values by default, which should then be a steady state.

    Raises `ModelError` E259 where a parameter leaves no steady state nearby; E250, E251, E260 as in `linearise`.
    """
    compiled = compiled_form(model, "sensitivities")
    point = at.point if isinstance(at, OperatingPoint) else at if at is not None else point_of(compiled)
    derivatives = differentiate(compiled, parameters, outputs)
    linear = derivatives(point)
    a, b, c, d = linear.A, linear.B, linear.C, linear.D
    if linear.is_sparse:
        b, d = b.toarray(), d.toarray()
    indices = list(derivatives.state_places)
    scale = compiled.program.typical[indices] + np.abs(point.x[indices])
    steady, solved = least_change(a, b, scale)
    if not np.all(solved):
        unsolved = [name for name, good in zip(linear.inputs, solved, strict=True) if not good]
        title = f"no steady state follows a change of {', '.join(unsolved)}"
        why = "A is singular, and this parameter pushes a state that nothing holds"
        cures = ("leave it out", "a spring or resistor that holds the state, or a conserved amount that follows")
        raise refusal("E259", title, *cures, about=compiled.model.name, why=why, places=())
    return Sensitivities(
        linear.states,
        linear.outputs,
        linear.inputs,
        b,
        d,
        steady,
        np.asarray(c @ steady) + d,
        linear.values,
        point.p[list(derivatives.input_places)],
    )
