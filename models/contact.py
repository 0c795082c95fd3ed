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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bondgraph import (
    J0,
    J1,
    MTF,
    TF,
    X0,
    Automaton,
    Block,
    C,
    Element,
    Graph,
    Op,
    Parameter,
    R,
    Se,
    StateSpec,
    Transition,
)
from bondgraph.domains import SCREW
from bondgraph.errors import ModelError, Problem, caller_place, raise_if_any
from models.bodies import Body
from screws.contact import ContactCoordinates, closest_points, contact_rates, relative_curvature
from screws.errors import GeometryError
from screws.poses import Ad, inverse, pose_from_state
from screws.scalars import absolute, array, cos, maximum, minimum, sin
from screws.surfaces import Geometry, Surface

COMPONENTS = ("omega_x", "omega_y", "omega_z", "v_x", "v_y", "v_z")
"""Components of T_{O2}^{C2,O1} in their order."""

PAPER_NAMES = {
    "rolling": ("omega_z", "v_x", "v_y", "v_z"),
    "sliding": ("omega_x", "omega_y", "v_z"),
    "rolling and sliding": ("v_z",),
}
"""Visser 2002, section 4: name of a contact -> its constrained components."""


def contact(
    name: str,
    body1: Body,
    body2: Body,
    *,
    constrained: str | Sequence[str] = "rolling",
    normal_stiffness: float,
    normal_damping: float = 0.0,
    tangential_stiffness: float = 0.0,
    tangential_damping: float = 0.0,
    rotational_stiffness: float = 0.0,
    rotational_damping: float = 0.0,
) -> Graph:
    """Contact of the surfaces of two bodies, with ports `1` and `2` for their world twists and the inputs `pose 1`, `pose 2`.

    Parameters
    ----------
    constrained : a name of the paper ("rolling", "sliding", "rolling and sliding") or a list of `COMPONENTS`.
        The others are free. v_z gives the normal law f_n = max(0, -k d - c d').
    normal_stiffness, normal_damping : N/m, N s/m on v_z.
    tangential_stiffness, tangential_damping : N/m, N s/m on v_x and v_y.
    rotational_stiffness, rotational_damping : N m/rad, N m s on the omega components.

    Signals: `gap` d (m, negative in contact), `force` on body 2 in C2 is minus `wrench`, `q1`, `q2`, `alpha` (Montana's
    sign), `frame` H_0_C2. Modes: `switch` ("free", "contact") and, for closed surfaces, `chart 1`, `chart 2`.

    Raises
    ------
    ModelError
        E420 for a body without surface, E421 for components that do not exist, E422 for a stiffness that is missing.
    """
    chosen = _constrained(constrained)
    stiffness = _by_component((normal_stiffness, tangential_stiffness, rotational_stiffness))
    damping = _by_component((normal_damping, tangential_damping, rotational_damping))
    raise_if_any(name, _problems(name, body1, body2, constrained, chosen, stiffness, damping))
    surface1, surface2 = body1.surface, body2.surface
    assert surface1 is not None and surface2 is not None

    graph = Graph(name).declare_input("pose 1", "pose 2")
    relative = J0("relative twist", domain=SCREW, frame="0", symbols={"effort": "W^0"})
    to_contact = MTF(
        "Ad",
        AD_CONTACT,
        signals=["kinematics.H_0_C2"],
        dimensions=(6, 6),
        domains=(SCREW, SCREW),
        frames=("0", "C2"),
        symbols={"matrix": r"\mathrm{Ad}_{H_0^{C_2}}", "2.flow": r"T_{O_2}^{C_2,O_1}"},
    )
    switched = X0("XO", automaton="switch", active=["contact"], frame="C2", symbols={"effort": "W^{C_2}"})
    split = J1("contact twist", frame="C2", symbols={"flow": r"\bar T_{O_2}^{C_2,O_1}"})

    graph.connect(relative, to_contact)
    graph.connect(to_contact, switched)
    graph.connect(switched, split)
    _connect_free(graph, split, chosen)
    _connect_constrained(graph, split, chosen, stiffness, damping)

    graph.add(contact_kinematics(surface1, surface2))
    graph.add_automaton(_switch(chosen))
    for index, surface in ((1, surface1), (2, surface2)):
        if surface.charts > 1:
            graph.add_automaton(_chart_switch(index, surface, chosen))
    graph.start(_start(name, surface1, surface2, chosen), ["pose 1", "pose 2", *_start_parameters(surface1, surface2)],
                _start_results(surface1, surface2))  # fmt: skip
    graph.expose("2", relative)
    graph.expose("1", relative)
    graph.export("gap", "kinematics.d")
    graph.export("wrench", "XO.effort")
    graph.export("frame", "kinematics.H_0_C2")
    for signal in ("q1", "q2", "alpha"):
        graph.export(signal, f"kinematics.{signal}")
    return graph


