"""Junctions: 0 and 1, and their switched kinds X0 and X1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, one_port
from bondgraph.model.laws import Junction
from bondgraph.model.names import names_of


def _junction(
    type_: int,
    name: str,
    automaton: str | None,
    active: Sequence[str],
    dimension: int | None,
    domain: Domain | str | None,
    symbols: Mapping[str, str] | None,
    frame: str | None,
) -> Element:
    law = Junction(type_, automaton, names_of(active, "active"))
    kind = ("X" if automaton else "") + str(type_)
    signals = (f"{automaton}.mode",) if automaton else ()
    return one_port(kind, name, law, {}, signals, dimension, domain, symbols, frame, port="any")


def J0(
    name: str,
    *,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """0-junction: one common effort, flows balance."""
    return _junction(0, name, None, (), dimension, domain, symbols, frame)


def J1(
    name: str,
    *,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """1-junction: one common flow, efforts balance."""
    return _junction(1, name, None, (), dimension, domain, symbols, frame)


def X0(
    name: str,
    *,
    automaton: str,
    active: Sequence[str],
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """Switched 0-junction: a 0-junction while the automaton is in one of the `active` states; else every variable
    that it gives to a bond is zero, so no power passes."""
    return _junction(0, name, automaton, active, dimension, domain, symbols, frame)


def X1(
    name: str,
    *,
    automaton: str,
    active: Sequence[str],
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """Switched 1-junction: a 1-junction while the automaton is in one of the `active` states; else every variable
    that it gives to a bond is zero, so no power passes."""
    return _junction(1, name, automaton, active, dimension, domain, symbols, frame)
