"""Graphs, compiled models and results have methods for tables, start values and plots."""

import inspect
import typing
import warnings

import numpy as np
import pytest
from screwbond.models import attach_contact, contact, ground, rigid_body

import bondgraph
from bondgraph import J1, C, Friction, Graph, I, R, Se, compile_model, signals, simulate
from bondgraph.analysis import linearise, operating_point
from bondgraph.errors import ModelError, RunError
from bondgraph.run_arguments import DEFAULTS, SETTINGS, RunSettings, StartValues
from screws import plane, sphere
from screws.scalars import sin
from tests.inner.compile import Compiled
from tests.inner.render import diagram
from tests.inner.run import simulate as run_program

SPRING = {"domain": "translation"}


def oscillator(name="oscillator"):
    m = J1("m")
    graph = Graph(name).connect(m, I("mass", 2.0, **SPRING))
    return graph.connect(m, C("spring", stiffness=50.0, initial=0.1, **SPRING)).connect(m, R("damper", 1.0, **SPRING))


def stick_slip():
    m = J1("m")
    graph = Graph("stick slip").connect(Se("push", effort=lambda t: 8 * sin(3 * t), signals=["time"], **SPRING), m)
    return graph.connect(m, I("mass", 1.0)).connect(m, Friction("floor", 5.0)).connect(m, C("spring", stiffness=20.0))


@pytest.mark.parametrize("function", [simulate, Compiled.simulate, Graph.simulate, run_program])
def test_settings_are_spelled_out_from_one_record(function):
    shown = {
        name: given
        for name, given in inspect.signature(function).parameters.items()
        if name in SETTINGS or given.kind is given.VAR_KEYWORD
    }
    assert list(shown) == list(SETTINGS) == list(RunSettings.__annotations__)
    kinds = typing.get_type_hints(RunSettings)
    for name, given in shown.items():
        assert given.kind is given.KEYWORD_ONLY
        assert (given.default, given.annotation) == (DEFAULTS[name], kinds[name])
        assert f"\n{name} : " in function.__doc__


def test_every_setting_is_taken():
    usual = oscillator().compile().simulate(0.1)["spring.q"]
    for name, value in DEFAULTS.items():
        np.testing.assert_array_equal(oscillator().simulate(0.1, **{name: value})["spring.q"], usual)
    with pytest.raises(RunError, match=r"E322.*\n.*\n.*try: rtol"):
        oscillator().simulate(0.1, rtoll=1e-3)


def test_graph_by_name():
    inner, outer = oscillator("left"), Graph("pair")
    assert outer.add(inner) is outer
    assert list(outer) == ["left"] and len(outer) == 1 and Graph("empty") and outer["left"] is inner
    assert outer["left.spring"] is inner["spring"] and "left.spring" in outer and "left.sprung" not in outer
    with pytest.raises(KeyError, match=r'^E318 no part in "left" called "sprng"; did you mean "spring"'):
        inner["sprng"]
    with pytest.raises(KeyError, match=r'called "spring\.q"'):
        inner["spring.q"]


def test_graph_methods_are_those_of_the_functions():
    graph = oscillator()
    np.testing.assert_array_equal(graph.simulate(1.0, samples=0.1).x, simulate(compile_model(graph), 1.0, samples=0.1).x)
    assert graph.compile(backend="numpy").simulate(1.0).ok
    assert "spring" in graph.diagram().positions
    own, drawn = (list(inspect.signature(draw).parameters.values()) for draw in (Graph.diagram, diagram))
    assert own[1:] == drawn[1:]
    compiled = graph.compile()
    one, other = compiled.linearise("spring.stiffness", "mass.flow"), linearise(compiled, "spring.stiffness", "mass.flow")
    assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in "ABCD")


def test_states_and_parameters_with_their_units():
    compiled = oscillator().compile()
    assert {name: (q.value, q.unit) for name, q in compiled.parameters.items()} == {
        "mass.inertia": (2.0, "kg"),
        "spring.stiffness": (50.0, "N/m"),
        "damper.resistance": (1.0, "N s/m"),
    }
    assert str(compiled.states).splitlines() == ["mass.p    0. N s", "spring.q  0.1 m"]
    assert set(compiled.states) | set(compiled.parameters) <= set(compiled.names())
    with pytest.raises(KeyError, match=r"spring\.stiffness"):
        compiled.parameters["spring.stifness"]
    assert compiled.parameters({"spring.stiffness": 80.0})[1] == 80.0


def test_a_run_continues_from_the_end_of_another():
    compiled = stick_slip().compile()
    first, whole = (compiled.simulate(end, rtol=1e-10) for end in (1.5, 4.0))
    assert isinstance(first.final, StartValues) and first.final["floor"] == "backward"
    second = compiled.simulate(4.0, t_start=1.5, initial=first.final, rtol=1e-10)
    assert abs(second["spring.q"][-1] - whole["spring.q"][-1]) < 1e-8 * np.abs(whole["spring.q"]).max()
    changed = compiled.simulate(0.5, initial={**first.final, "spring.q": 0.3, "mass.p": 0.0, "floor": "stick"})
    assert changed["spring.q"][0] == 0.3


