"""Large models whose formulas contain numbers: one kernel serves formulas that differ only in numbers."""

import numpy as np
import pytest

from bondgraph import J0, J1, C, Graph, I, Op, R, Se, Sf, compile_model
from screws.scalars import sin, tanh
from tests.inner.schedule import MIN_REPETITION, MIN_STATEMENTS, kernels, loops_are_better, schedule_routines

SECTIONS = 150


def driven(sections):
    graph, before = Graph("driven"), None
    for i in range(sections):
        mass, node, joint, w = J1(f"v{i}"), J0(f"f{i}"), J1(f"d{i}"), 1.0 + 0.013 * i
        graph.connect(mass, I(f"m{i}", 1.0, initial=0.1 * (i % 3)))
        graph.connect(before or Sf("wall"), node).connect(node, mass).connect(node, joint)
        graph.connect(joint, C(f"k{i}", stiffness=100.0, initial=0.01 * (i % 5)))
        graph.connect(joint, R(f"c{i}", effort=lambda f, c, w=w: c * tanh(w * f), parameters={"c": 0.5}))
        graph.connect(Se(f"s{i}", lambda t, w=w: sin(w * t), signals=["time"]), mass)
        before = mass
    return graph


def by_hand(sections, t, p, q):
    w = 1.0 + 0.013 * np.arange(sections)
    stretch = np.concatenate([[0.0], p[:-1]]) - p  # mass 1 kg
    force = 100.0 * q + 0.5 * np.tanh(w * stretch)
    return force - np.append(force[1:], 0.0) + np.sin(w * t), stretch


def rates_of(compiled, t, p, q):
    x, m = compiled.initial()
    layout = compiled.program.layout
    places = [[layout[f"{name}{i}.{state}"].start for i in range(len(p))] for name, state in (("m", "p"), ("k", "q"))]
    for own, values in zip(places, (p, q), strict=True):
        x[own] = values
    found = compiled.program.rates(t, x, compiled.parameters(), m)
    return [found[own] for own in places]


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_rates_are_those_by_hand(backend):
    rng = np.random.default_rng(3)
    p, q = rng.normal(size=(2, SECTIONS))
    compiled = compile_model(driven(SECTIONS), backend=backend)
    for own, expected in zip(rates_of(compiled, 0.7, p, q), by_hand(SECTIONS, 0.7, p, q), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-11, atol=1e-11)


def test_many_formulas_are_few_kernels_in_every_routine():
    def kinds(sections):
        made, _, differentiate = schedule_routines(compile_model(driven(sections), backend="numpy").system)
        schedules = [made.schedules[name]() for name in ("prepare", "rates", "powers", "outputs")]
        jacobian, _ = differentiate()
        return [len({loop.kind for loop in schedule.loops}) for schedule in (*schedules, jacobian)]

    assert kinds(SECTIONS) == kinds(2 * SECTIONS)


def test_a_stiff_run_has_the_jacobian_of_its_formulas():
    compiled = compile_model(driven(SECTIONS))
    runs = [compiled.simulate(0.2, method=method, samples=0.1, rtol=1e-9, progress=False) for method in ("rodas5p", "dop853")]
    np.testing.assert_allclose(runs[0].x, runs[1].x, rtol=1e-5, atol=1e-8)


def test_a_few_formulas_keep_kernels_of_their_own(monkeypatch):
    monkeypatch.setattr(kernels, "MIN_MERGED_KERNELS", SECTIONS * 10)
    alone = compile_model(driven(SECTIONS))
    monkeypatch.undo()
    shared = compile_model(driven(SECTIONS))
    p, q = np.random.default_rng(4).normal(size=(2, SECTIONS))
    for own, other in zip(rates_of(shared, 0.3, p, q), rates_of(alone, 0.3, p, q), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-13, atol=1e-13)


def test_formulas_that_differ_in_numbers_alone_do_not_keep_a_large_model_out_of_loops():
    kinds = {(Op("f", lambda x, w=w: sin(w * x)), ((),), 1): 3 for w in np.linspace(0.3, 0.7, MIN_STATEMENTS)}
    assert len(kinds) * MIN_REPETITION > sum(kinds.values()) and loops_are_better(kinds)
    unlike = {(Op("f", lambda x, n=n: sum([sin(x + k) for k in range(n)], x)), ((),), 1): 1 for n in range(50)}
    assert not loops_are_better(unlike)
