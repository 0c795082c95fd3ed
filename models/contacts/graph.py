"""Contact of two curved bodies as a graph: Visser, Stramigioli and Heemskerk 2002, figure 3.

```
 body 2 --> 0 --> body 1            the 0-junction subtracts the world twists: T_O2^{0,O1}
            |
           MTF  Ad(H_0^C2)          expresses it in the Gauss frame C2 of body 2
            |- - - - - - - - - - ->  contact kinematics: (u1, v1, u2, v2, alpha, d), whose d drives the switch
            X0                      on while there is contact
            |
            1  T_O2^{C2,O1}
           / \\
     TF free  TF constrained       splits the six components
        |         |
      Se 0        1
                 / \\
                C   R
```

With friction a slider joins the lower 1-junction: `models.contacts.friction`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bondgraph import J0, J1, TF, X0, Element, Graph, Op, Parameter, R, Se
from bondgraph.errors import raise_if_any
from bondgraph.model.domains import SCREW
from bondgraph.model.laws import Action
from bondgraph.model.model import ContactPoint, SignalEntry
from bondgraph.model.units import quotient
from models.connections import OF_AD, Touchable, connect_bodies, screw_transformer
from models.contacts.components import COMPONENTS, argument_problems, by_component, domain_of, in_order, near_problems
from models.contacts.friction import STATES as FRICTION_STATES
from models.contacts.friction import Cone, connect_friction, friction_cones, friction_problems
from models.contacts.kinematics import contact_kinematics
from models.contacts.start import start_parameters, start_results, start_values
from models.contacts.switches import FREE, chart_switch, contact_switch
from models.contacts.transport import TWIST_2, contact_spring, transport_problems, turns
from screws.given import reals
from screws.poses import Ad_of_inverse
from screws.scalars import array, maximum
from screws.twists import transform_twist_back, transform_wrench


def contact(
    name: str,
    body1: Touchable,
    body2: Touchable,
    *,
    constrained: str | Sequence[str] = "rolling",
    normal_stiffness: float,
    normal_damping: float = 0.0,
    tangential_stiffness: float = 0.0,
    tangential_damping: float = 0.0,
    rotational_stiffness: float = 0.0,
    rotational_damping: float = 0.0,
    friction: float | None = None,
    torsional_friction: float | None = None,
    transport: str = "parallel",
    near: Sequence[float] | None = None,
) -> Graph:
    """Contact of the surfaces of two bodies, with ports `1` and `2` for their world twists and the inputs `pose 1`, `pose 2`.

    Parameters
    ----------
    constrained : a name of the paper ("rolling", "sliding", "rolling and sliding") or a list of `COMPONENTS`.
        The others are free. v_z gives the normal law f_n = max(0, -k d - c d').
    normal_stiffness, normal_damping : N/m, N s/m on v_z.
    tangential_stiffness, tangential_damping : N/m, N s/m on v_x and v_y.
    rotational_stiffness, rotational_damping : N m/rad, N m s on the omega components.
    friction : coefficient of the cone of v_x and v_y; None: they never slip. Needs v_z constrained and tangential damping.
    torsional_friction : limit of the torque of omega_z over the normal force, m; None: it never slips.
    transport : how the springs' tangential vectors are carried along: "parallel" without turning about the normal, "bodies" with
        the mean turn of both bodies about it, "gauss" with the axes of C2 (the paper's literal law).
    near : point (x, y, z) of body 1, m, where bodies that are not convex touch in several places: this contact is the place
        that is nearest to it at the start. Several contacts between the same bodies hold several places.

    Signals: `gap` d (m, negative in contact), `wrench` in C2 (what acts on body 2 is its negative), `q1`, `q2`, `alpha` (about
    z2), `frame` H_0_C2. Modes: `switch` ("free", "contact") and, for closed surfaces, `chart 1`, `chart 2`.
    With friction also `normal force` N, `friction excess` |w| - mu N (N; negative: what is left before it slips),
    `friction slip` u (m/s, in C2), and the mode `friction` ("off", "stick", "slip"); the same for `torsional friction`.

    Raises `ModelError` E420 for a body without surface, E421 for components that do not exist, E422 for a stiffness that is
    missing, E426 for a transport that does not exist, E429 for a `near` that is no point; at the start of a run E428 for bodies
    that touch in several places of which none is named, E490, E491, E492 for friction that cannot be.
    """
    chosen = in_order(constrained)
    stiffness = by_component((normal_stiffness, tangential_stiffness, rotational_stiffness))
    damping = by_component((normal_damping, tangential_damping, rotational_damping))
    cones = friction_cones(chosen, friction, torsional_friction)
    problems = argument_problems(name, body1, body2, constrained, chosen, stiffness, damping)
    problems += [*transport_problems(name, transport), *near_problems(name, near)]
    raise_if_any(name, [*problems, *friction_problems(name, cones, chosen, damping)])
    surface1, surface2 = body1.surface, body2.surface
    assert surface1 is not None and surface2 is not None

    graph = Graph(name).declare_input("pose 1", "pose 2")
    relative = J0("relative twist", domain=SCREW, frame="0", symbols={"effort": "W^0"})
    symbols = {"matrix": r"\mathrm{Ad}_{H_0^{C_2}}", "2.flow": r"T_{O_2}^{C_2,O_1}"}
    to_contact = screw_transformer(AD_CONTACT, TO_CONTACT, "kinematics.H_0_C2", ("0", "C2"), symbols=symbols)
    switched = X0("X0", automaton="switch", active=["contact"], frame="C2", symbols={"effort": "W^{C_2}"})
    split = J1("contact twist", frame="C2", symbols={"flow": r"\bar T_{O_2}^{C_2,O_1}"})

    graph.connect(relative, to_contact).connect(to_contact, switched).connect(switched, split)
    _connect_free(graph, split, chosen)
    _connect_constrained(graph, split, chosen, stiffness, damping, cones, transport)

    graph.add(contact_kinematics(surface1, surface2, transport if turns(transport, chosen) else None))
    graph.add_automaton(contact_switch((surface1, surface2)))
    for index, surface in ((1, surface1), (2, surface2)):
        if surface.charts > 1:
            graph.add_automaton(chart_switch(index, surface, chosen))
    graph.start(
        start_values(name, surface1, surface2, chosen, len(cones), None if near is None else reals(near, 3)),
        ["pose 1", "pose 2", *start_parameters(surface1, surface2)],
        start_results(surface1, surface2, [cone.name for cone in cones]),
    )
    if transport == "parallel" and turns(transport, chosen):
        second = J1(TWIST_2, domain=SCREW, frame="0", symbols={"flow": "T_{O_2}^{0,0}"})
        graph.connect(second, relative)
        graph.expose("2", second)
    else:
        graph.expose("2", relative)
    graph.expose("1", relative)
    graph.mark_contact(
        ContactPoint(
            "",
            "kinematics.d",
            "kinematics.d'",
            SignalEntry("X0.effort", COMPONENTS.index("v_z")) if "v_z" in chosen else None,
            tuple(SignalEntry("Ad.2.flow", COMPONENTS.index(c)) for c in ("v_x", "v_y") if c in chosen),
            "friction cone.coefficient" if friction is not None else None,
            (("switch", FREE), *((cone.name, FRICTION_STATES[0]) for cone in cones)),
            ("spring.q",),
        )
    )
    graph.export("gap", "kinematics.d")
    graph.export("wrench", "X0.effort")
    graph.export("frame", "kinematics.H_0_C2")
    for signal in ("q1", "q2", "alpha"):
        graph.export(signal, f"kinematics.{signal}")
    return graph


def attach_contact(graph: Graph, touching: Graph, body1: Touchable, body2: Touchable) -> None:
    """Connect a contact to its bodies: half arrows body 2 -> contact -> body 1, and the poses as signals."""
    connect_bodies(graph, touching, {"1": body1, "2": body2}, cheapest=True)


AD_CONTACT = Op("Ad", Ad_of_inverse, r"\mathrm{Ad}_{#1^{-1}}", OF_AD)
TO_CONTACT = Action(
    Op("twist to C2", transform_twist_back, r"\mathrm{Ad}_{#1^{-1}}\,#2", OF_AD),
    Op("wrench to world", transform_wrench, r"\mathrm{Ad}_{#1^{-1}}^T\,#2", OF_AD),
)


def _selection(components: Sequence[str]) -> np.ndarray:
    """Rows of the identity that pick components out of a twist; one component is a row (6,)."""
    rows = np.eye(6)[[COMPONENTS.index(component) for component in components]]
    return rows[0] if len(rows) == 1 else rows


def _connect_free(graph: Graph, split: Element, chosen: Sequence[str]) -> None:
    free = [component for component in COMPONENTS if component not in chosen]
    if free:
        pick = TF(
            "free", _selection(free), structural=True, domains=(SCREW, domain_of(free)), symbols={"matrix": r"S_{\mathrm{free}}"}
        )
        graph.connect(split, pick).connect(pick, Se("no wrench", dimension=len(free)))


def _connect_constrained(
    graph: Graph,
    split: Element,
    chosen: Sequence[str],
    stiffness: Mapping[str, float],
    damping: Mapping[str, float],
    cones: Sequence[Cone],
    transport: str,
) -> None:
    domain = domain_of(chosen)
    pick = TF(
        "constrained", _selection(chosen), structural=True, domains=(SCREW, domain), symbols={"matrix": r"S_{\mathrm{con}}"}
    )
    common = J1("deformation rate", symbols={"flow": r"\dot s"})
    k, r = (np.array([values[c] for c in chosen]) for values in (stiffness, damping))
    spring = contact_spring(k, chosen, transport)
    normal = chosen.index("v_z") if "v_z" in chosen else None
    damper = R(
        "damper",
        effort=Op("damping", _damping(normal), r"#2\,#1 \text{, along } z \text{ at least } -#3"),
        parameters={"damping": Parameter(float(r[0]) if len(chosen) == 1 else r, quotient(domain.effort_unit, domain.flow_unit))},
        signals=["spring.effort"],
    )
    graph.connect(split, pick)
    if cones:
        force = J0("contact force", symbols={"effort": "f"})
        graph.connect(pick, force).connect(force, common)
        connect_friction(graph, force, chosen, cones)
    else:
        graph.connect(pick, common)
    graph.connect(common, spring).connect(common, damper)


def _damping(normal: int | None) -> Any:
    """Damper in parallel with the spring; its normal part never pulls: spring + damper >= 0."""

    def law(rate: Any, damping: Any, spring: Any) -> Any:
        if np.ndim(rate) == 0:
            return maximum(damping * rate, -spring) if normal is not None else damping * rate
        forces = [damping[i] * rate[i] for i in range(len(rate))]
        if normal is not None:
            forces[normal] = maximum(forces[normal], -spring[normal])
        return array(forces)

    return law
