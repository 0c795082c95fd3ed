"""Fractions, negative counts, arrays of other shapes, ignored arguments, arithmetic and calls of objects are refused."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screwbond.models import control, hand, impact, motion, planar

import screwbond as sb
from bondgraph import J1, Graph, I, Parameter, R, Sf, analysis, estimation, export, signals, sweep
from bondgraph.estimation import Experiment, estimate
from bondgraph.stepping import stepper
from screws import scalars, sphere, surfaces, vectors
from tests.front_door.wrong import Wrong, arm, ball, cart, frozen, is_refused, model, run, simulate
from tests.inner.screws import accepts, described, flags_and_counts, resolved

POINTS = np.array([[1.0, 0.0, 0.0], [-0.5, 0.8, 0.0], [-0.5, -0.8, 0.0]])


def fitted(**settings: Any) -> Any:
    data = Experiment({"spring.q": (run().t, run()["spring.q"])})
    return estimate(model(), {"spring.stiffness": (50.0, 200.0)}, data, progress=False, **settings)


def viscoelastic() -> Any:
    return impact.ViscoelasticImpact(1.0, 1.0, 1.0, 1.0)


def touch(normal: Any) -> Any:
    return planar.mark_planar_contact(Graph("g"), "c", ("body.place", (0.0, 0.0)), (None, normal, 0.1))


def pull(force: Any) -> Any:
    return sb.central_gravity("pull", ball("moon"), ball("earth"), force=force)


WRONG = {
    # whole numbers
    "half an event": Wrong(
        lambda: simulate(1.0, max_events=2.5), ("E306", "2.5", "max_events=2"), lambda: simulate(1.0, max_events=2)
    ),
    "half a dimension": Wrong(lambda: J1("v", dimension=2.5), ("E150", "J1()", "2.5"), lambda: J1("v", dimension=2)),
    "half a point": Wrong(lambda: sphere(1.0).grid(2.5, 3), ("E150", "n_u"), lambda: sphere(1.0).grid(2, 3)),
    "a float as a count": Wrong(lambda: sphere(1.0).grid(3.0, 3), ("E150", "n_u=3"), lambda: sphere(1.0).grid(3, 3)),
    "minus one sample": Wrong(
        lambda: viscoelastic().history(-1), ("E150", "samples", "from 1"), lambda: viscoelastic().history(samples=10)
    ),
    "no points": Wrong(lambda: analysis.reciprocity(cart(), points=0), ("E150", "points"), lambda: analysis.reciprocity(cart())),
    "a derivative of negative order": Wrong(
        lambda: motion.s_curve(0.0, 1.0, jerk=1.0).peak(-1),
        ("E150", "order", "from 0"),
        lambda: motion.s_curve(0.0, 1.0, jerk=1.0).peak(0),
    ),
    # arguments that would be ignored
    "the start of an estimate": Wrong(lambda: fitted(t_start=5.0), ("E322", "t_start", "Experiment"), fitted),
    "a strict estimate": Wrong(lambda: fitted(strict=True), ("E322", "strict", "findings"), fitted),
    "start values by number": Wrong(
        lambda: simulate(1.0, initial={1: 2.0}), ("E122", "spring.q"), lambda: simulate(1.0, initial={"spring.q": 2.0})
    ),
    "a time that is no number": Wrong(
        lambda: model().linearise("gain.y", t=np.nan), ("E252", "nan"), lambda: model().linearise("gain.y", t=1.0)
    ),
    "a sweep over text": Wrong(
        lambda: sweep(model(), {"spring.stiffness": "x"}, 0.1, keep={"q": "spring.q"}, progress=False),
        ("E361", "'x'", "try: one number in N/m"),
        lambda: sweep(model(), {"spring.stiffness": [1.0]}, 0.1, keep={"q": "spring.q"}, progress=False),
    ),
    # records, arithmetic, calls
    "an unknown link": Wrong(lambda: arm().links["lowr"], ("E318", '"lower"'), lambda: arm().links["lower"]),
    "an unknown bond": Wrong(lambda: run().bonds["v->mass"], ("E318", "v -> mass"), lambda: run().bonds["v -> mass"]),
    "a link after the last": Wrong(lambda: arm().links[2], ("E318", '"lower"'), lambda: arm().links[1]),
    "systems in series": Wrong(
        lambda: model().linearise("gain.y") * model().linearise("gain.y"),
        ("E150", "Linear", "signals.state_space"),
        lambda: signals.state_space("plant", "controller.y", np.eye(1), np.eye(1), np.eye(1), np.eye(1)),
    ),
    "a sum of graphs": Wrong(lambda: cart() + cart(), ("E150", "graph.add(other)"), lambda: cart().add(Graph("other"))),
    "a difference of runs": Wrong(lambda: run() - run(), ("E150", 'result["mass.flow"]'), lambda: run()["mass.flow"]),
    "half a result": Wrong(lambda: run() // 2, ("E150", 'result["mass.flow"]'), lambda: run()["mass.flow"] // 2),
    "a union of graphs": Wrong(lambda: cart() | cart(), ("E150", "graph.add(other)"), lambda: cart().add(Graph("other"))),
    "a new part in brackets": Wrong(
        lambda: operator.setitem(cart(), "mass", I("mass", mass=2.0)),
        ("E684", 'graph.replace("mass", part)'),
        lambda: cart().replace("mass", I("mass", mass=2.0)),
    ),
    "a part less": Wrong(
        lambda: operator.delitem(cart(), "mass"), ("E684", 'graph.remove("mass")'), lambda: cart().remove("mass")
    ),
    "a result without times": Wrong(lambda: delattr(run(), "t"), ("E684", "copy"), lambda: run().t.copy()),
    "a part of a frozen model": Wrong(
        lambda: operator.setitem(cart().freeze().elements, "mass", I("mass", mass=2.0)),
        ("E684", "graph.replace"),
        lambda: cart().replace("mass", I("mass", mass=2.0)).freeze(),
    ),
    "poles near text": Wrong(
        lambda: model().linearise("gain.y").poles(1, near=[1.0, 2.0]),
        ("E150", "near"),
        lambda: model().linearise("gain.y").poles(1, near=1.0j),
    ),
    "zeros within nothing": Wrong(
        lambda: model().linearise("gain.y", "spring.q").zeros(-1.0),
        ("E150", "tolerance"),
        lambda: model().linearise("gain.y", "spring.q").zeros(1e-12),
    ),
    "elements in order": Wrong(lambda: sorted([R("a", 1.0), R("b", 1.0)]), ("E150", "graph.connect"), cart),
    "a result at a time": Wrong(lambda: run()(0.5), ("E150", "np.interp"), lambda: np.interp(0.5, run().t, run()["mass.flow"])),
    "rates without their name": Wrong(
        lambda: model().ode()(0.0), ("E150", ".rates(t, x)"), lambda: model().ode().rates(0.0, [0.0, 0.0])
    ),
    # arrays
    "a state of one number": Wrong(
        lambda: model().evaluate(0.0, [1.0]), ("E305", "2 start values"), lambda: model().evaluate(0.0, [1.0, 2.0])
    ),
    "a row of points": Wrong(
        lambda: hand.grasp_matrix(POINTS[0], None), ("E150", "(3,)", "(n, 3)"), lambda: hand.grasp_matrix(POINTS, None)
    ),
    "a Jacobian of other freedoms": Wrong(
        lambda: control.task_inertia(np.eye(2), np.eye(3)),
        ("E150", "jacobian", "(m, 2)"),
        lambda: control.task_inertia(np.eye(2), np.ones((1, 2))),
    ),
    "a motion of a result": Wrong(
        lambda: motion.Motion(run(), run()), ("E150", "breaks"), lambda: motion.Motion([0.0, 1.0], [[0.0, 1.0]])
    ),
    "the sine of text": Wrong(lambda: scalars.sin("x"), ("E150", "sin()", "a number"), lambda: scalars.sin(1.0)),
    "a sine of nothing": Wrong(lambda: scalars.sin(), ("E317", "sin()"), lambda: scalars.sin(1.0)),
    "a vector of five": Wrong(
        lambda: vectors.dot(np.zeros(5), np.zeros(5)), ("E150", "(3,)"), lambda: vectors.dot(np.zeros(3), np.zeros(3))
    ),
    "a table of one point": Wrong(
        lambda: scalars.interpolate(0.5, [1.0], [1.0]), ("E147",), lambda: scalars.interpolate(0.5, [0.0, 1.0], [1.0, 2.0])
    ),
    "the centre of a sphere": Wrong(
        lambda: surfaces.nearest_coordinates(sphere(1.0), (0.0, 0.0, 0.0)),
        ("G109",),
        lambda: surfaces.nearest_coordinates(sphere(1.0), (0.0, 0.0, 1.0)),
    ),
    "a normal of no length": Wrong(lambda: touch((0.0, 0.0)), ("E575", "normal"), lambda: touch((0.0, 1.0))),
    "gravity by name": Wrong(lambda: pull("x"), ("E113", "'x'"), lambda: pull(9.81)),
    "a spring as gravity": Wrong(
        lambda: sb.attach_central_gravity(Graph("g"), sb.spatial_spring("s", np.eye(6))),
        ("E458", "central_gravity"),
        lambda: sb.attach_central_gravity(Graph("g"), pull(1.0)),
    ),
    # cures
    "a moment of inertia as a mass": Wrong(
        lambda: frozen(I("m", mass=Parameter(1.0, "kg m^2"))),
        ("E175", 'I("m", inertia=..., domain="rotation")'),
        lambda: I("m", inertia=Parameter(1.0, "kg m^2"), domain="rotation"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_refused_and_its_advice_works(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    is_refused(WRONG[name])


def explained() -> Iterator[Any]:
    for package in (sb, signals, analysis, estimation, export, hand, impact, motion, control):
        for value in map(package.__dict__.get, package.__all__):
            methods = vars(value).values() if isinstance(value, type) else [value]
            yield from (each for each in methods if hasattr(each, "explains_calls"))


def test_every_whole_number_and_flag_of_a_public_function_is_checked() -> None:
    """Python accepts text for a flag, and cuts fractions; `screws.calls` knows these arguments by their annotations."""
    words = ("a whole number", "a whole number or None", "True or False")
    found = 0
    for function in explained():
        own = {name for name, *_ in flags_and_counts(function)}
        for name, parameter in inspect.signature(function).parameters.items():
            if isinstance(parameter.annotation, str) and described(resolved(parameter.annotation, function)) in words:
                assert name in own, f"{function.__qualname__}({name}: {parameter.annotation})"
                found += 1
    assert found > 100


def test_records_of_this_project_are_no_arrays() -> None:
    assert not accepts(run(), np.typing.ArrayLike) and accepts([1.0], np.typing.ArrayLike)


def test_a_report_without_unknowns_announces_none() -> None:
    graph = Graph("held")
    graph.series(Sf("drive", 1.0), R("r", damping=1.0))
    assert "0 unknowns, of which springs, resistors and inertia determine 0\n" in stepper(graph).report()


def test_records_with_arrays_can_be_compared() -> None:
    assert Parameter(np.zeros(2), "m") == Parameter(np.zeros(2), "m") != Parameter(np.ones(2), "m")
    assert run() == run() and run() != simulate(0.5)
