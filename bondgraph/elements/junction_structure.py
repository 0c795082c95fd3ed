"""Junction structure: 0- and 1-junctions with their switched kinds, transformers and gyrators, constant and modulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from bondgraph.elements.binding import Signals, bound, paths_of
from bondgraph.errors import caller_place, refusal
from bondgraph.model.arguments import domain_of, in_unit, names_of, need_coefficient, parameters_of, shape_of, spelled_out
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, OnePort, Port, one_port
from bondgraph.model.laws import Action, Gyrator, Junction, Law, Transformer
from bondgraph.model.ops import Op, as_op, constant
from bondgraph.quantities import real


class Ports(TypedDict, total=False):
    domains: tuple[Domain | str | None, Domain | str | None]
    frames: tuple[str | None, str | None]
    symbols: Mapping[str, str] | None


@spelled_out
def TF(name: str, ratio: Any, *, structural: bool = False, **ports: Unpack[Ports]) -> Element:
    """Return a transformer: f2 = N f1, e1 = N^T e2, where power from port 1 to port 2 is positive.

    `ratio` is a scalar, a row (n1,) or a matrix (n2, n1). With `structural`, its entries are part of the equations (as in a
    selection of components) and are not run-time parameters. Raises `ModelError` E128 for a ratio of another shape.
    """
    if structural:
        ratio = in_unit(name, "ratio", ratio, "")
    if structural and real(ratio) is None:
        title, why = f'TF "{name}": ratio is {ratio!r}', "it must be a finite number or an array of finite numbers"
        raise refusal("E113", title, "a ratio of numbers", about=name, why=why)
    shape = _ratio_shape("TF", name, ratio, {0: "()", 1: "(n1,)", 2: "(n2, n1)"})
    dimensions = (None, None) if shape == () else (shape[0], 1) if len(shape) == 1 else (shape[1], shape[0])
    law = Transformer(constant(ratio) if structural else _RATIO, shape == ())
    return _two_port("TF", name, law, {} if structural else {"ratio": ratio}, (), dimensions, **ports)


@spelled_out
def MTF(
    name: str,
    matrix: Callable[..., Any],
    *,
    signals: Signals = (),
    parameters: Mapping[str, Any] | None = None,
    dimensions: tuple[int | None, int | None] = (None, None),
    action: Action | None = None,
    **ports: Unpack[Ports],
) -> Element:
    """Return a modulated transformer: f2 = N f1, e1 = N^T e2 with N = matrix(*parameters, *signals).

    `action` gives formulas for N f1 and N^T e2 that are cheaper than products with the matrix.
    """
    law = Transformer(as_op(bound(name, matrix, 0, parameters, signals), "N"), dimensions in _SCALAR, action)
    return _two_port("MTF", name, law, parameters or {}, paths_of(signals), dimensions, **ports)


@spelled_out
def GY(name: str, ratio: Any, **ports: Unpack[Ports]) -> Element:
    """Return a gyrator: e1 = r f2, e2 = r^T f1, where power from port 1 to port 2 is positive; `ratio` is a scalar or a matrix
    (n1, n2). Raises `ModelError` E128 for a ratio of another shape."""
    shape = _ratio_shape("GY", name, ratio, {0: "()", 2: "(n1, n2)"})
    dimensions = (None, None) if shape == () else (shape[0], shape[1])
    return _two_port("GY", name, Gyrator(_RATIO, shape == ()), {"ratio": ratio}, (), dimensions, **ports)


@spelled_out
def MGY(
    name: str,
    matrix: Callable[..., Any],
    *,
    signals: Signals = (),
    parameters: Mapping[str, Any] | None = None,
    dimensions: tuple[int | None, int | None] = (None, None),
    **ports: Unpack[Ports],
) -> Element:
    """Return a modulated gyrator: e1 = r f2, e2 = r^T f1 with r = matrix(*parameters, *signals)."""
    law = Gyrator(as_op(bound(name, matrix, 0, parameters, signals), "r"), dimensions in _SCALAR)
    return _two_port("MGY", name, law, parameters or {}, paths_of(signals), dimensions, **ports)


_RATIO = Op("ratio", lambda n: n, "#1")
_SCALAR = ((1, 1), (None, None))


def _ratio_shape(kind: str, name: str, ratio: Any, fitting: Mapping[int, str]) -> tuple[int, ...]:
    need_coefficient(kind, name, "ratio", ratio, 'lambda y: ..., signals=["y"]', f"M{kind}")
    shape = shape_of(ratio)
    if len(shape) not in fitting or 0 in shape:
        *some, last = fitting.values()
        title, why = f'{kind} "{name}": ratio has shape {shape}', f"allowed shapes: {', '.join(some)} and {last}"
        raise refusal("E128", title, "a ratio of an allowed shape", about=name, why=why)
    return shape


def _two_port(
    kind: str,
    name: str,
    law: Law,
    parameters: Mapping[str, Any],
    signals: Sequence[str],
    dimensions: tuple[int | None, int | None],
    **arguments: Unpack[Ports],
) -> Element:
    nothing = (None, None)
    rows = zip("12", dimensions, arguments.get("domains", nothing), arguments.get("frames", nothing), strict=True)
    ports = tuple(Port(label, dimension, domain_of(domain, name), frame) for label, dimension, domain, frame in rows)
    values, read = parameters_of(parameters), names_of(signals, "signals", name)
    return Element(kind, name, law, ports, values, read, dict(arguments.get("symbols") or {}), None, None, caller_place())


_ZERO, _ONE = Junction(0), Junction(1)


@spelled_out
def J0(name: str, **port: Unpack[OnePort]) -> Element:
    """Return a 0-junction: its bonds share one effort, and their flows sum to zero."""
    return one_port("0", name, _ZERO, {}, port="any", **port)


@spelled_out
def J1(name: str, **port: Unpack[OnePort]) -> Element:
    """Return a 1-junction: its bonds share one flow, and their efforts sum to zero."""
    return one_port("1", name, _ONE, {}, port="any", **port)


@spelled_out
def X0(name: str, *, automaton: str, active: Sequence[str], **port: Unpack[OnePort]) -> Element:
    """Return a switched 0-junction: a 0-junction while the automaton is in one of the `active` states; else all efforts and flows
    that it determines are zero, so that no power passes."""
    law = Junction(0, automaton=automaton, active=names_of(active, "active"))
    return one_port("X0", name, law, {}, port="any", **port)


@spelled_out
def X1(name: str, *, automaton: str, active: Sequence[str], **port: Unpack[OnePort]) -> Element:
    """Return a switched 1-junction; `automaton` and `active` as for `X0`."""
    law = Junction(1, automaton=automaton, active=names_of(active, "active"))
    return one_port("X1", name, law, {}, port="any", **port)
