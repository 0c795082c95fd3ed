"""Transport of the contact's springs is independent of names of axes and bodies, and of units, charts and poles."""

from __future__ import annotations

import dataclasses
from functools import cache
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.contacts import attach_contact, contact

from bondgraph import Graph, compile_model
from bondgraph.errors import ModelError
from screws import quaternion_product
from screws.surfaces import ellipsoid, parametric, plane, sphere
from tests.inner.models_two_bodies import ContactRun, Scenario, run_scenario
from tests.inner.models_two_bodies import scenario_BodySpec as BodySpec
from tests.models.cases import ellipsoid as skin
from tests.models.cases import free, rolling, scenario, unit
from tests.models.contacts.test_contact_laws import exchanged
from tests.models.independent import Simulator

STICKING = rolling(4.6e4, 25.0, 3.2e4, 8.0, 1.5, 1.2e-3)
LAWS = {
    "rolling": STICKING,
    "friction": {**STICKING, "friction": 0.2, "torsional_friction": 1e-3},
    "no rolling": {"constrained": ["omega_x", "omega_y", "v_z"], "k_n": 4.6e4, "c_n": 25.0, "k_w": 0.5, "r_w": 5e-4},
}


def impact(law: dict[str, Any], stiffer: float = 1.0) -> Scenario:
    one = free(skin(0.036, 0.025, 0.029), 0.07, (0, 0, 0), (0.88, 0.22, 0.02, 0.42), omega=(-3.3, -9.6, 12.0))
    two = free(
        skin(0.038, 0.021, 0.016),
        0.05,
        (0.0615, -0.007, -0.002),
        (0.9, -0.4, -0.1, 0.0),
        (-0.4, 0.02, 0.01),
        (78.0, 60.0, -163.0),
    )
    stiff = {k: v * stiffer ** (0.5 if k[0] in "cr" else 1.0) for k, v in law.items() if k[1:2] == "_" and k[0] in "kcr"}
    return scenario(0.02, 0.0005, one, two, {**law, **stiff})


@cache
def run_of(law: str, transport: str, stiffer: float = 1.0) -> ContactRun:
    return run_scenario(impact({**LAWS[law], "transport": transport}, stiffer), progress=False)


def signed(rotation: np.ndarray, body: BodySpec) -> BodySpec:
    """Return the same body with renamed object axes, x_old = rotation x_new."""
    axes = np.abs(rotation).T
    values = axes @ np.array(list(body.surface.parameters.values()))
    assert body.inertia is not None
    return dataclasses.replace(
        body,
        surface=ellipsoid(tuple(values)),
        inertia=tuple(axes @ body.inertia),
        quat0_wxyz=tuple(np.asarray(quaternion_product(body.quat0_wxyz, _quaternion(rotation)), dtype=float)),
    )


def _quaternion(R: np.ndarray) -> np.ndarray:
    """Return (w, x, y, z), the eigenvector of the largest eigenvalue of Bar-Itzhack's matrix."""
    K = np.array(
        [
            [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0, R[0, 0] - R[1, 1] - R[2, 2], R[1, 0] + R[0, 1], R[2, 0] + R[0, 2]],
            [0, 0, R[1, 1] - R[0, 0] - R[2, 2], R[2, 1] + R[1, 2]],
            [0, 0, 0, R[2, 2] - R[0, 0] - R[1, 1]],
        ]
    )
    return np.linalg.eigh(K, UPLO="U")[1][:, -1]


ROTATIONS = [
    np.diag(signs) @ np.eye(3)[list(order)]
    for order in permutations(range(3))
    for signs in product((1.0, -1.0), repeat=3)
    if np.linalg.det(np.diag(signs) @ np.eye(3)[list(order)]) > 0.0
]


def renamed(given: Scenario, first: np.ndarray, second: np.ndarray) -> Scenario:
    return dataclasses.replace(given, body1=signed(first, given.body1), body2=signed(second, given.body2))


