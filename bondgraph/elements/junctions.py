"""Junctions 0 and 1, and their switched kinds X0 and X1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from bondgraph.model.arguments import spelled_out
from bondgraph.model.element import Element, OnePort, one_port
from bondgraph.model.laws import Junction
from bondgraph.model.names import names_of

_ZERO, _ONE = Junction(0), Junction(1)


@spelled_out
def J0(name: str, **port: Unpack[OnePort]) -> Element:
    """Return a 0-junction: one common effort, flows balance."""
    return one_port("0", name, _ZERO, {}, port="any", **port)


@spelled_out
def J1(name: str, **port: Unpack[OnePort]) -> Element:
    """Return a 1-junction: one common flow, efforts balance."""
    return one_port("1", name, _ONE, {}, port="any", **port)


@spelled_out
def X0(name: str, *, automaton: str, active: Sequence[str], **port: Unpack[OnePort]) -> Element:
    """Return a switched 0-junction: a 0-junction while the automaton is in one of the `active` states; else all its output
    variables are zero, so that no power passes."""
    law = Junction(0, automaton=automaton, active=names_of(active, "active"))
    return one_port("X0", name, law, {}, port="any", **port)


@spelled_out
def X1(name: str, *, automaton: str, active: Sequence[str], **port: Unpack[OnePort]) -> Element:
    """Return a switched 1-junction, as `X0`."""
    law = Junction(1, automaton=automaton, active=names_of(active, "active"))
    return one_port("X1", name, law, {}, port="any", **port)
