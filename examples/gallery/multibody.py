"""Public models of spatial mechanisms: pendulums, springs, gyros, loops and engines. Gravity acts along -y."""

from __future__ import annotations

from collections.abc import Callable
from math import acos, atan2, pi
from typing import Any

import numpy as np
from screwbond.models import attach_between, ground, point_spring, rigid_body
from screwbond.models.chains import BodyInertia, Chain, Link, Tree, chain_graph, combined_inertia, cylinder_inertia
from screwbond.models.chains import link_pose as pose_of
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import Block, C, Constraint, Graph, I, Se
from examples.gallery.record import Collection
from screws import joints, pose, quaternion
from screws.rotations import exp
from screws.scalars import array, cos, sin, where
from screws.vectors import length

MODELS = Collection("Mechanisms in space")
MSL = "Modelica.Mechanics.MultiBody.Examples."
SETS = "Test Set for IVP Solvers, "
GRAVITY = (0.0, -9.80665, 0.0)
X, Y, Z = np.eye(3)


def bar(start, end, width: float, height: float | None = None, across=Y) -> BodyInertia:
    """Return a steel bar of rectangular section between two points, m, whose width lies along `across`."""
    r, height = np.subtract(end, start), height or width
    axes = np.linalg.qr(np.array([r, across, np.cross(r, across)]).T)[0]
    mass, squares = 7700 * np.linalg.norm(r) * width * height, np.array([r @ r, width**2, height**2])
    return BodyInertia(mass, axes @ np.diag(squares.sum() - squares) @ axes.T * mass / 12, np.add(start, end) / 2)


def rod(start, end, diameter: float) -> BodyInertia:
    """Return a steel rod of circular section between two points, m."""
    mass = 7700 * np.linalg.norm(np.subtract(end, start)) * pi * diameter**2 / 4
    return cylinder_inertia(mass, diameter / 2, start, end)


def gap(tree: Tree, a: int, b: int, point, axes) -> Callable[[Any], Any]:
    """Return, as a function of the joints, the offset along some axes of a point on link `b` from the same point on link `a`."""
    return lambda q: ((pose_of(tree, b, q) - pose_of(tree, a, q)) @ np.asarray(point, dtype=float))[list(axes)]


@MODELS.model(
    MSL + "Elementary.Pendulum",
    statements=8,
    t_end=5.0,
    signals={"rev.phi": "mechanism.q", "rev.w": "mechanism.v"},
    tolerance=2e-5,
)
def pendulum() -> Graph:
    """Pendulum with a damped hinge."""
    body = BodyInertia(1.0, (0.001, 0.001, 0.001), (0.5, 0.0, 0.0))
    link = Link("body", joints.revolute(Z), body, damping=0.1)
    return chain_graph(Chain("pendulum", (link,)), gravity=GRAVITY)


ANGLES = {f"revolute{k + 1}.{a}": f"mechanism.{b}[{k}]" for k in (0, 1) for a, b in (("phi", "q"), ("w", "v"))}


@MODELS.model(MSL + "Elementary.DoublePendulum", statements=12, t_end=3.0, signals=ANGLES, tolerance=1e-4)
def double_pendulum() -> Graph:
    """Two boxes on hinges, the first of which is damped."""
    return boxes((0.0, 0.0))


def boxes(position) -> Graph:
    """Return the double pendulum with these start angles."""
    upper = Link("upper", joints.revolute(Z), bar((0, 0, 0), (0.5, 0, 0), 0.06), damping=0.1)
    lower = Link("lower", joints.revolute(Z, (0.5, 0, 0)), bar((0.5, 0, 0), (1.0, 0, 0), 0.06))
    return chain_graph(Chain("arm", (upper, lower)), position=position, gravity=GRAVITY)


@MODELS.model(MSL + "Elementary.DoublePendulumInitTip", statements=15, t_end=2.0, signals=ANGLES, tolerance=3e-4)
def double_pendulum_from_its_tip() -> Graph:
    """Double pendulum that starts at rest with its tip at (0.7, 0.3), over the time that the published results resolve."""
    elbow = acos(2 * (0.7**2 + 0.3**2) - 1)
    return boxes((atan2(0.3, 0.7) - elbow / 2, elbow))


