"""Chains run as multiport fields, with limits and with links that touch other bodies."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.chains import (
    Chain,
    Link,
    ball_inertia,
    bias,
    chain_graph,
    cylinder_inertia,
    gravity_forces,
    link_pose,
    link_pose_state,
    mass_matrix,
    space_jacobian,
)
from screwbond.models.contacts import attach_contact, contact
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import MTF, Constraint, Graph, ModelError, Se, compile_model
from screws import joints, parametric, plane, pose, pose_from_state, sphere, tilde
from screws.poses import Ad, inverse
from screws.scalars import array
from tests.inner.models_two_bodies import run_contact
from tests.models.test_chains import HOME, anything, finger

G = (0.0, 0.0, -9.81)
START = {"position": [0.1, -0.5, 1.5, 0.16], "velocity": [1.0, -2.0, 3.0, 0.5]}


def run(graph, t_end=1.0, **settings):
    result = compile_model(graph).simulate(t_end, **{"rtol": 1e-11, "progress": False, **settings})
    assert result.ok
    return result


def alone(part):
    return Graph("top").connect(part.port("joints"), Se("idle", dimension=part.chain.freedoms))


def test_energy_of_free_motion_in_both_forms():
    ends = []
    for form in ("lagrangian", "hamiltonian"):
        result = run(alone(chain_graph(finger(2.0), form=form, gravity=G, ports=("tip",), **START)), samples=0.01)
        stored = result.ledger.stored
        assert np.abs(stored - stored[0]).max() < 1e-10 * 0.06 * 9.81 * 0.3
        assert np.ptp(result["finger.q"][:, 1]) > 1.0, "it moves"
        ends.append((result["finger.q"][-1], result["finger.v"][-1]))
    assert np.abs(ends[0][0] - ends[1][0]).max() < 1e-7
    assert np.abs(ends[0][1] - ends[1][1]).max() < 1e-6


SEEN = ("arm.mechanism.effort", "arm.v", "load.power", "arm.body 5.twist", "arm.body 5.pose")


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
def test_ports_of_a_chain_of_many_joints(form):
    """The wrench on a link, efforts on joints and damping enter M v' + h + dV/dq = e."""
    chain = anything()
    chain = Chain("arm", chain.links[:6], chain.base)
    n, wrench = chain.freedoms, np.array([0.3, -0.2, 0.5, 1.0, 2.0, -1.5])
    damped = Chain(
        "arm",
        tuple(Link(x.name, x.joint, x.inertia, x.home, damping=0.1 * (k + 1)) for k, x in enumerate(chain.links)),
        chain.base,
    )
    q, v = np.linspace(-0.5, 0.6, n), np.linspace(1.0, -0.7, n)
    arm = chain_graph(damped, ports=("body 5",), joint_ports=("body 1", "body 3 2"), form=form, position=q, velocity=v, gravity=G)
    top = Graph("top").connect(arm.port("body 5"), Se("load", wrench, domain="screw"))
    top.connect(Se("push", 3.0), arm.port("joint body 1")).connect(Se("turn", -2.0), arm.port("joint body 3 2"))
    compiled = compile_model(top)
    found = compiled.evaluate()
    values = {name: found[compiled.system.resolve(name)] for name in SEEN}
    J = space_jacobian(damped, 5, q)
    effort = -J.T @ wrench - damped.damping * v
    effort[damped.coordinates.index("body 1")] += 3.0
    effort[damped.coordinates.index("body 3 2")] -= 2.0
    assert np.abs(values["arm.mechanism.effort"] - effort).max() < 1e-12
    assert np.abs(values["arm.v"] - v).max() < 1e-12
    assert values["load.power"] == pytest.approx(-wrench @ J @ v, rel=1e-12)
    twist = values["arm.body 5.twist"]
    assert np.abs(Ad(pose_from_state(values["arm.body 5.pose"])) @ twist - J @ v).max() < 1e-12
    if form == "lagrangian":
        x, m = compiled.initial()
        rates = compiled.program.rates(0.0, x, compiled.parameters(), m)
        place = compiled.program.layout["arm.mechanism.v"].start
        expected = np.linalg.solve(mass_matrix(damped, q), effort - bias(damped, q, v) - gravity_forces(damped, G, q))
        assert np.abs(rates[place : place + n] - expected).max() < 1e-10 * np.abs(expected).max()
    result = run(top, 0.3, rtol=1e-10)
    assert result.ledger.relative_residual < 1e-9


