"""Every block has LaTeX, values on symbols, derivatives, and a place on the page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bondgraph import Graph, compile_model, signals
from tests.inner.export import latex, sympy_statements
from tests.inner.schedule import is_large
from tests.signals.chains import chain, compiled, ramped
from tests.signals.test_refusals import WRONG

ROOT = Path(__file__).parents[2]


def everything() -> Graph:
    return chain(
        signals.sine("wave", symbol="w"),
        signals.chirp("chirp", 1.0, 9.0, 2.0),
        signals.step("jump"),
        ramped(),
        signals.ramp("hold", 1.0, 0.0, 2.0),
        signals.smooth_step("smooth"),
        signals.gain("k", "wave.y", 2.0),
        signals.summation("sum", {"wave.y": 1, "k.y": -1}),
        signals.product("times", ["wave.y", "k.y"]),
        signals.limiter("lim", "k.y", -1.0, 1.0),
        signals.dead_zone("dead", "k.y", -1.0, 1.0),
        signals.table("map", "k.y", [0.0, 1.0], [2.0, 3.0]),
        signals.comparator("above", "k.y", 0.5),
        signals.comparator("more", "k.y", "t.y"),
        signals.logic("both", "and", ["above.y", "more.y"]),
        signals.logic("either", "or", ["above.y", "more.y"]),
        signals.logic("neither", "not", ["either.y"]),
        signals.hysteresis("relay", "k.y", -0.5, 0.5),
        signals.rate_limiter("slew", "k.y", -0.5, 0.5),
        signals.quantiser("level", "k.y", 0.3),
        signals.pwm("pulses", "k.y", 0.3),
        signals.integrator("int", "k.y"),
        signals.lowpass("low", "k.y", 0.1),
        signals.derivative_filter("slope", "k.y", 0.1),
        signals.pid("pid", "k.y", 1.0, 2.0, 3.0, 0.1),
        signals.pid("limited", "k.y", 1.0, 2.0, limits=(-1.0, 1.0), tracking_time=0.5),
        signals.transfer_function("tf", "k.y", [1.0], [1.0, 2.0, 3.0]),
        signals.transfer_function("ratio", "k.y", [1.0], [2.0]),
        signals.state_space("ss", ["k.y", "sum.y"], [[0.0, 1.0], [-4.0, -0.4]], np.eye(2), [[1.0, 0.0]], [[0.0, 2.0]]),
    )


def test_every_block_is_written_in_latex() -> None:
    written = latex(everything())
    assert "#" not in written
    for left, right in (("{", "}"), (r"\left(", r"\right)"), (r"\left[", r"\right]")):
        assert written.count(left) == written.count(right)
    assert not re.search(r"_\{\\text\{[^}]*\}\}_", written)  # no second subscript
    assert r"w &= " in written
    assert r"\min\left(\max\left(" in written


def test_every_block_runs_on_symbols() -> None:
    import sympy

    model = compile_model(everything(), backend="numpy")
    values, t = model.evaluate(0.4), 0.4
    numbers = {"time": t}
    for name, number in values.items():
        for index in np.ndindex(np.shape(number)):
            key = f"{name}[{', '.join(map(str, index))}]" if index else name
            numbers[key] = float(np.asarray(number)[index])
    for equation in sympy_statements(model):
        sides = [list(side) if isinstance(side, sympy.MatrixBase) else [side] for side in equation.args]
        for left, right in zip(*sides, strict=True):
            if left.name == "slew.slope":  # d/dt along the motion, which is not a function of the values at one time
                continue
            found = right.subs({s: numbers[s.name] for s in right.free_symbols})
            assert float(found) == pytest.approx(numbers[left.name], rel=1e-12, abs=1e-15), left


@pytest.mark.parametrize("start", [-2.0, -0.6, 0.3, 0.9, 1.7])
def test_jacobian_of_nonlinear_blocks(start: float) -> None:
    blocks = [
        signals.limiter("lim", "u.y", -1.0, 1.0),
        signals.dead_zone("dead", "u.y", -0.5, 0.5),
        signals.table("map", "u.y", [-1.0, 0.0, 0.5, 1.2], [2.0, 3.0, -1.0, 0.0]),
        signals.comparator("above", "u.y", 0.5),
        signals.product("cube", ["u.y", "u.y", "u.y"]),
        signals.transfer_function("tf", "cube.y", [1.0, 2.0], [3.0, 4.0]),
    ]
    sums = [signals.integrator(f"sum of {b.name}", f"{b.name}.y") for b in blocks]
    model = compiled(signals.integrator("u", "time", start), *blocks, *sums)
    program, p, h = model.program, model.parameters(), 1e-6
    (x, m), (starts, rows) = model.initial(), program.jacobian_pattern
    exact, entries = np.zeros((len(x), len(x))), program.jacobian(0.0, x, p, m)
    for column in range(len(x)):
        at = slice(starts[column], starts[column + 1])
        exact[rows[at], column] = entries[at]
    moved = [(program.rates(0.0, x + d, p, m) - program.rates(0.0, x - d, p, m)) / (2 * h) for d in h * np.eye(len(x))]
    np.testing.assert_allclose(exact, np.transpose(moved), atol=1e-7)
    assert np.count_nonzero(exact) >= 5


def test_many_blocks_are_compiled_as_loops() -> None:
    count = 1500
    blocks = [signals.step("u", -1.0, after=2.0), signals.lowpass("lag0", "u.y", 0.5)]
    for k in range(1, count):
        blocks += [signals.lowpass(f"lag{k}", f"k{k}.y", 0.5), signals.gain(f"k{k}", f"lag{k - 1}.y", 3.0)]
    model = compiled(*blocks)
    assert is_large(model.system)
    (x, m), layout = model.initial({"lag7.y": 1.0}), model.program.layout
    rates = model.program.rates(0.0, x, model.parameters({"k8.k": 4.0}), m)
    found = {k: rates[layout[f"lag{k}.y"].start] for k in range(count) if rates[layout[f"lag{k}.y"].start]}
    assert found == {0: pytest.approx(4.0), 7: pytest.approx(-2.0), 8: pytest.approx(8.0)}


def test_the_module_lists_its_blocks() -> None:
    kinds = [name for name in signals.__all__ if getattr(signals, name).__doc__]
    assert len(kinds) == len(set(kinds)) == len(signals.__all__) == 36


def test_the_page_lists_every_block_and_code() -> None:
    page = (ROOT / "docs" / "signals.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)\(", page, re.MULTILINE) == list(signals.__all__)
    assert set(re.findall(r"E14\d|E44\d", page)) == {code for code, _, _ in WRONG}