SLIDE = {"prismatic.s": "rod.q[1]", "prismatic.v": "rod.v[1]", "revolute.phi": "rod.q[0]", "revolute.w": "rod.v[0]"}


@MODELS.model(MSL + "Elementary.PendulumWithSpringDamper", statements=16, t_end=10.0, signals=SLIDE, tolerance=1e-4)
def sliding_pendulum() -> Graph:
    """Body on a swinging rod, held along the rod by a spring and a damper."""
    motion = joints.Joint("turn and slide", np.hstack([joints.revolute(Z).screws, joints.prismatic(X).screws]))
    body = Link("body", motion, BodyInertia(1.0, (1.0, 1.0, 1.0)), damping=(0.0, 1.0))
    rod = chain_graph(Chain("rod", (body,)), joint_ports="body 2", position=(0.0, 0.5), gravity=GRAVITY)
    return Graph("sliding pendulum").connect(rod.port("joint body 2"), C("spring", stiffness=20.0, initial=0.3))


SPRINGS = {"p1.s": "masses.q[0]", "p1.v": "masses.v[0]", "p2.s": "masses.q[1]", "p2.v": "masses.v[1]"}


@MODELS.model(MSL + "Elementary.SpringMassSystem", statements=20, t_end=5.0, signals=SPRINGS, tolerance=3e-5)
def spring_mass_system() -> Graph:
    """Two sliding masses: one on a spring along the joint, one on a spring between two points."""
    graph, down, body = Graph("springs"), joints.prismatic(-Y), BodyInertia(1.0, (0.001, 0.001, 0.001))
    tree = Tree("masses", (Link("body1", down, body), Link("body2", down, body, parent=None)))
    masses = chain_graph(tree, ports="body2", joint_ports="body1", position=(0.1, 0.1), gravity=GRAVITY)
    graph.connect(masses.port("joint body1"), C("spring1", stiffness=30.0))
    attach_between(graph, point_spring("spring2", 30.0, rest_length=0.1), ground("world"), masses.link("body2"))
    return graph


SWING = {f"body1.frame_a.r_0[{k + 1}]": f"body.pose[{k + 4}]" for k in (0, 1)} | {"p2.s": "mass.q", "p2.v": "mass.v"}


@MODELS.model(MSL + "Elementary.SpringDamperSystem", statements=20, t_end=10.0, signals=SWING, tolerance=3e-4)
def spring_damper_system() -> Graph:
    """Free body on a spring with a damper, and a sliding body on a spring."""
    graph, spin, centre = Graph("swing"), (0, 0, 0.03490658503988659), (0, -0.2, 0)
    moving = {"position": (0.3, -0.2, 0), "velocity": np.cross(spin, centre), "angular_velocity": spin}
    body = rigid_body("body", mass=1.0, inertia=(0.1,) * 3, centre_of_mass=centre, gravity=GRAVITY, **moving)
    hanger = point_spring("spring1", 30.0, (0.3, 0, 0), rest_length=0.1, damping=2.0)
    attach_between(graph, hanger, ground("world"), body)
    sliding = Chain("mass", (Link("body2", joints.prismatic(-Y), BodyInertia(1.0, (0.001,) * 3)),))
    mass = chain_graph(sliding, joint_ports="body2", position=(0.1,), gravity=GRAVITY)
    return graph.connect(mass.port("joint body2"), C("spring2", stiffness=30.0))


ORBITS = {f"body{n}.v_0[{k + 1}]": f"body{n}.flow[{k}]" for n in (1, 2) for k in (0, 1)}


