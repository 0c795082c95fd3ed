"""A user-defined export target in one file writes the routines of a model as plain Python."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from bondgraph import J1, Automaton, C, Graph, I, R, Se, Transition, by_mode, compile_model
from bondgraph.export import OPERATIONS, StraightLine, straight_lines
from screws.scalars import sin

INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "less": "<", "less_equal": "<=", "equal": "=="}
INFIX |= {"both": "and", "either": "or"}
TEXTS = {name: f"({{0}} {sign} {{1}})" for name, sign in INFIX.items()} | {
    **{
        name: f"{name}({{0}})"
        for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "exp", "expm1", "log", "tanh", "floor")
    },
    "atan2": "atan2({0}, {1})",
    "power": "pow({0}, {1})",
    "negative": "(-{0})",
    "reciprocal": "(1.0 / {0})",
    "absolute": "abs({0})",
    "sign": "(copysign(1.0, {0}) if {0} else 0.0)",
    "minimum": "min({0}, {1})",
    "maximum": "max({0}, {1})",
    "opposite": "(not {0})",
    "where": "({1} if {0} else {2})",
    "searchsorted": "bisect_right({1}, {0})",
    "take": "{1}[min(max(int({0}), 0), len({1}) - 1)]",
}


def function(name: str, code: StraightLine) -> str:
    blocks = [block for block, _ in code.blocks]
    lines = [f"def {name}({', '.join(blocks)}):"]
    for place, (operation, *given) in enumerate(code.steps):
        if operation == "constant":
            right = repr(float(given[0]))
        elif operation == "input":
            right = f"{blocks[given[0]]}[{given[1]}]"
        elif operation == "table":
            right = repr(list(given[0]))
        elif operation == "table of inputs":
            right = f"{blocks[given[0]]}[{given[1]}:{given[1] + given[2]}]"
        else:
            right = TEXTS[operation].format(*(f"v{k}" for k in given))
        lines.append(f"    v{place} = {right}")
    return "\n".join([*lines, f"    return [{', '.join(f'v{k}' for k in code.outputs)}]", ""])


def test_every_operation_has_a_text() -> None:
    assert {one.name for one in OPERATIONS} == {*TEXTS, "constant", "input", "table", "table of inputs"}


def energy(q, k):
    return 0.5 * k * q**2 + 0.25 * q**4


@pytest.mark.parametrize("mode", [0.0, 1.0])
def test_it_gives_the_rates(mode: float, tmp_path) -> None:
    graph, flow = Graph("target"), J1("flow")
    turn = Automaton("turn", ("soft", "hard"), "soft", [Transition("soft", "hard", lambda x: x - 1.0, ("spring.q",))])
    graph.add_automaton(turn)
    graph.connect(Se("push", lambda t: sin(3.0 * t), signals=["time"]), flow)
    spring = C("spring", energy=energy, parameters={"k": by_mode("turn", {"soft": 2.0, "hard": 5.0})})
    graph.connect(flow, spring)
    graph.connect(flow, I("mass", 0.7, initial=0.3)).connect(flow, R("loss", 0.1))
    compiled = compile_model(graph)
    (x, _), p = compiled.initial({"spring.q": 0.4}), compiled.parameters()
    codes = straight_lines(compiled)
    module = tmp_path / "target.py"
    given = {"t": [0.3], "x": x.tolist(), "p": p[: codes["prepare"].blocks[0][1]].tolist(), "m": [mode]}
    text = "import json\nfrom bisect import bisect_right\nfrom math import *\n\n" + "\n".join(
        function(name, codes[name]) for name in ("prepare", "rates")
    )
    text += f"\ngiven = {given!r}\nwhole = given['p'] + prepare(given['p'])\n"
    text += "print(json.dumps(rates(given['t'], given['x'], whole, given['m'])))\n"
    module.write_text(text, encoding="utf-8")
    said = subprocess.run([sys.executable, str(module)], capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose(json.loads(said), compiled.program.rates(0.3, x, p, [mode]), rtol=1e-13)
    force = np.sin(0.9) - (5.0 if mode else 2.0) * 0.4 - 0.4**3 - 0.1 * 0.3 / 0.7
    np.testing.assert_allclose(json.loads(said), [0.3 / 0.7, force], rtol=1e-13)
