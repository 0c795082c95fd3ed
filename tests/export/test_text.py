"""Equations as LaTeX and as SymPy: well-formed, readable, and the same numbers as the compiled model."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bondgraph import (
    GY,
    J1,
    MTF,
    TF,
    X0,
    Automaton,
    Block,
    C,
    Compiled,
    EulerJunction,
    Graph,
    I,
    Op,
    R,
    Se,
    StateSpec,
    Transition,
    compile_model,
)
from bondgraph.export import document, latex, sympy_statements
from bondgraph.export.symbols import escaped
from screws.scalars import array, cos, sin

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
    graph.connect(coil, machine).connect(machine, shaft).connect(shaft, I("rotor_1", 0.1)).connect(
        R("bearing 5%", 0.05), shaft
    )
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
    """Vector bonds, an Euler junction, a modulated matrix, a selection and a block."""

    def tilde(p):
        return array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])

    def turned(a):
        return array([[cos(a), -sin(a), 0.0], [sin(a), cos(a), 0.0], [0.0, 0.0, 1.0]])

    graph, omega, world = Graph("spatial"), J1("omega"), J1("world")
    graph.connect(omega, I("body", [[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 4.0]], initial=[0.3, 0.5, -0.7]))
    graph.connect(EulerJunction("euler", lambda p: -tilde(p), signals=["body.p"], dimension=3), omega)
    graph.connect(omega, MTF("turn", turned, signals=["angle.a"], dimensions=(3, 3)).port("1"))
    graph.connect(graph.parts["turn"], world).connect(
        world, C("spring", stiffness=[5.0, 6.0, 7.0], initial=[0.1, 0.2, 0.3])
    )
    graph.connect(world, pick := TF("pick", [0.0, 0.0, 1.0], structural=True)).connect(pick, R("drag", 2.0))
    graph.add(
        Block(
            "angle", [("rate", lambda T, k: k * T[2], ["T", "k"])], inputs={"T": "world.flow"}, parameters={"k": 0.5},
            states={"a": StateSpec(0.4, symbol=r"\alpha")}, rates={"a": "rate"},
        )
    )  # fmt: skip
    return graph


GRAPHS = {"motor": motor, "switched": switched, "spatial": spatial}


def compiled(name: str) -> Compiled:
    return compile_model(GRAPHS[name](), backend="numpy")


@pytest.mark.parametrize("name", GRAPHS)
def test_latex_is_well_formed(name: str) -> None:
    text = document(compiled(name).system)
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


@pytest.mark.parametrize("name", GRAPHS)
def test_latex_is_as_it_was_looked_at(name: str, update_golden: bool) -> None:
    path, text = GOLDEN / f"{name}.tex", document(compiled(name).system)
    if update_golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "pytest tests/export --update-golden, then read the diff"


def test_the_ledger_s_powers_are_printed_on_demand() -> None:
    system = compiled("motor").system
    assert "P_{" not in latex(system)
    assert r"P_{\text{winding}}" in latex(system, powers=True)


def test_every_sign_of_latex_can_be_in_a_name() -> None:
    assert escaped(r"50 % of a_b & {c} #1 ^2 ~ \x $") == (
        r"50 \% of a\_b \& \{c\} \#1 \textasciicircum{}2 \textasciitilde{} \textbackslash{}x \$"
    )


@pytest.mark.parametrize("name", GRAPHS)
def test_sympy_statements_give_the_numbers_of_the_compiled_model(name: str) -> None:
    """Numbers go in statement by statement, by plain substitution."""
    import sympy

    model = compiled(name)
    system, numbers = model.system, {}
    env = model.evaluate(t=0.2)
    given = [s.name for s in system.states] + list(system.parameters) + list(system.modes) + ["time"]
    for value in given:
        _bind(numbers, value, env[value])
    for equation in sympy_statements(system):
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
    lines = [str(equation) for equation in sympy_statements(compiled("switched").system)]
    assert "Eq(v.flow, mass.p/mass.inertia)" in lines
    assert "Eq(spring.effort, spring.q*spring.stiffness)" in lines
