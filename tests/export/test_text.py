"""Equations as LaTeX and as SymPy are well-formed and equal to the compiled model."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bondgraph import (
    GY,
    IC,
    J0,
    J1,
    MTF,
    TF,
    X0,
    Automaton,
    Block,
    C,
    Compiled,
    Constraint,
    Diode,
    EulerJunction,
    Graph,
    I,
    ModelError,
    Op,
    R,
    Se,
    Sf,
    StateSpec,
    Transition,
    compile_model,
)
from bondgraph.analysis import linearise
from bondgraph.export import c_source, document, latex, state_equations, sympy_statements
from bondgraph.signals import hold
from examples.bouncing_ball import with_restitution
from screws.scalars import array, cos, sin
from tests.inner.output import escape_latex
from tests.inner.render import diagram

GOLDEN = Path(__file__).parent / "golden"


def motor() -> Graph:
    graph = Graph("DC motor & hoist")
    coil, shaft = (
        J1("coil", domain="electrical", symbols={"flow": "i"}),
        J1("shaft", domain="rotation", symbols={"flow": r"\omega"}),
    )
    machine = GY("machine", 0.2, domains=("electrical", "rotation"), symbols={"matrix": "K_t"})
    graph.connect(Se("supply", 5.0), coil).connect(coil, R("winding", 4.0)).connect(
        coil, I("inductance", 0.5, symbols={"p": r"\lambda"})
    )
    graph.connect(coil, machine).connect(machine, shaft).connect(shaft, I("rotor_1", 0.1)).connect(R("bearing 5%", 0.05), shaft)
    return graph


def switched() -> Graph:
    graph = Graph("switched")
    release = ("spring.q", lambda q: 0 * q, ("spring.q",))
    off = Transition("closed", "open", Op("itself", lambda q: q - 1.0, "#1 - 1"), ("spring.q",), (release,), kind="off")
    graph.add_automaton(Automaton("clutch", ("open", "closed"), "closed", (off,)))
    gate = X0("gate", automaton="clutch", active=["closed"])
    graph.connect(v := J1("v"), I("mass", 2.0, initial=1.0)).connect(v, gate).connect(
        gate, C("spring", stiffness=3.0, initial=0.3)
    )
    return graph.connect(gate, R("slip", 5.0))


def spatial() -> Graph:
    def tilde(p):
        return array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])

    def turned(a):
        return array([[cos(a), -sin(a), 0.0], [sin(a), cos(a), 0.0], [0.0, 0.0, 1.0]])

    graph, omega, world = Graph("spatial"), J1("omega"), J1("world")
    graph.connect(omega, I("body", [[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 4.0]], initial=[0.3, 0.5, -0.7]))
    graph.connect(EulerJunction("euler", lambda p: -tilde(p), signals=["body.p"], dimension=3), omega)
    graph.connect(omega, MTF("turn", turned, signals=["angle.a"], dimensions=(3, 3)).port("1"))
    graph.connect(graph.parts["turn"], world).connect(world, C("spring", stiffness=[5.0, 6.0, 7.0], initial=[0.1, 0.2, 0.3]))
    graph.connect(world, pick := TF("pick", [0.0, 0.0, 1.0], structural=True)).connect(pick, R("drag", 2.0))
    graph.add(
        Block(
            "angle",
            [("rate", lambda T, k: k * T[2], ["T", "k"])],
            inputs={"T": "world.flow"},
            parameters={"k": 0.5},
            states={"a": StateSpec(0.4, symbol=r"\alpha")},
            rates={"a": "rate"},
        )
    )
    return graph


def held() -> Graph:
    lands = Transition("free", "on", lambda h: -h, ("stop.h",), kind="lands")
    leaves = Transition("on", "free", Op("-multiplier", lambda force: -force, "-#1"), ("stop.multiplier",), kind="leaves")
    graph = Graph("held").add_automaton(Automaton("touch", ("free", "on"), "free", (lands, leaves)))
    graph.connect(v := J1("v"), I("mass", 2.0)).connect(Se("push", -1.0), v).connect(v, gear := TF("gear", 0.5))
    graph.connect(gear, J1("w")).connect(graph.parts["w"], I("follower", 3.0))
    return graph.connect(v, Constraint("stop", initial=0.1, automaton="touch", active=["on"], alpha2=1.0))


def rectified() -> Graph:
    graph, a, node = Graph("rectified"), J1("a"), J0("node")
    graph.connect(Se("E", -24.0), a).connect(a, R("on", 1e-3)).connect(a, node)
    return graph.connect(node, Diode("D")).connect(node, I("L", 1e-4))


GRAPHS = {"motor": motor, "switched": switched, "spatial": spatial, "held": held, "rectified": rectified}


def compiled(name: str) -> Compiled:
    return compile_model(GRAPHS[name](), backend="numpy")


@pytest.mark.parametrize("name", GRAPHS)
def test_latex_is_well_formed(name: str) -> None:
    text = latex(compiled(name))
    plain = re.sub(r"\\[\\{}&%#_$]", "", text)
    depth = 0
    for sign in plain:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0
    for environment in set(re.findall(r"\\begin\{(\w+\*?)\}", text)):
        assert text.count(rf"\begin{{{environment}}}") == text.count(rf"\end{{{environment}}}")
    body = text[text.index(r"\begin{align*}") : text.index(r"\end{align*}")]
    for line in body.splitlines()[1:]:
        if not line.startswith(r"\intertext"):
            outside = re.sub(r"\\begin\{bmatrix\}.*?\\end\{bmatrix\}", "", line).replace(r"\&", "")
            assert outside.count("&") == 1, line
        assert line.count(r"\left") == line.count(r"\right"), line
    assert "#" not in re.sub(r"\\#", "", text) and "%" not in plain
    assert "--" not in body and "+-" not in body and r"\,-" not in body


def test_latex_loses_no_law() -> None:
    graph = Graph("sampled").connect(v := J1("v"), I("m", 1.0)).connect(Se("push", lambda y: -y, signals=["hold.y"]), v)
    graph.add(hold("hold", "v.flow", period=0.1))
    text = latex(compile_model(graph, backend="numpy"))
    assert re.search(r"y_\{\\text\{hold\}\} &:= .* \\text\{at \} t = .* \+ n\\,", text) and "&= 0" not in text
    bounces = latex(compile_model(with_restitution(), backend="numpy"))
    assert r"^{+} = -\text{restitution}" in bounces and "which starts in free" in bounces and "to }\\text{resting}" in bounces
    assert "never by itself" in bounces and "when -1" not in bounces


@pytest.mark.parametrize("name", GRAPHS)
def test_latex_is_as_it_was_looked_at(name: str, update_golden: bool) -> None:
    path, text = GOLDEN / f"{name}.tex", latex(compiled(name))
    if update_golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "pytest tests/export --update-golden, then read the diff"


def test_the_ledger_s_powers_are_printed_on_demand() -> None:
    model = compiled("motor")
    assert "P_{" not in latex(model)
    assert r"P_{\text{winding}}" in latex(model, powers=True)


def test_constraints_and_switches_name_the_vanishing_value() -> None:
    landing, diode = latex(held()), latex(rectified())
    whole = (
        r"\ddot{h}_{\text{stop}} + \alpha_{1,\text{stop}}\,\dot{h}_{\text{stop}} + \alpha_{0,\text{stop}}\,h_{\text{stop}}"
        r" + \alpha_{2,\text{stop}}\,h_{\text{stop}}^3 &= 0 \quad \text{while touch is on}"
    )
    assert whole in landing and r"\lambda &= 0 \quad \text{else}" in landing
    assert r"\text{ when } -h_{\text{stop}} \text{ rises" in landing and r"\text{ when } -\lambda \text{ rises" in landing
    assert r"f_{\text{D}} &= 0 \quad \text{while D is open}" in diode and r"e_{\text{D}} &= 0 \quad \text{else}" in diode
    for text in (landing, diode):
        assert not any(word in text for word in ("held_", "residual", "stopped", "rate_"))


def test_an_algebraic_loop_is_written_in_its_own_values() -> None:
    graph, a, node = Graph("loop"), J1("a"), J0("node")
    graph.connect(Se("u", 1.0), a).connect(a, R("r", 2.0)).connect(a, node).connect(node, R("s", 3.0))
    lines = latex(graph.connect(node, R("w", 3.0)).connect(a, C("c", capacitance=1.0))).splitlines()
    assert r"f_{\text{w}} &= f_{\text{a}}-f_{\text{s}} \\" in lines
    assert not any("residual" in line or "computed" in line for line in lines)


def test_implicit_states_are_written_as_their_conditions() -> None:
    """The condition e_a = e_b determines q_b; the initial guess of Newton's method is not a physical state."""

    def bent(name: str, **more) -> Graph:
        return C(name, output=lambda q: q + q**3, energy=lambda q: q**2 / 2 + q**4 / 4, **more)

    graph, node = Graph("bent"), J0("node")
    graph.connect(node, C("a", capacitance=2.0, initial=1.0)).connect(node, bent("b")).connect(node, bent("d")).connect(
        node, R("r", 1.0)
    )
    lines = latex(graph).splitlines()
    assert r"\left(\hat e\right)_{\text{b}} &= \text{effort}(q_{\text{b}}) \\" in lines
    assert r"e_{\text{a}} &= \left(\hat e\right)_{\text{b}} \\" in lines
    assert lines[lines.index(r"\intertext{\textbf{states}}") + 1 :] == [
        r"\tfrac{d}{dt} q_{\text{a}} &= f_{\text{a}}",
        r"\end{align*}",
    ]


