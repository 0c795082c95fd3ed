"""Forward and inverse kinematics of the delta robot agree with each other, with independent code, and with differences."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from screwbond.models.delta import DeltaKinematics, DeltaParameters

from bondgraph.errors import ModelError
from tests.inner.emit import have_llvm, numpy_kernel
from tests.inner.models_delta import check_arms, closure, closure_jacobian, compiled_formulas, outlines, plot_workspace, workspace
from tests.inner.tape import Routine, Tape, jacobian
from tests.models.delta import delta_independent as independent

ROBOTS = {"fit": DeltaParameters.fit(), "lab": DeltaParameters.lab()}
UNMEASURED = [1, 2, 4, 5, 7, 8]
BACKENDS = ["numpy"] + (["llvm"] if have_llvm() else [])


@cache
def tools(name: str, n: int = 20000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random points of the workspace (n, 3), their angles (n, 9), and their distances from a singularity (n,)."""
    p = ROBOTS[name]
    size = p.L1 + p.L2
    w = np.random.default_rng(3).uniform([-size, -size, 0.0], size, (n, 3))
    kinematics = DeltaKinematics(p)
    q, reached = kinematics.inverse_many(w)
    posture = kinematics.postures_many(q[reached])
    margin = np.minimum(posture["side"], np.abs(posture["stretch"]).min(axis=1))
    good = margin > 1e-3
    return w[reached][good], q[reached][good], margin[good]


@pytest.mark.parametrize("name", ROBOTS)
def test_forward_of_inverse(name):
    w, q, margin = tools(name)
    assert len(w) > 2000
    kinematics = DeltaKinematics(ROBOTS[name])
    back, angles = kinematics.forward_many(q[:, ::3])
    assert np.abs(back - w).max() < 1e-12
    assert np.abs(np.exp(1j * angles) - np.exp(1j * q)).max() < 1e-9
    for k in [*range(40), int(np.argmin(margin))]:
        posture = kinematics.forward(kinematics.inverse(w[k])[::3])
        assert np.abs(posture.w - w[k]).max() < 1e-12
        h = independent.constraint(independent.SETS[name], posture.q, np.zeros(9))[0]
        assert np.abs(h).max() < 2e-13


def test_against_independent_assembly():
    p, other = ROBOTS["fit"], independent.SETS["fit"]
    for y in ([0.3, 0.5, 0.8], [0.0, 0.0, 0.0], [1.0, 0.6, 0.7]):
        q = independent.assemble(other, y)
        posture = DeltaKinematics(p).forward(y)
        assert np.abs(posture.q - q).max() < 1e-13
        assert np.abs(posture.w - independent.arm_points(other, q[:3], np.zeros(3))[-1].place).max() < 1e-14


def test_newton_step_is_the_papers():
    """The step, computed without a 6x6 system, equals -H_x^-1 h, where H is differentiated on the tape."""
    p = ROBOTS["lab"]
    tape = Tape()
    q = tape.inputs("q", 9)
    h = closure(q, p)
    exact = Routine("exact", tape, (("q", 9),), (*h, *jacobian(list(h), list(q)).dense().flat))
    rng = np.random.default_rng(5)
    for _ in range(20):
        angles = DeltaKinematics(p).forward(rng.uniform(0.0, 0.9, 3)).theta + rng.normal(0.0, 0.1, 9)
        values = numpy_kernel(exact)(angles)
        h, H = values[:6], values[6:].reshape(6, 9)
        assert np.abs(H - closure_jacobian(angles, p)).max() < 1e-15
        step = np.linalg.solve(H[:, UNMEASURED], -h)
        found = compiled_formulas()["newton"](angles[UNMEASURED], angles[::3], p.values())
        assert np.abs(found["next"] - angles[UNMEASURED] - step).max() < 1e-12
        assert np.abs(found["closure"] - h).max() < 1e-15


def test_iterations():
    """Newton's method takes at most 2 steps to 7 decimals from the previous sample, and at most 4 from the home posture."""
    kinematics = DeltaKinematics(ROBOTS["fit"])
    home = kinematics.forward([0.5, 0.5, 0.5])
    posture, seen = home, set()
    for t in np.arange(1, 301) * 1e-3:
        # at most 7.5 rad/s, a sample every millisecond
        y = 0.5 + 0.4 * np.sin(2.0 * np.pi * t * np.array([1.0, 2.0, 3.0]))
        posture = kinematics.forward(y, start=posture.x, tolerance=5e-8)
        seen.add(posture.iterations)
        cold = kinematics.forward(y, start=home.x, tolerance=5e-8)
        assert cold.iterations <= 4
        assert np.abs(cold.w - kinematics.forward(y).w).max() < 1e-6
    assert max(seen) == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives(backend):
    kinematics = DeltaKinematics(ROBOTS["fit"], backend)
    y, step = np.array([0.3, 0.5, 0.8]), 1e-6
    posture = kinematics.forward(y)
    for k in range(3):
        ahead, behind = (kinematics.forward(y + s * step * np.eye(3)[k]) for s in (1.0, -1.0))
        assert np.abs((ahead.w - behind.w) / (2.0 * step) - posture.jacobian[:, k]).max() < 1e-8
        assert np.abs((ahead.q - behind.q) / (2.0 * step) - posture.dq_dy[:, k]).max() < 1e-8
    assert np.array_equal(posture.jacobian, kinematics.jacobian(y))
    assert np.abs(posture.dq_dy[::3] - np.eye(3)).max() == 0.0
    # gravity by virtual work equals the gravity compensation of the closed robot
    q = posture.q
    gravity = [independent.arm_terms(independent.SETS["fit"], q[i : i + 3], np.zeros(3))[2] for i in (0, 3, 6)]
    expected = independent.holding_torque(independent.SETS["fit"], q)
    assert np.abs(posture.dq_dy.T @ np.concatenate(gravity) - expected).max() < 1e-13


