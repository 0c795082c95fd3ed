"""Long event routines are compiled when first needed, with bit-identical results."""

from __future__ import annotations

import numpy as np
import pytest

from bondgraph import J0, C, Diode, Graph, I, R, Se, compile_model
from screws.scalars import sin
from tests.inner.compile import Compiled, kernels
from tests.inner.emit import llvm
from tests.inner.tape import Routine, Tape


def rectifier() -> Graph:
    graph, plus = Graph("rectifier"), J0("plus")
    source = Se("source", lambda t: 10 * sin(300 * t), signals="time")
    graph.between(None, plus, source, I("coil", inductance=1e-3), Diode("diode"))
    return graph.between(plus, None, C("capacitor", capacitance=1e-4)).between(plus, None, R("load", 10.0))


def compiled_with(least: int, monkeypatch: pytest.MonkeyPatch) -> Compiled:
    monkeypatch.setattr(kernels, "LONG", least)
    return compile_model(rectifier())


def test_events_are_compiled_when_they_happen_with_the_same_bits(monkeypatch):
    later, at_once = compiled_with(1, monkeypatch), compiled_with(10**9, monkeypatch)
    waiting = [kernel for kernel in (*later.program.resets, *later.program.pushes) if kernel is not None]
    assert waiting and not any(kernel.is_made for kernel in waiting)
    assert all(kernel.is_made for kernel in at_once.program.resets if kernel is not None)
    first, second = (compiled.simulate(0.05, rtol=1e-8) for compiled in (later, at_once))
    assert first.statistics.events > 2 and any(kernel.is_made for kernel in waiting)
    np.testing.assert_array_equal(first.x, second.x)


@pytest.mark.parametrize("least, groups", [(5, [["reset_1"], ["reset_0", "reset_2"]]), (8, [["reset_1"]]), (99, [])])
def test_short_routines_of_several_events_wait_together(least, groups, monkeypatch):
    monkeypatch.setattr(kernels, "LONG", least)
    tape = Tape()
    x = tape.inputs("x", 2)
    powers = [x[0]]
    for _ in range(10):
        powers.append(powers[-1] * x[1])
    outputs = {"rates": powers[-1], "reset_0": powers[1], "reset_1": powers[-1], "reset_2": x[0] - x[1]}
    needed = {name: Routine(name, tape, (("x", 2),), (output,)) for name, output in outputs.items()}
    assert kernels._compiled_later(needed) == groups


def test_long_unoptimised_programs_compile_all_routines_at_once(monkeypatch):
    monkeypatch.setattr(kernels, "QUICK", 10)
    assert all(kernel.is_made for kernel in compiled_with(1, monkeypatch).program.resets if kernel is not None)


def test_without_states_there_are_no_rates_beside_the_powers():
    graph = Graph("resistor")
    graph.connect(Se("source", 2.0), R("load", 4.0))
    compiled = compile_model(graph)
    assert compiled.program.rates_and_powers is None and compiled.program.powers is not None
    np.testing.assert_allclose(compiled.simulate(3.0).integrals[-1], [3.0, 3.0], err_msg="1 W from the source and in the load")


def test_powers_that_need_all_of_the_rates_have_no_code_of_their_own(monkeypatch):
    tape = Tape()
    x = tape.inputs("x", 2)
    steps = [x[0] * x[1]]
    for k in range(40):
        steps.append(steps[-1] * (x[0] + 0.1 * k) + x[1])
    rates, powers = (steps[-1], steps[-2]), (steps[-1] * x[0], steps[-2] * x[1])
    routines = [Routine(n, tape, (("x", 2),), o) for n, o in (("rates", rates), ("powers", powers), ("both", rates + powers))]
    monkeypatch.setattr(llvm, "SHARED", 5)
    monkeypatch.setattr(llvm, "FEW", 0.1)
    sums = []
    for limit in (2000, 50):
        monkeypatch.setattr(llvm, "SINGLE_LIMIT", limit)
        sums.append(llvm.routines_text(routines).count("= call double @llvm.fma"))
    assert sums == [80, 40]