@pytest.mark.parametrize("transport", ["parallel", "bodies"])
@pytest.mark.parametrize("law", LAWS)
def test_names_of_axes_do_not_matter(law, transport):
    given = impact({**LAWS[law], "transport": transport})
    plain = run_of(law, transport)
    assert [e.kind for e in plain.result.events if e.kind.startswith("contact")] == ["contact on", "contact off"]
    assert np.abs(plain.trajectory["deformation"]).max() > 1e-5, "there must be a deformation to transport"
    # Which chart of body 2 is in use depends on the names, and so do the axes of C2.
    chosen = (5, 14) if (law, transport) == ("rolling", "parallel") else (14,)
    for k in chosen:
        other = run_scenario(renamed(given, ROTATIONS[(7 * k + 3) % 24], ROTATIONS[k]), progress=False)
        for key in ("p1", "p2"):
            assert np.abs(other.trajectory[key] - plain.trajectory[key]).max() < 1e-9, k
        for key in ("v1", "v2"):
            assert np.abs(other.trajectory[key] - plain.trajectory[key]).max() < 1e-7, k


def test_names_of_axes_matter_to_the_literal_law():
    given = impact({**STICKING, "transport": "gauss"})
    one, two = run_of("rolling", "gauss"), run_scenario(renamed(given, ROTATIONS[3], ROTATIONS[14]), progress=False)
    assert np.abs(one.trajectory["p2"] - two.trajectory["p2"]).max() > 1e-6


@pytest.mark.parametrize("transport", ["parallel", "bodies", "gauss"])
def test_agrees_with_vectors_of_the_world(transport):
    """The independent simulator stores the springs as vectors in world axes and turns them with the normal."""
    given = impact({**STICKING, "transport": transport})
    run = run_of("rolling", transport)
    course = Simulator(given).run(run.trajectory["t"])
    for index in (1, 2):
        assert np.abs(run.trajectory[f"p{index}"] - course.body(index)["p"]).max() < 1e-9
        assert np.abs(run.trajectory[f"v{index}"] - course.body(index)["v"]).max() < 1e-7
    assert run.result.ledger.relative_residual < 1e-9


def test_the_three_laws_differ():
    paths = [run_of("rolling", transport).trajectory["p2"] for transport in ("parallel", "bodies", "gauss")]
    assert min(np.abs(a - b).max() for a, b in zip(paths, [*paths[1:], paths[0]], strict=True)) > 1e-6


@pytest.mark.parametrize("transport", ["parallel", "bodies"])
def test_names_of_bodies_matter_by_the_penetration_only(transport):
    """The force acts at the point of body 2, so the effect of a swap decreases with the penetration, as 1 / sqrt(k)."""
    apart = []
    for stiffer in (1.0, 100.0):
        given = impact({**STICKING, "transport": transport}, stiffer)
        one, two = run_of("rolling", transport, stiffer), run_scenario(exchanged(given), progress=False)
        apart.append(np.abs(one.trajectory["p2"] - two.trajectory["p1"]).max())
    assert apart[0] < 1e-2 and apart[1] < 0.15 * apart[0]


def _ball(turned_by: float, **law: Any) -> Any:
    graph, half = Graph("ball"), 0.5 * turned_by
    floor = ground("floor", surface=plane())
    ball = rigid_body(
        "ball",
        mass=0.1,
        inertia=(1.6e-5,) * 3,
        surface=sphere(0.02),
        position=(0.0, 0.0, 0.02 - 1e-5),
        quaternion=(np.cos(half), 0.0, 0.0, np.sin(half)),
        velocity=(0.2, 0.08, 0.0),
        angular_velocity=(-4.0, 10.0, 0.0),
        gravity=(0.0, 0.0, -9.81),
    )
    touching = contact(
        "contact",
        floor,
        ball,
        normal_stiffness=1e5,
        normal_damping=20.0,
        tangential_stiffness=1e4,
        tangential_damping=5.0,
        rotational_stiffness=1.0,
        rotational_damping=1e-3,
        **law,
    )
    attach_contact(graph, touching, floor, ball)
    return compile_model(graph)


def test_unequal_stiffnesses_keep_the_energy():
    """The transport and the chart changes rotate the vector sqrt(k) s, without work."""
    compiled = _ball(0.4)
    uneven = {
        "contact.spring.stiffness": np.array([1.0, 3e3, 4e4, 1e5]),
        "contact.damper.damping": np.array([0.0, 0.0, 0.0, 20.0]),
    }
    result = compiled.simulate(1.0, samples=0.05, rtol=1e-10, parameters=uneven, progress=False)
    assert any(event.internal for event in result.events)
    assert np.abs(result["contact.kinematics.turning"]).max() > 1.0
    assert result.ledger.relative_residual < 1e-9
    assert np.abs(result.ledger.lost).max() < 1e-12 * result.ledger.in_play


