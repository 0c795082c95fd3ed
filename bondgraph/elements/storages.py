"""Storages: C and I."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Never

from bondgraph.elements.binding import Signals, bound, paths_of
from bondgraph.elements.linear import BY_INVERSE, BY_PRODUCT
from bondgraph.errors import ModelError, refusal
from bondgraph.model.arguments import of_domain, one_of, only_with_formula, size_of, start_of
from bondgraph.model.domains import COEFFICIENTS, Domain
from bondgraph.model.element import Element, one_port
from bondgraph.model.gradient import gradient
from bondgraph.model.laws import StateSpec, Storage, Variable
from bondgraph.model.ops import as_op


def C(
    name: str,
    *ambiguous: Never,
    capacitance: Any = None,
    compliance: Any = None,
    stiffness: Any = None,
    elastance: Any = None,
    output: Callable[..., Any] | None = None,
    energy: Callable[..., Any] | None = None,
    inverse: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Signals = (),
    initial: Any = 0.0,
    nominal: Any = None,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """Return a C storage: its state q is the integral of the flow, its effort a function of q.

    Give `capacitance` or `compliance` (e = q / C), `stiffness` or `elastance` (e = K q, scalar or symmetric (n, n)), by the usual
    word, since 50.0 alone may be any of them; or `energy`(q, *parameters, *signals) in J, whose gradient is the effort; `output`
    gives that gradient as your own formula. Where something else sets its effort (derivative causality),
    q = inverse(e, *parameters, *signals) saves a Newton iteration for the q with this effort, which begins at `initial`.

    Raises `ModelError` E110 unless exactly one is given, E562 for a number without its name, E563 for a word of another domain.
    """
    linear = {"capacitance": capacitance, "compliance": compliance, "stiffness": stiffness, "elastance": elastance}
    if ambiguous:
        raise _ambiguous(name, *ambiguous)
    size = dimension or size_of(initial) or next(filter(None, map(size_of, linear.values())), None)
    spec = StateSpec(start_of(initial, size), nominal)
    formulas = {"energy": energy, "inverse": inverse, "parameters": parameters, "signals": signals}
    law, values = _law("C", name, ("effort", "q", spec), output, formulas, domain, linear)
    return one_port("C", name, law, values, paths_of(signals), dimension=size, domain=domain, symbols=symbols, frame=frame)


def I(  # noqa: E743 - the name of the element in the literature
    name: str,
    inertia: Any = None,
    *,
    mass: Any = None,
    inductance: Any = None,
    inertance: Any = None,
    output: Callable[..., Any] | None = None,
    energy: Callable[..., Any] | None = None,
    inverse: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    signals: Signals = (),
    initial: Any = 0.0,
    nominal: Any = None,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """Return an I storage: its state p is the integral of the effort, its flow a function of p.

    Give `inertia`, or by the domain's word `mass`, `inductance` or `inertance` (f = p / I; a scalar, a diagonal (n,) or a symmetric
    positive definite (n, n) matrix), or `energy`(p, *parameters, *signals) in J, whose gradient is the flow; `output` gives that
    gradient as your own formula. Where something else sets its flow (derivative causality), p = inverse(f, *parameters, *signals)
    saves a Newton iteration as for a C.

    Raises `ModelError` E110 unless exactly one is given, E563 for a word of another domain.
    """
    linear = {"inertia": inertia, "mass": mass, "inductance": inductance, "inertance": inertance}
    size = dimension or size_of(initial) or next(filter(None, map(size_of, linear.values())), None)
    spec = StateSpec(start_of(initial, size), nominal)
    formulas = {"energy": energy, "inverse": inverse, "parameters": parameters, "signals": signals}
    law, values = _law("I", name, ("flow", "p", spec), output, formulas, domain, linear)
    return one_port("I", name, law, values, paths_of(signals), dimension=size, domain=domain, symbols=symbols, frame=frame)


def _law(
    kind: str,
    name: str,
    stored: tuple[Variable, str, StateSpec],
    output: Any,
    formulas: Mapping[str, Any],
    domain: Domain | str | None,
    linear: Mapping[str, Any],
) -> tuple[Storage, Mapping[str, Any]]:
    """Return law and parameters of a storage: one linear coefficient, or an energy; E110 unless exactly one is given."""
    energy, inverse, output = (
        bound(name, formula, 1, formulas["parameters"], formulas["signals"])
        for formula in (formulas["energy"], formulas["inverse"], output)
    )
    energy = None if energy is None else as_op(energy, "energy")
    by_gradient = output is None and all(value is None for value in linear.values())
    if by_gradient and energy is not None:
        output = gradient(energy)
    word = one_of(kind, name, **linear, output=output)
    if word != "output":
        only_with_formula(kind, name, word, "output", **formulas)
        of_domain(kind, name, word, domain)
        ops, others = (BY_PRODUCT, BY_INVERSE) if COEFFICIENTS[word].makes == stored[0] else (BY_INVERSE, BY_PRODUCT)
        return Storage(*stored, *ops, inverse=others[0], linear=True), {word: linear[word]}
    one_of(kind, name, energy=energy)
    assert energy is not None
    back = as_op(inverse, "state") if inverse else None
    law = Storage(*stored, as_op(output, stored[0]), energy, inverse=back, by_gradient=by_gradient)
    return law, formulas["parameters"] or {}


def _ambiguous(name: str, *numbers: Any) -> ModelError:
    """Return E562: the first number of a C is ambiguous."""
    shown = ", ".join(map(repr, numbers))
    title = f'C("{name}", {shown}) is ambiguous: a stiffness, e = K q, or its inverse, a capacitance or compliance, e = q / C?'
    cures = (f'C("{name}", {word}={numbers[0]!r})' for word in ("stiffness", "compliance", "capacitance"))
    return refusal("E562", title, *cures, about=name)