def attach_contact(graph: Graph, touching: Graph, body1: Body, body2: Body) -> None:
    """Connect a contact to its bodies: half arrows body 2 -> contact -> body 1, and the poses as signals."""
    graph.connect(body2, touching.port("2"))
    graph.connect(touching.port("1"), body1)
    graph.wire(f"{body1.name}.pose", touching, "pose 1")
    graph.wire(f"{body2.name}.pose", touching, "pose 2")


# --- the two branches of the split -----------------------------------------------------------------------------------


def _selection(components: Sequence[str]) -> np.ndarray:
    """Rows of the identity that pick components out of a twist; one component is a row (6,)."""
    rows = np.eye(6)[[COMPONENTS.index(component) for component in components]]
    return rows[0] if len(rows) == 1 else rows


def _connect_free(graph: Graph, split: Element, chosen: Sequence[str]) -> None:
    free = [component for component in COMPONENTS if component not in chosen]
    if free:
        pick = TF("free", _selection(free), structural=True, symbols={"matrix": r"S_{\mathrm{free}}"})
        graph.connect(split, pick)
        graph.connect(pick, Se("no wrench", dimension=len(free)))


def _connect_constrained(
    graph: Graph, split: Element, chosen: Sequence[str], stiffness: Mapping[str, float], damping: Mapping[str, float]
) -> None:
    pick = TF("constrained", _selection(chosen), structural=True, symbols={"matrix": r"S_{\mathrm{con}}"})
    common = J1("deformation rate", symbols={"flow": r"\dot s"})
    one = len(chosen) == 1
    k, r = (np.array([values[c] for c in chosen]) for values in (stiffness, damping))
    spring = C(
        "spring",
        stiffness=float(k[0]) if one else k,
        initial=0.0 if one else np.zeros(len(chosen)),
        nominal=1e-4,
        symbols={"q": "s"},
    )
    normal = chosen.index("v_z") if "v_z" in chosen else None
    damper = R(
        "damper",
        effort=Op("damping", _damping(normal), r"#2\,#1 \text{, along } z \text{ at least } -#3"),
        parameters={"damping": Parameter(float(r[0]) if one else r)},
        signals=["spring.effort"],
    )
    graph.connect(split, pick)
    graph.connect(pick, common)
    graph.connect(common, spring)
    graph.connect(common, damper)


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


# --- contact kinematics ----------------------------------------------------------------------------------------------

AD_CONTACT = Op("Ad", lambda H: Ad(inverse(H)), r"\mathrm{Ad}_{#1^{-1}}")