def test_masses_are_parameters():
    """A pendulum with twice the mass and twice the inertia has the same motion; a pendulum with only twice the mass does not."""
    rod = Link("rod", joints.revolute([0, 1, 0]), ball_inertia(1.0, 0.1), pose(np.eye(3), [0, 0, -0.5]))
    compiled = compile_model(alone(chain_graph(Chain("pendulum", (rod,)), position=[0.5], gravity=G)))
    ends = []
    for mass, inertia in ((1.0, 0.004), (2.0, 0.008), (2.0, 0.004)):
        changes = {"pendulum.mechanism.rod mass": mass, "pendulum.mechanism.rod inertia yy": inertia}
        result = compiled.simulate(3.0, parameters=changes, rtol=1e-11, progress=False)
        ends.append(float(result["pendulum.q"][-1]))
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)
    assert abs(ends[0] - ends[2]) > 1e-4


def pendulum(**settings):
    rod = Link("rod", joints.revolute([0, 1, 0]), ball_inertia(1.0, 0.1), pose(np.eye(3), [0, 0, -0.5]), limits=(-0.2, np.inf))
    return alone(chain_graph(Chain("pendulum", (rod,)), position=[0.5], gravity=G, **settings))


def test_joint_limits():
    result = run(pendulum(), 1.0, samples=0.01)
    kinds = [event.kind for event in result.events]
    assert kinds == ["lower limit of rod reached", "lower limit of rod left"]
    length = 0.5 + 0.004 / 0.5
    energy = 9.81 / length * (np.cos(-0.2) - np.cos(0.5))
    q, v = result.events[0].x_before
    assert q == pytest.approx(-0.2, abs=1e-9) and v == pytest.approx(-np.sqrt(2 * energy), rel=1e-8)

    ended = compile_model(pendulum(limits="end")).simulate(1.0, progress=False)
    assert ended.failure is not None and "lower limit" in str(ended.failure)

    stopped = run(pendulum(limits="stop", stop_stiffness=100.0), 3.0, samples=0.01)
    assert -0.5 < stopped["pendulum.q"].min() < -0.25
    total = stopped.ledger.stored
    assert np.all(np.diff(total) < 1e-9) and total[-1] < total[0] - 0.1
    assert stopped.ledger.relative_residual < 1e-9
    elastic = run(pendulum(limits="stop", stop_stiffness=100.0, stop_dissipation=0.0), 3.0, samples=0.01)
    assert np.ptp(elastic.ledger.stored) < 1e-9


LAW = {
    "normal_stiffness": 2e4,
    "normal_damping": 20.0,
    "tangential_stiffness": 2e4,
    "tangential_damping": 20.0,
    "rotational_stiffness": 1.0,
    "rotational_damping": 1e-3,
}


def slider(name, mass, x, speed, tip):
    link = Link("ball", joints.prismatic([1, 0, 0]), ball_inertia(mass, 0.05), surface=sphere(0.05))
    chain = Chain(name, (link,), pose(np.eye(3), [x, 0.0, 0.0]))
    part = chain_graph(chain, ports=("ball",), velocity=[speed])
    return part, part.link("ball", tip)


