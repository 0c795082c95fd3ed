"""Symbolic matrices A, B, C and D equal published matrices and the linearised compiled model."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from bondgraph import GY, IC, J0, J1, C, Compiled, Constraint, Friction, Graph, I, ModelError, R, Se, Sf, compile_model
from bondgraph.analysis import linearise
from bondgraph.export import LinearEquations, linear_equations
from screws.scalars import cos, sin
from tests.export.numeric import point_of, value_of
from tests.export.test_state_equations import geared
from tests.inner.output import typeset


def compiled(graph: Graph) -> Compiled:
    return compile_model(graph, backend="numpy")


def motor() -> Graph:
    graph, coil, shaft = Graph("motor"), J1("coil"), J1("shaft")
    graph.connect(Se("supply", 5.0), coil).connect(coil, R("winding", 4.0)).connect(coil, I("inductance", 0.5))
    graph.connect(coil, machine := GY("machine", 0.2)).connect(machine, shaft)
    return graph.connect(shaft, I("rotor", 0.1)).connect(shaft, R("friction", 0.03))


def chain(count: int, closed: bool = False) -> Graph:
    graph, before = Graph("chain"), Se("push", 1.0)
    for k in range(count):
        mass, force = J1(f"v{k}"), J0(f"f{k}")
        graph.connect(before, mass).connect(mass, I(f"m{k}", 1.0 + k)).connect(mass, force)
        graph.connect(force, C(f"c{k}", capacitance=0.5 + k))
        before = force
    if closed:
        graph.connect(before, end := J1("end")).connect(end, I("last", 3.0))
        return graph.connect(end, Constraint("hold"))
    return graph.connect(before, Sf("wall", 0.2))


MODELS = {
    "motor": (motor, ("shaft.flow", "supply.flow")),
    "chain": (lambda: chain(4), ("c1.effort",)),
    "long chain": (lambda: chain(18), ()),
    "held": (lambda: chain(2, closed=True), ("hold.multiplier",)),
    "geared": (geared, ("m2.flow",)),
}


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_matrices_are_those_of_the_linearised_model(name: str, numbers: bool) -> None:
    make, outputs = MODELS[name]
    model = compiled(make())
    found = linear_equations(model, outputs=outputs, numbers=numbers)
    near = linearise(model, inputs=list(found.inputs), outputs=list(outputs))
    assert found.states == near.states and found.outputs == tuple(outputs)
    x, m = model.initial()
    at = point_of(model, x, m)
    for own, other in zip((found.A, found.B, found.C, found.D), near.dense(), strict=True):
        assert own.shape == np.shape(other)
        values = np.array(value_of(own, at), dtype=float).reshape(own.shape)
        assert values == pytest.approx(np.asarray(other), rel=1e-12, abs=1e-12)
        assert own.free_symbols <= {sympy.Symbol(n, real=True) for n in found.parameters}


def test_motor_of_the_literature() -> None:
    found = linear_equations(compiled(motor()), outputs=["shaft.flow"])
    Ra, La, k, J, d = (
        sympy.Symbol(n, real=True)
        for n in ("winding.resistance", "inductance.inertia", "machine.ratio", "rotor.inertia", "friction.resistance")
    )
    assert sympy.Matrix([[-Ra / La, -k / J], [k / La, -d / J]]) == found.A
    assert sympy.Matrix([[1], [0]]) == found.B and sympy.Matrix([[0, 1 / J]]) == found.C and sympy.zeros(1, 1) == found.D
    assert str(found).splitlines()[:2] == ["x' = A x + B u, y = C x + D u", "x = [inductance.p, rotor.p]"]
    assert found._repr_latex_() == typeset(found.latex()) and r"\dot{x} &= A\,x + B\,u" in found.latex()
    assert isinstance(found, LinearEquations)


def loop(*parts) -> Graph:
    graph, junction = Graph("model"), J1("loop")
    for part in parts:
        graph.connect(part, junction) if part.kind == "Se" else graph.connect(junction, part)
    return graph


@pytest.mark.parametrize(
    ("graph", "element"),
    [
        (loop(I("m", 1.0), C("duffing", energy=lambda q: q**4)), "duffing"),
        (loop(I("m", 1.0), C("preloaded", output=lambda q: 2.0 * (q - 1.0), energy=lambda q: (q - 1.0) ** 2)), "preloaded"),
        (loop(I("m", 1.0), Se("wind", lambda t: sin(t), signals=["time"])), "wind"),
        (loop(I("m", 1.0), R("drag", effort=lambda f: f * f * f)), "drag"),
        (loop(IC("arm", inertia=lambda q: 1.0, potential=lambda q: -cos(q)), R("air", 0.1)), "arm"),
    ],
)
def test_nonlinear_terms_are_named(graph: Graph, element: str) -> None:
    with pytest.raises(ModelError, match=f'E276 "{element}" is not linear') as caught:
        linear_equations(compiled(graph))
    (problem,) = caught.value.problems
    assert problem.details and "state_equations" in str(problem)


def test_slipping_friction_outside_the_part_is_no_obstacle() -> None:
    arm, arm2, v, w = Graph("arm"), Graph("arm2"), J1("v"), J1("w", dimension=2)
    arm.connect(v, I("m", 2.0)).connect(v, R("r", 3.0))
    arm2.connect(w, I("m", np.eye(2), initial=np.array([1.0, 0.0]))).connect(w, Friction("f", 1.0, dimension=2))
    both = compiled(Graph("arms").add(arm).add(arm2))
    assert float(linear_equations(both, part="arm", numbers=True).A[0, 0]) == -1.5
    with pytest.raises(ModelError, match="E276"):
        linear_equations(both, part="arm2")


def test_derivatives_of_varying_sources_are_inputs() -> None:
    graph = Graph("driven").connect(Sf("u", 1.0), v := J1("v")).connect(v, I("m", inertia=2.0)).connect(v, C("k", stiffness=3.0))
    form = linear_equations(graph, outputs=["u.effort"], varying=["u.value"])
    assert form.inputs == ("u.value", "u.value'") and str(form.D) == "Matrix([[0, m.inertia]])"