def contact_kinematics(surface1: Surface, surface2: Surface) -> Element:
    """Signal block: T_{O2}^{C2,O1} -> rates of the six contact coordinates, Visser 2002 (18)-(21) as corrected.

    States q1 = (u1, v1), q2 = (u2, v2), alpha, d; further outputs the Gauss frames H_O1_C1, H_O2_C2, H_0_C2.
    """
    number1, number2 = len(surface1.parameters), len(surface2.parameters)
    parameters = {f"surface 1 {key}": Parameter(value) for key, value in surface1.parameters.items()}
    parameters |= {f"surface 2 {key}": Parameter(value) for key, value in surface2.parameters.items()}
    names = list(parameters)
    inputs = {"T": "Ad.2.flow", "pose 2": "pose 2"}
    if surface1.charts > 1:
        inputs["chart 1"] = "chart 1.mode"
    if surface2.charts > 1:
        inputs["chart 2"] = "chart 2.mode"
    geometry1 = _geometry_op(surface1, 1), ["q1", *(["chart 1"] if surface1.charts > 1 else []), *names[:number1]]
    geometry2 = (
        _geometry_op(surface2, 2),
        [
            "q2",
            *(["chart 2"] if surface2.charts > 1 else []),
            *names[number1 : number1 + number2],
        ],
    )
    size = min(surface1.size, surface2.size)
    return Block(
        "kinematics",
        [
            (("H_O1_C1", "M1", "K1", "T1"), *geometry1),
            (("H_O2_C2", "M2", "K2", "T2"), *geometry2),
            ("H_0_C2", Op("chain", lambda pose, H: pose_from_state(pose) @ H, "#1\\,#2"), ["pose 2", "H_O2_C2"]),
            (("q1'", "q2'", "alpha'", "d'"), RATES, ["M1", "K1", "T1", "M2", "K2", "T2", "alpha", "d", "T"]),
            ("relative curvature", CURVATURE, ["K1", "K2", "alpha", "d"]),
        ],
        inputs=inputs,
        states={
            "q1": StateSpec(np.zeros(2), surface1.size if surface1.charts == 1 else 1.0, "", "q_1"),
            "q2": StateSpec(np.zeros(2), surface2.size if surface2.charts == 1 else 1.0, "", "q_2"),
            "alpha": StateSpec(0.0, 1.0, "rad", r"\alpha"),
            "d": StateSpec(0.0, 1e-2 * size, "m", "d"),
        },
        rates={"q1": "q1'", "q2": "q2'", "alpha": "alpha'", "d": "d'"},
        parameters=parameters,
        symbols={
            "H_O1_C1": "H_{C_1}^{O_1}", "H_O2_C2": "H_{C_2}^{O_2}", "H_0_C2": "H_{C_2}^0",
            "M1": "M_1", "K1": "K_1", "T1": "T_1", "M2": "M_2", "K2": "K_2", "T2": "T_2",
            "relative curvature": r"\Delta", "q1'": r"\dot q_1", "q2'": r"\dot q_2", "alpha'": r"\dot\alpha", "d'": r"\dot d",
        },
        units={"d'": "m/s", "alpha'": "rad/s"},
    )  # fmt: skip


def _geometry_op(surface: Surface, index: int) -> Op:
    """(q, [chart,] parameters) -> H, M, K, T of the Gauss frame."""

    def formula(q: Any, *rest: Any) -> tuple[Any, ...]:
        chart, parameters = (rest[0], rest[1:]) if surface.charts > 1 else (0.0, rest)
        geometry = surface.geometry(q, chart, parameters)
        return geometry.H, geometry.M, geometry.K, geometry.T

    return Op(f"Gauss {surface.name}", formula, rf"\mathrm{{Gauss}}_{{{index}}}(#1)")


_UNUSED = np.zeros(0)


def _geometry(M: Any = _UNUSED, K: Any = _UNUSED, T: Any = _UNUSED) -> Geometry:
    """What the contact kinematics read of a surface's geometry; they do not read the frame."""
    return Geometry(_UNUSED, M, K, T)


def _rates(M1: Any, K1: Any, T1: Any, M2: Any, K2: Any, T2: Any, alpha: Any, d: Any, T: Any) -> tuple[Any, ...]:
    return contact_rates(_geometry(M1, K1, T1), _geometry(M2, K2, T2), alpha, d, T)


