"""Checks of parts, by name, and a bench that drives every port of a part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial, update_wrapper
from typing import TypeVar

from screwbond.models import parts

from bondgraph import J0, Element, Graph, HeatTransfer, R, Se, compile_model
from screws.scalars import sin
from tests.inner.model import PortRef
from tests.inner.models_parts import Part
from tests.inner.run import Result

SHELVES = {name: getattr(parts, name).SHELF for name in parts.__all__}
PARTS = {f"{name}.{each}": part for name, shelf in SHELVES.items() for each, part in shelf.parts.items()}
_ENZYME = partial(parts.chemical.network, text="A + E <-> B + E : 2 1", amounts={"E": 1.0}, ports=("A", "B"))
PARTS["chemical.network"] = replace(PARTS["chemical.network"], make=update_wrapper(_ENZYME, parts.chemical.network))
CHECKED: dict[str, str] = {}
"""For each part, the test that compares it with a closed form or a published value."""
DRIVES = {
    "electrical": (20.0, 10.0, 300.0),
    "rotation": (20.0, 2.0, 300.0),
    "translation": (20.0, 100.0, 300.0),
    "hydraulic": (2e6, 1e10, 300.0),
    "magnetic": (100.0, 1e5, 300.0),
    "heat": (300.0, 0.1, 300.0),
    "choked_orifice": (2e5, 1e9, 300.0),  # up to 7 bar
    "chemical": (1000.0, 1000.0, 300.0),
    "chemical electrical": (0.1, 10.0, 300.0),
}
"""Amplitude, resistance and angular frequency of a source, by domain, by group and domain, or by part."""
GIVEN = {"nullor": {"error": 1e-3}}
"""Parameters of parts whose defaults have no solution on the bench; an ideal nullor needs feedback."""
Test = TypeVar("Test", bound=Callable[..., None])


def checks(*names: str) -> Callable[[Test], Test]:
    def decorated(test: Test) -> Test:
        CHECKED.update(dict.fromkeys(names, test.__name__))
        return test

    return decorated


def final(graph: Graph, *signals: str, t_end: float = 1.0, rtol: float = 1e-9) -> list[float]:
    run = compile_model(graph, progress=False).simulate(t_end, rtol=rtol, progress=False)
    assert run.ok
    return [float(run[name][-1]) for name in signals]


def ports_of(made: Element | Graph) -> Iterator[tuple[str, Element | PortRef]]:
    if isinstance(made, Graph):
        yield from ((name, made.port(name)) for name in made.ports)
    elif len(made.ports) == 1:
        yield "1", made
    else:
        yield from ((port.name, made.port(port.name)) for port in made.ports)


def domain_at(made: Element | Graph, port: str, default: str) -> str:
    element, name = behind(made, port)
    own = element.domain or next((each.domain for each in element.ports if each.name == name), None)
    return default if own is None else own.name


def behind(made: Element | Graph, port: str) -> PortRef:
    element, name = made, port
    while isinstance(element, Graph):
        element, name = element.ports[name or next(iter(element.ports))]
    return PortRef(element, name)


def bench(part: Part, name: str = "part", turned: bool = False, **given: object) -> Graph:
    """Return a graph in which sources with resistances drive all ports of a part, each with its own phase.

    If `turned`, half arrows point out of the part, except at 1-junctions.
    """
    graph, made = Graph("bench"), part.make(name, **{**GIVEN.get(part.name, {}), **given})
    for k, (port, reference) in enumerate(ports_of(made)):
        domain = domain_at(made, port, _usual_domain(part))
        if domain == "thermal":
            stores = isinstance(made, Element) and made.kind == "C"
            graph.connect(_warm(graph, f"node {port}", 300.0 + 20.0 * k, direct=not stores), reference)
            continue
        amplitude, resistance, pace = DRIVES.get(part.name) or DRIVES.get(f"{part.shelf} {domain}") or DRIVES[domain]

        def course(t: float, amplitude: float = amplitude, pace: float = pace, k: int = k) -> float:
            return amplitude * sin(pace * t + k)

        node = J0(f"node {port}")
        graph.between(None, node, Se(f"drive {port}", course, signals="time"), R(f"inner {port}", resistance))
        out = turned and behind(made, port).owner.kind != "1"
        graph.connect(*((reference, node) if out else (node, reference)))
    return graph


def gives_work_alone(part: Part) -> bool:
    made = part.make("p")
    return not {domain_at(made, port, _usual_domain(part)) for port, _ in ports_of(made)} & {"thermal", "heat"}


def _usual_domain(part: Part) -> str:
    return {"motion": "translation", "machines": "electrical", "electronics": "electrical"}.get(part.shelf, part.shelf)


def _warm(graph: Graph, name: str, temperature: float, direct: bool) -> Element:
    node = J0(name if direct else f"{name} body", domain="thermal")
    graph.connect(node, parts.thermal.heat_capacity(f"body {name}", T0=temperature))
    if direct:
        return node
    film, behind_it = HeatTransfer(f"film {name}", 5.0), J0(name, domain="thermal")
    graph.connect(node, film.port("1")).connect(film.port("2"), behind_it)
    return behind_it


def driven(graph: Graph, rtol: float = 1e-8) -> Result:
    return compile_model(graph, progress=False).simulate(0.05, rtol=rtol, progress=False)
