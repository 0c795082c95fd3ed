"""Element: node of a bond graph with its law, its ports, and the user's line that created it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypedDict, TypeVar, Unpack
from weakref import WeakKeyDictionary

from bondgraph.errors import Place, caller_place
from bondgraph.model.arguments import domain_of, names_of, need_mapping, need_name, parameters_of
from bondgraph.model.automata import Automaton
from bondgraph.model.domains import Domain
from bondgraph.model.laws import Junction, Law, Parameter, Switched
from bondgraph.model.ops import Frozen
from bondgraph.output.short_repr import joined_fields, short_repr, value_text

L = TypeVar("L", bound=Law)


@short_repr
@dataclass(frozen=True)
class Port:
    """Port of an element. Dimension, domain and frame are None if the bond determines them."""

    name: str
    dimension: int | None = None
    domain: Domain | None = None
    frame: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Element(Frozen):
    """Node of the graph: its kind, name, law and ports, and the user's line that created it."""

    kind: str
    name: str
    law: Law
    ports: tuple[Port, ...] = ()
    """Ports; a junction has one entry for any number of bonds."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    signals: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)
    """LaTeX of this element's signals (`flow`, `effort`, a state's name) and parameters."""
    domain: Domain | None = None
    frame: str | None = None
    place: Place | None = None
    automaton: Automaton | None = None
    """Automaton of the element, with the same name."""
    guess: Mapping[str, float] = field(default_factory=dict)
    """Initial guesses for the effort or flow in an algebraic loop with several solutions."""
    heat: bool = False
    """True if the element's power flows out as heat at a second port, "heat", which is an element of its own in a flat model."""
    icon: str = ""
    """Picture of the part that the element models, as SVG path data in a box from (0, 0) to (1, 1), y downwards."""

    def __post_init__(self) -> None:
        need_name(self.kind, self.name)

    def __repr__(self) -> str:
        look_up = _LOOKED_UP.get(self)
        return (look_up() if look_up else "") or self.described(self.name, () if self.domain is None else (self.domain,), {})

    _cure_of_arithmetic = "graph.connect(junction, part) for each: a J1 adds efforts, a J0 adds flows"

    def _cure_of_assignment(self, name: str) -> str:
        other = f'graph.replace("{self.name}", <a new element>)'
        return f'simulate(..., parameters={{"{self.name}.{name}": value}}), or {other}' if name in self.parameters else other

    def described(self, path: str, domains: Sequence[Domain], units: Mapping[str, str]) -> str:
        """Return kind, path, parameters with units, and domains; `units` holds the units of parameters that declare none."""
        texts = [f"{key} = {_shown(p, units.get(key, ''))}" for key, p in self.parameters.items()]
        texts += [f"reads {', '.join(self.signals)}"] if self.signals else []
        texts += [" to ".join(domain.name for domain in domains)] if domains else []
        kind = f"{self.kind}-junction" if isinstance(self.law, Junction) else self.kind
        return f'{kind} "{path}"' + (": " + joined_fields(texts) if texts else "")

    def law_as(self, kind: type[L]) -> L:
        """Return the law, which must be an instance of `kind`, with this type."""
        assert isinstance(self.law, kind)
        return self.law

    @property
    def reads(self) -> tuple[str, ...]:
        """Signals that the element depends on: its arguments, and the mode of the automaton that switches it."""
        law = self.law
        return (*self.signals, law.mode) if isinstance(law, Switched) and law.automaton is not None else self.signals

    def port(self, name: str) -> PortRef:
        """Return a reference to a port of this element by name, for `Graph.connect`."""
        return PortRef(self, name)


_LOOKED_UP: WeakKeyDictionary[Element, Callable[[], str]] = WeakKeyDictionary()
"""For each element, the function that describes it, with units and domain, in the graph in which it was last looked up."""


def remember_description(element: Element, look_up: Callable[[], str]) -> None:
    """Make the repr of an element call `look_up` for its description; an empty description shows only the element."""
    _LOOKED_UP[element] = look_up


def _shown(parameter: Parameter, unit: str) -> str:
    return f"{value_text(parameter.value)} {parameter.unit or unit}".rstrip()


@short_repr
class PortRef(NamedTuple):
    """Reference, by name, to a port of an element or of a nested graph."""

    owner: Any
    name: str


class OnePort(TypedDict, total=False):
    dimension: int | None
    """Number of components of effort and flow; None if the number follows from the start value, the parameters or the
    bond."""
    domain: Domain | str | None
    symbols: Mapping[str, str] | None
    """LaTeX of the element's signals and parameters, by local name."""
    frame: str | None


def one_port(
    kind: str,
    name: str,
    law: Law,
    parameters: Mapping[str, Any],
    signals: Sequence[str] = (),
    *,
    port: str = "1",
    **arguments: Unpack[OnePort],
) -> Element:
    dimension, frame, symbols = arguments.get("dimension"), arguments.get("frame"), arguments.get("symbols")
    domain = domain_of(arguments.get("domain"), name)
    is_open = dimension is None and domain is None and frame is None
    ports = _open_port(port) if is_open else (Port(port, dimension, domain, frame),)
    values, read = parameters_of(parameters), names_of(signals, "signals", name)
    need_mapping("symbols", symbols, '"effort": "F"')
    return Element(kind, name, law, ports, values, read, dict(symbols or {}), domain, frame, caller_place())


@functools.cache
def _open_port(name: str) -> tuple[Port]:
    return (Port(name),)


def named(elements: Sequence[Element], most: int = 12) -> str:
    shown = [f'{e.kind} "{e.name}"' for e in elements[:most]]
    return ", ".join(shown + ([f"{len(elements) - most} more"] if len(elements) > most else []))
