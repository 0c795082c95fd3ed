"""Finger on the tool of a delta robot, and a brick on a table: the mechanical part of a soft touch.

```
 tip of arm 1 <-- TF along x <-- 0 <-- 1 brick --> I mass
                                 |       |
                     contact (switched)  Friction table
```
The contact's flow is the rate of its gap, h' = v_brick - v_finger. Its state machine has three states, as in Bortoff 2020,
fig. 1: "free", "contact", where the constraint holds, and "ballistic", without force but still inside the gap's surface.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models.contacts.laws.three_state import contact_states
from screwbond.models.contacts.switches import TOUCHING

from bondgraph import J0, J1, TF, Block, Constraint, Friction, Graph, I, Op, StateSpec
from bondgraph.graph.builder import nested
from bondgraph.model.domains import TRANSLATION
from screws.scalars import equal, where

APPROACH_DIRECTION = np.array([1.0, 0.0, 0.0])
"""Direction of the approach, x1."""


def add_brick(
    robot: Graph, *, gap: float, mass: float, friction: float, gravity: float, alpha1: float, alpha0: float, alpha2: float = 0.0
) -> Graph:
    """Add a brick on a table in front of the finger of a robot (`delta_graph`), at a distance `gap` along x1, m.

    Parameters
    ----------
    mass : of the brick, kg. friction : its coefficient on the table. gravity : m/s^2.
    alpha1, alpha0, alpha2 : of the contact, h'' + alpha1 h' + alpha0 h + alpha2 h^3 = 0: 1/s, 1/s^2, 1/(m^2 s^2).

    Signals: `contact.h` gap, m; `contact.multiplier` force, N; `displacement.y` of the brick, m; `table.effort` friction, N.
    """
    brick, gap_junction = (J1("brick", domain=TRANSLATION, dimension=1), J0("finger and brick", domain=TRANSLATION, dimension=1))
    finger = TF("along x", APPROACH_DIRECTION, structural=True, domains=(TRANSLATION, TRANSLATION))
    robot.connect(brick, gap_junction).connect(gap_junction, finger.port("2"))
    robot.connect(finger.port("1"), nested(robot)["arm 1"].port("tip"))
    robot.connect(
        gap_junction,
        Constraint(
            "contact",
            automaton="touch",
            active=[TOUCHING],
            closing="smooth",
            initial=gap,
            alpha1=alpha1,
            alpha0=alpha0,
            alpha2=alpha2,
            domain=TRANSLATION,
        ),
    )
    robot.connect(brick, I("brick mass", mass, domain=TRANSLATION))
    robot.connect(brick, Friction("table", friction * mass * gravity, domain=TRANSLATION))
    robot.add(
        Block(
            "displacement",
            [("rate", SLIP_VELOCITY, ["mode", "flow"])],
            inputs={"mode": "table.mode", "flow": "brick.flow"},
            states={"y": StateSpec(0.0, 1e-3, "m")},
            rates={"y": "rate"},
            units={"y": "m", "rate": "m/s"},
        )
    )
    return robot.add_automaton(contact_states("touch", "contact.h", "contact.h'", "contact.multiplier"))


def _slip_velocity(mode: Any, flow: Any) -> Any:
    """Return the velocity of a body on dry friction, exactly zero while it sticks, so that rounding does not accumulate."""
    return where(equal(mode, 0.0), 0.0, flow)


SLIP_VELOCITY = Op("slip", _slip_velocity, r"#2 \text{ while it slips, else } 0")
