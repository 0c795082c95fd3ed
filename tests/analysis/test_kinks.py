"""`linearise` warns where a formula has a kink or a jump, and only there."""

import warnings

import pytest

from bondgraph import J1, C, Graph, I, R, Se, signals
from bondgraph.analysis import linearise, operating_point
from bondgraph.errors import KinkWarning
from screws.scalars import absolute, equal, less, maximum, minimum, sign, sqrt, where


def cart(*parts) -> Graph:
    graph, v = Graph("cart"), J1("v", domain="translation")
    graph.connect(v, I("m", mass=1.0))
    for part in parts:
        graph.connect(v, part)
    return graph


def stop(edge: float, at: float, unit: float = 1.0) -> C:
    def energy(q):
        return where(less(q, edge * unit), 50.0 * (q - edge * unit) ** 2 / unit**2, 0.0)

    return C("stop", energy=energy, initial=at * unit)


def controlled(lowest: float) -> Graph:
    graph = cart(R("drag", damping=1.0))
    graph.connect(Se("motor", lambda u: u, signals=["law.y"]), graph["v"])
    graph.add(signals.step("reference", 1.0), signals.summation("error", {"reference.y": 1, "v.flow": -1}))
    return graph.add(signals.pid("law", "error.y", 10.0, 5.0, limits=(lowest, 12.0), tracking_time=0.5))


KINKS = {
    "magnitude": (cart(R("drag", effort=lambda f: absolute(f))), "d(m.p')/d(m.p) is -1 on one side, 1 on the other"),
    "one-way damper": (cart(R("drag", effort=lambda f: maximum(0.0, 3.0 * f))), "is -3 on one side, 0 on the other"),
    "ceiling": (cart(R("drag", effort=lambda f: minimum(0.0, 3.0 * f))), "is -3 on one side, 0 on the other"),
    "stop at rest": (cart(stop(0.0, 0.0)), "d(m.p')/d(stop.q) is 0 on one side, -100 on the other"),
    "stop touched": (cart(stop(0.3, 0.3)), "d(m.p')/d(stop.q) is 0 on one side, -100 on the other"),
    "stop in other units": (cart(stop(0.3, 0.3, 1e-9)), "is 0 on one side, -1e+20 on the other"),
    "controller at its limit": (controlled(0.0), "has a kink"),
    "dry friction": (cart(R("drag", effort=lambda f: 5.0 * sign(f))), "jumps at this point (t = 0 s): m.p' is 0 on one side, -5"),
}
SMOOTH = {
    "turbulent drag": cart(R("drag", effort=lambda f: f * absolute(f))),
    "stop at a distance": cart(stop(0.3, 0.3 + 1e-9)),
    "stop at a distance in other units": cart(stop(0.3, 0.3 + 1e-9, 1e-9)),
    "controller within its limits": controlled(-12.0),
    "guarded quotient": cart(R("drag", effort=lambda f: where(less(0.0, absolute(f)), f**3 / where(equal(f, 0.0), 1.0, f), 0.0))),
    "two equal branches": cart(R("drag", effort=lambda f: where(less(f, 0.0), 2.0 * f, f + f))),
    "smooth magnitude": cart(R("drag", effort=lambda f: sqrt(f * f + 1.0))),
}


@pytest.mark.parametrize("name", KINKS)
def test_a_kink_or_a_jump_is_reported(name: str) -> None:
    graph, what = KINKS[name]
    with pytest.warns(KinkWarning) as reports:
        linearise(graph)
    (report,) = reports
    assert what in str(report.message) and report.filename == __file__
    with pytest.warns(KinkWarning):
        graph.compile().linearise()


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_point_is_not(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", KinkWarning)
        linearise(SMOOTH[name])


def test_a_point_off_the_kink_helps():
    compiled = controlled(0.0).compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error", KinkWarning)
        running = linearise(compiled, ["reference.y"], ["v.flow"], t=2.0)
        assert running.B.any()
        operating_point(compiled, t=2.0).linearise()
    with pytest.warns(KinkWarning):
        operating_point(compiled, t=0.0).linearise()
