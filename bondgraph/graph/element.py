"""Element: one node of a graph - its law, its ports, and the line where the user created it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bondgraph.domains import Domain
from bondgraph.errors import Place
from bondgraph.graph.laws import Law, Parameter


@dataclass(frozen=True)
class Port:
    """A place where a bond can end. Dimension, domain and frame are None where the bond decides."""

    name: str
    dimension: int | None = None
    domain: Domain | None = None
    frame: str | None = None


@dataclass(frozen=True, eq=False)
class Element:
    """A node of the graph: its kind and name, what it does (law), and where the user created it."""

    kind: str
    name: str
    law: Law
    ports: tuple[Port, ...] = ()
    """Empty for junctions, which have as many ports as bonds."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    signals: tuple[str, ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)
    """LaTeX of this element's signals (`flow`, `effort`, a state's name)."""
    domain: Domain | None = None
    frame: str | None = None
    place: Place | None = None

    def port(self, name: str) -> PortRef:
        """Reference to one named port of this element, for `Graph.connect`."""
        return PortRef(self, name)


@dataclass(frozen=True)
class PortRef:
    """One named port of an element or of a nested graph."""

    owner: Any
    name: str
