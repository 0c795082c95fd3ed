"""An inertia whose velocity is the sum of a free velocity and that of a source: relative motion on a moving base."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, J1, C, Graph, I, R, Sf
from bondgraph.errors import ModelError
from bondgraph.stepping import stepper


def carried(base=0.0, rate=0.0, servo=False):
    """Return a mass on a spring that moves with a base of velocity `base + rate t`, and a second mass on the spring itself."""
    graph, moved, free, body = Graph("carried"), *(J1(name, domain="translation") for name in ("base", "free", "body"))
    node = J0("sum", domain="translation")
    source = Sf("drive", lambda value, t: value + rate * t, signals=["time"], parameters={"value": base})
    if servo:
        command, hub = J1("command", domain="translation"), J0("hub", domain="translation")
        graph.connect(source, command).connect(command, hub).connect(hub, C("servo", stiffness=1e3)).connect(hub, moved)
        graph.connect(moved, I("carriage", 1.0)).connect(moved, R("guide", 20.0))
    else:
        graph.connect(source, moved)
    graph.connect(moved, node).connect(free, node).connect(node, body).connect(body, I("m", 2.0))
    return graph.connect(free, I("m1", 1.0)).connect(free, C("k", stiffness=5.0)).connect(free, R("d", 0.1))


def errors(graph, steps, **settings):
    run = graph.compile().simulate(1.0, samples=[0.0, 1.0], rtol=1e-9, progress=False, **settings)
    ends = [stepper(graph, inertia="full").simulate(1.0, step=h, progress=False)["k.q"][-1] for h in steps]
    return np.abs(np.array(ends) - run["k.q"][-1])


def test_a_base_of_constant_velocity_converges_to_the_run():
    """Steps are of first order; the momentum that the base gives to the mass is no impulse."""
    coarse, fine = errors(carried(0.7), (1e-2, 1e-3))
    assert 5.0 < coarse / fine < 20.0 and fine < 2e-3


@pytest.mark.parametrize("servo", [False, True])
def test_a_base_that_accelerates_is_refused_or_springy(servo):
    if not servo:
        with pytest.raises(ModelError, match=r'E502 a step cannot contain I "m1?"[\s\S]*try: a C between'):
            stepper(carried(rate=0.7), inertia="full")
        return
    coarse, fine = errors(carried(rate=0.7, servo=True), (1e-3, 1e-4))
    assert fine < 0.2 * coarse


def test_a_velocity_that_jumps_between_steps_is_refused():
    steps = stepper(carried(), inertia="full")
    first = steps.step(h=1e-3)
    with pytest.raises(ModelError, match=r'E594 "drive\.value" jumps'):
        steps.step(first, h=1e-3, parameters={"drive.value": 1.0})
    steps.step(first, h=1e-3, parameters={"k.stiffness": 6.0})