@MODELS.model(MSL + "Elementary.PointGravity", statements=3, t_end=5.0, signals=ORBITS, tolerance=2e-2)
def point_gravity() -> Graph:
    """Two bodies around a centre that attracts them; the energy of the original drifts by 5e-4."""
    graph = Graph("orbits")
    for name, r, v in (("body1", (0, 0.6, 0), (1, 0, 0)), ("body2", (0.6, 0.6, 0), (0.6, 0, 0))):
        field = C(f"field {name}", energy=lambda r: -1 / length(r), initial=r)
        graph.series(I(name, mass=1.0, dimension=3, initial=v), field)
    return graph


POINTS = {f"body{n}.v_0[{k + 1}]": f"body{n}.flow[{k}]" for n in (1, 3, 4) for k in (0, 1)}


@MODELS.model(MSL + "Elementary.PointGravityWithPointMasses", statements=8, t_end=1.4, signals=POINTS, tolerance=1e-3)
def point_masses() -> Graph:
    """Four masses around a centre that attracts them; a spring joins two of them, and the run ends when these two nearly meet."""
    graph, masses = Graph("masses"), []
    for k, (r, v) in enumerate((((0, 0.6), 1.0), ((0.6, 0.6), 0.6), ((0, 0.8), 0.6), ((0.3, 0.8), 0.6)), 1):
        field = C(f"field {k}", energy=lambda r: -1 / length(r), initial=(*r, 0))
        masses.append(graph.series(I(f"body{k}", mass=1.0, dimension=3, initial=(v, 0, 0)), field))
    return graph.between(masses[2], masses[3], C("spring", stiffness=10.0 * np.eye(3), initial=(0.3, 0, 0)))


FREE = {f"body.body.frame_a.r_0[{k}]": f"body.pose[{k + 3}]" for k in (1, 2, 3)}
FREE |= {f"body.body.w_a[{k}]": f"body.twist[{k - 1}]" for k in (2, 3)}


@MODELS.model(MSL + "Elementary.FreeBody", statements=11, t_end=10.0, signals=FREE, tolerance=6e-4)
def free_body() -> Graph:
    """Body between two springs, rotated at the start by 10 degrees about its x, y and z axes, one after another."""
    graph, world = Graph("free body"), ground("world")
    turned = np.linalg.multi_dot([exp(pi / 18 * axis) for axis in (X, Y, Z)])
    shape = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0), "centre_of_mass": (0.2, 0.0, 0.0), "gravity": GRAVITY}
    body = rigid_body("body", **shape, position=(0.2, -0.5, 0.1), quaternion=quaternion(turned))
    attach_between(graph, point_spring("spring1", 20.0), world, body)
    attach_between(graph, point_spring("spring2", 20.0, (0.8, 0, 0), (0.4, 0, 0)), world, body)
    return graph


GYRO = {f"bodyCylinder2.body.w_a[{k}]": f"rotor.twist[{k - 1}]" for k in (1, 2, 3)} | {"revolute.w": "mechanism.v[3]"}


@MODELS.model(MSL + "Rotational3DEffects.GyroscopicEffects", statements=26, t_end=5.0, signals=GYRO, tolerance=2e-5)
def gyroscopic_effects() -> Graph:
    """Rotor at the end of a pendulum on a ball joint."""
    ball, home = joints.spherical((0, 0, 0)), pose(exp(pi / 4 * Y), (0.25, 0, 0))
    arm = Link("arm", ball, rod((0, 0, 0), (0.25, 0, 0), 0.05))
    rotor = Link("rotor", joints.revolute(home[:3, 0], (0.25, 0, 0)), rod((-0.1, 0, 0), (0.1, 0, 0), 0.1), home=home)
    return chain_graph(Chain("gyro", (arm, rotor)), ports="rotor", velocity=(0, 0, 0, 10.0), gravity=GRAVITY)


FOURBAR = {"j1.phi": "bars.q[0]", "j1.w": "bars.v[0]"}


