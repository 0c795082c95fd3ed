"""Closed loops with redundant constraints run; contradictory and singular loops are reported."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.joints import attach_joint, joint_graph

from bondgraph import IC, J1, Constraint, Graph, ModelError, compile_model
from bondgraph.errors import RoundingWarning, RunEndedWarning
from screws import joints, poses
from screws.rotations import quaternion
from screws.scalars import array, cos, sin
from tests.inner.run import ConstraintMatrix

G = 9.81


def cranks(lengths=(1.0, 1.0, 1.0), start=0.6, velocity=None, unit=1.0) -> Graph:
    """Return parallel cranks hinged to one coupler, with lengths in units of `unit` m."""
    lengths, n = np.array(lengths) * unit, len(lengths)
    base = unit * np.arange(n)

    def kinetic(q, v):
        turning = sum(lengths[k] ** 2 * v[k] ** 2 for k in range(n)) / 6
        return turning + (v[n] ** 2 + v[n + 1] ** 2) / 2 + unit**2 * v[n + 2] ** 2 / 6

    def potential(q):
        return G * unit * (sum(lengths[k] * sin(q[k]) for k in range(n)) / 2 + q[n + 1]) / unit

    def closed(q):
        rows = []
        for k in range(n):
            rows += [
                base[k] + lengths[k] * cos(q[k]) - q[n] - base[k] * cos(q[n + 2]),
                lengths[k] * sin(q[k]) - q[n + 1] - base[k] * sin(q[n + 2]),
            ]
        return array(rows)

    place = [start] * n + [lengths[0] * np.cos(start), lengths[0] * np.sin(start), 0.0]
    graph, v = Graph("cranks"), J1("v", dimension=n + 3)
    graph.connect(v, IC("parts", kinetic=kinetic, potential=potential, position=place, velocity=velocity))
    return graph.connect(v, Constraint("hinges", position=closed, coordinates={"parts.q": n + 3}, dimension=2 * n))


def turning(t, n=3, start=0.6):
    """Return the angle of cranks of 1 m that stay parallel, from (n/3 + 1) a'' = -(n/2 + 1) g cos a."""
    rates = lambda _, y: [y[1], -(n / 2 + 1) * G * np.cos(y[0]) / (n / 3 + 1)]  # noqa: E731
    return solve_ivp(rates, (0.0, t[-1]), [start, 0.0], rtol=1e-12, atol=1e-12, t_eval=t).y[0]


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_three_parallel_cranks_move_as_one(unit):
    """Six conditions act on six coordinates with one degree of freedom, so one condition is redundant everywhere, in any unit
    of length."""
    compiled = compile_model(cranks(unit=unit))
    t = np.linspace(0.0, 0.25, 26) * np.sqrt(unit)
    run = compiled.simulate(float(t[-1]), samples=t, rtol=1e-9, progress=False)
    assert run.ok and np.abs(run["parts.q"][:, :3] - turning(t / np.sqrt(unit))[:, None]).max() < 1e-7
    assert np.abs(run["hinges.h"]).max() < 1e-9 * unit
    assert np.abs(run.ledger.injected).max() < 1e-8 * run.ledger.in_play
    assert 'are redundant: "hinges" (6)' in compiled.report()


def test_a_longer_crank_contradicts_parallel_cranks_in_motion():
    """Upright cranks can start to move together, but then the top of the longer crank sinks less than the other tops."""
    lengths = np.array([1.0, 1.0, 2.0])
    graph, v = Graph("unlike"), J1("v", dimension=4)

    def closed(q):  # three cranks that initially carry a level plate at one height
        top = [length * sin(q[k]) for k, length in enumerate(lengths)]
        side = [length * cos(q[k]) for k, length in enumerate(lengths)]
        return array([top[0] - q[3], top[1] - q[3], top[2] - 1.0 - q[3], side[0] - side[1], side[0] - side[2]])

    kinetic = lambda q, v: (v @ v) / 2  # noqa: E731
    graph.connect(v, IC("parts", kinetic=kinetic, position=[np.pi / 2] * 3 + [1.0]))
    graph.connect(v, Constraint("plate", position=closed, coordinates={"parts.q": 4}, dimension=5))
    with pytest.raises(ModelError, match="E433") as refused:
        compile_model(graph, backend="numpy")
    assert '"plate"' in str(refused.value) and "as soon as the mechanism moves" in str(refused.value)


def test_constraints_that_part_later_end_the_run():
    """The constraints x = 0 and x = y^3 agree to second order where y = 0, so the start is accepted; the run ends where they
    separate."""
    graph, v = Graph("cusp"), J1("v", dimension=2)
    graph.connect(v, IC("mass", kinetic=lambda q, v: (v @ v) / 2, position=[0.0, 0.0], velocity=[0.0, 1.0]))
    both = Constraint("both", position=lambda q: array([q[0], q[0] - q[1] ** 3]), coordinates={"mass.q": 2}, dimension=2)
    compiled = compile_model(graph.connect(v, both))
    with pytest.warns(RunEndedWarning, match="contradict each other"):
        run = compiled.simulate(1.0, progress=False)
    assert not run.ok and run.failure.kind == "contradiction" and '"both"' in run.failure.reason
    assert run.failure.time < 0.1


def bennett(short=1.0, long=2.0, twist=0.5, turned=2.0) -> Graph:
    """Return a Bennett linkage of four hinges in space, which moves although six conditions close a chain of four joints.

    The links have the lengths a, b, a, b and the twists alpha, beta, alpha, beta, where sin(alpha) / a = sin(beta) / b.
    """
    wide = np.arcsin(np.sin(twist) * long / short)
    links = [(short, twist), (long, wide), (short, twist), (long, wide)]
    # tan(t1/2) tan(t2/2) = sin((beta + alpha)/2) / sin((beta - alpha)/2); t3 = 2 pi - t1, t4 = 2 pi - t2.
    ratio = np.sin((wide + twist) / 2) / np.sin((wide - twist) / 2)
    other = 2.0 * np.arctan(ratio / np.tan(turned / 2))
    angles = [other, 2 * np.pi - turned, 2 * np.pi - other, turned]

    def along(length, alpha):
        return poses.pose(np.eye(3), (length, 0, 0)) @ poses.exp(np.array([alpha, 0, 0, 0, 0, 0]))

    def about(theta):
        return poses.exp(np.array([0, 0, theta, 0, 0, 0]))

    graph, floor, H = Graph("Bennett"), ground("base"), np.eye(4)
    bodies, ends = [(floor, np.eye(4))], []
    ends.append(np.asarray(along(*links[0]), dtype=float))
    H = ends[0]
    for k in range(1, 4):
        H = np.asarray(H @ about(angles[k - 1]), dtype=float)  # link k starts here, at hinge k
        H_c = np.asarray(H @ along(links[k][0] / 2, 0.0), dtype=float)
        body = rigid_body(
            f"link {k}",
            mass=0.5,
            inertia=(0.01, 0.02, 0.02),
            position=H_c[:3, 3],
            quaternion=quaternion(H_c[:3, :3]),
            gravity=(0, 0, -G),
        )
        near = poses.pose(np.eye(3), (-links[k][0] / 2, 0, 0))
        far = np.asarray(near @ along(*links[k]), dtype=float)
        previous, frame = bodies[-1][0], ends[-1]
        hinge = joint_graph(f"hinge {k}", joints.revolute((0, 0, 1)), frame_a=frame, frame_b=near)
        attach_joint(graph, hinge, previous, body)
        bodies.append((body, H))
        ends.append(far)
        H = np.asarray(H @ along(*links[k]), dtype=float)
    gap = np.asarray(H @ about(angles[3]), dtype=float)
    assert np.abs(gap - np.eye(4)).max() < 1e-12, "the linkage closes"
    last = joint_graph("hinge 4", joints.revolute((0, 0, 1)), frame_a=ends[-1], frame_b=np.eye(4))
    return attach_joint(graph, last, bodies[-1][0], floor)


def test_bennetts_linkage_moves_by_its_law():
    """The angles satisfy tan(t1/2) tan(t2/2) = const and t3 = -t1."""
    compiled = compile_model(bennett(), backend="numpy")
    start = compiled.consistent(keep={"hinge 1.rate": 1.0})
    (x, m), p = compiled.initial(start), compiled.parameters()
    named = {name: compiled.system.resolve(name) for k in range(1, 5) for name in (f"hinge {k}.q", f"hinge {k}.rate")}
    values = compiled.evaluate(0.0, x, p, m)
    turns = [(float(values[named[f"hinge {k}.q"]]), float(values[named[f"hinge {k}.rate"]])) for k in range(1, 5)]
    (t1, w1), (t2, w2), (_, w3), (_, w4) = turns
    assert w1 == pytest.approx(1.0, rel=1e-9) and w3 == pytest.approx(-w1, rel=1e-9) and w4 == pytest.approx(-w2, rel=1e-9)
    assert w1 / np.sin(t1) + w2 / np.sin(t2) == pytest.approx(0.0, abs=1e-9)
    closures = ConstraintMatrix(compiled.program, p)
    part, _ = closures.contradictions(np.zeros(1), x[None], m[None])
    assert part[0] < 1e-7
    A = closures.full.dense_of(closures.at_samples(np.zeros(1), x[None], m[None])[0])[0]
    assert np.linalg.matrix_rank(A, tol=1e-9 * np.abs(A).max()) == 17
    # The accelerations of the hinges, by differences along the motion that the rates give.
    h = 1e-4
    ahead, behind = (compiled.evaluate(0.0, x + s * h * compiled.program.rates(0.0, x, p, m), p, m) for s in (1.0, -1.0))
    a1, a2 = ((float(ahead[named[f"hinge {k}.rate"]]) - float(behind[named[f"hinge {k}.rate"]])) / (2 * h) for k in (1, 2))
    law = a1 / np.sin(t1) - w1**2 * np.cos(t1) / np.sin(t1) ** 2 + a2 / np.sin(t2) - w2**2 * np.cos(t2) / np.sin(t2) ** 2
    assert law == pytest.approx(0.0, abs=1e-5 * abs(a1))


def test_a_singular_position_is_named_with_its_time():
    """Two cranks with a coupler fold flat at the angle pi."""
    start = {"parts.q": [2.4, 2.4, np.cos(2.4), np.sin(2.4), 0.0]}
    compiled = compile_model(cranks((1.0, 1.0), start=2.4))
    rates = lambda _, y: [y[1], -2.0 * G * np.cos(y[0]) / (5.0 / 3.0)]  # noqa: E731
    flat = lambda _, y: y[0] - np.pi  # noqa: E731
    solved = solve_ivp(rates, (0.0, 2.0), [2.4, 0.0], rtol=1e-11, atol=1e-11, events=flat)
    (time,) = solved.t_events[0][:1]
    for rtol, samples in ((1e-6, [0.0, 1.0]), (1e-5, 0.01), *((10.0**-k, None) for k in range(6, 13))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RoundingWarning)
            with pytest.warns(RunEndedWarning, match="singular position"):
                run = compiled.simulate(1.0, initial=start, rtol=rtol, samples=samples, progress=False)
        assert not run.ok and run.failure.kind == "singular position" and '"hinges"' in run.failure.reason
        assert abs(run.failure.time - time) < 1e-3 and run.t[-1] < time  # [8e-5 at worst, mostly 5e-9]
    before = compiled.simulate(float(time) - 0.02, initial=start, progress=False)
    assert before.ok and np.abs(before["parts.q"][-1, 0] - before["parts.q"][-1, 1]) < 1e-6
