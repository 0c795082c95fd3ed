"""Curves and maps through tabulated data agree with SciPy's interpolants."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy import interpolate
from scipy.integrate import quad

from bondgraph import (
    J0,
    J1,
    MTF,
    Block,
    C,
    Friction,
    Graph,
    I,
    ModelError,
    Parameter,
    R,
    Se,
    Sf,
    compile_model,
    dump_model,
    parse_model,
    signals,
)
from screws.scalars import array
from tests.inner.emit import compile_routines
from tests.inner.tape import Routine, Tape, jacobian

X, Y = np.array([-2.0, -1.0, 0.5, 1.0, 3.0]), np.array([-3.0, -1.0, 0.2, 2.0, 2.5])
WITHIN, AROUND = np.linspace(-2.0, 3.0, 101), np.linspace(-4.0, 5.0, 91)
KINDS = ("linear", "monotone", "akima", "spline")


def reference(kind: str, x: np.ndarray, y: np.ndarray):
    if kind == "linear":
        return interpolate.make_interp_spline(x, y, k=1)
    return {
        "monotone": interpolate.PchipInterpolator,
        "akima": interpolate.Akima1DInterpolator,
        "spline": interpolate.CubicSpline,
    }[kind](x, y)


@pytest.mark.parametrize("outside", ["hold", "extend", "periodic"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_derivative_is_exact_everywhere(kind, outside):
    curve = signals.curve(X, [*Y[:-1], Y[0]], kind, outside=outside)
    slope, at, h = curve.derivative(), np.setdiff1d(AROUND, X) + 1e-3, 1e-6
    np.testing.assert_allclose(slope(at), (curve(at + h) - curve(at - h)) / (2 * h), atol=1e-8)
    back = slope.integral(X[0])
    np.testing.assert_allclose(back(at), curve(at) - curve(X[0]), atol=1e-13)
    np.testing.assert_allclose(curve.integral().derivative()(at), curve(at), atol=1e-13)
    with pytest.raises(ModelError, match="E180"):
        slope.need_monotone("a test")


def test_a_cam_moves_its_follower_by_the_derivative_of_its_lift():
    phi = np.linspace(0.0, 2.0 * np.pi, 25)
    lift = signals.curve(phi, 0.005 * (1.0 - np.cos(phi)), "spline", outside="periodic")
    slope = lift.derivative()
    graph, shaft, valve = Graph("cam"), J1("shaft", domain="rotation"), J1("valve", domain="translation")
    cam = MTF("cam", lambda angle: slope(angle), signals=["angle.y"])
    graph.add(signals.integrator("angle", "shaft.flow")).connect(Sf("drive", 7.0), shaft).connect(shaft, cam)
    run = graph.connect(cam, valve).connect(valve, C("spring", stiffness=3e3)).simulate(2.0, progress=False)
    np.testing.assert_allclose(run["spring.q"], lift(7.0 * run.t), atol=1e-9)
    assert run.ok


@pytest.mark.parametrize("kind", KINDS)
def test_a_curve_is_scipys_interpolant_in_machine_code_with_its_slope(kind):
    curve, expected = signals.curve(X, Y, kind), reference(kind, X, Y)
    np.testing.assert_allclose(curve(WITHIN), expected(WITHIN), atol=1e-14)
    assert curve(X).tolist() == Y.tolist()
    tape = Tape()
    u = tape.inputs("x", 1)
    value = curve(u[0])
    routine = Routine("both", tape, (("x", 1),), (value, *jacobian([value], u).values))
    between = np.setdiff1d(WITHIN, X)
    found = compile_routines([routine]).kernel("both").many(between[:, None])
    np.testing.assert_allclose(found, np.column_stack([expected(between), expected.derivative()(between)]), atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_beyond_its_points_a_curve_is_constant_or_linear(kind):
    held, extended = (signals.curve(X, Y, kind, outside=outside) for outside in ("hold", "extend"))
    slopes = reference(kind, X, Y).derivative()(X[[0, -1]] + [1e-12, -1e-12])
    assert held(np.array([-9.0, 9.0])).tolist() == Y[[0, -1]].tolist()
    np.testing.assert_allclose(extended(X[[0, -1]] + [-2.0, 3.0]), Y[[0, -1]] + slopes * [-2.0, 3.0], rtol=1e-10)
    assert np.isnan(held(np.nan))


@pytest.mark.parametrize("outside", ["hold", "extend", "periodic"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_integral_is_exact_everywhere(kind, outside):
    y = np.concatenate([Y[:-1], Y[:1]])
    curve = signals.curve(X, y, kind, outside)
    integral = curve.integral(0.7)
    assert integral(0.7) == pytest.approx(0.0, abs=1e-15)
    for start, end in ((-9.0, -2.5), (-2.5, 0.1), (0.1, 2.9), (2.9, 14.0)):
        kinks = [x + 5.0 * turn for x in X for turn in range(-3, 4) if start < x + 5.0 * turn < end]
        area = quad(curve, start, end, points=kinks or None, epsabs=1e-13, epsrel=1e-13, limit=200)[0]
        assert integral(end) - integral(start) == pytest.approx(area, abs=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_a_periodic_curve_repeats_with_continuous_slopes(kind):
    t = np.linspace(0.0, 2.0 * np.pi, 13)
    curve = signals.curve(t, np.round(np.sin(t), 12), kind, outside="periodic")
    u = np.linspace(-20.0, 20.0, 77)
    np.testing.assert_allclose(curve(u), curve(u + 2.0 * np.pi), atol=1e-12)
    np.testing.assert_allclose(curve(u), np.sin(u), atol={"linear": 0.04, "monotone": 0.04, "akima": 0.02, "spline": 1e-3}[kind])
    assert curve(-1e-17) == curve(0.0)  # rounding moves it to the end of the period
    left, right = ((curve(at + step) - curve(at)) / step for at, step in ((0.0, -1e-6), (0.0, 1e-6)))
    assert left == pytest.approx(right, abs=1e-5)


def test_the_spline_through_a_cubic_is_that_cubic():
    curve = signals.curve(X, X**3 - X, "spline", outside="extend")
    np.testing.assert_allclose(curve(WITHIN), WITHIN**3 - WITHIN, atol=1e-13)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_linear_curve_is_inverted_exactly(sign):
    curve = signals.curve(X, sign * Y, outside="extend")
    np.testing.assert_allclose(curve.inverse(curve(AROUND)), AROUND, atol=1e-13)
    np.testing.assert_allclose(curve(curve.inverse(AROUND)), AROUND, atol=1e-13)


@pytest.mark.parametrize(
    ("curve", "flaw"),
    [
        (signals.curve(X, Y, outside="extend"), ""),
        (signals.curve(X, X**3 + X, "monotone", outside="extend"), ""),
        (signals.curve(X, -Y, "monotone", outside="extend"), "constant beyond 3"),
        (signals.curve(X, Y, "spline", outside="extend"), "does not ascend between 1 and 3"),
        (signals.curve(X, Y), "constant beyond -2 and 3"),
        (signals.curve([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.0, 2.0], outside="extend"), "does not ascend between 1 and 2"),
        (signals.curve([0.0, 1.0, 2.0], [0.0, -1.0, -0.5], outside="extend"), "does not descend between 1 and 2"),
        (signals.curve([0.0, 1.0], [0.0, 0.0], outside="periodic"), "periodic"),
        (signals.curve(np.arange(9.0), np.arange(9.0) // 2, "monotone", outside="extend"), "does not ascend between 0 and 1"),
    ],
)
def test_a_curve_says_why_it_has_no_inverse(curve, flaw):
    assert (flaw in curve.flaw) if flaw else not curve.flaw
    assert bool(curve.inverse) == (not flaw and curve.kind == "linear")


def test_a_map_is_bilinear_or_bicubic_between_its_points():
    x, y = np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.0, 2.0, 3.0])
    places = np.random.default_rng(0).uniform([0.0, 0.0], [4.0, 3.0], (200, 2))
    z = np.outer(x**2, y) + np.sin(y)
    found = signals.characteristic_map(x, y, z)(*places.T)
    np.testing.assert_allclose(found, interpolate.RegularGridInterpolator((x, y), z)(places), atol=1e-13)
    cubic = signals.characteristic_map(x, x, np.outer(x**3, x**2 + 1.0), "spline")
    inside = np.minimum(places, 4.0)
    np.testing.assert_allclose(cubic(*inside.T), inside[:, 0] ** 3 * (inside[:, 1] ** 2 + 1.0), atol=1e-11)
    for kind in KINDS:
        surface = signals.characteristic_map(x, y, z, kind)
        np.testing.assert_allclose(surface(*np.meshgrid(x, y, indexing="ij")), z, atol=1e-13)
        section = signals.curve(y, z[2], kind)
        np.testing.assert_allclose(surface(2.0, places[:, 1]), section(places[:, 1]), atol=1e-13)
        section = signals.curve(x, z[:, 1], kind)
        np.testing.assert_allclose(surface(places[:, 0], 2.0), section(places[:, 0]), atol=1e-13)
        for at in (0.3, 2.5):
            assert surface(1.0 - 1e-9, at) == pytest.approx(surface(1.0 + 1e-9, at), abs=1e-7)


def test_a_map_holds_one_variable_and_repeats_the_other():
    angle = np.linspace(0.0, 2.0, 9)
    turning = signals.characteristic_map(
        [0.0, 1.0],
        angle,
        [np.sin(np.pi * angle).round(12), 2.0 * np.sin(np.pi * angle).round(12)],
        "spline",
        outside=("hold", "periodic"),
    )
    assert turning(5.0, 0.3) == pytest.approx(turning(1.0, 4.3), abs=1e-13)
    assert turning(-5.0, 0.3) == pytest.approx(0.5 * turning(1.0, 0.3), abs=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_storages_and_a_resistor_of_curves_keep_their_account(kind):
    """The energies of the storages are the exact integrals of the curves."""
    x = np.linspace(-3.0, 3.0, 15)
    spring, mass = (signals.curve(x, y, kind, outside="extend") for y in (np.sinh(x), np.tanh(x)))
    damper = signals.curve(x, 0.1 * x * np.abs(x), kind, outside="extend")
    graph, v = Graph("oscillator"), J1("v")
    graph.connect(v, C("c", output=spring, initial=1.5)).connect(v, I("i", output=mass, initial=0.2))
    free = compile_model(graph).simulate(10.0)
    energy = spring.integral()(free["c.q"]) + mass.integral()(free["i.p"])
    assert free.ok and np.ptp(energy) < 1e-6 * energy[0]
    np.testing.assert_allclose(free["c.energy"] + free["i.energy"], energy, rtol=1e-12)
    graph.connect(v, R("r", effort=damper))
    assert compile_model(graph).simulate(10.0).ok


@pytest.mark.parametrize("kind", KINDS)
def test_a_resistor_is_inverted_where_others_set_its_effort(kind):
    x = np.linspace(-3.0, 3.0, 13)
    curve = signals.curve(x, x**3 + x, kind, outside="extend")
    for law in ({"effort": curve}, {"flow": curve}):
        graph, e = Graph("loaded"), J0("e") if "effort" in law else J1("f")
        graph.connect(Se("u", lambda t: 5.0 * t - 3.0, signals=["time"]), e) if "effort" in law else graph.connect(
            I("i", 1.0, initial=4.0), e
        )
        graph.connect(e, R("r", **law))
        run = compile_model(graph).simulate(2.0)
        given, taken = (run["r.flow"], run["r.effort"]) if "effort" in law else (run["r.effort"], run["r.flow"])
        assert run.ok
        np.testing.assert_allclose(curve(given), taken, atol=1e-9)


def test_laws_of_linear_curves_have_their_inverse():
    curve = signals.curve(X, Y, outside="extend")
    assert R("r", effort=curve).law.flow.function is curve.inverse
    assert R("r", flow=curve).law.effort.function is C("c", output=curve).law.inverse.function is curve.inverse


def test_a_storage_is_inverted_where_others_set_its_output():
    curve = signals.curve([-2.0, 0.0, 1.0, 2.0], [-1.0, 0.0, 2.0, 3.0], outside="extend")
    graph, e = Graph("source on a capacitor"), J0("e")
    graph.connect(Se("u", lambda t: 2.5 * t, signals=["time"]), e).connect(e, C("c", output=curve))
    run = compile_model(graph).simulate(1.0)
    np.testing.assert_allclose(run["c.q"], curve.inverse(2.5 * run.t), atol=1e-12)


@pytest.mark.parametrize("kind", ["linear", "akima"])
@pytest.mark.parametrize(
    "element",
    [
        lambda curve: R("part", effort=curve),
        lambda curve: C("part", output=curve),
        lambda curve: C("part", output=curve, initial=1.0),
    ],
)
def test_a_curve_that_is_not_monotone_is_refused_where_an_inverse_is_needed(element, kind):
    for outside, values, why in (("extend", [-1.0, 1.0, 0.5], "between 0 and 1"), ("hold", [-1.0, 0.0, 0.5], "beyond -1 and 1")):
        graph, e = Graph("loaded"), J0("e")
        part = element(signals.curve([-1.0, 0.0, 1.0], values, kind, outside=outside))
        graph.connect(Se("u", 1.0), e).connect(e, part)
        with pytest.raises(
            ModelError, match=rf'E180 . "part", whose effort is set by other elements(.|\n)*{why}(.|\n)*test_curves.py'
        ):
            compile_model(graph)
        free, v = Graph("free"), J1("v")
        free.connect(v, I("m", 1.0)).connect(v, part)
        compile_model(free)


def test_the_advice_on_an_inverse_holds():
    """Both cures of E180 compile; the tangent of a monotone curve may be flat at an end."""
    for values, kind, cure in ((X**3 + X, "monotone", 'outside="extend"'), (Y, "monotone", 'kind="linear", outside="extend"')):
        with pytest.raises(ModelError, match=f"constant beyond(.|\\n)*try: {cure}"):
            signals.curve(X, values, kind).need_monotone("this")
    for curve in (signals.curve(X, X**3 + X, "monotone", outside="extend"), signals.curve(X, Y, outside="extend")):
        graph, e = Graph("loaded"), J0("e")
        graph.connect(Se("u", 1.0), e).connect(e, R("part", effort=curve))
        assert compile_model(graph).simulate(1.0, samples=[1.0]).ok


def test_friction_takes_the_stribeck_curve_of_its_speed():
    stribeck = signals.curve([0.0, 0.1, 0.5, 2.0], [1.5, 1.0, 0.8, 1.0], "monotone")
    graph, v = Graph("slide"), J1("v")
    graph.connect(v, I("m", 1.0, initial=2.0))
    graph.connect(v, Friction("f", 1.0, scale=lambda speed: stribeck(abs(speed)), signals=["m.flow"]))
    run = compile_model(graph).simulate(1.5)
    moving = run["m.flow"] > 1e-3
    np.testing.assert_allclose(run["f.effort"][moving], stribeck(run["m.flow"][moving]), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_each_point_of_a_curve_of_time_is_a_break_also_in_its_period(kind):
    t = np.linspace(0.0, 1.0, 6)
    graph = Graph("drive")
    graph.add(
        signals.table("once", "time", t, np.cos(7.0 * t), kind=kind, outside="extend"),
        signals.table("again", "time", t, np.round(np.sin(2.0 * np.pi * t), 12), kind=kind, outside="periodic"),
        signals.integrator("x", "once.y"),
        signals.integrator("z", "again.y"),
    )
    run = compile_model(graph).simulate(3.3, samples=[3.3])
    once = signals.curve(t, np.cos(7.0 * t), kind, outside="extend")
    again = signals.curve(t, np.round(np.sin(2.0 * np.pi * t), 12), kind, outside="periodic")
    assert run["x.y"][-1] == pytest.approx(once.integral()(3.3), abs=1e-12)
    assert run["z.y"][-1] == pytest.approx(again.integral()(3.3), abs=1e-12)


def test_a_curve_of_a_line_in_time_breaks_where_that_reaches_its_points():
    x = np.linspace(-2.0, 4.0, 20)
    curve = signals.curve(x, np.cos(9.0 * x))
    graph, v = Graph("pushed"), J1("v")
    graph.connect(Se("u", lambda t: curve(2.0 * t - 3.0), signals=["time"]), v).connect(v, I("m", 1.0))
    run = compile_model(graph).simulate(3.0, samples=[3.0])
    assert run["m.p"][-1] == pytest.approx(0.5 * curve.integral(-3.0)(3.0), abs=1e-13)


def test_a_map_serves_in_a_block_and_in_a_law():
    torque = signals.characteristic_map([0.0, 100.0, 300.0], [0.0, 1.0], [[5.0, 100.0], [0.0, 120.0], [-20.0, 60.0]])
    graph, w = Graph("engine"), J1("w")
    graph.connect(Se("engine", torque, signals=["rotor.flow", "pedal.y"]), w).connect(w, I("rotor", 0.5)).connect(w, R("r", 0.2))
    graph.add(
        signals.ramp("pedal", 1.0, end=0.5), Block("map", [("y", torque, ["w", "p"])], inputs={"w": "rotor.flow", "p": "pedal.y"})
    )
    run = compile_model(graph).simulate(60.0)
    speed = run["rotor.flow"][-1]
    assert run.ok and run["map.y"][-1] == pytest.approx(0.2 * speed, rel=1e-6)
    assert torque(speed, 0.5) == pytest.approx(0.2 * speed, rel=1e-6)


def test_a_long_curve_adds_no_steps_to_the_tape():
    lengths = set()
    for count in (50, 5000):
        x, tape = np.linspace(0.0, 1.0, count), Tape()
        signals.curve(x, np.sin(x), "akima")(tape.inputs("x", 1)[0])
        lengths.add(len(tape))
    assert len(lengths) == 1 and lengths.pop() < 30


def test_symbols_and_files_carry_curves():
    curve, u = signals.curve(X, Y, "akima"), sympy.Symbol("u")
    formula = curve(u)
    for number in AROUND[::15]:
        assert float(formula.subs(u, number)) == pytest.approx(float(curve(number)), abs=1e-12)
    assert [float(value) for value in curve(array([u, 1.0]))[1:]] == [2.0]
    graph, v = Graph("stored"), J1("v")
    graph.connect(v, C("c", output=signals.curve(X, Y, "akima", outside="extend"), initial=1.0)).connect(v, I("m", 1.0))
    again = parse_model(dump_model(graph))
    first, second = (compile_model(each).simulate(2.0, samples=[2.0])["c.q"][-1] for each in (graph, again))
    assert first == second


WRONG = [
    ("E110", lambda: signals.curve(X, Y, "cubic"), ("kind cannot be 'cubic'", "linear, monotone, akima, spline")),
    ("E110", lambda: signals.curve(X, Y, outside="stop"), ("outside cannot be 'stop'", "hold, extend, periodic")),
    ("E110", lambda: signals.characteristic_map(X, X, np.outer(Y, Y), outside=("hold", "stop")), ("outside",)),
    ("E146", lambda: signals.curve([0.0, 2.0, 1.0], [1.0, 2.0, 3.0]), ("2 is followed by 1, at index 2",)),
    ("E146", lambda: signals.curve([0.0, np.nan], [1.0, 2.0]), ("nan, at index 1",)),
    ("E147", lambda: signals.curve([0.0, 1.0], [1.0, 2.0, 3.0]), ("points (2,), values: shape (3,)",)),
    ("E147", lambda: signals.curve([0.0], [1.0]), ("at least two numbers", "shape (1,)")),
    ("E147", lambda: signals.curve(Parameter([0.0, 1.0], "mm"), [1.0, 2.0]), ("not numbers",)),
    ("E147", lambda: signals.curve([0.0, 1.0], [1.0, np.nan]), ("index 1 is nan", "omit points with nonfinite values")),
    ("E147", lambda: signals.curve([0.0, 1.0], [1.0, 2.0], outside="periodic"), ("equal values at both ends", "differ by 1")),
    ("E147", lambda: signals.characteristic_map(X, X[:3], np.zeros((3, 5))), ("points (5, 3), values: shape (3, 5)",)),
    ("E146", lambda: signals.characteristic_map(X, -X, np.outer(Y, Y)), ("a map, columns",)),
    ("E147", lambda: signals.characteristic_map(X, X, np.outer(Y, Y), outside=("hold", "periodic")), ("both ends",)),
    (
        "E181",
        lambda: signals.curve(X, [0.0, 1.0, 1.0, 1.0, 0.0], outside="periodic").integral().integral(),
        ("grows by", "a state"),
    ),
]


@pytest.mark.parametrize(("code", "make", "parts"), WRONG)
def test_data_that_make_no_curve_are_refused(code, make, parts):
    with pytest.raises(ModelError) as refused:
        make()
    assert f"{code} " in str(refused.value) and "test_curves.py" in str(refused.value)
    assert all(part in str(refused.value) for part in parts), refused.value