def test_a_spatial_run_continues_with_its_contacts_and_samples():
    """Runs are interrupted in free flight and in contact, while a block samples the gap every 70 ms."""
    floor = ground("floor", surface=plane())
    moving = {"position": (0.0, 0.0, 0.08), "velocity": (0.5, 0.0, 0.0), "angular_velocity": (3.0, 9.0, -4.0)}
    ball = rigid_body("ball", mass=0.1, inertia=[4e-5] * 3, surface=sphere(0.03), gravity=(0.0, 0.0, -9.81), **moving)
    springs = {"normal_stiffness": 1e4, "normal_damping": 3.0, "tangential_stiffness": 1e4, "tangential_damping": 5.0}
    touch = contact("touch", floor, ball, friction=0.3, **springs)
    graph = attach_contact(Graph("bouncing"), touch)
    graph.add(signals.hold("look", "touch.gap", 0.07))
    compiled = graph.compile()
    whole = compiled.simulate(0.4)
    modes = set()
    for cut in (0.05, 0.1035, 0.21):
        first = compiled.simulate(cut)
        rest = compiled.simulate(0.4, t_start=cut, initial=first.final)
        modes.add(first.final["touch.switch"])
        for name in ("ball.pose", "ball.twist", "look.y"):
            np.testing.assert_allclose(rest[name][-1], whole[name][-1], atol=1e-6 * np.abs(whole[name]).max())
    assert modes == {"free", "contact"}


def test_an_operating_point_is_a_start():
    m = J1("m")
    graph = Graph("held").connect(Se("force", 1.0), m).connect(m, I("mass", 2.0)).connect(m, C("spring", stiffness=50.0))
    compiled = graph.connect(m, R("damper", 1.0)).compile()
    point = operating_point(compiled, free="force.value", targets={"spring.q": 0.2}, initial={"spring.q": 0.1})
    run = compiled.simulate(3.0, initial=point)
    np.testing.assert_allclose(run["spring.q"], 0.2, rtol=1e-9)
    assert run["force.value"] == pytest.approx(10.0)
    pulled = compiled.simulate(1.0, initial=point, parameters={"force.value": 0.0})
    assert pulled["spring.q"][-1] < 0.19
    assert compiled.linearise(initial=point).rates == pytest.approx(0.0, abs=1e-9)
    again = operating_point(compiled, initial=point)
    assert again["spring.q"] == pytest.approx(0.2)


def test_components_by_name():
    m = J1("m")
    graph = Graph("two").connect(m, I("mass", [1.0, 2.0])).connect(m, C("spring", stiffness=[3.0, 4.0], initial=[0.1, 0.2]))
    run = graph.simulate(1.0)
    np.testing.assert_array_equal(run["spring.q[1]"], run["spring.q"][:, 1])
    with pytest.raises(KeyError, match="no component"):
        run["spring.q[2]"]


def rolling():
    ball = rigid_body("ball", mass=0.1, inertia=[4e-5] * 3, surface=sphere(0.03), position=(0.0, 0.0, 0.03))
    return contact("touch", ground("floor", surface=plane()), ball, normal_stiffness=1e4)


def test_plot():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    run = stick_slip().simulate(4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = run.plot("mass.flow", ["push.effort", "floor.effort"], "floor.mode")
        axes[0].figure.canvas.draw()
    assert [a.get_ylabel() for a in axes] == ["mass.flow\n(m/s)", "push.effort, floor.effort\n(N)", "floor.mode"]
    assert axes[-1].get_xlabel() == "time (s)" and [t.get_text() for t in axes[2].get_yticklabels()][:2] == ["stick", "forward"]
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), run["mass.flow"])
    ticks = axes[0].collections[-1].get_segments()
    assert [segment[0][0] for segment in ticks] == [event.time for event in run.events]
    told = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert told == ["floor: forward", "floor: backward"]
    states = run.plot()
    assert [a.get_ylabel() for a in states] == ["mass.p\n(N s)", "spring.q\n(m)"]
    place = attach_contact(Graph("on a plane"), rolling()).simulate(0.1).plot("ball.pose[0]", "ball.pose[6]")
    assert [a.get_ylabel() for a in place] == ["ball.pose[0]", "ball.pose[6]\n(m)"]
    own = pyplot.figure().subplots(1, 1)
    assert run.plot("mass.p", axes=own)[0] is own
    with pytest.raises(ModelError, match="E560"):
        run.plot("mass.p", "spring.q", axes=own)
    pyplot.close("all")


def test_no_two_curves_of_a_panel_look_alike():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    graph = Graph("decays").add(*(signals.transfer_function(f"y{k}", "time", [1.0], [1.0, 1.0]) for k in range(9)))
    (axes,) = graph.compile().simulate(1.0).plot([f"y{k}.y" for k in range(9)])
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == len(axes.lines) == 9
    pyplot.close("all")


def test_to_xarray():
    pytest.importorskip("xarray")
    run = oscillator().simulate(1.0, samples=0.1)
    data = run.to_xarray()
    assert data["spring.q"].attrs["units"] == "m" and float(data["mass.inertia"]) == 2.0
    np.testing.assert_array_equal(data["spring.q"].sel(t=0.5, method="nearest"), run["spring.q"][5])


def test_names_of_the_package():
    assert {name for name in dir(bondgraph) if name[0] != "_"} == set(bondgraph.__all__) | {"analysis", "export", "render"}