def test_a_dependent_mechanism_is_written_by_its_momentum() -> None:
    """With p = M v, the effort is p' minus the mechanism's own forces."""
    graph = Graph("moved").connect(Sf("hand", 1.0), IC("arm", inertia=lambda q: 2.0 + q * q))
    text = latex(graph)
    for line in (r"p &= M(q_{\text{arm}})\,v_{\text{arm}}", r"\hat e &= \dot p-\dot p^\ast", r"e_{\text{arm}}-\hat e &= 0"):
        assert line in text, text


def test_names_of_results_and_c_are_those_of_users() -> None:
    model = compile_model(rectified(), backend="numpy")
    names, header = model.simulate(1e-3, progress=False).names(), c_source(model).header
    assert {"D.effort", "D.mode", "node -> D:effort", "L.p"} <= set(names)
    assert not [name for name in names if ("->" not in name and ":" in name) or name.endswith("along the arrow")]
    assert not re.search("HELD|RESIDUAL|STOPPED|GUARD|ALONG_THE_ARROW", header)
    assert "RECTIFIED_Y_D_EFFORT" in header and "RECTIFIED_OUTPUTS = " in header


@pytest.mark.parametrize("function", [latex, document, sympy_statements, state_equations, c_source, linearise, diagram])
def test_a_graph_is_compiled_and_anything_else_refused(function) -> None:
    graph = motor()
    model = compile_model(graph, backend="numpy")
    forms = [function(graph), function(graph.freeze()), function(model)]
    assert str(forms[0]) == str(forms[1]) == str(forms[2])
    for wrong in (model.system, "motor", None):
        with pytest.raises(ModelError, match=f"E100 {function.__name__} takes a model, not {type(wrong).__name__}"):
            function(wrong)