@pytest.mark.parametrize("order", [1, 2])
def test_link_in_contact_is_a_body_in_contact(order):
    ends = []
    for as_link in (True, False):
        graph = Graph("collision")
        other = rigid_body("other", mass=0.3, inertia=[3e-4] * 3, surface=sphere(0.05), position=(0.2, 0, 0))
        if as_link:
            part, striker = slider("cart", 0.2, 0.0, 1.0, None)
            graph.add(part)
        else:
            striker = rigid_body("cart", mass=0.2, inertia=[2e-4] * 3, surface=sphere(0.05), velocity=(1.0, 0, 0))
        first, second = (striker, other) if order == 1 else (other, striker)
        touching = contact("touch", first, second, constrained="rolling", **LAW)
        attach_contact(graph, touching, first, second)
        result = run(graph, 0.3, rtol=1e-10)
        assert result.ledger.relative_residual < 1e-9
        assert {"contact on", "contact off"} <= {event.kind for event in result.events}
        speed = result["cart.v"][-1] if as_link else result["cart.twist"][-1, 3]
        ends.append((float(speed), result["other.twist"][-1, 3]))
    assert np.abs(np.subtract(*ends)).max() < 1e-8
    assert 0.2 * ends[0][0] + 0.3 * ends[0][1] == pytest.approx(0.2, rel=1e-9)


def test_finger_pushes_a_ball():
    part = chain_graph(finger(damping=5e-3), ports=("tip",), position=HOME)
    ball = rigid_body("ball", mass=0.1, inertia=[3.6e-5] * 3, surface=sphere(0.03), position=(0.0, 0.0, 0.09))
    graph = Graph("touch")
    graph.add(part)
    tip = part.link("tip")
    touching = contact("contact", tip, ball, constrained="rolling", **LAW)
    attach_contact(graph, touching, tip, ball)
    result = run(graph, 0.2, rtol=1e-10, samples=0.01)
    assert result["contact.gap"][0] == pytest.approx(-1.478e-4, abs=1e-7)
    assert result["ball.pose"][-1, 4] < -1e-4 and result["contact.gap"][-1] > 0.0
    assert result.ledger.relative_residual < 1e-9
    assert result.ledger.stored[-1] < result.ledger.stored[0]


def test_start_follows_the_joints():
    part = chain_graph(finger(), ports=("tip",), position=HOME)
    ball = rigid_body("ball", mass=0.1, inertia=[3.6e-5] * 3, surface=sphere(0.03), position=(0.0, 0.0, 0.09))
    graph = Graph("touch")
    graph.add(part)
    attach_contact(graph, contact("contact", part.link("tip"), ball, **LAW), part.link("tip"), ball)
    compiled = compile_model(graph)
    gap = compiled.program.layout["contact.gap"]
    x, _ = compiled.initial({"finger.mechanism.q": np.add(HOME, [0, -0.1, 0, 0])})
    assert x[gap.start] > 1e-3 > -1e-4 > compiled.initial()[0][gap.start]


@pytest.mark.parametrize("form", ["lagrangian", "hamiltonian"])
def test_closed_loop(form):
    """In a four-bar linkage an ideal constraint pins the tip of three links."""
    lengths, height = (0.3, 0.5, 0.4), [0.0]
    links = []
    for k, length in enumerate(lengths):
        top = height[-1] + length
        rod = cylinder_inertia(1.0, 0.01, [0, 0, -length], [0, 0, 0])
        links.append(Link(f"bar {k + 1}", joints.revolute([0, 1, 0], [0, 0, height[-1]]), rod, pose(np.eye(3), [0, 0, top])))
        height.append(top)
    chain, q = Chain("bars", tuple(links)), np.array([0.2, 1.1, 1.4])
    # Velocities that leave the tip in place.
    tip = link_pose(chain, 2, q)[:3, 3]
    J = space_jacobian(chain, 2, q)
    slide = (np.concatenate([-tilde(tip), np.eye(3)], axis=1) @ J)[[0, 2]]
    v = np.linalg.svd(slide)[2][2] * 3.0
    part = chain_graph(chain, form=form, position=q, velocity=v, gravity=G, ports=("bar 3",))
    graph = Graph("linkage")
    pin = MTF(
        "pin",
        lambda at: array(np.concatenate([-tilde(at[4:]), np.eye(3)], axis=1))[[0, 2]],
        signals=["bars.bar 3.pose"],
        dimensions=(6, 2),
        domains=("screw", None),
    )
    graph.connect(part.port("bar 3"), pin).connect(pin, Constraint("hold", dimension=2))
    result = run(graph, 1.0, samples=0.01)
    assert np.abs(result["bars.bar 3.pose"][:, 4:] - tip).max() < 1e-8
    assert np.ptp(result["bars.q"][:, 0]) > 0.5, "it moves"
    assert np.ptp(result.ledger.stored) < 1e-7


