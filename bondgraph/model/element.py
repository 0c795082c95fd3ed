"""Element: one node of a graph - its law, its ports, and the line where the user created it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypedDict, TypeVar, Unpack

from bondgraph.errors import Place, caller_place
from bondgraph.model.arguments import domain_of, parameters_of
from bondgraph.model.automata import Automaton
from bondgraph.model.copies import Frozen
from bondgraph.model.domains import Domain
from bondgraph.model.laws import Law, Parameter, Switched
from bondgraph.model.names import names_of, need_name
from bondgraph.output.short_repr import short_repr

L = TypeVar("L", bound=Law)


@short_repr
@dataclass(frozen=True)
class Port:
    """A place where a bond can end. Dimension, domain and frame are None where the bond decides."""

    name: str
    dimension: int | None = None
    domain: Domain | None = None
    frame: str | None = None


@short_repr
@dataclass(frozen=True, eq=False)
class Element(Frozen):
    """A node of the graph: its kind and name, what it does (law), and where the user created it."""

    kind: str
    name: str
    law: Law
    ports: tuple[Port, ...] = ()
    """Empty for junctions, which have as many ports as bonds."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    signals: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)
    """LaTeX of this element's signals (`flow`, `effort`, a state's name) and parameters."""
    domain: Domain | None = None
    frame: str | None = None
    place: Place | None = None
    automaton: Automaton | None = None
    """A state machine of the element's own, which bears its name."""

    def __post_init__(self) -> None:
        need_name(self.kind, self.name)

    def law_as(self, kind: type[L]) -> L:
        """The law, as what it is."""
        assert isinstance(self.law, kind)
        return self.law

    @property
    def reads(self) -> tuple[str, ...]:
        """Every signal that it depends on: those it was given, and the mode of the automaton that switches it."""
        law = self.law
        return (*self.signals, law.mode) if isinstance(law, Switched) and law.automaton is not None else self.signals

    def port(self, name: str) -> PortRef:
        """Reference to one named port of this element, for `Graph.connect`."""
        return PortRef(self, name)


@short_repr
class PortRef(NamedTuple):
    """One named port of an element or of a nested graph."""

    owner: Any
    name: str


class OnePort(TypedDict, total=False):
    """What every element with one kind of port takes besides its own arguments."""

    dimension: int | None
    """Components of its effort and flow; None: as its start value or parameters say, else its bond."""
    domain: Domain | str | None
    symbols: Mapping[str, str] | None
    """LaTeX of its signals and parameters, by local name."""
    frame: str | None


def one_port(
    kind: str,
    name: str,
    law: Law,
    parameters: Mapping[str, Any],
    signals: Sequence[str] = (),
    *,
    port: str = "1",
    **own: Unpack[OnePort],
) -> Element:
    """Element of one kind of port, in the domain and frame of that port; `parameters` are plain values or `Parameter`s."""
    dimension, frame, symbols = own.get("dimension"), own.get("frame"), own.get("symbols")
    found = domain_of(own.get("domain"), name)
    is_open = dimension is None and found is None and frame is None
    ports = _open_port(port) if is_open else (Port(port, dimension, found, frame),)
    values, read = parameters_of(parameters), names_of(signals, "signals")
    return Element(kind, name, law, ports, values, read, dict(symbols or {}), found, frame, caller_place())


@functools.cache
def _open_port(name: str) -> tuple[Port]:
    """The port of an element of which its bond decides everything; a large model has many."""
    return (Port(name),)


def named(elements: Sequence[Element], most: int = 12) -> str:
    """Elements in words for a message, at most so many."""
    shown = [f'{e.kind} "{e.name}"' for e in elements[:most]]
    return ", ".join(shown + ([f"{len(elements) - most} more"] if len(elements) > most else []))
