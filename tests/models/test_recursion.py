"""The articulated-body recursion agrees with mass matrices and with Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models import attach_between
from screwbond.models.bodies import ground
from screwbond.models.chains import (
    Chain,
    Link,
    Tree,
    bias,
    chain_graph,
    cylinder_inertia,
    forward_dynamics,
    gravity_forces,
    link_pose,
    mass_matrix,
    potential,
    space_jacobian,
)
from screwbond.models.springs import point_spring

from bondgraph import MTF, Constraint, Graph, Parameter, Se, Sf, compile_model, count_operations
from screws import joints, pose, tilde
from screws.linear import solve_spd
from screws.scalars import array, sin
from tests.inner.model import partials
from tests.inner.models_chains import articulated_is_shorter, inertia_numbers, operations, recursion_is_shorter
from tests.models.test_chains import anything, finger
from tests.models.test_trees import G, inertia, pinocchio_model, torso, without_pitch


def rods(count: int, axes=((0, 1, 0), (1, 0, 0)), name: str = "rods", **more) -> Chain:
    rod = cylinder_inertia(1.0, 0.02, (0, 0, 0), (0, 0, -0.1))
    return Chain(
        name,
        tuple(
            Link(
                f"rod {k}", joints.revolute(axes[k % len(axes)], (0, 0, -0.1 * k)), rod, pose(np.eye(3), (0, 0, -0.1 * k)), **more
            )
            for k in range(count)
        ),
    )


def oblique(count: int) -> Chain:
    rng = np.random.default_rng(0)
    return Chain(
        "oblique", tuple(Link(f"body {k}", joints.revolute(*rng.normal(size=(2, 3))), inertia(rng)) for k in range(count))
    )


def forked(limbs: int, length: int) -> Tree:
    links = [Link("trunk", joints.revolute((0, 0, 1)), cylinder_inertia(1.0, 0.1, (0, 0, 0), (0, 0, 0.2)))]
    for limb in range(limbs):
        for k, link in enumerate(rods(length).links):
            parent = f"limb {limb} {k - 1}" if k else "trunk"
            links.append(Link(f"limb {limb} {k}", link.joint, link.inertia, link.home, parent=parent))
    return Tree("forked", tuple(links))


@pytest.mark.parametrize(
    "tree",
    [anything(), anything(2), finger(2.0), torso(), torso(driven=True), oblique(12), rods(50), forked(3, 5)],
    ids=["all joints", "others", "finger", "torso", "driven", "oblique", "rods", "forked"],
)
def test_accelerations_solve_the_equations(tree):
    rng = np.random.default_rng(7)
    q, v, effort = rng.normal(size=(3, tree.freedoms))
    found = forward_dynamics(tree, q, v, effort, G).astype(float)
    M = mass_matrix(tree, q).astype(float)
    rest = (bias(tree, q, v) + gravity_forces(tree, G, q) - effort).astype(float)
    terms = np.abs(M) @ np.abs(found) + np.abs(rest)
    assert np.abs(M @ found + rest).max() < 1e-12 * terms.max()
    alone = np.linalg.solve(M, -rest)
    assert np.abs(found - alone).max() < 1e-15 * np.linalg.cond(M) * np.abs(alone).max() + 1e-12 * np.abs(alone).max()


@pytest.mark.parametrize("make", [lambda: without_pitch(torso()), lambda: rods(30), lambda: forked(3, 5)])
def test_accelerations_against_pinocchio(make):
    tree = make()
    pin, model, data = pinocchio_model(tree)
    order = [int(model.joints[k].idx_v) for k in range(1, model.njoints)]
    rng = np.random.default_rng(3)
    q, v, effort = np.zeros((3, model.nv))
    q[order], v[order], effort[order] = given = 0.4 * rng.normal(size=(3, tree.freedoms))
    theirs = pin.aba(model, data, q, v, effort)[order]
    ours = forward_dynamics(tree, *given, G).astype(float)
    assert np.abs(ours - theirs).max() < 1e-11 * np.abs(theirs).max()


def counted(tree: Tree) -> tuple[int, int]:
    """Return the numbers of operations for v', first by mass matrix, then by articulated bodies."""
    n = tree.freedoms
    sizes = {"q": (n,), "v": (n,), "e": (n,), "p": (len(inertia_numbers(tree)),)}

    def by_matrix(q, v, e, p):
        weight = partials(lambda at: [potential(tree, G, at, *p)], q, (p,))[0]
        return {"a": solve_spd(mass_matrix(tree, q, *p), e - bias(tree, q, v, *p) - weight)}

    def by_recursion(q, v, e, p):
        return {"a": forward_dynamics(tree, q, v, e, G, *p)}

    return tuple(count_operations(way, sizes, constant=("p",)) for way in (by_matrix, by_recursion))