def test_chain_is_rigid_bodies_with_joints():
    chain = Chain(
        "arm",
        tuple(
            Link(name, joint, ball_inertia(mass, 0.2, (0.05, 0.02, -0.1)), pose(np.eye(3), place))
            for name, joint, mass, place in (
                ("upper", joints.universal([0, 0, 1], [0, 1, 0], [0, 0, 0.1]), 1.0, [0, 0, 0.3]),
                ("slide", joints.cylindrical([1, 0, 0.2], [0, 0, 0.4]), 0.7, [0.2, 0, 0.4]),
            )
        ),
    )
    q, v = np.array([0.3, -0.4, 0.5, 0.1]), np.array([1.0, 2.0, -1.0, 0.3])
    part = chain_graph(chain, position=q, velocity=v, gravity=G, ports=("slide", "upper"))
    one = run(Graph("chain").connect(part.port("joints"), Se("idle", dimension=4)), 0.5, rtol=1e-10)

    graph, before, home = Graph("bodies"), ground("base"), np.eye(4)
    for k, link in enumerate(chain.links):
        H, T = link_pose(chain, k, q), space_jacobian(chain, k, q) @ v
        centre = H[:3, :3] @ link.inertia.centre + H[:3, 3]
        body = rigid_body(
            link.name,
            mass=link.inertia.mass,
            inertia=link.inertia.rotational,
            centre_of_mass=link.inertia.centre,
            position=H[:3, 3],
            quaternion=link_pose_state(chain, k, q)[:4],
            gravity=G,
            angular_velocity=T[:3],
            velocity=T[3:] + np.cross(T[:3], centre),
        )
        hinge = joint_graph(f"joint of {link.name}", link.joint, frame_a=inverse(home), frame_b=inverse(link.home))
        attach_joint(graph, hinge, before, body)
        before, home = body, link.home
    two = run(graph, 0.5, rtol=1e-10)
    for name in ("upper", "slide"):
        a, b = one[f"arm.{name}.pose"][-1], two[f"{name}.pose"][-1]
        assert np.abs(pose_from_state(a) - pose_from_state(b)).max() < 1e-8
        assert np.abs(one[f"arm.{name}.twist"][-1] - two[f"{name}.twist"][-1]).max() < 1e-7


@pytest.mark.parametrize(
    "wrong",
    [
        {"ports": ("thumb",)},
        {"ports": ("tip", "tip")},
        {"joint_ports": ("link 9",)},
        {"position": [0.0]},
        {"limits": "no"},
        {"gravity": (0.0, 9.81)},
        {"stop_stiffness": (1.0, 2.0)},
        {"stop_stiffness": "hard"},
    ],
)
def test_refusals(wrong):
    with pytest.raises(ModelError, match="E454"):
        chain_graph(finger(), **wrong)