def test_every_sign_of_latex_can_be_in_a_name() -> None:
    assert escape_latex(r"50 % of a_b & {c} #1 ^2 ~ \x $") == (
        r"50 \% of a\_b \& \{c\} \#1 \textasciicircum{}2 \textasciitilde{} \textbackslash{}x \$"
    )


@pytest.mark.parametrize("name", ["motor", "switched", "spatial"])
def test_sympy_statements_give_the_numbers_of_the_compiled_model(name: str) -> None:
    import sympy

    model = compiled(name)
    system, numbers = model.system, {}
    env = model.evaluate(t=0.2)
    given = [s.name for s in system.states] + list(system.parameters) + list(system.modes) + ["time"]
    for value in given:
        _bind(numbers, value, env[value])
    for equation in sympy_statements(model):
        right = equation.rhs.subs(numbers)
        left = equation.lhs
        pairs = zip(left, right, strict=True) if isinstance(left, sympy.MatrixBase) else [(left, right)]
        for symbol, result in pairs:
            numbers[symbol] = float(result)
    symbols = {symbol.name: number for symbol, number in numbers.items()}
    x, m = model.initial()
    rates = model.program.rates(0.2, x, model.parameters(), m)
    for state in system.states:
        slot = model.program.layout[state.name]
        for k, rate in enumerate(rates[slot.start : slot.stop]):
            name_ = state.rate + (f"[{k}]" if slot.shape else "")
            assert symbols[name_] == pytest.approx(rate, rel=1e-12, abs=1e-14)


def _bind(numbers: dict, name: str, value) -> None:
    import sympy

    shape = np.shape(value)
    for index in np.ndindex(*shape):
        label = f"{name}[{', '.join(map(str, index))}]" if shape else name
        numbers[sympy.Symbol(label, real=True)] = float(np.asarray(value)[index])


def test_sympy_equations_are_in_the_users_names() -> None:
    lines = [str(equation) for equation in sympy_statements(compiled("switched"))]
    assert "Eq(v.flow, mass.p/mass.inertia)" in lines
    assert "Eq(spring.effort, spring.q*spring.stiffness)" in lines


def test_sympy_equations_contain_the_conditions_of_unknowns() -> None:
    lines = [str(equation) for equation in sympy_statements(compiled("held"))]
    assert "Eq(follower.p', d/dt(follower.p))" in lines
    assert lines[-2:] == ["Eq(follower:residual, 0)", "Eq(stop:residual, 0)"]
