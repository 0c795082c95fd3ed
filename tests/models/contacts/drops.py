"""A ball is dropped or rolled on a floor under each of the tested contact laws."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models import attach_contact, contact, ground, rigid_body
from screwbond.models.bodies import Body
from screwbond.models.contacts import Compliant, ContactLaw, Impact, ThreeState, Viscoelastic

from bondgraph import Graph, simulate
from screws.poses import pose_from_state
from screws.surfaces import plane, sphere
from tests.inner.run import Result

MASS, RADIUS, HEIGHT, G = 1.0, 0.1, 1.0, 9.81
FALL = np.sqrt(2.0 * HEIGHT / G)
SPEED = G * FALL


def ball(**motion: Any) -> Body:
    inertia = (0.4 * MASS * RADIUS**2,) * 3
    return rigid_body("ball", mass=MASS, inertia=inertia, surface=sphere(RADIUS), **motion)


def dropped(
    law: ContactLaw,
    *,
    height: float = HEIGHT,
    gravity: float = G,
    speed: float = 0.0,
    along: float = 0.0,
    spin: tuple[float, float, float] = (3.0, 1.0, 2.0),
    **options: Any,
) -> Graph:
    graph, floor = Graph("drop"), ground("floor", surface=plane())
    falling = ball(
        position=(0.0, 0.0, RADIUS + height), velocity=(along, 0.0, -speed), angular_velocity=spin, gravity=(0.0, 0.0, -gravity)
    )
    attach_contact(graph, contact("touch", floor, falling, law=law, **options), floor, falling)
    return graph


def times(run: Result, *kinds: str) -> np.ndarray:
    return np.array([event.time for event in run.events if event.kind in kinds])


COMPLIANT, VISCOELASTIC = Compliant(normal_stiffness=1e5), Viscoelastic(1e5, 1e4)
IMPACT, THREE_STATE = Impact(0.8), ThreeState(10.0, 100.0, 1e6)


def rolled(law: ContactLaw, constrained: Any, tilt: float, exchanged: bool = False, **motion: Any) -> Result:
    """Return the run of a ball that falls on a slope with the angle `tilt`; the slope's x axis points downhill."""
    graph, floor = Graph("roll"), ground("floor", surface=plane())
    gravity = (G * np.sin(tilt), 0.0, -G * np.cos(tilt))
    rolling = ball(position=(0.0, 0.0, RADIUS + 0.05), gravity=gravity, **motion)
    pair = (rolling, floor) if exchanged else (floor, rolling)
    attach_contact(graph, contact("touch", *pair, law=law, constrained=constrained), *pair)
    run = simulate(graph, 2.0, samples=0.01, rtol=1e-10, progress=False)
    assert run.ok and run.ledger.relative_residual < 1e-10
    return run


def in_world(run: Result) -> tuple[np.ndarray, np.ndarray]:
    H = np.asarray(pose_from_state(run["ball.pose"][-1]), dtype=float)
    twist = run["ball.twist"][-1]
    return H[:3, :3] @ twist[:3], H[:3, :3] @ twist[3:]