RATES = Op(
    "contact rates",
    _rates,
    "\n".join(
        (
            r"#1^{-1} R (#5 B + A)^{-1} (w + #5 v)",
            r"#4^{-1} (B #5 + A)^{-1} (B w - A v)",
            r"\omega_z + #3 #1 \dot q_1 + #6 #4 \dot q_2",
            r"-v_z",
            r"R = \begin{bmatrix} \cos #7 & -\sin #7 \\ -\sin #7 & -\cos #7 \end{bmatrix},\; A = R #2 R,\; B = #8 A + I",
            r"w = (-\omega_y, \omega_x),\; v = (v_x, v_y),\; (\omega, v) = #9",
        )
    ),
)
"""Rates of the contact coordinates; Visser 2002 (18)-(21) as corrected."""


def _relative_curvature(K1: Any, K2: Any, alpha: Any, d: Any) -> Any:
    """Smaller of det S and tr S |tr S|, S = K2 B + A, 1/m^2: positive as long as the nearest points are unique.

    The determinant alone does not do: of two spheres, whose curvatures vanish together, it touches zero and rises again.
    """
    s11, s12, s21, s22 = relative_curvature(_geometry(K=K1), _geometry(K=K2), alpha, d)[2]
    trace = s11 + s22
    return minimum(s11 * s22 - s12 * s21, trace * absolute(trace))


CURVATURE = Op(
    "relative curvature", _relative_curvature, r"\min(\det S, \mathrm{tr} S\,|\mathrm{tr} S|),\; S = K_2 B + A"
)


# --- switches --------------------------------------------------------------------------------------------------------

NEGATIVE = Op("minus", lambda d: -d, "-#1")
ITSELF = Op("itself", lambda d: d, "#1")


def _switch(chosen: Sequence[str]) -> Automaton:
    """Contact begins as the gap falls through zero and ends as it rises through zero, where the spring is released."""
    release = Op("zero", lambda s: 0.0 * s, "0")
    limit = "the bodies reach a focal distance: nearest points are not unique any more (K2 B + A is singular)"
    return Automaton(
        "switch",
        ("free", "contact"),
        "free",
        (
            Transition("free", "contact", NEGATIVE, ("kinematics.d",), kind="contact on"),
            Transition(
                "contact",
                "free",
                ITSELF,
                ("kinematics.d",),
                (("spring.q", release, ("spring.q",)),),
                kind="contact off",
            ),
            Transition(
                "free", "free", NEGATIVE, ("kinematics.relative curvature",), kind="curvature limit", error=limit
            ),
            Transition(
                "contact", "contact", NEGATIVE, ("kinematics.relative curvature",), kind="curvature limit", error=limit
            ),
        ),
    )


def _chart_switch(index: int, surface: Surface, chosen: Sequence[str]) -> Automaton:
    """The second chart takes over near a pole of the first; the coordinates, alpha and the spring's axes follow.

    A component of body 2 without its partner has a meaning along the polar axes only: near their pole the run ends.
    """
    if index == 2 and _unpaired(chosen):
        margin = Op("margin", lambda q: -surface.chart_margin(q, 0.0))
        ends = Transition("axis z", "axis z", margin, ("kinematics.q2",), kind="pole of surface 2", error=POLE)
        return Automaton("chart 2", ("axis z", "axis x"), "axis z", (ends,))
    states = ("axis z", "axis x")
    q, parameters = f"kinematics.q{index}", [f"kinematics.surface {index} {key}" for key in surface.parameters]
    transitions = []
    for chart in (0, 1):
        change = _chart_change(surface, float(chart))
        resets = [
            (q, Op("change of chart", lambda q, *p, f=change: f(q, p)[0]), (q, *parameters)),
            (
                "kinematics.alpha",
                Op("turned angle", lambda alpha, q, *p, f=change: alpha + f(q, p)[1]),
                ("kinematics.alpha", q, *parameters),
            ),
        ]
        if index == 2 and _pairs(chosen):
            turn = Op("turned axes", lambda s, q, *p, f=change: _turned(s, f(q, p)[1], _pairs(chosen)))
            resets.append(("spring.q", turn, ("spring.q", q, *parameters)))
        margin = Op("margin", lambda q, c=float(chart): -surface.chart_margin(q, c))
        transitions.append(
            Transition(
                states[chart],
                states[1 - chart],
                margin,
                (q,),
                tuple(resets),
                kind=f"chart of surface {index}: {states[1 - chart]}",
                internal=True,
            )
        )
    return Automaton(f"chart {index}", states, states[0], tuple(transitions))


