"""Storages: C and I."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bondgraph.elements.linear import BY_INVERSE, BY_PRODUCT
from bondgraph.model.arguments import one_of, only_with_formula, size_of, start_of
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, one_port
from bondgraph.model.gradient import gradient
from bondgraph.model.laws import StateSpec, Storage, Variable
from bondgraph.model.ops import as_op


def C(
    name: str,
    capacitance: Any = None,
    *,
    stiffness: Any = None,
    output: Callable[..., Any] | None = None,
    energy: Callable[..., Any] | None = None,
    inverse: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Sequence[str] = (),
    initial: Any = 0.0,
    nominal: Any = None,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """C storage: its state q is the integral of the flow, its effort a function of q.

    Give `capacitance` (e = q / C), `stiffness` (e = K q, scalar or symmetric (n, n)), or `energy`(q, *parameters, *signals)
    in J, whose gradient is the effort; `output` gives that gradient as a formula of your own. Where something else sets its
    effort (derivative causality), q = inverse(e, *parameters, *signals) saves a search for the q that has this effort, which
    begins at `initial`.
    """
    size = dimension or size_of(initial) or size_of(stiffness) or size_of(capacitance)
    spec = StateSpec(start_of(initial, size), nominal)
    own = {"energy": energy, "inverse": inverse, "parameters": parameters, "signals": signals}
    law, values = _law("C", name, ("effort", "q", spec), output, own, capacitance=capacitance, stiffness=stiffness)
    return one_port("C", name, law, values, signals, size, domain, symbols, frame)


def I(  # noqa: E743 - the name of the element in the literature
    name: str,
    inertia: Any = None,
    *,
    output: Callable[..., Any] | None = None,
    energy: Callable[..., Any] | None = None,
    inverse: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Sequence[str] = (),
    initial: Any = 0.0,
    nominal: Any = None,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """I storage: its state p is the integral of the effort, its flow a function of p.

    Give `inertia` (f = p / I; a scalar, a diagonal (n,) or a symmetric positive definite (n, n) matrix), or
    `energy`(p, *parameters, *signals) in J, whose gradient is the flow; `output` gives that gradient as your own formula. Where
    something else sets its flow (derivative causality), p = inverse(f, *parameters, *signals) saves a search as for a C.
    """
    size = dimension or size_of(initial) or size_of(inertia)
    spec = StateSpec(start_of(initial, size), nominal)
    own = {"energy": energy, "inverse": inverse, "parameters": parameters, "signals": signals}
    law, values = _law("I", name, ("flow", "p", spec), output, own, inertia=inertia)
    return one_port("I", name, law, values, signals, size, domain, symbols, frame)


_WAYS = {"capacitance": (BY_INVERSE, BY_PRODUCT), "stiffness": (BY_PRODUCT, BY_INVERSE), "inertia": (BY_INVERSE, BY_PRODUCT)}
"""Coefficient of a linear storage -> output and energy of the state, and of the output."""


def _law(
    kind: str, name: str, stored: tuple[Variable, str, StateSpec], output: Any, own: Mapping[str, Any], **linear: Any
) -> tuple[Storage, Mapping[str, Any]]:
    """Law and parameters of what gives a variable by its state: one linear coefficient, or an energy; E110 unless just one."""
    energy = None if own["energy"] is None else as_op(own["energy"], "energy")
    by_gradient = output is None and all(value is None for value in linear.values())
    if by_gradient and energy is not None:
        output = gradient(energy)
    how = one_of(kind, name, **linear, output=output)
    if how != "output":
        only_with_formula(kind, name, how, "output", **own)
        ops, others = _WAYS[how]
        return Storage(*stored, *ops, inverse=others[0], linear=True), {how: linear[how]}
    one_of(kind, name, energy=energy)
    assert energy is not None
    back = as_op(own["inverse"], "state") if own["inverse"] else None
    law = Storage(*stored, as_op(output, stored[0]), energy, inverse=back, by_gradient=by_gradient)
    return law, own["parameters"] or {}