def test_refused_links():
    with pytest.raises(ModelError, match="has no port for a link"):
        chain_graph(finger()).link("tip")
    with pytest.raises(ModelError, match="has no link 'no link'"):
        chain_graph(finger()).link("no link")
    bare = Chain("bare", (Link("a", joints.revolute([0, 0, 1]), None),))
    with pytest.raises(ModelError, match="E538"):
        chain_graph(bare)
    same = Chain(
        "same", (Link("a", joints.revolute([0, 0, 1]), None), Link("b", joints.revolute([0, 0, 1]), ball_inertia(1.0, 0.1)))
    )
    with pytest.raises(ModelError, match=r"E454 chain \"same\": its mass matrix is singular"):
        chain_graph(same)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: chain_graph("arm"), "E450"),
        (lambda: Chain("arm", None), "E450"),
        (lambda: chain_graph(pendulum_chain(), gravity="down"), "E454"),
        (lambda: chain_graph(pendulum_chain(), limits="stop", stop_dissipation=-1.0), "E454"),
        (lambda: chain_graph(pendulum_chain(), limits="stop", stop_dissipation=np.nan), "E454"),
        (lambda: pendulum_chain().index("nobody"), "E454"),
        (lambda: chain_graph(pendulum_chain()).port("bob"), r'E454 (.*\n)*.*joint_ports=\["(.*\n)*.*ports=\["'),
        (lambda: chain_graph(pendulum_chain()).port("joint bob"), r"E454 (.*\n)*.*joint_ports="),
        (lambda: chain_graph(pendulum_chain(), position="up"), "E454"),
    ],
)
def test_invalid_chains_and_numbers_are_refused(make, code):
    with pytest.raises(ModelError, match=code):
        make()


def test_links_without_surface_are_refused_in_contact():
    part = chain_graph(pendulum_chain(), ports=["bob"])
    graph, floor = Graph("robot").add(part), ground("floor", surface=sphere(0.1))
    cases = ((part.link("bob"), '"arm bob" has no surface'), (ground("wall"), '"wall" has no'), ("bob", "is not a body"))
    for body, words in cases:
        with pytest.raises(ModelError, match=f"E459 .*{words}") as caught:
            run_contact(graph, body, floor, 1.0, 0.1, progress=False)
        assert "LinkBody(" not in str(caught.value)


@pytest.mark.parametrize("floor", [plane(), parametric(lambda u, v: (u, v, 0.1 * u * v), (-1.0, 1.0), (-1.0, 1.0))])
def test_a_link_of_a_chain_runs_in_contact(floor):
    inertia, end = cylinder_inertia(1.0, 0.02, (-0.3, 0, 0), (0, 0, 0)), pose(np.eye(3), np.array([0.3, 0.0, 0.0]))
    arm = Chain("arm", (Link("bob", joints.revolute((0, 1, 0)), inertia, home=end),))
    bob = chain_graph(arm, ports=["bob"], gravity=(0.0, 0.0, -9.81)).link("bob", surface=sphere(0.05))
    table, graph = ground("table", surface=floor, position=(0.0, 0.0, -0.08)), Graph("g")
    touch = contact("contact", table, bob, normal_stiffness=1e4, normal_damping=20.0)
    attach_contact(graph, touch)
    run = run_contact(graph, table, bob, 1.0, 1e-3, progress=False)
    assert run.result.ok and run.trajectory["fn"].max() > 1.0
    pressed = run.trajectory["fn"] > 1.0
    lowest = run.trajectory["p2"][pressed, 2] - 0.05
    assert np.allclose(lowest, -0.08 + run.trajectory["gap"][pressed], atol=1e-3)
    assert run.summary()["peak_force"]["value"] > 1.0
    with pytest.raises(ModelError, match=r'E301 the contact "contact" is passed as t_end'):
        run_contact(graph, table, bob, touch, 0.1)


def pendulum_chain():
    bob = cylinder_inertia(1.0, 0.02, (0, 0, 0), (0.3, 0, 0))
    return Chain("arm", (Link("bob", joints.revolute((0, 1, 0)), bob),))