@MODELS.model(MSL + "Loops.Fourbar1", statements=32, t_end=5.0, signals=FOURBAR, tolerance=4e-4)
def fourbar() -> Graph:
    """Spatial four-bar linkage: a crank and a slider, connected by a bar with a ball joint and a universal joint."""
    a, b, c, d, w = (0, 0, 0), (0, 0.5, 0.1), (1, 0, 0), (1, 0.2, 0), 5.235987755982989
    crank, slide = Link("b1", joints.revolute(X), rod(a, b, 0.05)), joints.prismatic(X)
    slider = Link("b2", slide, rod(c, d, 0.05), parent=None)
    coupler = Link("b3", joints.universal(Y, Z, d), rod(d, (0, 0.5, 0.1), 0.05))
    rates = {"velocity": (w, -0.02 * w, 0.5 * w, 0.1 * w)}
    bars = chain_graph(Tree("bars", (crank, slider, coupler)), ports=("b1", "b3"), gravity=GRAVITY, **rates)
    return attach_joint(Graph("fourbar"), joint_graph("ball", joints.spherical(b)), bars.link("b1"), bars.link("b3"))


@MODELS.model(MSL + "Loops.Fourbar2", statements=24, t_end=5.0, signals=FOURBAR, tolerance=4e-4)
def fourbar_with_rod() -> Graph:
    """Spatial four-bar linkage: a crank and a slider, connected by a massless rod with ball joints."""
    a, b, c, d, w = (0, 0, 0), (0, 0.5, 0.1), (1.2, 0, 0), (1.2, 0.2, 0), 5.235987755982989
    links = Link("b1", joints.revolute(X), rod(a, b, 0.05)), Link("b2", joints.prismatic(X), rod(c, d, 0.05), parent=None)
    begin = {"position": (0, -0.2), "velocity": (w, -0.02 * w)}
    bars = chain_graph(Tree("bars", links), ports=("b1", "b2"), gravity=GRAVITY, **begin)
    tie = joint_graph("rod", joints.rod(b, (1, 0.2, 0)), frame_b=pose(np.eye(3), (0.2, 0, 0)))
    return attach_joint(Graph("fourbar"), tie, bars.link("b1"), bars.link("b2"))


@MODELS.model(
    MSL + "Loops.PlanarFourbar",
    statements=24,
    t_end=5.0,
    signals={"revolute1.phi": "bars.q[0]", "revolute1.w": "bars.v[0]"},
    tolerance=1e-3,
)
def planar_fourbar() -> Graph:
    """Planar four-bar linkage with a damped hinge."""
    a, b, c, d = (0, 0, 0), (0.4, 0, 0), (0.5, 1.1, 0), (-0.15, 1, 0)
    crank = Link("1", joints.revolute(Z), bar(a, b, 0.05), damping=0.1)
    coupler = Link("2", joints.revolute(Z, b), bar(b, c, 0.05))
    rocker = Link("4", joints.revolute(Z, d), bar(d, c, 0.05), parent=None)
    bars = chain_graph(Tree("bars", (crank, coupler, rocker)), ports=("2", "4"), gravity=GRAVITY)
    return attach_joint(Graph("fourbar"), joint_graph("hinge", joints.inline(Z, c)), bars.link("2"), bars.link("4"))


@MODELS.model(MSL + "Loops.Engine1a", statements=28, t_end=5.0, signals={"inertia.w": "engine.v[0]"}, tolerance=4e-5)
def engine() -> Graph:
    """Single-cylinder crank drive that starts at dead centre."""
    a, b, c, d, e = np.array([(0, 0, 0), (0.1, 0, 0), (0.1, 0.1, 0), (0.2, 0.1, 0), (0.2, 0, 0)])
    big, small, top = np.array([(0.15, 0.1, 0), (0.15, 0.3, 0), (0.15, 0.4, 0)])
    webs = bar(b, c, 0.02, 0.05, X), bar(d, e, 0.02, 0.05, X)
    crank = Link("crank", joints.revolute(X), combined_inertia(rod(a, b, 0.05), *webs, rod(c, d, 0.03)))
    piston = Link("piston", joints.prismatic(-Y), rod(top, small, 0.1), parent=None)
    connecting = Link("rod", joints.revolute(X, small), bar(small, big, 0.02, 0.06, X))
    tree = Tree("engine", (crank, piston, connecting))
    drive = chain_graph(tree, joint_ports="crank", velocity=(10.0, 0, -5.0), gravity=GRAVITY)
    loop = gap(tree, 0, 2, (*big, 1), (1, 2))
    bearing = Constraint("bearing", dimension=2, position=loop, coordinates={"engine.q": 3})
    graph = Graph("crank drive").connect(drive.port("joint crank"), I("flywheel", 1.0, initial=10.0))
    return graph.connect(drive.port("joints"), bearing)


