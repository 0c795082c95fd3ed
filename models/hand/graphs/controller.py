"""The intrinsically passive controller of a hand as bond-graph elements: a virtual object on springs.

```
 tip 0 --- grip spring 0 ---+
 tip 1 --- grip spring 1 ---+--- virtual object --- reference spring --- reference (Sf)
 tip 2 --- grip spring 2 ---+          |
                                    damping (R)
```

Its only sensors are the poses of the tips: whatever it is connected to, its energy comes from the reference alone.
Source: Stramigioli 2001 (intrinsically passive control); Visser 2002, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from screwbond.models.bodies import Body, rigid_body
from screwbond.models.chains import ChainGraph
from screwbond.models.hand.scenarios import ReferenceStep
from screwbond.models.motion import PoseMotion, axes, axis_rotations, hold, pose_motion, quintic
from screwbond.models.motion.polynomials import Motion
from screwbond.models.springs import attach_between, point_spring, spatial_spring

from bondgraph import Element, Graph, R
from bondgraph.model.domains import SCREW


@dataclass(frozen=True)
class VirtualObject:
    """Gains of the controller (SI): inertia and absolute damping of the virtual object, springs to reference and tips."""

    mass: float
    inertia: float
    damping: float
    rotational_damping: float
    stiffness: float
    rotational_stiffness: float
    finger_stiffness: float


def passive_controller(
    name: str,
    gains: VirtualObject,
    reference: Body,
    poles: np.ndarray,
    points: np.ndarray,
    *,
    position: Sequence[float],
    quaternion: Sequence[float],
) -> Graph:
    """Return the controller as a graph with a port `tip i` and an input `pose i` for each tip: `attach_tip` connects them.

    Parameters
    ----------
    reference : body with a prescribed motion that the virtual object follows.
    poles : (n, 3) points of the springs in the tips' frames, m.
    points : (n, 3) their other ends in the virtual object, m.
    position, quaternion : start pose of the virtual object.

    Parts: `virtual object`, `reference`, `reference spring`, `damping`, `grip spring i`.
    """
    graph = Graph(name)
    virtual = rigid_body(
        "virtual object", mass=gains.mass, inertia=(gains.inertia,) * 3, position=tuple(position), quaternion=tuple(quaternion)
    )
    # The damper acts at the 1-junction of the body twist: it damps the absolute motion, equally in all directions.
    body_twist = virtual.parts["body twist"]
    assert isinstance(body_twist, Element)
    virtual.expose("body", body_twist)
    damping = np.array([gains.rotational_damping] * 3 + [gains.damping] * 3)
    reference_spring = spatial_spring(
        "reference spring", rotational=gains.rotational_stiffness, translational=gains.stiffness, form="rotation vector"
    )
    attach_between(graph, reference_spring, reference, virtual)
    graph.connect(virtual.port("body"), R("damping", damping, domain=SCREW, frame=virtual.name))
    for i, (pole, point) in enumerate(zip(poles, points, strict=True)):
        graph.declare_input(f"pose {i}")
        spring = point_spring(f"grip spring {i}", gains.finger_stiffness, pole, point)
        graph.connect(virtual.world, spring.port("b"))
        graph.wire(virtual.pose_path, spring, "pose b")
        graph.wire(f"pose {i}", spring, "pose a")
        graph.expose(f"tip {i}", spring.port("a"))
    return graph


def attach_tip(graph: Graph, controller: Graph, index: int, finger: ChainGraph, tip: str) -> None:
    """Connect a tip, a link of a finger, to its spring: half arrow controller -> tip, and its pose (4, 4) as a signal."""
    graph.connect(controller.port(f"tip {index}"), finger.port(tip))
    graph.wire(f"{finger.name}.{tip}.H", controller, f"pose {index}")


def reference_motion(
    steps: Sequence[ReferenceStep], position: Sequence[float], quaternion: Sequence[float] = (1.0, 0.0, 0.0, 0.0)
) -> PoseMotion:
    """Return the motion of the reference from a start pose: the sum of all shifts, and all turns one after the other."""
    start = np.asarray(position, dtype=float)
    shifts = [quintic(np.zeros(3), step.shift, step.begin, step.end) for step in steps if any(step.shift)]
    turns = [step for step in steps if any(step.turn)]
    centre: Motion | np.ndarray = start
    if shifts:
        stacked = axes(*shifts)
        table = stacked.coefficients
        summed = table.reshape(*table.shape[:2], len(shifts), 3).sum(axis=2)
        summed[:, 0] += start
        centre = Motion(stacked.breaks, summed)
    turn = axis_rotations(hold(0.0, 1.0), (0.0, 0.0, 1.0))
    if turns:
        angles = [quintic(0.0, float(np.linalg.norm(step.turn)), step.begin, step.end) for step in turns]
        turn = axis_rotations(angles, [step.turn for step in turns])
    return pose_motion(centre, turn, quaternion=tuple(quaternion))
