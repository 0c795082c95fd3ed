"""Ideal parts of a contact: constraints on the gap and on what does not slip or turn, behind the contact twist.

```
   1  T_O2^{C2,O1}
  / \\
 TF  TF held           rows of what does not move
 | -v_z = d'  |
 Constraint   Constraint
 normal       held
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bondgraph import TF, Automaton, Constraint, Element, Graph
from bondgraph.errors import Problem, caller_place
from bondgraph.model.domains import SCREW
from bondgraph.model.model import SignalEntry
from models.contacts.components import COMPONENTS, domain_of, selection
from models.contacts.laws.numbers import component_problem
from models.contacts.laws.tails import Tail
from models.contacts.switches import TOUCHING

NORMAL, HELD = "normal", "held"
"""Names of the constraints."""


def connect_normal(graph: Graph, split: Element, **numbers: Any) -> None:
    """The constraint on the gap d, whose rate is -v_z; it holds in contact."""
    row = TF("gap rate", -selection(["v_z"]), structural=True, domains=(SCREW, domain_of(["v_z"])), symbols={"matrix": "S_d"})
    gap = Constraint(
        NORMAL, position=lambda d: d, signals=["kinematics.d"], automaton="switch", active=[TOUCHING], measured=True, **numbers
    )
    graph.connect(split, row).connect(row, gap)


def held_of(chosen: Sequence[str]) -> tuple[str, ...]:
    """Components beside the normal that do not move in contact."""
    return tuple(component for component in chosen if component != "v_z")


def connect_held(graph: Graph, split: Element, chosen: Sequence[str], **numbers: Any) -> tuple[str, ...]:
    """The constraint of all that does not move beside the normal, where there is any; its name, if so."""
    components = held_of(chosen)
    if not components:
        return ()
    domains = (SCREW, domain_of(components))
    rows = TF(
        "held components", selection(components), structural=True, domains=domains, symbols={"matrix": r"S_{\mathrm{held}}"}
    )
    still = Constraint(HELD, holds="velocity", dimension=len(components), automaton="switch", active=[TOUCHING], **numbers)
    graph.connect(split, rows).connect(rows, still)
    return (HELD,)


def ideal_tail(switch: Automaton, apart: Sequence[str], begin: Callable[[float], tuple[float, str]]) -> Tail:
    """The tail of a constraint on the gap, with the states in which it does not hold."""
    force = f"{NORMAL}.multiplier"
    off = tuple(("switch", state) for state in apart)
    return Tail(switch, SignalEntry(force), force, off, ("kinematics.d", "switch"), begin)


def held_problems(name: str, law: Any, chosen: Sequence[str]) -> Iterator[Problem]:
    """E435 for a contact without v_z; E439 for friction, which constraints do not have."""
    cure = 'constrained=["v_z"], or ["v_x", "v_y", "v_z"] for a contact that does not slip either'
    yield from component_problem(name, law, chosen, COMPONENTS, cure)
    if law.friction is not None:
        title = f'contact "{name}": {type(law).__name__} has friction = {law.friction!r}'
        details = ("its constraints give whatever force it takes: they hold v_x and v_y, or leave them free",)
        cures = ("Compliant(..., friction=0.3)", 'no friction, with constrained=["v_x", "v_y", "v_z"] or ["v_z"]')
        yield Problem("E439", title, details, (caller_place(),), cures)