PENDULUM = {"x": "place.q[0]", "y": "place.q[1]"}


@MODELS.model("IFToMM benchmark A01, simple pendulum", statements=11, t_end=10.0, signals=PENDULUM, tolerance=1e-7)
def point_pendulum() -> Graph:
    """Point mass on a rod, in Cartesian coordinates, that falls from the horizontal."""
    graph, place = Graph("pendulum"), C("place", energy=lambda r: 9.81 * r[1], initial=(-1.0, 0.0))
    rod = Constraint("rod", dimension=1, position=lambda r: (r @ r - 1) / 2, coordinates={"place.q": 2})
    graph.series(I("mass", mass=1.0, dimension=2), place, rod)
    return graph


@MODELS.model(
    "IFToMM benchmark A02, N-four-bar",
    statements=33,
    t_end=10.0,
    signals={"theta": "bars.q[0]", "omega": "bars.v[0]"},
    tolerance=1e-6,
    singular="keep",
)
def windows() -> Graph:
    """Four-bar linkages side by side, with rods of 1 m and 1 kg, which topple from the upright position at 1 m/s; all rods are
    collinear twice per turn."""
    points, n = np.column_stack([np.arange(6.0), np.zeros((6, 2))]), 5
    posts = [
        Link(f"post {k}", joints.revolute(Z, r), cylinder_inertia(1, 1e-5, r, r + Y), parent=None) for k, r in enumerate(points)
    ]
    tops = [(r + Y, cylinder_inertia(1, 1e-5, r + Y, r + Y + X)) for r in points[:n]]
    bars = [Link(f"bar {k}", joints.revolute(Z, r), body, parent=f"post {k}") for k, (r, body) in enumerate(tops)]
    rates = [-1.0] * (n + 1) + [1.0] * n
    tree = Tree("bars", (*posts, *bars))
    rods = chain_graph(tree, velocity=rates, gravity=(0, -9.81, 0))
    ends = [gap(tree, n + 1 + k, k + 1, (k + 1, 1, 0, 1), (0, 1)) for k in range(n)]
    loops = Constraint(
        "loops", dimension=2 * n, position=lambda q: array([d for end in ends for d in end(q)]), coordinates={"bars.q": 11}
    )
    return Graph("windows").connect(rods.port("joints"), loops)


ANGLE_NAMES = ("beta", "theta", "gamma", "delta", "phi", "epsilon", "omega")
SQUEEZER = {name: f"squeezer.q[{k}]" for k, name in enumerate(ANGLE_NAMES)}