def test_operations_grow_with_the_number_of_joints():
    """An oblique joint with a general body costs at most 724 operations."""
    for make, each in ((oblique, 724), (rods, 320), (lambda n: rods(n, axes=((0, 1, 0),)), 110)):
        counts = [counted(make(n))[1] for n in (6, 8, 10, 12)]
        assert np.diff(counts)[0] <= 2 * each and np.diff(counts, 2).max() <= 0


@pytest.mark.parametrize(
    "tree",
    [
        *(make(n) for make in (oblique, rods, lambda n: rods(n, axes=((0, 1, 0),))) for n in (3, 7, 14, 20)),
        anything(),
        torso(),
        finger(),
        forked(3, 3),
        forked(4, 6),
    ],
    ids=lambda tree: f"{tree.name} {tree.freedoms}",
)
def test_estimated_operations(tree):
    """Joints whose axes meet in one point, and the ends of branches, cost less than estimated."""
    traced, estimated = counted(tree), operations(tree)
    for count, estimate in zip(traced, estimated, strict=True):
        assert 0.98 * count <= estimate <= 1.1 * count + 1500
    gain = traced[0] / traced[1]
    if gain > 1.6:
        assert articulated_is_shorter(tree)
    if gain < 1.0:
        assert not articulated_is_shorter(tree)


def test_way_to_the_accelerations():
    assert not recursion_is_shorter(finger()) and recursion_is_shorter(rods(5))
    assert not articulated_is_shorter(rods(7)) and articulated_is_shorter(rods(50))
    driven = torso(driven=True)
    assert not articulated_is_shorter(driven)


def settled(graph, t_end=0.5, **settings):
    result = compile_model(graph).simulate(t_end, **{"rtol": 1e-10, "samples": 0.05, "progress": False, **settings})
    assert result.ok
    return result


def test_energy_of_a_long_chain():
    tree = rods(16)
    part = chain_graph(tree, gravity=G, position=0.3 * np.sin(np.arange(16)))
    assert part.parts["mechanism"].law.mechanics.solution is not None
    result = settled(Graph("top").connect(part.port("joints"), Se("idle", dimension=16)), 0.3, rtol=1e-9)
    stored = result.ledger.stored
    assert np.abs(stored - stored[0]).max() < 1e-7 * result.ledger.in_play


def matrix_twin(tree: Tree, monkeypatch, **options):
    monkeypatch.setattr("screwbond.models.chains.graph.articulated_is_shorter", lambda tree: False)
    part = chain_graph(tree, **options)
    monkeypatch.undo()
    assert part.parts["mechanism"].law.mechanics.solution is None
    return part


def rates_of(make, part, seed=4):
    compiled = compile_model(make(part), backend="numpy")
    x, m = compiled.initial()
    x = x + 0.1 * np.random.default_rng(seed).normal(size=len(x))
    return compiled.program.rates(0.0, x, compiled.parameters(), m)


def hung(part):
    graph, string = Graph("hung"), point_spring("string", 500.0, point_b=(0, 0, -0.1))
    graph.connect(Se("motor", 2.0), part.port("joint rod 1"))
    attach_between(graph, string, ground("post", position=(0.5, 0.3, -1.0)), part.link("rod 13"))
    return graph


def pinned(part):
    graph = Graph("pinned")
    hold = MTF(
        "pin",
        lambda H: array(np.concatenate([-tilde(H[:3, :3] @ np.array([0, 0, -0.1]) + H[:3, 3]), np.eye(3)], axis=1)),
        signals=["rods.rod 13.H"],
        dimensions=(6, 3),
        domains=("screw", None),
    )
    return graph.connect(part.port("rod 13"), hold).connect(hold, Constraint("hold", dimension=3))


