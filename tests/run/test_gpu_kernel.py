"""Many runs on a GPU whose code runs as C give the same bits as on the CPU."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from bondgraph import J1, C, Graph, I, R, Se, Sf, compile_model, measures, signals
from screws.scalars import sin
from tests.gpu_runs import differences, empty_batch, on_gpu, on_processor
from tests.inner.emit import machine_CompileError as CompileError
from tests.inner.emit import nvptx
from tests.inner.run import Status, gpu_kernel, gpu_kernels, gpu_refusal, kept_of
from tests.ptx_emulator import Emulated

needed = pytest.mark.skipif(shutil.which("gcc") is None, reason="the GPU's code cannot be compiled: gcc is not installed")
KEEP = {
    "top": measures.peak("mass.flow"),
    "way": measures.integral("mass.flow"),
    "middle": measures.mean("spring.q"),
    "course": measures.series("spring.effort"),
}


def pushed(**settings):
    graph, v, still = Graph("pushed"), J1("velocity", domain="translation"), J1("still")
    graph.connect(Sf("rest", 0.0), still).connect(still, C("phase", stiffness=1e-40))
    push = Se("push", lambda t, phase: sin(3.0 * t) + sin(phase), signals=["time", "phase.q"])
    graph.connect(push, v).connect(v, I("mass", inertia=2.0)).connect(v, R("damper", resistance=5.0))
    compiled = compile_model(graph.connect(v, C("spring", stiffness=50.0)), progress=False)
    return compiled.prepare_run(2.0, samples=0.5, progress=False, **settings)


@pytest.fixture(scope="module")
def example():
    run = pushed()
    varied, starts = {"spring.stiffness": np.linspace(10.0, 1000.0, 5)}, {"phase.q": np.array([0.0, 1.0, 2.0, 1e14, 3.0])}
    blocks = tuple(np.ascontiguousarray(np.atleast_2d(block)) for block in run.start_values_many(varied, starts))
    p, x, m = blocks
    kept, outputs = kept_of(run.compiled.program, KEEP)
    return run.program, (p, x, m), kept, outputs, gpu_kernel(run.program, (p, x, m), kept, outputs)


@needed
def test_threads_have_the_bits_of_the_processor(example, tmp_path):
    """A run with a large angle, whose sine needs a C library, is handed back."""
    prepared, blocks, kept, outputs, kernel = example
    expected = on_processor(prepared, blocks, kept, outputs)
    assert (expected.status == Status.STOP).all() and len(set(expected.step_counts)) > 2
    emulated = Emulated(kernel.ptx, tmp_path, "-O0")
    launches = []
    for slots, budget in ((1, 10**6), (2, 1), (40, 7)):
        found = empty_batch(prepared, blocks, kept)
        launches.append(on_gpu(kernel, emulated, blocks, found, slots, budget))
        assert found.status[3] == Status.UNTRUSTED
        found.status[3] = Status.STOP
        assert differences(expected, found) == {}
    assert launches[0] == 1 < launches[2] < launches[1]


def test_only_written_fused_operations_exist(example):
    rounded = re.findall(r"\b(?:add|sub|mul|fma|div|sqrt)\.(\w+)\.f64", example[-1].ptx)
    assert len(rounded) > 1000 and set(rounded) == {"rn"}
    assert not re.search(r"\b(?:add|sub|mul|fma|div|sqrt)\.f64|\.extern", example[-1].ptx)


def test_a_kernel_without_the_target_says_so(monkeypatch):
    monkeypatch.setattr(nvptx, "cross_target", lambda triple: None)
    with pytest.raises(CompileError, match=r"E282 llvmlite .* cannot write code for NVIDIA's GPUs[\s\S]*device=None"):
        nvptx.ptx_of([], "advance_runs")


def test_a_text_that_is_none_is_refused():
    with pytest.raises(CompileError, match=r"E285 LLVM rejects the GPU code"):
        nvptx.ptx_of(["define nothing"], "advance_runs")


def test_unsupported_gpu_operations_are_refused_by_name():
    run = pushed(singular="keep")
    problem = gpu_refusal(run.program)
    assert problem is not None and (problem.code, problem.title) == ("E283", 'runs of "pushed" cannot use a GPU')
    assert 'singular="keep"' in problem.details[0] and "device=None" in problem.cures[0]
    interpreted = replace(run.program, program=replace(run.program.program, texts=None))
    with pytest.raises(Exception, match=r"E283 [\s\S]*loops of kernels"):
        gpu_kernel(interpreted, ())


def test_a_run_that_does_not_fit_a_thread_is_refused(monkeypatch, example):
    monkeypatch.setattr(gpu_kernels, "MAX_LOCAL_BYTES", 1024)
    with pytest.raises(Exception, match=r'E284 a run of "pushed" does not fit in the memory of a GPU thread[\s\S]*at most 1 KB'):
        gpu_kernel(example[0], example[1])


def test_clocks_with_different_parameters_are_distinguished(example):
    graph = Graph("sampled")
    graph.add(signals.sampled_pid("pid", "mass.flow", kp=1.0, ki=0.0, kd=0.0, period=0.1))
    v = J1("v", domain="translation")
    graph.connect(Se("force", lambda u: u, signals=["pid.y"]), v).connect(v, I("mass", 1.0))
    run = compile_model(graph, progress=False).prepare_run(1.0, progress=False)
    assert gpu_refusal(run.program) is None
    p, _, _ = run.start_values_many({"pid.period": np.array([0.1, 0.2, 0.1, np.nextafter(0.1, 1.0)])})
    with run.program._workspace() as space:
        kernel = replace(example[-1], clock_values=space.schedules.values, first=p[0])
    assert kernel.same_clocks(p).tolist() == [True, False, True, False]
    assert example[-1].same_clocks(example[1][0]).all(), "without clocks"
