"""Two-ports: transformers and gyrators, constant and modulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bondgraph.errors import caller_place, refusal
from bondgraph.model.arguments import domain_of, parameters_of, shape_of
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, Port
from bondgraph.model.laws import Action, Gyrator, Law, Parameter, Transformer
from bondgraph.model.names import names_of
from bondgraph.model.ops import Op, as_op
from bondgraph.quantities import real


def _two_port(
    kind: str,
    name: str,
    law: Law,
    values: Mapping[str, Parameter],
    signals: Sequence[str],
    dimensions: tuple[int | None, int | None],
    domains: tuple[Domain | str | None, Domain | str | None],
    frames: tuple[str | None, str | None],
    symbols: Mapping[str, str] | None,
) -> Element:
    ports = tuple(
        Port(label, dimension, domain_of(domain, name), frame)
        for label, dimension, domain, frame in zip("12", dimensions, domains, frames, strict=True)
    )
    read = names_of(signals, "signals")
    return Element(kind, name, law, ports, values, read, dict(symbols or {}), None, None, caller_place())


def _ratio_shape(kind: str, name: str, ratio: Any, fits: str, structural: bool = False) -> tuple[int, ...]:
    """Shape of a ratio; E128 where it has more axes than the element can use, or none of a length."""
    shape = shape_of(ratio)
    if structural and real(ratio.value if isinstance(ratio, Parameter) else ratio) is None:
        title = f'{kind} "{name}": ratio is {ratio!r}'
        raise refusal("E113", title, "a ratio of numbers", about=name, why="it must be a finite number or an array of them")
    if len(shape) > 2 or 0 in shape or (kind == "GY" and len(shape) == 1):
        why = f"shapes that fit: {fits}"
        raise refusal("E128", f'{kind} "{name}": ratio has shape {shape}', "a ratio of a fitting shape", about=name, why=why)
    return shape


_GIVEN = Op("ratio", lambda n: n, "#1")


def TF(
    name: str,
    ratio: Any,
    *,
    structural: bool = False,
    domains: tuple[Domain | str | None, Domain | str | None] = (None, None),
    frames: tuple[str | None, str | None] = (None, None),
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Transformer, power from port 1 to port 2: f2 = N f1, e1 = N^T e2.

    `ratio` is a scalar, a row (n1,) or a matrix (n2, n1). With `structural` its numbers belong to the equations
    (a selection of components, say) and are no run-time parameter.
    """
    shape = _ratio_shape("TF", name, ratio, "(), (n1,) and (n2, n1)", structural)
    dimensions = (None, None) if shape == () else (shape[0], 1) if len(shape) == 1 else (shape[1], shape[0])
    if structural:
        from bondgraph.model.ops import constant

        law = Transformer(constant(ratio.value if isinstance(ratio, Parameter) else ratio), shape == ())
        return _two_port("TF", name, law, {}, (), dimensions, domains, frames, symbols)
    law = Transformer(_GIVEN, shape == ())
    return _two_port("TF", name, law, parameters_of({"ratio": ratio}), (), dimensions, domains, frames, symbols)


def MTF(
    name: str,
    matrix: Callable[..., Any],
    *,
    signals: Sequence[str],
    parameters: Mapping[str, Any] | None = None,
    dimensions: tuple[int | None, int | None] = (None, None),
    domains: tuple[Domain | str | None, Domain | str | None] = (None, None),
    frames: tuple[str | None, str | None] = (None, None),
    symbols: Mapping[str, str] | None = None,
    action: Action | None = None,
) -> Element:
    """Modulated transformer: f2 = N f1, e1 = N^T e2 with N = matrix(*parameters, *signals).

    `action` has formulas for both products that cost less than rows times columns, where there are some.
    """
    law = Transformer(as_op(matrix, "N"), dimensions in ((1, 1), (None, None)), action)
    return _two_port("MTF", name, law, parameters_of(parameters or {}), signals, dimensions, domains, frames, symbols)


def GY(
    name: str,
    ratio: Any,
    *,
    domains: tuple[Domain | str | None, Domain | str | None] = (None, None),
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Gyrator, power from port 1 to port 2: e1 = r f2, e2 = r^T f1; `ratio` is a scalar or a matrix (n1, n2)."""
    shape = _ratio_shape("GY", name, ratio, "() and (n1, n2)")
    dimensions = (None, None) if shape == () else (shape[0], shape[1])
    law = Gyrator(_GIVEN, shape == ())
    return _two_port("GY", name, law, parameters_of({"ratio": ratio}), (), dimensions, domains, (None, None), symbols)


def MGY(
    name: str,
    matrix: Callable[..., Any],
    *,
    signals: Sequence[str],
    parameters: Mapping[str, Any] | None = None,
    dimensions: tuple[int | None, int | None] = (None, None),
    domains: tuple[Domain | str | None, Domain | str | None] = (None, None),
    symbols: Mapping[str, str] | None = None,
) -> Element:
    """Modulated gyrator: e1 = r f2, e2 = r^T f1 with r = matrix(*parameters, *signals)."""
    law = Gyrator(as_op(matrix, "r"), dimensions in ((1, 1), (None, None)))
    return _two_port("MGY", name, law, parameters_of(parameters or {}), signals, dimensions, domains, (None, None), symbols)