@pytest.mark.parametrize("make", [hung, pytest.param(pinned, marks=pytest.mark.thorough)])
def test_ports_and_loops_are_those_of_the_mass_matrix(make, monkeypatch):
    tree = rods(14)
    q = 0.4 * np.sin(1.0 + np.arange(14))
    options = {"gravity": G, "ports": ["rod 13"], "joint_ports": ["rod 1"] if make is hung else (), "position": q}
    assert articulated_is_shorter(tree)
    one, other = rates_of(make, chain_graph(tree, **options)), rates_of(make, matrix_twin(tree, monkeypatch, **options))
    assert np.abs(one - other).max() < 1e-10 * np.abs(other).max()


def test_a_pinned_chain_stays_pinned():
    tree = rods(14)
    q = 0.4 * np.sin(1.0 + np.arange(14))
    H = link_pose(tree, 13, q)
    result = settled(pinned(chain_graph(tree, gravity=G, ports=["rod 13"], position=q)), 0.4)
    ends = [link_pose(tree, 13, at) @ [0, 0, -0.1, 1.0] for at in result["rods.q"]]
    assert np.abs(np.array(ends, dtype=float) - (H @ [0, 0, -0.1, 1.0]).astype(float)).max() < 1e-7
    assert np.ptp(result["rods.q"], axis=0).max() > 0.3, "it moves"
    assert np.ptp(result.ledger.stored) < 1e-7 * result.ledger.in_play


def test_stops_of_a_long_chain(monkeypatch):
    tree = rods(14, limits=(-0.2, 0.3))
    options = {"gravity": G, "limits": "stop", "stop_stiffness": 20.0, "position": np.full(14, 0.1)}

    def make(part):
        return Graph("top").connect(part.port("joints"), Se("idle", Parameter(np.linspace(-1.0, 1.0, 14))))

    def beyond(part):
        compiled = compile_model(make(part), backend="numpy")
        x, m = compiled.initial()
        x[:14] = np.linspace(-0.5, 0.5, 14)
        return compiled.program.rates(0.0, x, compiled.parameters(), m)

    one, other = beyond(chain_graph(tree, **options)), beyond(matrix_twin(tree, monkeypatch, **options))
    assert np.abs(one - other).max() < 1e-10 * np.abs(other).max()


def test_efforts_of_a_long_chain_with_imposed_velocities():
    """If the velocities of a chain are imposed, the efforts are M v' + h + dV/dq."""
    tree, phase = rods(14), np.arange(14.0)
    assert articulated_is_shorter(tree)
    q, v, rate = 0.3 * np.cos(phase), np.sin(phase), np.cos(phase)
    part = chain_graph(tree, gravity=G, position=q)
    drive = Sf("drive", flow=lambda t: array([sin(t + k) for k in phase]), signals=["time"], dimension=14)
    compiled = compile_model(Graph("moved").connect(drive, part.port("joints")), backend="numpy")
    found = compiled.evaluate()[compiled.system.resolve("rods.mechanism.effort")]
    needed = mass_matrix(tree, q) @ rate + bias(tree, q, v) + gravity_forces(tree, G, q)
    assert np.abs(found - needed.astype(float)).max() < 1e-11 * np.abs(needed).max()


def test_units_of_a_long_chain():
    rng = np.random.default_rng(1)
    q, v, effort = rng.normal(size=(3, 14))

    def scaled(mass, length):
        rod = cylinder_inertia(mass, 0.02 * length, (0, 0, 0), (0, 0, -0.1 * length))
        axes = ((0, 1, 0), (1, 0, 0))
        places = [(0, 0, -0.1 * length * k) for k in range(14)]
        links = [Link(f"rod {k}", joints.revolute(axes[k % 2], p), rod, pose(np.eye(3), p)) for k, p in enumerate(places)]
        return Chain("rods", tuple(links))

    one = forward_dynamics(scaled(1.0, 1.0), q, v, effort, G)
    other = forward_dynamics(scaled(1e3, 1e3), q, v, 1e9 * effort, 1e3 * G)
    assert np.abs(one - other).max() < 1e-10 * np.abs(one).max()
    assert np.isfinite(space_jacobian(scaled(1.0, 1.0), 13, q).astype(float)).all()
