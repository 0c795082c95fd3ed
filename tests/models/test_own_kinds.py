"""Users can define a joint and an unbounded surface that this package lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import Graph, compile_model
from screws import pose
from screws.joints import Joint
from screws.scalars import array, atan2, cos, sin
from tests.inner.models_joints import KINDS, Kind, parallel, shift
from tests.inner.models_pictures import body_points
from tests.inner.screws import Geometry, Surface, frame


def off_axis(R: np.ndarray) -> float:
    return float(np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2]))


PIN_IN_SLOT = Kind(
    closures=lambda H: [*parallel(H), shift(H, 1), shift(H, 2)],
    free=lambda H: array([list(shift(H, 0)[1:]), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]),
    coordinates=lambda H: array([H[0, 3], atan2(H[1, 0] - H[0, 1], H[0, 0] + H[1, 1])]),
    angles=2,
    tilt=off_axis,
)
"""Joint that slides along x and turns about z."""


@pytest.fixture
def slotted() -> Any:
    KINDS["pin in slot"] = PIN_IN_SLOT
    yield Joint("slot", np.array([[0, 0], [0, 0], [0, 1], [1, 0], [0, 0], [0, 0]], dtype=float), "pin in slot")
    del KINDS["pin in slot"]


def test_a_pendulum_hangs_in_a_slot(slotted: Joint) -> None:
    length, angle = 0.3, 0.8
    bob = rigid_body(
        "bob",
        mass=0.7,
        inertia=(2e-3, 3e-3, 1e-3),
        gravity=(0.0, 0.0, -9.81),
        quaternion=(np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0),
        position=(-length * np.sin(angle), 0.0, -length * np.cos(angle)),
    )
    R = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # x along the slot, z against y
    hung = joint_graph("hung", slotted, frame_a=pose(R, (0, 0, 0)), frame_b=pose(R, (0, 0, length)))
    graph = attach_joint(Graph("slot"), hung, ground("floor"), bob)
    result = compile_model(graph).simulate(1.5, rtol=1e-9, progress=False)
    assert result.ok
    assert np.abs(result["hung.violation"]).max() < 1e-8
    x = result["bob.pose"][:, 4]
    assert np.ptp(x) < 1e-7 and x[0] == pytest.approx(-length * np.sin(angle))
    slide, turn = result["hung.q"].T
    assert np.ptp(slide) > 0.3 and np.ptp(turn) > 1.0
    assert slide == pytest.approx(x - length * np.sin(turn), abs=1e-6)


@dataclass(frozen=True)
class Waves:
    """Unbounded surface c = (u, v, h sin(k u)), with material below."""

    name: str = "plane"
    closed: bool = False
    letters: ClassVar[tuple[str, ...]] = ("h", "k")
    latex: ClassVar[tuple[str, ...]] = (r"c = (u, v, h \sin(k\,u))",)

    def position(self, q: Any, chart: Any, p: Any) -> Any:
        return (q[0], q[1], p[0] * sin(p[1] * q[0]))

    def geometry(self, q: Any, chart: Any, p: Any) -> Geometry:
        slope, bend = p[0] * p[1] * cos(p[1] * q[0]), -p[0] * p[1] * p[1] * sin(p[1] * q[0])
        size = (1.0 + slope * slope) ** 0.5
        H = frame((1 / size, 0.0, slope / size), (0.0, 1.0, 0.0), (-slope / size, 0.0, 1 / size), self.position(q, chart, p))
        curvature = array([[-bend / size**3, 0.0], [0.0, 0.0]])
        return Geometry(H, array([[size, 0.0], [0.0, 1.0]]), curvature, np.zeros(2))

    def guess(self, point: np.ndarray, p: Any) -> tuple[np.ndarray, float] | None:
        return np.array([point[0], point[1]], dtype=float), 0.0

    def ranges(self) -> Any:
        return ((-np.inf, np.inf, False), (-np.inf, np.inf, False))


def test_an_endless_surface_is_shown_round_its_contacts() -> None:
    sea = Surface(Waves(), {"h": 0.05, "k": 3.0}, 1.0)
    assert sea.unbounded
    contacts = np.array([sea.point((u, 0.2)) for u in np.linspace(4.0, 5.0, 30)], dtype=float)
    points = body_points(sea, contacts, 0.5).reshape(-1, 3)
    assert points[:, 2] == pytest.approx(0.05 * np.sin(3.0 * points[:, 0]))
    assert points[:, 0].min() < 3.6 and points[:, 0].max() > 5.4 and np.ptp(points[:, 1]) > 1.0