def test_branches_and_modes():
    kinematics = DeltaKinematics(ROBOTS["fit"])
    w = np.array([0.05, -0.08, 0.35])
    found: list[np.ndarray] = []
    for word in np.ndindex(2, 2, 2):
        q = kinematics.inverse(w, branch=[("out", "in")[k] for k in word])
        assert np.abs(independent.constraint(independent.SETS["fit"], q, np.zeros(9))[0]).max() < 1e-15
        found.append(q[::3])
    assert len({tuple(np.round(y, 6)) for y in found}) == 8
    y = [0.3, 0.5, 0.8]
    below, above = kinematics.forward(y), kinematics.forward(y, mode="above")
    assert below.w[2] > above.w[2] and below.side > 0.0 > above.side
    elbows = [
        independent.TO_WORLD[i] @ (np.array([0.0, 0.125, 0.0]) + 0.24 * np.array([0.0, np.cos(a), np.sin(a)]))
        for i, a in enumerate(y)
    ]
    normal = np.cross(elbows[1] - elbows[0], elbows[2] - elbows[0])
    middle = 0.5 * (below.w + above.w) - elbows[0]
    assert abs(middle @ normal) < 1e-15 and np.abs(np.cross(below.w - above.w, normal)).max() < 1e-15
    for tool in (below.w, above.w):
        assert np.allclose([np.linalg.norm(tool - e) for e in elbows], 0.42, rtol=1e-14)


def refusal(call, code):
    with pytest.raises(ModelError) as refused:
        call()
    (problem,) = refused.value.problems
    assert problem.code == code
    return problem


def test_out_of_reach():
    kinematics = DeltaKinematics(ROBOTS["fit"])
    problem = refusal(lambda: kinematics.inverse([0.0, 0.0, 0.9]), "E463")
    assert len(problem.details) == 3
    assert len(refusal(lambda: kinematics.inverse([0.0, -0.45, 0.35]), "E463").details) == 1
    # the elbows lie on a circle of radius 0.365 m: rods of 0.36 m do not close
    short = DeltaParameters(L0=0.175, L1=0.24, L2=0.36, L3=0.05, LC1=0.12, LC2=0.18, M1=0.4, M2=0.3, M3=0.1, J1=0.0, J2=0.0)
    refusal(lambda: DeltaKinematics(short).forward([0.0, 0.0, 0.0]), "E463")


def test_singular_postures():
    p = ROBOTS["fit"]
    kinematics = DeltaKinematics(p)
    # All elbows on the axis: the tips' spheres coincide, and any point at the distance L2 closes the robot.
    folded = DeltaParameters(L0=0.05, L1=0.2, L2=0.42, L3=0.05, LC1=0.1, LC2=0.21, M1=0.4, M2=0.3, M3=0.1, J1=0.0, J2=0.0)
    upright = [np.pi / 2.0] * 3
    for start in (None, [2.0, 0.0] * 3):
        problem = refusal(lambda start=start: DeltaKinematics(folded).forward(upright, start=start), "E464")
        assert "parallel" in problem.title and "y = (1.5708, 1.5708, 1.5708)" in problem.details[0]
    # stretched: the tool is straight below the shafts' cone
    reach = np.sqrt((p.L1 + p.L2) ** 2 - (p.L0 - p.L3) ** 2)
    problem = refusal(lambda: kinematics.inverse([0.0, 0.0, reach * (1.0 - 1e-16)]), "E464")
    assert "stretched" in problem.title and "w = (0, 0, " in problem.details[0]
    # a distal link along its motor's shaft: as far to the side as the arm can reach
    w = [p.L2, p.L0 - p.L3 + p.L1 * np.cos(0.5), p.L1 * np.sin(0.5)]
    q = np.array([0.5, np.pi / 2.0, np.pi / 2.0])
    assert np.abs(independent.arm_points(independent.SETS["fit"], q, np.zeros(3))[-1].place - w).max() < 1e-16
    problem = refusal(lambda: check_arms(np.array([0.5, 0.0, np.pi / 2.0] * 3), None, np.array(w)), "E464")
    assert "along its motor's shaft" in problem.title and "arm 1 at the angles (0.5, 0, 1.5708)" in problem.details[0]