def test_a_lone_component_follows_its_axis():
    """v_x alone is a scalar along x of C2, not a vector, so all transports give the same law."""
    law = {"constrained": ["v_x", "v_z"], "k_n": 4.6e4, "c_n": 25.0, "k_t": 3.2e4, "r_t": 8.0}
    paths = [run_scenario(impact({**law, "transport": t}), progress=False).trajectory["p2"] for t in ("parallel", "gauss")]
    assert np.array_equal(*paths)


def test_unknown_transport():
    ball = rigid_body("ball", mass=0.1, inertia=(1e-5,) * 3, surface=sphere(0.02))
    for wrong in ("Gauss", None, 1):
        with pytest.raises(ModelError, match="E426"):
            contact("c", ground("g", surface=plane()), ball, constrained="v_z", normal_stiffness=1.0, transport=wrong)


def test_the_quaternions_of_the_renamed_axes():
    assert len(ROTATIONS) == 24
    for R in ROTATIONS:
        w, *v = unit(_quaternion(R))
        x = np.array([0.3, -0.5, 0.7])
        assert np.allclose(x + 2 * w * np.cross(v, x) + 2 * np.cross(v, np.cross(v, x)), R @ x)


def _saddle_of(s: float, exchanged: bool, unit: float) -> Any:
    """Return one saddle, in units of `unit` m, with coordinates (x, y) or, if exchanged, (y, -x) / s."""

    def formula(u: Any, v: Any) -> Any:
        x, y = (-s * v, s * u) if exchanged else (u, v)
        x, y = x * unit, y * unit
        return (x / unit, y / unit, (2.0 * x * x - 3.0 * y * y + x * y) / unit)

    reach = 0.2 / unit / (s if exchanged else 1.0)
    return parametric(formula, (-reach, reach), (-reach, reach), inside=(0.0, 0.0, -0.01 / unit))


def _on_saddle(s: float, exchanged: bool, unit: float, transport: str, **more: float) -> np.ndarray:
    """Return the path (k, 3), m, of a spinning ball (body 1) on a saddle (body 2) whose chart carries C2."""
    graph, floor = Graph("saddle"), ground("floor", surface=_saddle_of(s, exchanged, unit))
    ball = rigid_body(
        "ball",
        mass=0.1,
        inertia=(1.6e-5 / unit**2,) * 3,
        surface=sphere(0.02 / unit),
        position=(0.0, 0.0, 0.0205 / unit),
        velocity=(0.1 / unit, 0.2 / unit, 0.0),
        angular_velocity=(3.0, 20.0, 40.0),
        gravity=(0.0, 0.0, -9.81 / unit),
    )
    touching = contact(
        "contact",
        ball,
        floor,
        constrained="rolling",
        normal_stiffness=2e4,
        normal_damping=20.0,
        tangential_stiffness=1e4,
        tangential_damping=8.0,
        rotational_stiffness=0.5 / unit**2,
        rotational_damping=1e-3 / unit**2,
        transport=transport,
        **more,
    )
    attach_contact(graph, touching, ball, floor)
    result = compile_model(graph).simulate(0.15, samples=0.005, rtol=1e-10, progress=False)
    assert result.ok and any(event.kind == "contact on" for event in result.events)
    return unit * result["ball.pose"][:, 4:]


@pytest.mark.parametrize("more", [{}, {"friction": 0.2}])
def test_charts_and_units_do_not_matter(more):
    plain = _on_saddle(1.0, False, 1.0, "parallel", **more)
    assert np.abs(_on_saddle(0.5, True, 1e-3, "parallel", **more) - plain).max() < 1e-9
    if more:
        return
    literal = [_on_saddle(s, exchanged, 1.0, "gauss") for s, exchanged in ((1.0, False), (0.5, True))]
    assert np.abs(literal[0] - literal[1]).max() > 1e-9
