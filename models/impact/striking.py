"""Arms that hit a wall, and simulations of the impact for a contact law and speed.

```
 arm (joints free, IC) --> link --> contact with a law <-- wall
```

The tip is a small ball around the point. Weight and motors are omitted: impact forces are much larger. The effective mass of the
arm follows from the generalised momentum; it is valid as long as the configuration hardly changes during the impact.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from screwbond.models.bodies import ground
from screwbond.models.chains import Chain, Link, Tree, chain_graph, cylinder_inertia
from screwbond.models.contacts import Maxwell, VirtualSpring, Viscoelastic, attach_contact, contact
from screwbond.models.impact.force_laws import ForceLaw, MaxwellImpact, SpringImpact, ViscoelasticImpact, equivalent_laws
from screwbond.models.impact.mobility import StrikingPoint, direction, mass_at, need_mobile, striking_point
from screwbond.models.pictures.shapes.meshes import along
from screwbond.models.robots import LinkVisual, read_urdf

from bondgraph import Graph, signals, simulate
from bondgraph.errors import ByName, refusal
from bondgraph.output.short_repr import short_repr
from bondgraph.run.results.result import Result
from screws.arrays import Count
from screws.joints import fixed, revolute
from screws.names import answer_old_names
from screws.rotations import quaternion
from screws.surfaces import plane, sphere

Vector = Sequence[float] | np.ndarray

HEIGHTS = (0.15, 0.35, 0.55, 0.75, 0.95, 1.15, 1.25)
"""Heights of the seven joints above the base of the upright arm, m."""
TIP = 1.4
MASSES = (4.0, 4.0, 3.0, 3.0, 2.0, 1.5, 0.5)
RADIUS = 0.05
LIMITS = (170.0, 120.0, 170.0, 150.0, 170.0, 120.0, 170.0)
"""Joint limits in both directions, degrees."""


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class Striker:
    """Arm, configuration, and point and direction of an impact.

    Parameters
    ----------
    chain, q : the arm and its joint coordinates (n,), rad or m.
    point : contact point (3,) in the frame of its link, m.
    normal : normal of the wall (3,) in the axes of this link; the point moves against it.
    link : name of the link; None: the last.
    visuals : meshes of the links for pictures; without them an arm is drawn as rods.
    """

    chain: Tree
    q: Vector
    point: Vector = (0.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)
    link: str | None = None
    visuals: tuple[LinkVisual, ...] = ()

    @property
    def striking_point(self) -> StrikingPoint:
        """Contact point on its link; raises `ModelError` E541, E542 if it is incompatible with the arm."""
        return striking_point(self.chain, self.q, self.point, self.link)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """First arguments of `effective_mass` and `graph_effective_mass`; both functions also take `link`."""
        return self.chain, self.q, self.point, self.normal


def seven_joint_arm() -> Chain:
    """Return an arm of seven cylinders with joint axes z, y, z, y, z, y, z of the world when upright.

    The frame of each link is at its joint, with z along the arm.
    """
    ends = (*HEIGHTS[1:], TIP)
    links = []
    for k, (low, high, mass, limit) in enumerate(zip(HEIGHTS, ends, MASSES, LIMITS, strict=True)):
        home = np.eye(4)
        home[2, 3] = low
        axis = (0.0, 0.0, 1.0) if k % 2 == 0 else (0.0, 1.0, 0.0)
        body = cylinder_inertia(mass, RADIUS, (0.0, 0.0, 0.0), (0.0, 0.0, high - low))
        bound = float(np.deg2rad(limit))
        links.append(Link(f"link {k + 1}", revolute(axis, (0.0, 0.0, low)), body, home, limits=(-bound, bound)))
    return Chain("arm", tuple(links))


def default_striker() -> Striker:
    """Return the seven-joint arm with its tip pointing along x, against a wall perpendicular to x."""
    q = np.deg2rad([0.0, 20.0, 0.0, 90.0, 0.0, -20.0, 0.0])
    return Striker(seven_joint_arm(), q, point=(0.0, 0.0, TIP - HEIGHTS[-1]), normal=(0.0, 0.0, -1.0))


def striker_from_urdf(
    path: str | os.PathLike[str],
    tip: str | None = None,
    *,
    q: Vector | None = None,
    point: Vector = (0.0, 0.0, 0.0),
    normal: Vector = (0.0, 0.0, -1.0),
    meshes: str | bool = "collision",
) -> Striker:
    """Return the robot of a URDF file, whose link `tip` (None: the last) hits the wall, with joints at zero by default.

    `meshes` selects the meshes for pictures, as in `read_urdf`: "collision", "visual", or False to draw rods.

    Requires the extra `urdf`. Raises the errors of `read_urdf`.
    """
    robot = read_urdf(path, tip=tip, meshes=meshes)
    tree = robot.tree
    return Striker(tree, np.zeros(tree.freedoms) if q is None else q, point, normal, tip, robot.visuals)


STRIKING_TIP = "tip that strikes"
TIP_RADIUS_RATIO = 30.0
"""Ratio of the radius of the tip to the largest compression."""


@dataclass(frozen=True, eq=False)
class ImpactRun:
    """Simulated impact of an arm.

    Parameters
    ----------
    law : contact law in closed form, for a single mass equal to the arm's effective mass of kind "momentum".
    result : run from shortly before first contact until after release.
    touch, release : times, s.
    speed_before, speed_after : speed of the point along the normal, positive towards the wall, m/s.
    impulse : impulse of the normal force, N s.
    """

    law: ForceLaw
    result: Result
    touch: float
    release: float
    speed_before: float
    speed_after: float
    impulse: float

    @property
    def restitution(self) -> float:
        """Ratio of the speed after the impact to the speed before."""
        return -self.speed_after / self.speed_before

    @property
    def duration(self) -> float:
        """Duration, s."""
        return self.release - self.touch

    @property
    def force(self) -> tuple[np.ndarray, np.ndarray]:
        """Times since first contact, s, and normal forces, N, at the samples during the impact."""
        t, f = self.result.t, self.result["touch.normal force"]
        inside = (t >= self.touch) & (t <= self.release)
        return t[inside] - self.touch, np.asarray(f[inside], dtype=float)


def simulate_impact(striker: Striker, law: ForceLaw, *, samples: Count = 400) -> ImpactRun:
    """Simulate an arm whose point hits a wall against the normal at the law's speed, without rotation of its link.

    Parameters
    ----------
    law : `ViscoelasticImpact`, `SpringImpact` or `MaxwellImpact`; its mass is not used.

    Raises `ModelError` E541 for arguments that do not match the arm, E542 if the arm cannot move the point in this way, E544 for
    a law that no contact law matches, such as a `SpringImpact` with e = 0, or if the arm does not leave the wall.
    """
    component_law, where = contact_law(law), striker.striking_point
    n = direction(where.chain, striker.normal)
    need_mobile(where, n, "projection")
    velocity = where.approach(n, law.v0)
    single = replace(law, m=mass_at(where, striker.normal, "momentum"))
    ahead, radius = 0.02 * single.duration * single.v0, TIP_RADIUS_RATIO * single.largest_compression
    home = np.array(where.chain.links[where.link].home)
    home[:3, 3] += home[:3, :3] @ (where.point + radius * n)
    carrier = where.chain.links[where.link].name
    tip = Link(STRIKING_TIP, fixed(), None, home, surface=sphere(radius), parent=carrier)
    tipped = Tree(where.chain.name, (*where.chain.links, tip), where.chain.base)
    arm = chain_graph(tipped, "arm", ports=(STRIKING_TIP,), position=where.q, velocity=velocity, limits="ignore")
    H = where.frame
    outward = H[:3, :3] @ n
    wall = ground(
        "wall",
        surface=plane(),
        position=(H[:3, 3] - ahead * outward).tolist(),
        quaternion=np.asarray(quaternion(along(outward, np.zeros(3))[:3, :3]), dtype=float).tolist(),
    )
    graph, ball = Graph("strike"), arm.link(STRIKING_TIP)
    graph.add(arm, wall)
    attach_contact(graph, contact("touch", wall, ball, law=component_law), wall, ball)
    graph.add(signals.integrator("impulse", "touch.normal force"))
    t_end = ahead / single.v0 + 1.6 * single.duration
    times = np.linspace(0.0, t_end, samples + 1)
    result = simulate(graph, t_end, samples=times, rtol=1e-9, progress=False)
    return _impact_run(single, result)


def _impact_run(single: ForceLaw, result: Result) -> ImpactRun:
    events = [event for event in result.events if event.name == "touch.switch"]
    released = [event for event in events[1:] if result.at_event(event, "touch.normal force")[1] == 0.0]
    if not released:
        title = f"the arm does not leave the wall within {result.t[-1]:.3g} s"
        raise refusal("E544", title, "a law with higher restitution, or a shorter impact", about="an impact")
    first, last = events[0], released[0]
    before, after = (-float(result.at_event(event, "touch.kinematics.d'")[0]) for event in (first, last))
    return ImpactRun(single, result, first.time, last.time, before, after, float(result.at_event(last, "impulse.y")[0]))


def contact_law(law: ForceLaw) -> Any:
    if isinstance(law, ViscoelasticImpact):
        return Viscoelastic(law.k, law.c)
    if isinstance(law, SpringImpact) and law.e > 0.0:
        return VirtualSpring(law.k, law.e)
    if isinstance(law, MaxwellImpact):
        return Maxwell(law.k, law.c)
    title = f"no contact law matches {law!r}"
    raise refusal("E544", title, "ViscoelasticImpact, MaxwellImpact, or SpringImpact with e above 0", about="an impact")


def simulate_impacts(striker: Striker, v0: float, duration: float, e: float) -> dict[str, ImpactRun]:
    """Simulate the impact of an arm with each of `equivalent_laws`, whose restitution and duration apply to a single mass.

    Raises the errors of `simulate_impact`; E540 for invalid values.
    """
    mass = mass_at(striker.striking_point, striker.normal, "momentum")
    laws = equivalent_laws(v0, mass * v0 * (1.0 + e), duration, e)
    return ByName({name: simulate_impact(striker, law) for name, law in laws.items()})
