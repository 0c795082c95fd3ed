"""Inputs of functional mock-up units can change at ticks, at the start, and while friction sticks."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from bondgraph import J1, Block, Friction, Graph, I, Se, signals
from bondgraph.export import fmu
from screws.scalars import sin
from tests.export.test_fmu import SETTINGS, Opened

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed: no library can be built")


@pytest.fixture(scope="module")
def opened_slider(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slider")
    graph, v = Graph("slider"), J1("v", domain="translation")
    graph.add(Block("wanted", [("y", lambda a, t: a + 0.0 * t, ["a", "t"])], inputs={"t": "time"}, parameters={"a": 1.0}))
    graph.add(signals.sampled("sum", lambda s, u: s + u, period=0.25, signals=["wanted.y"]))
    graph.connect(Se("push", lambda u, t: u * sin(30.0 * t), signals=["wanted.y", "time"]), v).connect(v, I("mass", inertia=1.0))
    graph.connect(v, Friction("ground", 1.0, stick_limit=1.5, domain="translation"))
    outputs = ["sum.y", "mass.flow", "ground.effort"]
    return Opened(fmu(graph, folder / "slider.fmu", t_end=1.0, inputs=["wanted.a"], outputs=outputs, page=False, **SETTINGS))


def test_a_tick_acts_at_its_point_on_the_inputs_there(opened_slider):
    one, named, seen = opened_slider.instance(span=1.0), opened_slider.references, []
    for t, goal, value in ((0.0, 0.2, 2.0), (0.2, np.nextafter(0.25, 0.0), None), (0.25, 0.3, 4.0), (0.3, 0.5, 7.0)):
        for each in (9.0, value) if value else ():
            one.setFloat64([named["wanted.a"]], [each])
            seen += one.getFloat64([named["sum.y"]])
        one.doStep(t, goal - t)
    assert [*seen, *one.getFloat64([named["sum.y"]])] == [9.0, 2.0, 11.0, 6.0, 6.0, 6.0, 13.0]
    one.freeInstance()
    one = opened_slider.instance(span=1.0, eventModeUsed=True, earlyReturnAllowed=True)
    one.enterStepMode()
    assert one.doStep(0.0, 0.5)[-1] == 0.25
    one.enterEventMode()
    one.updateDiscreteStates()
    one.setFloat64([named["wanted.a"]], [7.0])
    assert one.getFloat64([named["sum.y"]]) == [8.0]
    one.freeInstance()


def test_friction_slips_by_an_input_that_grows(opened_slider):
    one, named = opened_slider.instance(span=1.0), opened_slider.references
    one.doStep(0.0, 0.3)
    one.setFloat64([named["wanted.a"]], [8.0])
    efforts = []
    for k in range(70):
        one.doStep(0.3 + k / 100, 0.01)
        efforts += one.getFloat64([named["ground.effort"]])
    assert min(efforts) < -0.99 < 0.99 < max(efforts) and np.abs(efforts).max() <= 1.5
    one.freeInstance()
