"""Energy forms: port-Hamiltonian, mechanical, Lagrange's or Hamilton's equations of a model, in SymPy."""

from __future__ import annotations

from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.export.forms.records import HamiltonEquations, LagrangeEquations, MechanicalEquations, PortHamiltonian


def port_hamiltonian(model: Compilable, *, numbers: bool = False) -> PortHamiltonian:
    """Return x' = (J - R) grad H + G u, y = G^T grad H of a model of storages, junctions, two-ports, resistors and sources.

    Moduli of two-ports, and resistances, may depend on states. Storages in derivative causality are taken into H. Where sources
    meet resistors directly, terms P, M and S are there as well.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    numbers : put in the numbers of all parameters but those of sources.

    Raises `ModelError` E100 for no model; E277 for an element that has no place in this form; E273, E274 as
    `state_equations` does.

    Source: van der Schaft and Jeltsema, Port-Hamiltonian systems theory (2014), section 4.

    >>> from bondgraph import J1, C, Graph, I, R, Se, compile_model
    >>> graph = Graph("rlc").connect(loop := J1("loop"), C("c", capacitance=2.0))
    >>> graph = graph.connect(loop, I("l", 5.0)).connect(loop, R("r", 3.0))
    >>> print(port_hamiltonian(graph.connect(Se("u", 1.0), loop)))
    x' = (J - R) grad H + G u, y = G^T grad H
    x = [c.q, l.p]
    u = [u.effort]
    y = [u.flow]
    H = c.q**2/(2*c.capacitance) + l.p**2/(2*l.inertia)
    J = [ 0  1]
        [-1  0]
    R = [0             0]
        [0  r.resistance]
    G = [0]
        [1]
    """
    from bondgraph.export.forms.derivation.port_hamiltonian import balance_of

    return balance_of(compiled_form(model, "port_hamiltonian"), numbers)


def mechanical_equations(model: Compilable, *, numbers: bool = False) -> MechanicalEquations:
    """Return M(q) v' + C v + D v + grad V = H^T lambda + B u of a model whose storages are inertias (I, IC) and potentials (C).

    Every other flow follows from the velocities v of the independent inertias; q are all other states. Constraints add
    H v' = gamma.
    `mass_matrix` and `forcing` are those of (v', lambda), as of `sympy.physics.mechanics`.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    numbers : put in the numbers of all parameters but those of sources.

    Raises `ModelError` E100 for no model; E278 for an element that has no place in these equations; E273, E274 as
    `state_equations` does.

    >>> from bondgraph import IC, J1, Graph, R
    >>> from screws.scalars import cos
    >>> arm = IC("arm", inertia=lambda q: 2, potential=lambda q: -20 * cos(q), position=0.3)
    >>> graph = Graph("pendulum").connect(rate := J1("rate"), arm).connect(rate, R("bearing", 1.0))
    >>> print(mechanical_equations(graph))
    M v' + C v + D v + grad V = 0, q' = E v
    q = [arm.q]
    v = [arm.v]
    M = [2]
    C = [0]
    D = [bearing.resistance]
    grad V = [20*sin(arm.q)]
    E = [1]
    """
    from bondgraph.export.forms.derivation.virtual_power import mechanics_of

    return mechanics_of(compiled_form(model, "mechanical_equations"), numbers)


def lagrange_equations(model: Compilable, *, numbers: bool = False) -> LagrangeEquations:
    """Return d/dt dL/dv = E^T dL/dq + Q, L = T - V, of a model whose independent inertias are IC fields, in either form.

    Parameters
    ----------
    model, numbers : as for `mechanical_equations`.

    Raises `ModelError` as `mechanical_equations` does; E278 for velocities that are the rates of no coordinates, too.
    """
    from bondgraph.export.forms.derivation.virtual_power import lagrange_of

    return lagrange_of(compiled_form(model, "lagrange_equations"), numbers)


def hamilton_equations(model: Compilable, *, numbers: bool = False) -> HamiltonEquations:
    """Return q' = E dH/dp, p' = -E^T dH/dq + Q, H = T + V, of a model whose independent inertias are IC fields, in either form.

    Parameters
    ----------
    model, numbers : as for `mechanical_equations`.

    Raises `ModelError` as `lagrange_equations` does.
    """
    from bondgraph.export.forms.derivation.virtual_power import hamilton_of

    return hamilton_of(compiled_form(model, "hamilton_equations"), numbers)
