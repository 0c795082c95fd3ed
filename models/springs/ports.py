"""Ports of springs and dampers: the frame B of body b in which their laws hold, and a C whose state the bodies hold."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from screwbond.models.bodies import AD_SOURCE, Touchable, connect_bodies, screw_transformer
from screwbond.models.springs.formulas import frame_pose

from bondgraph import Element, Graph, Op, Parameter
from bondgraph.model.domains import Domain
from bondgraph.model.element import Port
from bondgraph.model.laws import Action, StateSpec, Storage
from screws.poses import Ad_of_inverse
from screws.twists import transform_twist_back, transform_wrench

NUMBERS = {
    "rotational": ("N m/rad", "K_r"),
    "translational": ("N/m", "K_t"),
    "coupling": ("N", "K_c"),
    "stiffness": ("N/m", "K"),
    "rest length": ("m", "L"),
}
"""Unit and letter of every number of a spring between bodies."""

AD_FRAME = Op("Ad", lambda frame, pose: Ad_of_inverse(frame_pose(pose, frame)), r"\mathrm{Ad}_{(#2\,#1)^{-1}}", AD_SOURCE)
TO_FRAME = Action(
    Op(
        "twist to B",
        lambda frame, pose, T: transform_twist_back(frame_pose(pose, frame), T),
        r"\mathrm{Ad}_{(#2\,#1)^{-1}}\,#3",
        AD_SOURCE,
    ),
    Op(
        "wrench to world",
        lambda frame, pose, W: transform_wrench(frame_pose(pose, frame), W),
        r"\mathrm{Ad}_{(#2\,#1)^{-1}}^T\,#3",
        AD_SOURCE,
    ),
)


def into_frame(graph: Graph, relative: Element, frame_b: np.ndarray) -> Element:
    """Add the MTF that expresses T_0_a_b in the frame B fixed to body b, T_B_A_B; return it."""
    fixed, symbols = {"frame b": Parameter(frame_b, "1, m")}, {"matrix": r"\mathrm{Ad}_{H_0^B}", "frame b": "H_B^b"}
    to_B = screw_transformer(AD_FRAME, TO_FRAME, "pose b", ("0", "B"), parameters=fixed, symbols=symbols)
    graph.connect(relative, to_B)
    return to_B


def attach_between(graph: Graph, part: Graph, a: Touchable, b: Touchable) -> None:
    """Connect a component to its bodies: half arrows b -> component -> a, and the poses as signals."""
    connect_bodies(graph, part, {"a": a, "b": b})


def spring_of_signal(
    effort: Op, energy: Op, parameters: dict[str, Any], signal: str, dimension: int, domain: Domain, frame: str
) -> Element:
    """Return a C "spring" without a state of its own: its energy is a function of a signal whose rate its flow determines.

    The poses of the bodies are states already. A relative pose as a further state would drift from them within the
    tolerance, and would count as a degree of freedom in linearisation and in the search for an equilibrium.
    """
    law = Storage(
        "effort", "own", StateSpec(np.zeros(0), 1.0, "1"), _with_state_argument(effort), _with_state_argument(energy), _NO_RATE
    )
    values = {key: Parameter(value, NUMBERS[key][0]) for key, value in parameters.items()}
    letters = {key: NUMBERS[key][1] for key in parameters}
    return Element("C", "spring", law, (Port("1", dimension, domain, frame),), values, (signal,), letters, domain, frame)


_NO_RATE = Op("no rate", lambda *_: np.zeros(0), r"\emptyset")


@cache
def _with_state_argument(op: Op) -> Op:
    """Return the operation with an empty state as a first argument that it does not read."""
    latex = op.latex
    for index in range(9, 0, -1):
        latex = latex.replace(f"#{index}", f"#{index + 1}")
    return Op(op.name, lambda _, *arguments: op(*arguments), latex, op.source)
