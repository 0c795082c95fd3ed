"""Junctions: 0 and 1, and their switched kinds X0 and X1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, one_port
from bondgraph.model.laws import Junction
from bondgraph.model.names import names_of


def J0(
    name: str,
    *,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """0-junction: one common effort, flows balance."""
    return one_port("0", name, Junction(0), {}, (), dimension, domain, symbols, frame, port="any")


def J1(
    name: str,
    *,
    dimension: int | None = None,
    domain: Domain | str | None = None,
    symbols: Mapping[str, str] | None = None,
    frame: str | None = None,
) -> Element:
    """1-junction: one common flow, efforts balance."""
    return one_port("1", name, Junction(1), {}, (), dimension, domain, symbols, frame, port="any")


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
    law = Junction(0, automaton, names_of(active, "active"))
    return one_port("X0", name, law, {}, (), dimension, domain, symbols, frame, port="any")


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
    law = Junction(1, automaton, names_of(active, "active"))
    return one_port("X1", name, law, {}, (), dimension, domain, symbols, frame, port="any")
