"""Time-stepping of many free bodies agrees with another solver and with closed forms."""

import ctypes
import importlib.util

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation
from screwbond.models import collisions, ground, prescribed_body, rigid_body
from screwbond.models.joints import attach_joint, joint_graph
from screwbond.models.springs import attach_between, point_spring

from bondgraph import Graph, signals
from bondgraph.errors import RunEndedWarning
from screws.joints import revolute
from screws.shapes import Ball, Box, Capsule, HalfSpace, Hull
from tests.inner.stepping import FieldTable, PileTable, free_body_stepper, pile_code
from tests.piles.bodies import DOWN, G, ball, cuboid, floor, graph_of, refused, turned


def kinetic(run):
    return sum(course for name, course in run.ledger.elements.items() if name.endswith(".inertia"))


def random_contacts(rng, friction, bodies=6, count=12, tolerance=1e-12):
    """Return a table of contacts for machine code, with rows J (count, 3, 6 bodies) and M^-1."""
    table = FieldTable(PileTable)
    table.allocate(
        bodies=bodies,
        free=bodies,
        shapes=bodies,
        sets=1,
        room=count,
        states=0,
        others=0,
        pair_room=0,
        outputs_count=0,
        resisting=0,
    )
    for name, number in {"bodies": bodies, "contacts": count, "h": 1.0, "tolerance": tolerance, "most_sweeps": 100000}.items():
        table[name] = number
    pairs = np.array([rng.choice(bodies, 2, replace=False) for _ in range(count)])
    roots, n, light = rng.standard_normal((bodies, 3, 3)), rng.standard_normal((count, 3)), rng.uniform(0.5, 3.0, bodies)
    turn = roots @ np.swapaxes(roots, 1, 2) + 0.5 * np.eye(3)
    arms, a = rng.standard_normal((2, count, 3)), table.arrays
    a["body"][:], a["shape1"][:], a["shape2"][:] = np.arange(bodies), *pairs.T
    a["light"][:], a["turn"][:], a["set_friction"][:] = light, turn.ravel(), friction
    a["normal"][:], a["gap"][:] = (n / np.linalg.norm(n, axis=1)[:, None]).ravel(), rng.uniform(0.0, 0.5, count)
    a["point1"][:], a["point2"][:] = arms[0].ravel(), arms[1].ravel()
    a["coming"][:] = rng.standard_normal(6 * bodies)
    pile_function("make_rows")(table.address)
    J, inverse = np.zeros((count, 3, 6 * bodies)), np.zeros((6 * bodies, 6 * bodies))
    along = a["row"].reshape(count, -1)[:, :9].reshape(count, 3, 3)
    for k, both in enumerate(pairs):
        for sign, body, arm in zip((-1.0, 1.0), both, arms[:, k], strict=True):
            J[k, :, 6 * body : 6 * body + 6] = sign * np.concatenate([np.cross(arm, along[k]), along[k]], axis=1)
    for k in range(bodies):
        at = 6 * k
        inverse[at : at + 3, at : at + 3], inverse[at + 3 : at + 6, at + 3 : at + 6] = turn[k], light[k] * np.eye(3)
    return table, J, inverse


def pile_function(name):
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(pile_code().address(name))


def solved(table, guess=0.0):
    table.arrays["r"][:] = guess
    pile_function("solve")(table.address)
    return table.arrays["r"].reshape(-1, 3).copy(), table.arrays["velocity"].copy()