def test_wrong_mode_and_words():
    kinematics = DeltaKinematics(ROBOTS["fit"])
    y = [0.3, 0.5, 0.8]
    above = kinematics.forward(y, mode="above")
    problem = refusal(lambda: kinematics.forward(y, start=above.x), "E465")
    assert "other assembly mode" in problem.title
    assert np.array_equal(kinematics.forward(y, start=above.x, mode="above").q, above.q)
    refusal(lambda: kinematics.forward(y, mode="left"), "E466")
    refusal(lambda: kinematics.forward([0.3, 0.5]), "E466")
    refusal(lambda: kinematics.forward([0.3, 0.5, np.nan]), "E466")
    refusal(lambda: kinematics.inverse([0.0, 0.0, 0.4], branch="up"), "E466")
    refusal(lambda: kinematics.inverse([0.0, 0.0, 0.4], branch=["out", "in"]), "E466")
    refusal(lambda: workspace(ROBOTS["fit"], [], 0.0, 0.4), "E466")


def test_workspace():
    p = ROBOTS["fit"]
    grid = np.linspace(-0.6, 0.6, 41)
    whole = workspace(p, grid, grid, np.linspace(0.0, 0.7, 41))
    assert 0.15 < whole.volume < 0.25
    # mirror symmetric about the plane of arm 1
    assert np.array_equal(whole.reachable, whole.reachable[::-1])
    cut = workspace(p, [0.1, -0.05], [0.1], [0.4])
    assert cut.reachable.shape == (2, 1, 1) and np.isfinite(cut.condition).all()
    turned = independent.TO_WORLD[1] @ np.array([0.1, 0.1, 0.4])
    other = workspace(p, turned[0], turned[1], turned[2])
    assert other.condition[0, 0, 0] == pytest.approx(cut.condition[0, 0, 0], rel=1e-12)
    jacobian = DeltaKinematics(p).jacobian(cut.y[0, 0, 0])
    assert cut.condition[0, 0, 0] == pytest.approx(np.linalg.cond(jacobian), rel=1e-12)
    assert cut.determinant[0, 0, 0] == pytest.approx(np.linalg.det(jacobian), rel=1e-12)
    assert np.all(np.isfinite(whole.condition) == whole.reachable)


def test_the_outline_of_a_cut_is_exact():
    """Where one arm is stretched, the tool is on a circle about its motor.

    The tool reaches a nanometre inside the outline, but not a nanometre outside.
    """
    pytest.importorskip("matplotlib")
    p = ROBOTS["fit"]
    reach, aside = p.L1 + p.L2, p.L0 - p.L3
    across, deep = np.linspace(-0.6, 0.6, 61), np.linspace(-0.03, 0.7, 41)
    (outline,) = outlines(p, workspace(p, 0.0, across, deep, progress=False))
    points = outline.points
    assert np.array_equal(points[0], points[-1]) and not points[:, 0].any()
    # At the top the map ends, and there the outline follows the grid.
    assert 1 < np.count_nonzero(outline.ends) < 30 and np.all(points[outline.ends, 2] == deep[0])
    far = points[(points[:, 1] < -0.1) & (points[:, 2] > 0.4)]
    assert len(far) > 10 and np.hypot(far[:, 1] - aside, far[:, 2]) == pytest.approx(reach, rel=1e-7)
    assert points[:, 2].max() == pytest.approx(np.sqrt(reach**2 - aside**2), rel=2e-3)
    # A grid with twice as many points has the same outline.
    finer = outlines(p, workspace(p, 0.0, np.linspace(-0.6, 0.6, 121), np.linspace(-0.03, 0.7, 81), progress=False))[0].points
    spot = np.array([min(finer, key=lambda other: np.linalg.norm(other - place)) for place in points[~outline.ends]])
    assert np.median(np.linalg.norm(spot - points[~outline.ends], axis=1)) < 1e-7


def test_an_outline_goes_round_holes_and_the_end_of_the_grid():
    """A plane inside the workspace is bounded only by the edge of the grid; a plane outside has no outline."""
    pytest.importorskip("matplotlib")
    p, small = ROBOTS["fit"], np.linspace(-0.05, 0.05, 5)
    (inside,) = outlines(p, workspace(p, small, small, 0.4, progress=False))
    assert inside.ends.all() and np.abs(inside.points[:, :2]).max() == 0.05
    assert outlines(p, workspace(p, small, small, 5.0, progress=False)) == []


@pytest.mark.thorough
def test_workspace_picture(tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    path = tmp_path / "workspace.png"
    plot_workspace(ROBOTS["lab"], path, points=61, dpi=60)
    image = imread(path)[:, :, :3]
    assert image.shape[1] > image.shape[0] > 200
    assert len(np.unique(np.round(image.reshape(-1, 3), 2), axis=0)) > 60
    assert np.all(image[-2:] == 1.0)
