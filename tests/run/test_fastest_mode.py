"""A run with too many steps names the mode that sets its step size: states, period or time constant, and remedies that help."""

import math
import re

import pytest

from bondgraph import J0, J1, TF, C, Graph, I, R, RunEndedWarning, Se, Sf
from screws.scalars import where

PERIOD = 2.0 * math.pi * 1e-3 * math.sqrt(20.0 * 1e-12)


def press(unit: float = 1.0, friction: float = 500.0) -> Graph:
    """Return a hydraulic press, in which oil and mass oscillate with the period PERIOD; `unit` is the ram's unit of speed."""
    ratio, mass, stiffness, friction = 1e-3 * unit, 20.0 / unit**2, 1e7 / unit**2, friction / unit**2
    graph, line, ram, piston = Graph("press"), J0("line", domain="hydraulic"), J1("ram"), TF("piston", ratio)
    graph.connect(Sf("pump", 1e-4), line).connect(line, C("oil", capacitance=1e-12)).connect(line, piston).connect(piston, ram)
    graph.connect(ram, I("mass", inertia=mass)).connect(ram, C("workpiece", stiffness=stiffness))
    return graph.connect(ram, R("friction", resistance=friction))


def failure(graph: Graph, t_end: float, **options):
    with pytest.warns(RunEndedWarning):
        run = graph.simulate(t_end, progress=False, **options)
    assert run.failure.kind == "too many steps"
    return run.failure


@pytest.mark.parametrize("method", ["auto", "dopri5", "rodas5p", "radau5"])
@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_an_oscillation_is_named_with_its_period(method: str, unit: float) -> None:
    ended = failure(press(unit), 0.05, method=method, max_steps=10_000)
    assert set(ended.suspect.split(", ")) == {"oil.q", "mass.p"}
    period = float(re.search(r"oscillate together with a period of (\S+) s", str(ended))[1])
    assert period == pytest.approx(PERIOD, rel=0.05)


def test_the_suggested_damping_and_number_of_steps_help():
    assert press(friction=1e10).simulate(0.05, progress=False).ok
    ended = failure(press(), 1e-4, max_steps=10_000)
    needed = float(re.search(r"max_steps=(\S+)", str(ended))[1])
    assert press().simulate(1e-4, max_steps=int(needed), progress=False).ok


def test_a_decay_is_named_with_its_time_constant():
    graph, v = Graph("stiff"), J1("v")
    graph.connect(v, I("m", 2.0)).connect(v, R("d", 1e9)).connect(v, C("spring", stiffness=1.0, initial=1.0))
    ended = failure(graph, 10.0, method="dop853", max_steps=100_000)
    assert ended.suspect == "m.p" and "m.p, which decays with a time constant of 2e-09 s" in str(ended)
    assert 'try: method="auto"' in str(ended) and graph.simulate(10.0, method="auto", progress=False).ok


def test_a_law_that_jumps_has_no_fastest_mode():
    graph, v = Graph("relay"), J1("v")
    graph.connect(v, I("m", 1.0))
    graph.connect(Se("relay", lambda v: where(v < 1.0, 3.0, -1.0), signals=["v.flow"]), v)
    with pytest.warns(RunEndedWarning):
        ended = graph.simulate(10.0, max_steps=2000, progress=False).failure
    assert ended.kind == "too many steps" and "which" not in str(ended)