@MODELS.model(SETS + "Andrews' squeezer", statements=81, t_end=0.03, signals=SQUEEZER, tolerance=1e-7)
def squeezer() -> Graph:
    """Seven bodies in a plane with three loops, a spring and a constant torque (Andrews, Schiehlen 1990)."""
    (xa, ya), (xb, yb) = (-0.06934, -0.00227), (-0.03635, 0.03273)
    bodies = (
        ("1", (0, 0), (0.00092, 0), 0.04325, 2.194e-6, None),
        ("2", (0.007, 0), (0.007 - 0.0115, 0), 0.00365, 4.41e-7, "1"),
        ("3", (xb, yb), (xb + 0.01043, yb - 0.01874), 0.02373, 5.255e-6, None),
        ("5", (xa, ya), (xa + 0.02308, ya + 0.00916), 0.0705, 1.169e-5, None),
        ("4", (xa + 0.04, ya), (xa + 0.04, ya - 0.02 + 0.01421), 0.00706, 5.667e-7, "5"),
        ("7", (xa, ya), (xa - 0.00449, ya - 0.01228), 0.05498, 1.912e-5, None),
        ("6", (xa, ya - 0.04), (xa + 0.02 - 0.01421, ya - 0.04), 0.00706, 5.667e-7, "7"),
    )
    links = []
    for name, pivot, centre, mass, moment, parent in bodies:
        body = BodyInertia(mass, (moment / 2, moment / 2, moment), (*centre, 0))
        links.append(Link(name, joints.revolute(Z, (*pivot, 0)), body, parent=parent))
    start = (-0.0617138900142764, 0.0, 0.45527981916307038, 0.48736497954384255)
    start += (0.22266839016588588, 1.2305474445498212, -0.22266839016588588)
    drive = chain_graph(tree := Tree("squeezer", links), ports="3", joint_ports="1", position=start)
    ends = {2: (xb, yb - 0.035), 4: (xa + 0.04, ya - 0.02), 6: (xa + 0.02, ya - 0.04)}

    def gaps(q):
        place = [pose_of(tree, k, q) @ array([x, y, 0, 1]) for k, (x, y) in {1: (0.007 - 0.028, 0), **ends}.items()]
        return array([place[k][i] - place[0][i] for k in (1, 2, 3) for i in (0, 1)])

    graph = Graph("Andrews").connect(Se("motor", 0.033), drive.port("joint 1"))
    spring = point_spring("spring", 4530.0, (0.014, 0.072, 0), (xb + 0.02, yb - 0.018, 0), rest_length=0.07785)
    attach_between(graph, spring, ground("frame"), drive.link("3"))
    loops = Constraint("loops", dimension=6, position=gaps, coordinates={"squeezer.q": 7})
    return graph.connect(drive.port("joints"), loops)


BEAM = 40


@MODELS.model(
    SETS + "BEAM",
    statements=22,
    t_end=5.0,
    signals={f"{name}{k + 1}": f"beam.{name}[{k}]" for name in ("angle", "rate") for k in range(BEAM)},
    tolerance=1e-6,
)
def beam() -> Graph:
    """Elastic beam of 40 links, clamped at one end and pushed at the other, dimensionless (Hairer and Wanner 1996, IV.1)."""
    n = BEAM

    def beside(factors, sign, x):
        return [(factors[i] * x[i + 1] if i < n - 1 else 0) + (sign * factors[i - 1] * x[i - 1] if i else 0) for i in range(n)]

    def change(t, angle, rate):
        push, turns = where(t > pi, 0, 1.5 * sin(t) ** 2), [angle[i + 1] - angle[i] for i in range(n - 1)]
        line = [-angle[0], *angle, angle[n - 1]]
        torques = [
            n**4 * (line[i] - 2 * line[i + 1] + line[i + 2]) + n**2 * push * (cos(angle[i]) + sin(angle[i])) for i in range(n)
        ]
        sines, cosines, diagonal = [sin(turn) for turn in turns], [cos(turn) for turn in turns], [1, *[2] * (n - 2), 3]
        pulls, pivots = [a + rate[i] ** 2 for i, a in enumerate(beside(sines, -1, torques))], diagonal.copy()
        for i in reversed(range(n - 1)):
            ratio = cosines[i] / pivots[i + 1]
            pulls[i], pivots[i] = pulls[i] + ratio * pulls[i + 1], pivots[i] - ratio * cosines[i]
        for i in range(n):
            pulls[i] = (pulls[i] + (cosines[i - 1] * pulls[i - 1] if i else 0)) / pivots[i]
        near, across = beside(cosines, 1, torques), beside(sines, -1, pulls)
        return array([diagonal[i] * torques[i] - near[i] + across[i] for i in range(n)])

    graph, outputs = Graph("beam"), [("spin", lambda rate: rate, "rate"), ("turn", change, ["t", "angle", "rate"])]
    still = {"angle": [0.0] * n, "rate": [0.0] * n}
    graph.add(Block("beam", outputs, inputs={"t": "time"}, states=still, rates={"angle": "spin", "rate": "turn"}))
    return graph