def test_impulses_without_friction_are_those_of_a_least_squares_problem():
    """Of all permitted twists, the twists after contact are the nearest, in kinetic energy, to those before; SciPy's active-set
    method finds the same."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        table, J, inverse = random_contacts(rng, 0.0)
        before, rows = table.arrays["coming"], J[:, 0]
        root = np.linalg.cholesky(inverse).T
        target = rows @ before + table.arrays["gap"]
        # min 1/2 |root rows' r|^2 + target r over r >= 0, as least squares: target is in the range, where rows are independent.
        A = root @ rows.T
        r, _ = nnls(A, -np.linalg.lstsq(A.T, target, rcond=None)[0])
        assert np.allclose(solved(table)[1], before + inverse @ rows.T @ r, atol=1e-8)


@pytest.mark.parametrize("friction", [0.0, 0.3, 1.0])
def test_impulses_fit_signorini_and_coulomb(friction):
    rng = np.random.default_rng(2)
    for _ in range(10):
        table, J, inverse = random_contacts(rng, friction)
        r, v = solved(table, rng.uniform(0, 1, 36))
        u = J @ v
        u[:, 0] += table.arrays["gap"]
        assert np.allclose(v, table.arrays["coming"] + inverse @ np.einsum("kij,ki->j", J, r), atol=1e-10)
        size, slip = np.hypot(r[:, 1], r[:, 2]), np.hypot(u[:, 1], u[:, 2])
        assert table["change"] <= table["allowed"] < 1e-11
        assert np.all(r[:, 0] >= 0.0) and np.all(u[:, 0] >= -1e-9) and np.allclose(r[:, 0] * u[:, 0], 0.0, atol=1e-8)
        assert np.all(size <= friction * r[:, 0] + 1e-12)
        sliding = slip > 1e-8
        assert np.allclose(size[sliding], friction * r[sliding, 0], atol=1e-8)
        against = np.sum(r[:, 1:] * u[:, 1:], axis=1)
        assert np.allclose(against, -size * slip, atol=1e-8)


def test_a_sliding_ball_rolls_with_five_sevenths_of_its_speed():
    """A ball that starts to slide at the speed v0 with friction mu rolls after 2 v0 / (7 mu g)."""
    v0, mu, h = 2.0, 0.3, 1e-3
    run = free_body_stepper(graph_of(floor(), ball("ball", position=(0, 0, 0.05), velocity=(v0, 0, 0)), friction=mu)).simulate(
        0.25, step=h
    )
    v = run["ball.twist"]  # body axes: its linear part, rotated, is the velocity of the centre
    speed = np.linalg.norm(v[:, 3:], axis=1)
    assert speed[-1] == pytest.approx(5.0 / 7.0 * v0, rel=1e-6)
    start = run.t[np.flatnonzero(run.slip_speed[1:] < 1e-6)[0]]
    assert start == pytest.approx(2.0 * v0 / (7.0 * mu * G), abs=2 * h)
    assert speed[100] == pytest.approx(v0 - mu * G * run.t[100], rel=1e-9)
    assert run.ledger.summary()["dissipated"] == pytest.approx(0.5 * v0**2 * 2.0 / 7.0, rel=1e-2)


@pytest.mark.parametrize("angle", [20.0, 35.0])
def test_a_box_on_an_incline_sticks_or_slides(angle):
    """Friction with mu = 0.5 holds the box at angles a up to 26.57 degrees; beyond, the box accelerates at
    g (sin a - mu cos a)."""
    a, mu = np.radians(angle), 0.5
    up = np.array([-np.sin(a), 0.0, np.cos(a)])
    q = turned((0, -1, 0), a)
    box = cuboid("box", (0.2, 0.2, 0.1), position=0.05 * up, quaternion=q)
    run = free_body_stepper(graph_of(floor(quaternion=q), box, friction=mu)).simulate(0.5, step=0.005)
    moved = np.linalg.norm(run["box.pose"][-1, 4:] - run["box.pose"][0, 4:])
    a_net = max(0.0, G * (np.sin(a) - mu * np.cos(a)))
    # positions move with the velocity at the end of each step: h a t / 2 more than a t^2 / 2
    assert moved == pytest.approx(0.5 * a_net * 0.5 * (0.5 + 0.005), abs=2e-6)
    assert run.penetration[-1] < 1e-6 and run.contact_count[-1] == 4


def test_housners_block():
    """A block that lands flat after rocking about an edge keeps 1 - 1.5 sin(a)^2 of its spin, where tan(a) = width / height."""
    a, b = 0.3, 0.9
    square = (a * a) / (a * a + b * b)
    omega = 0.8
    corner = np.array([0.5 * a, 0.0, 0.0])
    block = cuboid(
        "block",
        (a, 0.5, b),
        gravity=(0, 0, 0),
        position=(0, 0, 0.5 * b),
        velocity=np.cross((0, -omega, 0), np.array([0, 0, 0.5 * b]) - corner),
        angular_velocity=(0, -omega, 0),
    )
    run = free_body_stepper(graph_of(floor(), block, friction=5.0), tolerance=1e-10, max_sweeps=20000).simulate(1e-4, step=1e-4)
    assert run["block.twist"][-1, 1] == pytest.approx(-omega * (1.0 - 1.5 * square), rel=1e-6)


@pytest.mark.parametrize("count, after", [(3, (-1 / 3, 2 / 3, 2 / 3)), (5, (-0.6, 0.4, 0.4, 0.4, 0.4))])
def test_touching_balls_of_newtons_cradle(count, after):
    """Each contact reverses its relative velocity, which conserves energy."""
    balls = [ball(f"ball {k}", gravity=(0, 0, 0), position=(0.1 * k, 0, 0), velocity=(float(k == 0), 0, 0)) for k in range(count)]
    run = free_body_stepper(graph_of(*balls, restitution=1.0), tolerance=1e-12, max_sweeps=100000).simulate(1e-3, step=1e-3)
    assert [run[f"ball {k}.twist"][-1, 3] for k in range(count)] == pytest.approx(after, abs=1e-9)
    assert kinetic(run)[-1] == pytest.approx(kinetic(run)[0], rel=1e-9)


def test_a_dropped_ball_bounces_by_its_restitution():
    e, h = 0.5, 1e-3
    run = free_body_stepper(graph_of(floor(), ball("ball", position=(0, 0, 0.55)), restitution=e)).simulate(0.6, step=h)
    height = run["ball.pose"][:, 6] - 0.05
    landed = int(np.flatnonzero(run.contact_count)[0])
    assert run.t[landed] == pytest.approx(np.sqrt(2 * 0.5 / G), abs=2 * h)
    assert height[landed:].max() == pytest.approx(0.5 * e**2, rel=0.03)
    assert height.min() > -0.003 and run.ok


def tumbling(step, spring=False):
    stones = [
        rigid_body(
            f"stone {k}",
            mass=1.0 + k,
            inertia=(0.004, 0.005, 0.006),
            gravity=DOWN,
            centre_of_mass=(0.01, 0.0, -0.02),
            position=(0.03 * k, 0.0, 0.2 + 0.25 * k),
            quaternion=turned((1, k, 2), 0.7 * k + 0.3),
            angular_velocity=(1.0, 2.0 * k, 3.0),
            shape=Box(0.1, 0.2, 0.15),
        )
        for k in range(4)
    ]
    ground_floor = floor()
    graph = graph_of(ground_floor, *stones, friction=0.4, restitution=0.5)
    if spring:
        attach_between(graph, point_spring("string", 60.0, (0.0, 0.0, 0.5)), ground_floor, stones[1])
    return free_body_stepper(graph).simulate(0.45, step=step)


def test_the_account_is_measured_and_closes():
    run = tumbling(0.004)
    courses = run.ledger.elements
    assert courses["contacts"][-1] > 10.0 and np.ptp(courses["step"]) > 1e-3
    assert run.ledger.relative_residual < 1e-11
    assert not np.array_equal(run.ledger.residual, np.zeros(len(run.t)))
    with_string = [tumbling(step, spring=True).ledger.relative_residual for step in (0.004, 0.0015)]
    assert 1e-6 < with_string[1] < 0.5 * with_string[0] < 0.05


def test_other_states_need_rates_at_both_ends_of_a_step():
    graphs = [graph_of(floor(), ball("ball", position=(0, 0, 1))) for _ in range(2)]
    graphs[1].add(signals.square("wave", period=0.1), signals.integrator("area", "wave.y"))
    runs = [free_body_stepper(graph).simulate(0.1, step=0.01) for graph in graphs]
    assert [run.statistics.rates for run in runs] == [10, 20]


def test_sets_of_collisions_begin_with_their_own_impulses():
    """Each contact starts from its previous impulse, so few sweeps suffice for a tower at rest."""
    runs = []
    for several in (False, True):
        bodies = [floor(), *(cuboid(f"box {k}", position=(0.0, 0.0, 0.1 * k + 0.05)) for k in range(4))]
        if several:
            graph = graph_of(*bodies[1:], friction=0.5)
            collisions(graph, bodies, friction=0.5, pairs=[(bodies[0], bodies[1])])
        else:
            graph = graph_of(*bodies, friction=0.5)
        runs.append(free_body_stepper(graph).simulate(0.2, step=0.005))
    assert np.median(runs[1].sweeps[-20:]) <= 2.0 * np.median(runs[0].sweeps[-20:])
    pairs = runs[1].pairs
    assert np.all(np.diff(pairs.shape1 * 100 + pairs.shape2) >= 0) and len(set(zip(pairs.shape1, pairs.shape2, strict=True))) == 4


def test_free_flight_keeps_momentum_and_spin():
    body = rigid_body(
        "stone",
        mass=2.0,
        inertia=(0.1, 0.2, 0.25),
        centre_of_mass=(0.1, -0.2, 0.05),
        position=(1, 2, 3),
        velocity=(1, 0, 2),
        angular_velocity=(3.0, 1.0, -2.0),
        shape=Ball(0.1),
    )
    run = free_body_stepper(graph_of(body, ball("far", position=(50, 0, 0), gravity=(0, 0, 0)))).simulate(1.0, step=0.01)
    pose, P = run["stone.pose"], run["stone.inertia.p"].copy()  # SciPy 1.17 turns only writable arrays
    R = Rotation.from_quat(pose[:, :4], scalar_first=True)
    linear = R.apply(P[:, 3:])
    angular = R.apply(P[:, :3]) + np.cross(pose[:, 4:], linear)
    assert np.allclose(linear, linear[0], rtol=1e-12, atol=1e-12) and np.allclose(angular, angular[0], rtol=1e-12, atol=1e-11)
    centre = pose[:, 4:] + R.apply((0.1, -0.2, 0.05))
    assert np.allclose(centre, centre[0] + np.outer(run.t, (1, 0, 2)), atol=1e-12)
    assert np.allclose(np.linalg.norm(pose[:, :4], axis=1), 1.0, atol=1e-14)


def test_a_belt_moves_a_box_and_its_work_is_in_the_account():
    """Until the box moves with the belt, the belt supplies m v^2, half of which friction dissipates."""
    v, mu = 1.0, 0.4
    belt = prescribed_body("belt", twist=(0, 0, 0, v, 0, 0), shape=HalfSpace())
    run = free_body_stepper(graph_of(belt, cuboid("box", (0.4, 0.4, 0.1), position=(0, 0, 0.05)), friction=mu)).simulate(
        0.3, step=1e-3
    )
    assert run["box.twist"][-1, 3] == pytest.approx(v, rel=1e-4)
    assert run["box.twist"][100, 3] == pytest.approx(mu * G * run.t[100], rel=1e-6)
    assert run.ledger.elements["moved bodies"][-1] == pytest.approx(v * v, rel=1e-2)
    assert run.ledger.elements["contacts"][-1] == pytest.approx(0.5 * v * v, rel=1e-2)
    assert run.ledger.relative_residual < 1e-12


def boxes(count, scale=1.0, weight=1.0):
    rng = np.random.default_rng(0)
    edge, found = 0.1 * scale, []
    for k in range(count):
        layer, place = divmod(k, 3)
        angle = 2.0 * place + 0.5 * layer
        found.append(
            cuboid(
                f"box {k}",
                (edge, edge, edge),
                mass=weight,
                gravity=(0, 0, -G * scale),
                position=scale * np.array([0.12 * np.cos(angle), 0.12 * np.sin(angle), 0.1 + 0.19 * layer]),
                quaternion=Rotation.random(random_state=rng).as_quat(scalar_first=True),
            )
        )
    return found


def test_a_pile_of_thirty_boxes_settles():
    run = free_body_stepper(graph_of(floor(), *boxes(30), friction=0.5, max_contacts=512)).simulate(2.5, step=0.01)
    energy = kinetic(run)
    assert run.ok and energy.max() > 50.0
    assert energy[-1] < 1e-7 and run.slip_speed[-1] < 1e-4 and run.penetration[-1] < 1e-5
    assert run.contact_count[-1] >= 90
    heights = np.array([run[f"box {k}.pose"][-1, 6] for k in range(30)])
    assert heights.min() > 0.0499 and heights.max() < 1.0
    # the contacts with the floor carry the weight
    on_floor = run.pairs.body1 == 30  # free bodies come first
    on_floor |= run.pairs.body2 == 30
    sign = np.where(run.pairs.body2 == 30, -1.0, 1.0)
    assert np.sum((sign * run.impulses[:, 2])[on_floor]) == pytest.approx(30 * G * 0.01, rel=1e-3)


def test_boxes_that_tumble_keep_apart():
    """With contacts on only one of two facing faces, boxes of 0.1 m that spin at up to 40 rad/s would overlap by 9 mm."""
    run = free_body_stepper(graph_of(floor(), *boxes(20), friction=0.5, max_contacts=512)).simulate(1.0, step=0.005)
    assert run.penetration.max() < 0.003


@pytest.mark.parametrize(
    "count, heaviest, scale, weight", [(10, 1.0, 1.0, 1.0), (10, 1.0, 1e3, 1e3), (2, 1e3, 1.0, 1.0), (4, 300.0, 1.0, 1.0)]
)
def test_towers_stand_high_or_under_a_heavy_top(count, heaviest, scale, weight):
    """Sweeps alone would need tens of thousands of repetitions, because the load on the floor passes through every box."""
    a, masses = 0.1 * scale, [weight] * (count - 1) + [heaviest * weight]
    stack = [
        cuboid(f"box {k}", (a,) * 3, mass, (0.0, 0.0, -G * scale), position=(0.0, 0.0, a * (k + 0.5)))
        for k, mass in enumerate(masses)
    ]
    run = free_body_stepper(graph_of(floor(), *stack, friction=0.5)).simulate(0.25, step=0.005)
    heights = [run[f"box {k}.pose"][-1, 6] for k in range(count)]
    np.testing.assert_allclose(heights, a * (np.arange(count) + 0.5), atol=2e-5 * a)
    bears = sum(masses) * G * scale * 0.005
    pressed = run.impulses[run.pairs.shape1 == 0]
    np.testing.assert_allclose(pressed.sum(axis=0), (0.0, 0.0, bears), atol=1e-2 * bears)
    assert run.ok, run.warnings


def test_a_bag_of_a_hundred_balls_settles():
    """A ball may keep spinning about the normal of a single contact."""
    rng = np.random.default_rng(4)
    tilt = np.radians(60)
    walls = [
        HalfSpace(position=(0.3 * x, 0.3 * y, 0.0), quaternion=turned((y, -x, 0), tilt))
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
    ]
    bag = ground("bag", shape=[HalfSpace(), *walls])
    balls = []
    for k in range(100):
        layer, place = divmod(k, 9)
        y, x = divmod(place, 3)
        balls.append(
            ball(f"ball {k}", position=(*(0.12 * np.array([x - 1, y - 1]) + 0.003 * rng.standard_normal(2)), 0.1 + 0.12 * layer))
        )
    graph = graph_of(bag, *balls, friction=0.5, rolling_friction=5e-4, max_contacts=1024)
    run = free_body_stepper(graph, tolerance=1e-3).simulate(3.0, step=0.01)
    assert max(np.linalg.norm(run[f"ball {k}.twist"][-1, 3:]) for k in range(100)) < 1e-4
    assert run.penetration[-1] < 1e-5 and run.contact_count[-1] >= 150 and not run.failure
    assert kinetic(run).max() > 50.0


def test_millimetres_and_grams():
    """Contacts magnify rounding errors, so the runs in both units differ slightly."""
    runs = [
        free_body_stepper(
            graph_of(ground("floor", shape=HalfSpace()), *boxes(6, scale, weight), friction=0.5, max_contacts=512), tolerance=1e-7
        ).simulate(0.3, step=0.005)
        for scale, weight in ((1.0, 1.0), (1e3, 1e3))
    ]
    for k in range(6):
        metre, mm = (run[f"box {k}.pose"] for run in runs)
        assert np.allclose(metre[:, 4:], mm[:, 4:] / 1e3, atol=1e-7) and np.allclose(metre[:, :4], mm[:, :4], atol=1e-6)
    assert runs[0].contact_count.max() > 3


def test_bodies_of_several_shapes():
    solids = [Ball(0.1, position=(0, 0, 0.4)), Ball(0.1, position=(0, 0, -0.4)), Capsule(0.02, 0.8)]
    lying = turned((0, 1, 0), np.pi / 2)
    body = rigid_body(
        "dumbbell", mass=1.0, inertia=(0.2, 0.2, 0.01), gravity=DOWN, position=(0, 0, 0.1), quaternion=lying, shape=solids
    )
    run = free_body_stepper(graph_of(floor(), body, friction=0.5)).simulate(0.1, step=0.005)
    assert run.contact_count[-1] == 2 and run["dumbbell.pose"][-1, 6] == pytest.approx(0.1, abs=1e-6)


def test_more_candidates_than_there_may_be_end_the_run():
    made = free_body_stepper(graph_of(floor(), *boxes(6), friction=0.5, max_contacts=5))
    with pytest.warns(RunEndedWarning, match="E514"):
        run = made.simulate(1.0, step=0.005)
    assert run.failure is not None and run.failure.kind == "E514" and 0.0 < run.t[-1] < 1.0
    assert "max_contacts=" in run.failure.cures[0]


def test_too_few_sweeps_leave_a_doubt():
    run = free_body_stepper(graph_of(floor(), *boxes(9), friction=0.5, max_contacts=512), tolerance=1e-9, max_sweeps=1).simulate(
        0.5, step=0.005
    )
    assert not run.ok and run.failure is None and run.warnings[0].reason.startswith("E550")
    assert "a larger max_sweeps" in run.warnings[0].cures and "rtol" not in str(run.warnings[0])
    assert run.residual.max() > 10.0


def test_invalid_piles_are_refused():
    a, b = ball("a", position=(0, 0, 1)), ball("b", position=(0, 0, 2))
    refused("E545", lambda: rigid_body("c", mass=1.0, inertia=(1, 1, 1), shape="ball"))
    refused("E545", lambda: graph_of(a, rigid_body("c", mass=1.0, inertia=(1, 1, 1))))
    refused("E545", lambda: graph_of(a, a))
    refused("E545 the bodies of collisions are not a list", lambda: collisions(Graph("pile"), a))
    refused("E545 'floor' has no shape", lambda: graph_of(a, "floor"))
    refused("E547 5 is not a list of pairs", lambda: graph_of(a, b, exclude=5))
    refused('E547 "a" and "a"', lambda: graph_of(a, b, pairs=[(a, a)]))
    refused('E547 "a" and "d"', lambda: graph_of(a, b, exclude=[(a, ball("d"))]))
    refused("E546", lambda: graph_of(a, b, friction=-1.0))
    refused("E546", lambda: graph_of(a, b, restitution=1.5))
    refused("E546", lambda: graph_of(a, b, max_contacts=0))
    refused("E547", lambda: graph_of(a, b, pairs=[(a, ball("d"))]))
    refused("E548", lambda: free_body_stepper(graph_of(ball("a"), ball("b", position=(0, 0, 0.05)))).simulate(1.0, step=0.01))
    refused("E549", lambda: free_body_stepper(Graph("none").add(ball("a"))))
    made = free_body_stepper(graph_of(ball("a"), ball("b", position=(0, 0, 0.5))))
    refused("E551", lambda: made.simulate(1.0, step=0.0))
    refused("E485", lambda: made.simulate(1.0, step=0.1, parameters={"a.inertia.inertia": (1, 1, 1, 1, 2, 3)}))
    refused("E551", lambda: free_body_stepper(graph_of(ball("a"), ball("b", position=(0, 0, 0.5))), tolerance=2.0))


def test_jointed_bodies_do_not_collide_with_each_other():
    a, b = ball("a", position=(0, 0, 1)), ball("b", position=(0, 0, 1))
    graph = Graph("jointed")
    attach_joint(graph, joint_graph("hinge", revolute((0, 1, 0))), a, b)
    collisions(graph, [a, b])
    assert graph.freeze().collisions[0].exclude == ((0, 1),)
    refused("E549", lambda: free_body_stepper(graph))


def test_a_heap_of_all_kinds_never_gains_energy():
    rng = np.random.default_rng(0)
    kinds = [Ball(0.05), Capsule(0.03, 0.1), Box(0.1, 0.06, 0.12), [Box(0.04, 0.04, 0.12), Ball(0.03, position=(0, 0, 0.06))]]
    if importlib.util.find_spec("coal"):
        kinds.append(Hull(0.04 * rng.standard_normal((12, 3))))
    bodies = []
    for k in range(15):
        angle = 2.0 * (k % 3) + 0.5 * (k // 3)
        bodies.append(
            rigid_body(
                f"body {k}",
                mass=1.0,
                inertia=(2e-3, 2e-3, 1e-3),
                gravity=DOWN,
                position=(0.13 * np.cos(angle), 0.13 * np.sin(angle), 0.15 + 0.22 * (k // 3)),
                quaternion=Rotation.random(random_state=rng).as_quat(scalar_first=True),
                shape=kinds[k % len(kinds)],
            )
        )
    run = free_body_stepper(graph_of(floor(), *bodies, friction=0.4, max_contacts=512)).simulate(1.0, step=0.005)
    assert run.ok and run.contact_count[-1] > 10
    assert np.diff(run.ledger.stored).max() < 1e-3 * run.ledger.stored[0]
    assert min(run[f"body {k}.pose"][-1, 6] for k in range(15)) > 0.0


def test_another_world_frame_and_another_order():
    G = Rotation.from_rotvec((0.4, -0.8, 0.3))
    shift = np.array([0.5, -1.0, 2.0])

    def run(H, p, order):
        seen = H.as_quat(scalar_first=True)
        bodies = [ground("floor", shape=HalfSpace(), position=p, quaternion=seen)]
        for k in range(3):
            turn = Rotation.from_rotvec((0.3 * k, 0.2, -0.1 * k))
            bodies.append(
                cuboid(
                    f"box {k}",
                    gravity=H.apply(DOWN),
                    position=H.apply((0.03 * k, 0.01 * k, 0.075 + 0.16 * k)) + p,
                    quaternion=(H * turn).as_quat(scalar_first=True),
                )
            )
        made = free_body_stepper(graph_of(*bodies[::order], friction=0.5, max_contacts=256), tolerance=1e-11, max_sweeps=100000)
        result = made.simulate(0.15, step=0.005)
        return np.array([H.inv().apply(result[f"box {k}.pose"][:, 4:] - p) for k in range(3)]), result

    plain, result = run(Rotation.identity(), np.zeros(3), 1)
    moved, _ = run(G, shift, 1)
    other, _ = run(Rotation.identity(), np.zeros(3), -1)
    assert result.contact_count.max() >= 3
    assert np.allclose(plain, moved, atol=1e-6) and np.allclose(plain, other, atol=1e-6)


def test_bodies_that_overlap_and_fall_side_by_side_are_not_in_doubt():
    balls = [ball(f"ball {k}", position=(0.099 * k, 0.003 * k, 5.0)) for k in range(4)]
    run = free_body_stepper(graph_of(floor(), *balls, friction=0.5)).simulate(0.3, step=0.005)
    assert run.ok and run.sweeps.max() < 40
