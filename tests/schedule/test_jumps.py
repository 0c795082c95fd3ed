"""Resets of large models, which share code where they are equal."""

from __future__ import annotations

import re

import numpy as np
from screwbond.models import attach_contact, contact, ground, rigid_body

from bondgraph import Graph, compile_model, equations
from screws.surfaces import plane, sphere
from tests.inner.emit import DeferredKernel
from tests.inner.run import EventHandler
from tests.inner.schedule import kernels_in_loops, numpy_kernel, schedule_routines, shared_kernels, shared_text
from tests.schedule.graphs import blocks, bouncing


def dropped(count: int) -> Graph:
    graph, floor = Graph("dropped"), ground("floor", surface=plane())
    graph.add(floor)
    for k in range(count):
        at, round_shape = (0.3 * k, 0.0, 0.3), sphere(0.05 + 0.01 * k)
        ball = rigid_body(f"ball {k}", mass=0.1 + k, inertia=(1e-4,) * 3, position=at, surface=round_shape)
        graph.add(ball)
        attach_contact(graph, contact(f"touch {k}", floor, ball, normal_stiffness=1e4 + k, normal_damping=5.0))
    return graph


def test_resets_leave_all_other_states_and_have_the_bits_of_the_reference():
    system = equations(dropped(3).freeze())
    made, _, _ = schedule_routines(system)
    schedules = made.build_jumps()
    assert len(schedules) == 9, "for each contact, separation and both changes of chart"
    kernels, random = shared_kernels(schedules), np.random.default_rng(1)
    x, p = blocks(system)
    prepared = np.concatenate([p, numpy_kernel(made.schedules["prepare"]())(p)])
    samples = random.normal(size=(5, len(x)))
    for schedule in schedules:
        reference, kernel = numpy_kernel(schedule), kernels[schedule.name]
        given = (0.0, samples, prepared, np.zeros(len(system.modes)))
        expected = np.array([reference(0.0, sample, *given[2:]) for sample in samples])
        found = kernel.many(*given)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(found, [kernel(0.0, sample, *given[2:]) for sample in samples])
        changed = set(np.flatnonzero((found != samples).any(axis=0)).tolist())
        assert 0 < len(changed) <= 3
        event = system.events[int(schedule.name.removeprefix("reset_"))]
        assert changed <= {place for name, _ in event.resets for place in system.places[name]}


def test_resets_that_are_alike_are_one_text():
    def forms(count: int) -> tuple[int, int]:
        made, _, _ = schedule_routines(equations(dropped(count).freeze()))
        text, _, _ = shared_text(made.build_jumps())
        return len(set(re.findall(r"define internal void @(alike\.form\d+)", text))), len(made.jumps)

    assert forms(8) == (3, 24) and forms(12) == (3, 36)


def test_all_resets_are_there_with_the_first():
    system = equations(bouncing(20).freeze())
    kernels = kernels_in_loops(schedule_routines(system)[0], True)
    resets = [kernel for name, kernel in kernels.items() if name.startswith("reset_")]
    assert len(resets) == 20 and not any(kernel.is_made for kernel in resets)
    assert all(isinstance(kernel, DeferredKernel) and kernel.n_out == 60 for kernel in resets)
    assert resets[3].address and all(kernel.is_made for kernel in resets)
    assert len({kernel.address for kernel in resets}) == 20


def test_python_compiles_once_for_all_events_of_a_large_model_and_settles_none(monkeypatch):
    asked, compile_kernels = [], EventHandler._compile_kernels
    monkeypatch.setattr(EventHandler, "_compile_kernels", lambda handler: asked.append(1) or compile_kernels(handler))
    compiled = compile_model(bouncing(150))
    assert compiled.program.resets[0] is not None and not compiled.program.resets[0].is_made, "the model must be large"
    statistics = compiled.simulate(0.25).statistics
    assert statistics.events > 15 and statistics.events_in_python == 0 and len(asked) == 1


def test_small_models_know_the_time_as_large_ones_do():
    assert schedule_routines(equations(bouncing(2).freeze()))[0].autonomous
