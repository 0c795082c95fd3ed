"""A contact along coordinates: gap at the start and friction in; a graph with the ports `normal` and `tangent` out.

```
 body that moves away --> 0 normal --> body that follows      flow: rate of the gap
 body 2               --> 0 tangent --> body 1                 flow: slip
```

For planar and other simple mechanisms whose gap is the integral of a flow, without surfaces. It gives no force of its own:
steps of time (`bondgraph.stepping`) read it as a rigid contact.
"""

from __future__ import annotations

import math

from bondgraph import J0, Block, Graph, Op, Parameter, Se, StateSpec
from bondgraph.errors import refusal
from bondgraph.model.domains import TRANSLATION
from bondgraph.model.model import ContactPoint, SignalEntry
from bondgraph.quantities import real

_GAP = Op("gap rate", lambda rate, *_: rate, "#1")


def planar_contact(name: str, *, gap: float = 0.0, friction: float | None = None) -> Graph:
    """Contact between coordinates, with the ports `normal` and, with friction, `tangent`.

    Connect what opens the gap by a half arrow into `normal`, what closes it by one out of it; likewise for `tangent`, whose flow
    is the slip.

    Parameters
    ----------
    gap : at the start, m.
    friction : coefficient; None: it slides freely.

    Signals: `gap` m, `slip` m/s. Raises `ModelError` E503 for a gap or friction that is no number, or a friction below zero.
    """
    for what, given in (("gap", gap), ("friction", friction)):
        number = None if given is None else real(given)
        if given is not None and (
            number is None or number.shape != () or not math.isfinite(float(number)) or (what == "friction" and number < 0.0)
        ):
            raise refusal("E503", f'{what} of the contact "{name}" is {given!r}', "a finite number", about=name)
    graph = Graph(name)
    normal = J0("normal", domain=TRANSLATION)
    graph.connect(normal, Se("no force", 0.0))
    parameters = {} if friction is None else {"friction": Parameter(float(friction))}
    graph.add(
        Block(
            "place",
            [("rate", _GAP, ["v", *parameters])],
            inputs={"v": "no force.flow"},
            states={"gap": StateSpec(float(gap), unit="m")},
            rates={"gap": "rate"},
            parameters=parameters,
        )
    )
    graph.expose("normal", normal)
    slip: tuple[SignalEntry, ...] = ()
    if friction is not None:
        tangent = J0("tangent", domain=TRANSLATION)
        graph.connect(tangent, Se("no friction", 0.0))
        graph.expose("tangent", tangent)
        graph.export("slip", "no friction.flow")
        slip = (SignalEntry("no friction.flow"),)
    graph.mark_contact(ContactPoint("", "place.gap", "place.rate", None, slip, "place.friction" if slip else None))
    graph.export("gap", "place.gap")
    return graph
