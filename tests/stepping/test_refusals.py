"""Time stepping refuses some models, and reports runs without a solution."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from screwbond.models import planar_body, planar_contact

from bondgraph import GY, J0, J1, C, Constraint, Graph, I, ModelError, R, RunEndedWarning, Se, Sf, Switch
from bondgraph.stepping import Stepper, stepper
from screws.scalars import sqrt
from tests.inner.model import Automaton
from tests.inner.run import Result


def block(*parts: object, friction: float = 0.5, mass: float = 1.0) -> Graph:
    graph = Graph("block")
    x, z, floor = J1("x", domain="translation"), J1("z", domain="translation"), planar_contact("floor", friction=friction)
    graph.connect(x, I("along", mass)).connect(z, I("up", mass)).connect(Se("weight", -10.0 * mass), z)
    graph.connect(z, floor.port("normal")).connect(x, floor.port("tangent"))
    for part in parts:
        graph.connect(part, x)  # type: ignore[arg-type]
    return graph


def servo(graph: Graph, name: str, at: str, start: float, command: float, stiffness: float = 100.0) -> Graph:
    finger, shared = J1(at, domain="translation"), J0(f"{name} servo", domain="translation")
    graph.connect(Sf(f"{name} command", command), shared).connect(shared, finger)
    return graph.connect(shared, C(f"{name} spring", stiffness=stiffness)).connect(finger, I(f"{name} mass", 1.0))


def crossing() -> Graph:
    graph, x = Graph("press"), J1("x", domain="translation")
    graph.connect(x, I("body", 1.0)).connect(x, C("mount", stiffness=10.0))
    for name, sign, speed in (("left wall", 1, 0.1), ("right wall", -1, -0.1)):
        wall, touch = J1(name, domain="translation"), planar_contact(f"at {name}", gap=0.01)
        graph.connect(Sf(f"{name} drive", speed), wall)
        if sign > 0:
            graph.connect(x, touch.port("normal")).connect(touch.port("normal"), wall)
        else:
            graph.connect(wall, touch.port("normal")).connect(touch.port("normal"), x)
    return graph


def pulled() -> Graph:
    """Return a body that a constraint ties to a command of 0.1 m/s, and a wall that moves towards the body at 0.1 m/s."""
    graph, x, tie, wall = Graph("pulled"), *(J1(name, domain="translation") for name in ("x", "tie", "wall"))
    between, touch = J0("between", domain="translation"), planar_contact("at wall", gap=0.01)
    graph.connect(x, I("body", 1.0)).connect(x, between).connect(between, tie).connect(tie, Constraint("rod"))
    graph.connect(Sf("command", 0.1), between).connect(Sf("wall drive", 0.1), wall)
    return graph.connect(x, touch.port("normal")).connect(touch.port("normal"), wall)


def motor() -> Graph:
    graph, turning, current = Graph("motor"), J1("turning", domain="rotation"), J1("current", domain="electrical")
    graph.connect(turning, I("rotor", 1.0)).connect(current, I("coil", 1.0)).connect(Se("battery", 1.0), current)
    gyrator = GY("motor", 0.1)
    return graph.connect(current, gyrator).connect(gyrator, turning)


def switched() -> Graph:
    graph, a = Graph("switched"), J1("a", domain="electrical")
    graph.connect(Se("u", 1.0), a).connect(a, R("r", 1.0)).connect(a, C("c", capacitance=1.0))
    graph.connect(a, Switch("relay", automaton="state", closed=["on"]))
    return graph.add_automaton(Automaton("state", ("on", "off"), "on", ()))


def warm() -> Graph:
    graph, v, pad = Graph("warm"), J1("v", domain="translation"), R("pad", 1.0, heat=True)
    graph.connect(v, I("m", 1.0)).connect(v, pad)
    return graph.connect(pad.port("heat"), C("drum", capacitance=1.0, initial=300.0, domain="heat"))


SETTINGS: list[tuple[str, Callable[[], object]]] = [
    ("E100", lambda: stepper("block")),  # type: ignore[arg-type]
    ("E501", lambda: stepper(block(), inertia="none")),
    ("E501", lambda: stepper(block(), friction="viscous")),
    ("E501", lambda: stepper(block(), facets=5)),
    ("E501", lambda: stepper(block(), reach=-1.0)),
    ("E501", lambda: stepper(block(), restitution=1.5)),
    ("E501", lambda: stepper(block(), restitution={"ceiling": 0.5})),
    ("E501", lambda: stepper(block(), candidates=["block"])),  # type: ignore[arg-type]
    ("E501", lambda: stepper(block()).step(h=0.1, t=1j)),  # type: ignore[arg-type]
    ("E501", lambda: stepper(block()).simulate(1.0, step=0.0)),
    ("E501", lambda: stepper(block()).simulate(-1.0, step=0.1)),
    ("E502", lambda: stepper(block(Se("control", lambda v: -v, signals=["along.flow"])))),
    ("E502", lambda: stepper(switched())),
    ("E502", lambda: stepper(motor())),
    ("E502", lambda: stepper(warm(), inertia="full")),
    ("E503", lambda: planar_contact("floor", friction=-0.3)),
    ("E503", lambda: planar_contact("floor", gap=math.nan)),
    ("E503", lambda: planar_body("box", mass=0.0)),
    ("E150", lambda: planar_body("block", mass=1.0, place=(0.0, 1.0, 0.5))),
]


@pytest.mark.parametrize("code, refused", SETTINGS)
def test_refused(code: str, refused: Callable[[], object]) -> None:
    with pytest.raises(Exception) as found:
        refused()
    assert code in str(found.value)


def test_a_single_contact_overlaps_alone() -> None:
    graph, touch = Graph("walls"), planar_contact("touch", gap=0.05)
    one, other = J1("one", domain="translation"), J1("other", domain="translation")
    graph.connect(Sf("drive", -0.1), one).connect(Sf("rest", 0.0), other)
    graph.connect(one, touch.port("normal")).connect(touch.port("normal"), other)
    with pytest.warns(RunEndedWarning, match="E510"):
        run = stepper(graph).simulate(1.0, step=0.1)
    assert "its total overlap is 0.01 m" in str(run.failure) and "all of them" not in str(run.failure)


def test_a_restitution_without_contacts_has_a_cure() -> None:
    graph, x = Graph("cart"), J1("x", domain="translation")
    graph.connect(x, I("mass", 1.0)).connect(x, C("spring", stiffness=10.0))
    with pytest.raises(ModelError, match=r"(?s)E501.*without restitution="):
        stepper(graph, restitution={"ceiling": 0.5})


def test_a_source_that_reads_velocities_is_held_with_inertia() -> None:
    graph = block(Se("control", lambda v: -20.0 * v, signals=["along.flow"]), friction=0.0)
    with pytest.raises(ModelError, match="control") as refused:
        stepper(graph)
    assert "along.v" in str(refused.value) and "try" in str(refused.value)
    result = stepper(graph, inertia="full").simulate(0.2, step=1e-4, initial={"along.v": 1.0})
    assert result["along.flow"][-1] == pytest.approx(math.exp(-4.0), rel=1e-2)


def test_a_motor_is_held_with_inertia() -> None:
    """Current and speed oscillate through the gyrator with 1 V, 1 H, 1 kg m^2 and 0.1 N m/A."""
    result = stepper(motor(), inertia="full").simulate(1.0, step=1e-4)
    assert result["rotor.flow"][-1] == pytest.approx((1.0 - math.cos(0.1)) / 0.1, rel=1e-3)


def ended(made: Stepper, t_end: float = 1.0, step: float = 0.05, **settings: object) -> Result:
    with pytest.warns(RunEndedWarning):
        return made.simulate(t_end, step=step, **settings)  # type: ignore[arg-type]


def test_walls_that_move_into_each_other() -> None:
    result = ended(stepper(crossing()))
    assert result.failure is not None and result.t[-1] == pytest.approx(0.1)
    said = str(result.failure)
    assert "E510" in said and '"at left wall" and "at right wall" contradict each other' in said


def test_the_overlap_with_a_constraint_adds_both_motions() -> None:
    """Body and wall approach each other at 0.2 m/s and touch at 0.05 s."""
    result = ended(stepper(pulled()))
    assert result.failure is not None and result.t[-1] == pytest.approx(0.05)
    said = str(result.failure)
    assert "E510" in said and "total overlap is 0.01 m" in said


def test_an_unsupported_push_is_reported() -> None:
    result = ended(stepper(block(Se("push", lambda t: 6.0 * t, signals=["time"]))))
    assert result.failure is not None and result.t[-1] == pytest.approx(0.8)
    said = str(result.failure)
    assert "E511" in said and '"along" moves forwards' in said and 'along contact "floor"' in said


def test_a_negative_stiffness_is_reported() -> None:
    result = ended(stepper(block(C("k", output=lambda q: -100.0 * q, energy=lambda q: -50.0 * q * q))))
    assert result.failure is not None and "E513" in str(result.failure) and '"along"' in str(result.failure)


def test_nonfinite_numbers_are_reported() -> None:
    push = Se("push", lambda t: sqrt(0.52 - t), signals=["time"])
    result = ended(stepper(block(push, C("k", stiffness=100.0))))
    assert result.failure is not None and "E515" in str(result.failure) and '"along"' in str(result.failure)
    assert result.t[-1] == pytest.approx(0.5)
    assert math.isfinite(result["along.flow"][-1])
