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
    dimension = dimension or size_of(initial) or (None if stiffness is None else size_of(stiffness))
    dimension = dimension or (None if capacitance is None else size_of(capacitance))
    by_gradient = output is None and capacitance is None and stiffness is None
    if by_gradient and energy is not None:
        output = gradient(as_op(energy, "energy"))
    how = one_of("C", name, capacitance=capacitance, stiffness=stiffness, output=output)
    spec = StateSpec(start_of(initial, dimension), nominal)
    if how == "output":
        law, values = (_by_formula("C", name, "q", spec, "effort", output, energy, inverse, by_gradient), parameters or {})
    else:
        only_with_formula("C", name, how, "output", energy=energy, inverse=inverse, parameters=parameters, signals=signals)
        ops, others = (BY_INVERSE, BY_PRODUCT) if how == "capacitance" else (BY_PRODUCT, BY_INVERSE)
        law = Storage("effort", "q", spec, *ops, inverse=others[0], linear=True)
        values = {how: capacitance if how == "capacitance" else stiffness}
    return one_port("C", name, law, values, signals, dimension, domain, symbols, frame)


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
    dimension = dimension or size_of(initial) or (None if inertia is None else size_of(inertia))
    by_gradient = output is None and inertia is None
    if by_gradient and energy is not None:
        output = gradient(as_op(energy, "energy"))
    how = one_of("I", name, inertia=inertia, output=output)
    spec = StateSpec(start_of(initial, dimension), nominal)
    if how == "output":
        law, values = _by_formula("I", name, "p", spec, "flow", output, energy, inverse, by_gradient), parameters or {}
    else:
        only_with_formula("I", name, how, "output", energy=energy, inverse=inverse, parameters=parameters, signals=signals)
        law = Storage("flow", "p", spec, *BY_INVERSE, inverse=BY_PRODUCT[0], linear=True)
        values = {"inertia": inertia}
    return one_port("I", name, law, values, signals, dimension, domain, symbols, frame)


def _by_formula(
    kind: str, name: str, state: str, spec: StateSpec, result: Variable, output: Any, energy: Any, inverse: Any, by_gradient: bool
) -> Storage:
    """The law of an energy of the user's own; E110 for an output without one."""
    one_of(kind, name, energy=energy)
    back = as_op(inverse, "state") if inverse else None
    return Storage(result, state, spec, as_op(output, result), as_op(energy, "energy"), inverse=back, by_gradient=by_gradient)
