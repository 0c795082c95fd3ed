"""Values kept from a run agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import ModelError, RunError, compile_model
from bondgraph.sweeps import Measure, events, first_time, integral, last, mean, peak, sweep
from examples.bouncing_ball import GRAVITY, HEIGHT, with_restitution
from tests.sweeps.oscillators import oscillator, pendulum_in_space

FALL = (2.0 * HEIGHT / GRAVITY) ** 0.5


@pytest.fixture(scope="module")
def ball():
    return compile_model(with_restitution())


def kept(model, t_end=1.3, keep=None, **settings):
    (run,) = sweep(model, [{"ball.inertia": 1.0}], t_end, keep=keep, progress=False, **settings)
    return run.values


def test_a_fall_and_a_bounce_as_by_hand(ball):
    """A ball falls from 1 m in 0.45 s, rises at 0.8 of its speed to 0.64 m, and bounces again at 1.17 s."""
    found = kept(
        ball,
        keep={
            "end": last("floor.h"),
            "top": peak("ball.flow"),
            "touch": first_time("bounces"),
            "of the switch": first_time("contact"),
            "count": events("bounces"),
            "all": events(),
            "none": first_time("lifts off"),
            "time at rest": events("lifts off"),
        },
    )
    up = 0.8 * GRAVITY * FALL
    since = 1.3 - FALL - 2.0 * up / GRAVITY
    assert found["end"] == pytest.approx(0.8 * up * since - 0.5 * GRAVITY * since**2, rel=1e-6)
    assert found["top"] == pytest.approx(up, rel=1e-6)
    assert found["touch"] == found["of the switch"] == pytest.approx(FALL, rel=1e-7)
    assert found["count"] == found["all"] == 2 and np.isnan(found["none"]) and found["time at rest"] == 0


@pytest.mark.parametrize("samples", [0.1, 0.013, FALL / 3.0])
def test_an_integral_takes_both_sides_of_a_jump(ball, samples):
    """Velocity is linear between bounces, so its integral is exactly the displacement."""
    found = kept(ball, keep={"way": integral("ball.flow"), "mean": mean("ball.flow"), "end": last("floor.h")}, samples=samples)
    assert found["way"] == pytest.approx(found["end"] - HEIGHT, abs=1e-7)
    assert found["mean"] == pytest.approx(found["way"] / 1.3, rel=1e-12)


def test_kept_values_equal_those_of_results(ball):
    result = ball.simulate(1.3, progress=False, samples=0.1)
    found = kept(ball, keep={"course": "floor.h", "own": lambda run: run.ledger.in_play}, samples=0.1)
    np.testing.assert_array_equal(found["course"], result["floor.h"])
    assert found["own"] == result.ledger.in_play


def test_arrays_and_components_have_their_shapes_and_units():
    keep = {"q": last("springs.q"), "one": peak("springs.q[1]"), "way": integral("mass.flow"), "course": "springs.q"}
    runs = sweep(
        compile_model(pendulum_in_space(), backend="numpy"),
        {"springs.k": [4.0, 9.0, 16.0]},
        1.0,
        keep=keep,
        samples=0.25,
        progress=False,
    )
    assert [runs[name].shape for name in keep] == [(1, 3), (1,), (1, 3), (1, 5, 3)]
    np.testing.assert_allclose(runs["q"][0], np.cos([2.0, 3.0, 4.0]), atol=1e-6)
    data = runs.to_xarray()
    assert [data[name].attrs.get("units", "") for name in keep] == ["m", "m", "m", "m"]
    assert data["course"].dims == ("run", "t", "course 1")


WRONG = [
    ("spring.qq", 'did you mean "spring.q"'),
    (last("spring.stiffness"), "is a parameter: it keeps its given value"),
    (first_time("bounces"), 'no event "bounces"'),
    (last(3), r"last\(3\) is not a measure"),
    (last(["spring.q"]), "is not a measure of a quantity or event"),
    (Measure("median", "spring.q"), "is not a measure of a quantity or event"),
    (5.0, "float is neither a name nor a measure"),
    (Measure("peak", "springs.q"), r"not a scalar: its shape is \(3,\)"),
]


@pytest.mark.parametrize(("wanted", "words"), WRONG, ids=[str(wanted) for wanted, _ in WRONG])
def test_unavailable_quantities_cannot_be_kept(wanted, words):
    model = compile_model(pendulum_in_space() if "springs" in str(wanted) else oscillator(), backend="numpy")
    with pytest.raises(ModelError, match=f"(?s)E362.*{words}"):
        sweep(model, [{"mass.inertia": 1.0}], 1.0, keep={"it": wanted}, progress=False)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *((name, "names another column") for name in ("run", "failure", "spring.stiffness")),
        *((name, "is not a valid column name") for name in (1, "", " ", "a\nb", "\x00", "\ud800")),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused(name, why, tmp_path):
    with pytest.raises(ModelError, match=f"E362.*{why}"):
        sweep(oscillator(), {"spring.stiffness": [1.0]}, 1.0, keep={name: "spring.q"}, store=tmp_path / "runs.db", progress=False)
    assert not list(tmp_path.iterdir())


def test_components_of_an_array_and_axes_have_names_of_their_own():
    points, model = {"springs.k": [(4.0, 9.0, 16.0)] * 2}, pendulum_in_space()
    with pytest.raises(ModelError, match=r"E362 'q\[0\]' names another column"):
        sweep(model, points, 1.0, keep={"q": last("springs.q"), "q[0]": last("mass.p[0]")}, progress=False)
    keep = {"q": last("springs.q"), "q 0": last("mass.p[0]"), "t": "springs.q[1]"}
    runs = sweep(model, points, 1.0, keep=keep, samples=0.5, progress=False)
    data = runs.to_xarray()
    assert data["q"].dims == ("springs.k", "q 0 (2)") and data["t"].dims == ("springs.k", "t (2)")
    assert set(data.data_vars) == set(keep) and data["t (2)"].values.tolist() == [0.0, 0.5, 1.0]
    np.testing.assert_array_equal(data["q 0"], runs["q 0"])


@pytest.mark.parametrize("keep", [{}, None, "spring.q"])
def test_nothing_named_is_refused(keep):
    with pytest.raises(ModelError, match=r"E362.*given by name"):
        sweep(oscillator(), {"spring.stiffness": [1.0]}, 1.0, keep=keep, progress=False)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda run: run["nothing"], "UnknownName: E318 no quantity"),
        (lambda run: "much", "it returns str"),
        (
            lambda run: np.zeros(1 + int(run["spring.stiffness"] > 25.0)),
            r"has shape \(\d,\) in run \d, but \(\d,\) in other runs",
        ),
    ],
)
def test_a_function_that_fails_ends_the_sweep_and_says_why(function, words):
    with pytest.raises(ModelError, match=f"(?s)E365.*{words}"):
        sweep(oscillator(), {"spring.stiffness": [20.0, 30.0]}, 1.0, keep={"own": function}, progress=False)


def test_settings_of_a_run_are_settings_of_a_sweep():
    assert kept(oscillator_of_inertia(), 1.0, {"n": lambda run: len(run.t)}, samples=0.1)["n"] == 11
    for wrong, code in (
        ({"rtoll": 1e-6}, "E322"),
        ({"strict": True}, "E322"),
        ({"initial": {"spring.q": 0.1}}, r"E322(?s:.*)try: the names among the points"),
        ({"rtol": 2.0}, "E302"),
        ({"samples": -1.0}, "E303"),
    ):
        with pytest.raises(RunError, match=code):
            sweep(oscillator(), {"spring.stiffness": [1.0]}, 1.0, keep={"q": last("spring.q")}, progress=False, **wrong)


def oscillator_of_inertia():
    return with_restitution()