def _chart_change(surface: Surface, chart: float) -> Any:
    return lambda q, parameters: surface.change_chart(q, chart, parameters)


def _pairs(chosen: Sequence[str]) -> list[tuple[int, int]]:
    """Places of (x, y) pairs in the spring's state; a component without its partner follows the chart's axis."""
    return [
        (chosen.index(f"{kind}_x"), chosen.index(f"{kind}_y"))
        for kind in ("omega", "v")
        if f"{kind}_x" in chosen and f"{kind}_y" in chosen
    ]


def _unpaired(chosen: Sequence[str]) -> bool:
    """Whether omega_x or omega_y, v_x or v_y is constrained without the other: then the polar axes of C2 matter."""
    return any((f"{kind}_x" in chosen) != (f"{kind}_y" in chosen) for kind in ("omega", "v"))


POLE = (
    "the contact nears a pole of surface 2, where the axes x and y of C2 end: x or y alone cannot be constrained there"
)


def _turned(s: Any, turn: Any, pairs: Sequence[tuple[int, int]]) -> Any:
    """Components of the same vectors in axes turned by `turn` about z."""
    entries = list(s)
    c, sn = cos(turn), sin(turn)
    for x, y in pairs:
        entries[x], entries[y] = c * s[x] + sn * s[y], c * s[y] - sn * s[x]
    return array(entries)


# --- start values ----------------------------------------------------------------------------------------------------


def _start_parameters(surface1: Surface, surface2: Surface) -> list[str]:
    return [f"kinematics.surface {i} {key}" for i, s in ((1, surface1), (2, surface2)) for key in s.parameters]


def _start_results(surface1: Surface, surface2: Surface) -> list[str]:
    charts = [f"chart {i}" for i, s in ((1, surface1), (2, surface2)) if s.charts > 1]
    return ["kinematics.q1", "kinematics.q2", "kinematics.alpha", "kinematics.d", "spring.q", "switch", *charts]


def _start(name: str, surface1: Surface, surface2: Surface, chosen: Sequence[str]) -> Any:
    """Closest points of the start poses -> contact coordinates, spring (at its penetration) and modes."""

    def start(pose1: Any, pose2: Any, *numbers: Any) -> tuple[Any, ...]:
        count = len(surface1.parameters)
        skin1, skin2 = _with_numbers(surface1, numbers[:count]), _with_numbers(surface2, numbers[count:])
        H_1_2 = inverse(np.asarray(pose_from_state(pose1), float)) @ np.asarray(pose_from_state(pose2), float)
        try:
            nearest = closest_points(skin1, skin2, np.asarray(H_1_2, dtype=float))
        except GeometryError as error:
            raise ModelError(
                name, [Problem(error.code, error.message, (f'contact "{name}"',), (), (error.cure,))]
            ) from error
        if _unpaired(chosen) and nearest.chart2 == 1.0:
            nearest = _in_polar_chart(name, skin2, nearest)
        touching = nearest.d < 0.0
        spring = np.zeros(len(chosen))
        if touching and "v_z" in chosen:
            spring[chosen.index("v_z")] = -nearest.d
        charts = [
            ("axis z", "axis x")[int(c)]
            for c, s in ((nearest.chart1, surface1), (nearest.chart2, surface2))
            if s.charts > 1
        ]
        return (
            nearest.q1, nearest.q2, nearest.alpha, nearest.d, spring if len(chosen) > 1 else spring[0],
            "contact" if touching else "free", *charts,
        )  # fmt: skip

    return start


