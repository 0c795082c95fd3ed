"""Impossible contacts are refused with a code and a cure, or the run ends with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from screwbond.models.bodies import Body, ground, rigid_body
from screwbond.models.contacts import Compliant, Impact, Maxwell, VirtualSpring, Viscoelastic, attach_contact, contact

from bondgraph import Graph, ModelError, RunEndedWarning, compile_model
from screws import GeometryError, quaternion_product
from screws.surfaces import Surface, cylinder, egg, ellipsoid, parametric, plane, sphere
from tests.inner.models_two_bodies import ContactRun, overview, run_contact

FLOOR = {"constrained": "rolling and sliding", "normal_stiffness": 1e4}


def ball(position=(0.0, 0.0, 0.1), surface: Surface | None = None, **changes) -> Body:
    skin = sphere(0.02) if surface is None else surface
    given = {"mass": 0.1, "inertia": (1.6e-5,) * 3, "surface": skin, "position": position, **changes}
    return rigid_body("ball", **given)


def run(body1: Body, body2: Body, t_end: float = 0.1, step: float = 0.01, **law) -> ContactRun:
    graph = Graph("refused")
    attach_contact(graph, contact("contact", body1, body2, **{**FLOOR, **law}), body1, body2)
    return run_contact(graph, body1, body2, t_end, step, progress=False)


LYING = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
BOWL = parametric(lambda u, v: (u, v, 50.0 * (u * u + v * v)), (-0.03, 0.03), (-0.03, 0.03))
"""Bowl whose radius of curvature at the bottom is half that of the ball."""


@pytest.mark.parametrize("skin", [ellipsoid((0.02, 0.02, 0.06)), sphere(0.005)])
def test_the_advice_of_lines_and_hollows(skin):
    floor, height = (plane(), 0.03) if skin.size > 0.02 else (BOWL, 0.008)
    assert run(ground("g", surface=floor), ball((0.0, 0.0, height), skin, quaternion=LYING), 0.01).result.ok


def test_a_ball_too_large_for_its_groove_is_refused():
    """At the focal distance, which the warning names, both sides of the groove are equally near."""
    groove = parametric(lambda u, v: (u, v, u * u / 0.038), (-0.03, 0.03), (-0.2, 0.2))
    for rtol in (1e-7, 1e-10):
        graph, floor, body = Graph("groove"), ground("g", surface=groove), ball((0.012, 0.0, 0.05), gravity=(0.0, 0.0, -9.81))
        attach_contact(graph, contact("contact", floor, body, **FLOOR), floor, body)
        with pytest.warns(RunEndedWarning, match="focal distance"):
            result = graph.simulate(0.1, samples=[0.0, 0.1], rtol=rtol, progress=False)
        assert result.failure is not None and 0.04 < result.failure.time < 0.05


@pytest.mark.parametrize(
    ("body1", "body2", "codes", "words"),
    [
        (ground("g", surface=sphere(0.03)), ball((0.001, 0, 0)), {"G123"}, "overlap beyond the curvature limit"),
        (ground("g", surface=sphere(0.03)), ball((0, 0, 0)), {"G123"}, "overlap beyond the curvature limit"),
        (
            ground("g", surface=ellipsoid((0.03, 0.02, 0.01))),
            ball((0.004, 0.003, 0.002), ellipsoid((0.03, 0.01, 0.02))),
            {"G123"},
            "overlap",
        ),
        (ground("g", surface=plane()), ball((0, 0, -0.1)), {"G123"}, "overlap"),
        # The words for plane on plane are those of the search: parallel planes have no pair on which it could settle.
        (ground("g", surface=plane()), ball(surface=plane()), {"G121", "G122"}, "plane and plane"),
        (ground("g", surface=plane()), ball(surface=cylinder(0.02), quaternion=LYING), {"G122"}, "nearest along a whole line"),
        (ground("g", surface=plane()), ball(surface=cylinder(0.02)), {"G121"}, "infinite and cuts the plane"),
        (ground("g", surface=cylinder(0.02)), ball(surface=cylinder(0.02)), {"G122"}, "nearest along a whole line"),
        (ground("g", surface=BOWL), ball((0.0, 0.0, 0.04)), {"G122"}, "at this focal distance the hollow"),
    ],
)
def test_start_poses_without_a_contact_point(body1, body2, codes, words):
    with pytest.raises(ModelError) as caught:
        run(body1, body2)
    (problem,) = caught.value.problems
    assert problem.code in codes and words in problem.title and problem.cures
    assert 'contact "contact"' in problem.details


def test_start_coordinates_that_contradict_the_poses():
    compiled = compile_model(attach_contact(Graph("egg"), contact("touch", ground("g", surface=plane()), rolling_egg(), **FLOOR)))
    halfway = compiled.simulate(0.3, progress=False)
    assert any(event.kind.startswith("chart of surface 2") for event in halfway.events)
    assert compiled.simulate(0.1, initial=halfway.final, progress=False).ok
    other = {"axis x": "axis z", "axis z": "axis x"}[halfway.final["touch.chart 2"]]
    mistakes = {"kinematics.d": 0.5, "kinematics.q1": (0.3, 0.2), "kinematics.q2": (1.0, 2.0), "kinematics.alpha": 2.0}
    for name, value in {**mistakes, "chart 2": other}.items():
        with pytest.raises(ModelError, match="E607"):
            compiled.simulate(0.1, initial={**halfway.final, f"touch.{name}": value}, progress=False)


SPRUNG = (Compliant(normal_stiffness=1e4, tangential_stiffness=1e3), Viscoelastic(1e4, 1e3), Maxwell(1e4, 1e2))


@pytest.mark.parametrize("law", [*SPRUNG, VirtualSpring(1e4, 0.5), Impact(0.0)], ids=lambda law: type(law).__name__)
def test_start_states_that_contradict_the_gap(law):
    """A closed contact would hold the ball in the air; a run goes on from any state of another run."""

    def start(height, **initial):
        body = ball((0.0, 0.0, 0.1 + height), sphere(0.1), gravity=(0.0, 0.0, -9.81))
        graph = attach_contact(Graph("drop"), contact("touch", ground("g", surface=plane()), body, law=law))
        compiled = compile_model(graph)
        states = {f"touch.{key}": value for key, value in initial.items()}
        return compiled, compiled.simulate(0.104, initial=states, progress=False)

    compiled, landed = start(0.05)
    closed = landed.final["touch.switch"]
    assert closed in ("contact", "compression")
    assert compiled.simulate(0.01, initial=landed.final, progress=False).ok
    with pytest.raises(ModelError, match="E608"):
        start(0.05, switch=closed)
    with pytest.raises(ModelError, match="E122"):
        start(0.05, switch="closed")
    if law in SPRUNG:
        wrong = np.asarray(landed.final["touch.spring.q"]) + 1e-3
        with pytest.raises(ModelError, match="E608"):
            start(0.05, **{"spring.q": wrong})
        if not isinstance(law, Maxwell):
            with pytest.raises(ModelError, match="E608"):
                compiled.simulate(0.01, initial={**landed.final, "touch.spring.q": wrong}, progress=False)


def rolling_egg() -> Body:
    return ball((0.0, 0.0, 0.03), egg(0.035, 0.084), angular_velocity=(0.0, 30.0, 0.0), gravity=(0.0, 0.0, -9.81))


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda: egg(f=0.04, S=0.08, zB=0.0), "G102", "corner"),
        (lambda: egg(f=0.04, S=0.03, zB=0.0), "G103", "is not a closed curve"),
        (lambda: sphere(-0.1), "G101", "radius"),
        (lambda: sphere(float("nan")), "G", "radius"),
        (lambda: ellipsoid((0.1, 0.0, 0.1)), "G101", "b of the ellipsoid"),
    ],
)
def test_surfaces_that_do_not_exist(make, code, words):
    with pytest.raises(GeometryError) as caught:
        make()
    assert caught.value.code.startswith(code) and words in str(caught.value) and caught.value.cure


@pytest.mark.parametrize(
    ("law", "code", "words"),
    [
        ({"constrained": ["v_z", "v_q"]}, "E421", "v_q"),
        ({"constrained": "gliding"}, "E421", "gliding"),
        ({"constrained": []}, "E421", "nothing"),
        ({"constrained": ["v_x", "v_z"]}, "E422", "tangential_stiffness = 0"),
        ({"constrained": ["omega_z", "v_z"], "rotational_stiffness": float("inf")}, "E422", "rotational_stiffness"),
        ({"normal_stiffness": -1.0}, "E422", "normal_stiffness = -1"),
        ({"normal_stiffness": float("nan")}, "E422", "normal_stiffness = nan"),
        ({"normal_damping": -1.0}, "E422", "normal_damping = -1"),
        ({"normal_stiffness": "1e4"}, "E422", "normal_stiffness = '1e4'"),
        ({"normal_stiffness": True}, "E422", "normal_stiffness = True"),
        ({"normal_damping": None}, "E422", "normal_damping = None"),
        ({"constrained": 5}, "E421", "cannot constrain 5"),
        ({"constrained": ["v_z", 3]}, "E421", "cannot constrain 3"),
        ({"friction": "0.5"}, "E490", "'0.5'"),
        ({"friction": [0.1, 0.2]}, "E490", "[0.1, 0.2]"),
    ],
)
def test_laws_that_are_incomplete(law, code, words):
    with pytest.raises(ModelError) as caught:
        contact("touch", ground("g", surface=plane()), ball(), **{**FLOOR, **law})
    problem = caught.value.problems[0]
    assert problem.code == code and words in problem.title and '"touch"' in problem.title
    assert problem.places[0].file == __file__


def test_all_missing_stiffnesses_at_once():
    with pytest.raises(ModelError) as caught:
        contact("touch", ground("g", surface=plane()), ball(), constrained="rolling", normal_stiffness=0.0)
    assert [problem.code for problem in caught.value.problems] == ["E422"] * 3


def test_one_component_needs_no_list():
    touching = contact("touch", ground("g", surface=plane()), ball(), constrained="v_z", normal_stiffness=1e4)
    assert touching.name == "touch"


def test_body_without_surface():
    bare = rigid_body("stone", mass=1.0, inertia=(1.0, 1.0, 1.0))
    with pytest.raises(ModelError, match=r'E420 body "stone" of contact "touch" has no surface') as caught:
        contact("touch", ground("g", surface=plane()), bare, **FLOOR)
    assert caught.value.problems[0].cures
    with pytest.raises(ModelError, match=r'E458 "touch" joins 5, which is not a body'):
        contact("touch", ground("g", surface=plane()), 5, **FLOOR)


@pytest.mark.parametrize("skin", [sphere(0.03), egg(0.035, 0.084, 0.01), ellipsoid((0.03, 0.02, 0.025))])
def test_diving_beyond_the_curvature_limit_ends_the_run(skin):
    """A spring of 1 N/m lets the ball through.

    Between spheres, or at the pole of an egg, the product of the curvatures touches zero without a change of sign.
    """
    run_through = run(ground("g", surface=skin), ball((0, 0, 0.06), velocity=(0, 0, -3.0)), normal_stiffness=1.0)
    failure = run_through.result.failure
    assert failure is not None and failure.kind == "ended" and "nearest points are no longer unique" in failure.reason
    assert 0.005 < failure.time < 0.03
    assert run_through.result.events[-1].kind == "curvature limit"
    assert run_through.trajectory["t"][-1] <= failure.time and len(run_through.trajectory["p2"]) >= 2


def test_stiff_damped_bounces_come_to_rest():
    k, damping = 1e8, 0.1 * 2.0 * np.sqrt(1e8 * 0.1)
    rest = run(
        ground("g", surface=plane()), ball((0, 0, 0.03), gravity=(0, 0, -9.81)), 1.0, normal_stiffness=k, normal_damping=damping
    )
    assert rest.result.ok and rest.result.ledger.relative_residual < 1e-9
    assert len(rest.result.events) > 20
    # The model may still hover within the tolerance of its run.
    assert rest.trajectory["gap"][-1] == pytest.approx(-0.981 / k, abs=1e-11)
    assert rest.trajectory["fn"][-1] == pytest.approx(0.981, rel=1e-4)


def test_a_contact_lost_to_rounding_ends_the_run():
    """The depth due to the weight, 1e-32 m, and that of a bounce, 4e-18 m, are below the rounding error of poses."""
    k = 1e32
    lost = run(
        ground("g", surface=plane()),
        ball((0, 0, 0.021), gravity=(0, 0, -9.81)),
        1.0,
        normal_stiffness=k,
        normal_damping=0.4 * 2.0 * np.sqrt(k * 0.1),
    )
    failure = lost.result.failure
    assert failure is not None and failure.cures
    assert failure.suspect in ("contact.switch", "contact.spring.q")  # rounding of a depth decides which
    assert failure.time > 0.999999 * np.sqrt(2e-3 / 9.81) and lost.trajectory["t"][-1] <= failure.time
    assert lost.summary()["completed"] is False and str(failure) in lost.summary()["failure"]
    fall = 0.5 * 9.81 * lost.trajectory["t"] ** 2
    first = lost.trajectory["t"] < 0.0142
    assert np.abs(lost.trajectory["p2"][first, 2] - 0.021 + fall[first]).max() < 1e-12


def sliding_ball(u: float, t_end: float = 0.05) -> ContactRun:
    tilt, quarter = 0.5 * (np.pi - u), 0.25 * np.pi
    q = quaternion_product((np.cos(tilt), 0.0, np.sin(tilt), 0.0), (np.cos(quarter), 0.0, 0.0, -np.sin(quarter)))
    body = ball((0, 0, 0.02 - 0.981 / 1e4), quaternion=np.asarray(q, float), velocity=(0.2, 0.1, 0), gravity=(0, 0, -9.81))
    return run(
        ground("g", surface=plane()),
        body,
        t_end,
        constrained=["v_x", "v_z"],
        tangential_stiffness=2e3,
        tangential_damping=2.0,
        normal_damping=20.0,
    )


@pytest.mark.parametrize("u", [1.2, 0.65, 0.5])
def test_a_component_without_its_partner_follows_the_polar_axes(u):
    """Where u is below 0.64, the axes of the chart in use would make the component hold the ball across its path."""
    held = sliding_ball(u)
    v = held.trajectory["v2"]
    assert np.abs(v[:, 1] - 0.1).max() < 1e-9 and v[-1, 0] < 0.19
    if u < 0.7:
        failure = held.result.failure
        assert failure is not None and failure.kind == "ended" and "x or y alone" in failure.reason
        assert np.sin(held.trajectory["uv2"][-1, 0]) > 0.3
    else:
        assert held.result.ok


def test_a_component_without_its_partner_cannot_start_at_a_pole():
    with pytest.raises(ModelError, match="E423") as caught:
        sliding_ball(0.2)
    assert caught.value.problems[0].cures


def _bowl():
    return parametric(lambda u, v: (u, v, 2.0 * (u * u + v * v)), (-0.1, 0.1), (-0.1, 0.1), inside=(0.0, 0.0, -0.01))


@pytest.mark.parametrize("speed", [0.0, 0.3])
@pytest.mark.parametrize("exchanged", [False, True])
def test_leaving_the_range_of_a_patch_ends_the_run(speed, exchanged):
    """The formula of a paraboloid on (-.1, .1)^2 extends beyond the surface."""
    bowl, stone = ground("g", surface=_bowl()), ball((0.08, 0.01, 0.05), velocity=(0.6, 0.1, speed))
    one, two = (stone, bowl) if exchanged else (bowl, stone)
    ended = run(one, two)
    q, failure = ended.result[f"contact.q{2 if exchanged else 1}"], ended.result.failure
    assert failure is not None and "E320" in failure.reason and "leaves the range of surface" in failure.reason
    assert ended.result.events[-1].kind == f"edge of surface {2 if exchanged else 1}"
    assert 0.08 < np.abs(q).max() <= 0.1 + 1e-9


def test_within_its_range_a_patch_is_like_any_surface():
    stone = ball((0.03, 0.0, 0.05), velocity=(0.0, 0.2, 0.0), gravity=(0.0, 0.0, -9.81))
    bouncing = run(ground("g", surface=_bowl()), stone, t_end=0.6)
    assert bouncing.result.ok and bouncing.contact_intervals() and bouncing.result.ledger.relative_residual < 1e-9
    assert np.abs(bouncing.result["contact.q1"]).max() < 0.1


@pytest.mark.parametrize(
    ("height", "words"),
    [(0.0199, "contact closed all the time"), (0.1, "no contact"), (0.0205, "contact on 1 time, off 0 times")],
)
def test_the_overview_of_a_run_names_its_contact(height: float, words: str) -> None:
    """A ball sinks into a floor from the start, falls far above it, or meets it."""
    falling = ball((0.0, 0.0, height), velocity=(0.0, 0.0, -0.1))
    summary = run(ground("floor", surface=plane()), falling, 0.006, 0.001).summary()
    assert overview(summary, Path("out")).splitlines()[1].startswith(f"  {words}; largest normal force")
