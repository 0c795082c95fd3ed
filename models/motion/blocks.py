"""Motions in a bond graph: a block of reference signals, and a flow source that follows a motion."""

from __future__ import annotations

from typing import Any

from screwbond.models.motion.polynomials import QUANTITIES, Motion, extended_coefficients, horner, piece_starts, select_piece

from bondgraph import Block, Element, Op, Parameter, Sf
from bondgraph.model.domains import Domain
from bondgraph.model.element import OnePort
from bondgraph.model.units import per_second


def _derivative(order: int) -> Op:
    """Return the operation (t, breaks (N + 1,), coefficients (N + 2, m, ...)) -> derivative of r of this order.

    It selects among the values of all pieces, not among coefficients, since the compiler may differentiate it in time: position
    and velocity of adjacent pieces agree at their break, coefficients do not.
    """

    def formula(t: Any, breaks: Any, table: Any) -> Any:
        values = [horner(t - base, polynomial, order) for base, polynomial in zip(piece_starts(breaks), table, strict=True)]
        return select_piece(t, breaks, values)

    prime = rf"\tfrac{{d^{order}}}{{dt^{order}}} " if order else ""
    return Op(QUANTITIES[order], formula, prime + r"\textstyle\sum_i c_{ki} (#1 - t_k)^i,\quad t_k \le #1 < t_{k+1}")


DERIVATIVES = tuple(map(_derivative, range(len(QUANTITIES))))


def motion_parameters(motion: Motion, unit: str = "", prefix: str = "") -> dict[str, Parameter]:
    """Return `breaks` (N + 1,) and `coefficients` (N + 2, m, ...); the first and last pieces are the uniform motions before
    and after the breaks."""
    return {
        f"{prefix}breaks": Parameter(motion.breaks, "s"),
        f"{prefix}coefficients": Parameter(extended_coefficients(motion), unit and f"{unit}, {per_second(unit)} ..."),
    }


def motion_symbols(letter: str, prefix: str = "") -> dict[str, str]:
    return {f"{prefix}breaks": f"t_{{{letter}}}", f"{prefix}coefficients": f"c_{{{letter}}}"}


def reference(name: str, motion: Motion, *, unit: str = "", symbol: str = "r", time: str = "time") -> Element:
    """Build the signals `<name>.position`, `.velocity`, `.acceleration` and `.jerk` of a motion.

    Compiled code selects the piece by bisection; the cost grows with the number of coefficients. Solvers stop at the breaks
    unless `time` is another signal. Breaks and coefficients are run-time parameters: a motion with the same numbers of breaks
    and coefficients needs no recompilation (`motion_parameters`).

    Parameters
    ----------
    motion : the motion r(t).
    unit, symbol : unit and symbol of r, from which its derivatives get their units and symbols.
    time : signal that replaces time in the motion, s.
    """
    equations = [(quantity, DERIVATIVES[k], ["t", "breaks", "coefficients"]) for k, quantity in enumerate(QUANTITIES)]
    marks = (symbol, rf"\dot{{{symbol}}}", rf"\ddot{{{symbol}}}", rf"\dddot{{{symbol}}}")
    return Block(
        name,
        equations,
        inputs={"t": time},
        parameters=motion_parameters(motion, unit),
        units={quantity: per_second(unit, k) for k, quantity in enumerate(QUANTITIES)},
        symbols=dict(zip(QUANTITIES, marks, strict=True)) | motion_symbols(symbol),
        breaks=["breaks"] if time == "time" else [],
    )


FLOW = Op("flow of a motion", lambda breaks, table, t: DERIVATIVES[1](t, breaks, table), r"\dot r(#3)")


def flow_source(
    name: str, motion: Motion, *, unit: str = "", domain: Domain | str | None = None, frame: str | None = None, time: str = "time"
) -> Element:
    """Build an Sf that imposes the flow r', so that the bonded element moves as r does."""
    dimension = motion.shape[0] if motion.shape else None
    options: OnePort = {"dimension": dimension, "domain": domain, "symbols": motion_symbols("r"), "frame": frame}
    return Sf(name, FLOW, parameters=motion_parameters(motion, unit), signals=[time], **options)