def _in_polar_chart(name: str, surface2: Surface, nearest: ContactCoordinates) -> ContactCoordinates:
    q2, turn = surface2.change_chart(nearest.q2, 1.0)
    if surface2.chart_margin(q2, 0.0) <= 0.0:
        cure = "constrain both components of a pair, or start farther from the pole"
        raise ModelError(name, [Problem("E423", f'contact "{name}" cannot start: {POLE}', cures=(cure,))])
    return replace(nearest, q2=np.asarray(q2, dtype=float), chart2=0.0, alpha=float(nearest.alpha + turn))


def _with_numbers(surface: Surface, numbers: Sequence[Any]) -> Surface:
    return replace(surface, parameters=dict(zip(surface.parameters, map(float, numbers), strict=True)))


# --- input checks ----------------------------------------------------------------------------------------------------


KINDS = {"v_z": "normal", "v_x": "tangential", "v_y": "tangential"}
"""Component -> which stiffness and damping it has; all others are "rotational"."""


def _constrained(constrained: str | Sequence[str]) -> tuple[str, ...]:
    """Known constrained components in their order."""
    wanted = PAPER_NAMES.get(constrained, (constrained,)) if isinstance(constrained, str) else tuple(constrained)
    return tuple(component for component in COMPONENTS if component in wanted)


def _by_component(values: tuple[float, float, float]) -> dict[str, float]:
    """Component -> its value out of (normal, tangential, rotational)."""
    by_kind = dict(zip(("normal", "tangential", "rotational"), values, strict=True))
    return {component: by_kind[KINDS.get(component, "rotational")] for component in COMPONENTS}


def _problems(
    name: str,
    body1: Body,
    body2: Body,
    constrained: str | Sequence[str],
    chosen: Sequence[str],
    stiffness: Mapping[str, float],
    damping: Mapping[str, float],
) -> list[Problem]:
    """All that is wrong with the arguments of a contact."""
    place = caller_place()
    problems = [
        Problem("E420", f'body "{body.name}" of contact "{name}" has no surface', (), (body.place,),
                ("give it one: surface=sphere(0.1)",))
        for body in (body1, body2) if body.surface is None
    ]  # fmt: skip
    named = (constrained,) if isinstance(constrained, str) else tuple(constrained)
    unknown = [c for c in named if c not in COMPONENTS and c not in PAPER_NAMES]
    if unknown or not chosen:
        problems.append(
            Problem(
                "E421",
                f'contact "{name}" cannot constrain {", ".join(map(str, unknown)) or "nothing"}',
                (f"components: {', '.join(COMPONENTS)}", f"names: {', '.join(PAPER_NAMES)}"),
                (place,),
                ('constrained="rolling", or a list of components such as ["v_z"]',),
            )
        )
    for kind in ("normal", "tangential", "rotational"):
        mine = [c for c in chosen if KINDS.get(c, "rotational") == kind]
        if not mine:
            continue
        k, r = stiffness[mine[0]], damping[mine[0]]
        if not (np.isfinite(k) and k > 0 and np.isfinite(r) and r >= 0):
            problems.append(
                Problem(
                    "E422",
                    f'contact "{name}": {kind}_stiffness = {k}, {kind}_damping = {r}',
                    (f"{', '.join(mine)} constrained: needs stiffness > 0, damping >= 0",),
                    (place,),
                    (f"{kind}_stiffness=..., or leave {', '.join(mine)} free",),
                )
            )
    return problems


def constrained_components(result: Any, name: str) -> list[int]:
    """Places in `COMPONENTS` that a contact of a run constrains, read from its spring's and its selection's shape."""
    selection = np.atleast_2d(np.asarray(result[f"{name}.constrained.N"])[-1])
    return [int(np.argmax(row)) for row in selection]
