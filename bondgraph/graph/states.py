"""State variables of an element, whatever its law is."""

from __future__ import annotations

from bondgraph.graph.element import Element
from bondgraph.graph.laws import IdealConstraint, InertialField, SignalBlock, StateSpec, Storage


def states_of(element: Element) -> dict[str, StateSpec]:
    """State variables of an element by local name."""
    if isinstance(element.law, Storage):
        return {element.law.state: element.law.spec}
    if isinstance(element.law, InertialField):
        return {"q": element.law.position, element.law.motion: element.law.start}
    if isinstance(element.law, IdealConstraint):
        law = element.law
        return {"h": law.start} if law.position is None and law.stores_position else {}
    return element.law.states if isinstance(element.law, SignalBlock) else {}


def following_state(element: Element) -> tuple[str, StateSpec]:
    """Local name of the state that a storage does not keep in derivative causality, since it follows from others."""
    law = element.law
    assert isinstance(law, (Storage, InertialField))
    return (law.state, law.spec) if isinstance(law, Storage) else (law.motion, law.start)
