"""Loops that run in turns or as one loop give the results of running them one after another."""

from __future__ import annotations

import platform

import numpy as np
import pytest

from benchmarks.front_end import plate
from bondgraph import Graph, equations
from tests.inner.emit import machine
from tests.inner.schedule import (
    Access,
    KernelLoop,
    Kind,
    Schedule,
    fuse_loops,
    kernels_text,
    loop_blocking,
    machine_code_kernels,
    machine_kernels,
    numpy_kernel,
    schedule_routines,
    tile_loops,
)
from tests.inner.tape import Routine, Tape, listing
from tests.inner.tape import opcodes as op
from tests.schedule.graphs import chain

FEW = 8


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (loop_blocking, machine_code_kernels):
        monkeypatch.setattr(module, "TILE", FEW)


def kind(rng: np.random.Generator, ins: int, outs: int) -> Kind:
    tape = Tape()
    given = tape.inputs("v", ins)
    found = []
    for _ in range(outs):
        total = tape.scalar(0.5)
        for value in given:
            total = total * 0.5 + value * float(rng.uniform(-0.5, 0.5))
        found.append(total)
    straight = listing(Routine("main", tape, (("v", ins),), tuple(found)))
    steps = tuple((code, *((rest[1], 0) if code == op.INPUT else rest)) for code, *rest in straight.steps)
    return Kind(type(straight)(steps, straight.outputs), (1,) * outs)


def places(access: Access, count: int) -> set[int]:
    return {access.start + access.stride * i for i in range(count)}


def random_schedule(seed: int) -> Schedule:
    rng = np.random.default_rng(seed)
    size, loops = 300, []
    homes = [("x", 0, 1)]
    while len(loops) < 6:
        count, parallel = int(rng.integers(34, 46)) if rng.uniform() < 0.8 else 1, True
        outs: list[Access] = []
        for _ in range(int(rng.integers(1, 3))):
            outs.append(Access(str(rng.choice(["w", "w", "out"])), int(rng.integers(0, 200)), int(rng.integers(1, 3))))
        ins = []
        for _ in range(int(rng.integers(1, 4))):
            block, start, stride = homes[int(rng.integers(len(homes)))]
            ins.append(Access(block, max(start + int(rng.integers(-3, 4)), 0), stride))
        used = [(a.block, place) for a in outs for place in places(a, count)]
        if len(set(used)) < len(used) or any((a.block, place) in set(used) for a in ins for place in places(a, count)):
            continue
        loops.append(KernelLoop(kind(rng, len(ins), len(outs)), count, parallel, tuple(ins), tuple(outs)))
        homes += [(a.block, a.start, a.stride) for a in outs if count > 1]
    # only a part of the workspace is read at the end; the remainder need not be stored
    read = [
        KernelLoop(kind(rng, 1, 1), 1, True, (Access("w", int(rng.integers(size)), 0),), (Access("out", size + k, 0),))
        for k in range(6)
    ]
    clear = [KernelLoop(kind(rng, 0, 1), size, True, (), (Access(block, 0, 1),)) for block in ("w", "out")]
    own, nothing = (*clear, *loops, *read), np.zeros(0)
    return Schedule(f"random{seed}", (("x", size),), size + len(read), own, nothing.astype(np.int32), size, nothing)


@pytest.mark.parametrize("quick", [False, True], ids=["optimised", "quick"])
def test_random_loops_agree_with_sequential_evaluation(short: None, quick: bool) -> None:
    made = [random_schedule(seed) for seed in range(40)]
    kernels = machine_kernels(made, quick)
    together, dropped = 0, 0
    for schedule in made:
        given = tile_loops(schedule.loops)
        for number, group in enumerate(given):
            one = fuse_loops(group, [loop for later in given[number + 1 :] for loop in later.loops])
            together += len(group.loops) > 1
            dropped += one is not None and len(one.dropped) > 0
        x = np.random.default_rng(1).normal(size=300)
        wanted = numpy_kernel(schedule)(x)
        np.testing.assert_allclose(kernels[schedule.name](x), wanted, rtol=1e-12, atol=1e-13, err_msg=schedule.name)
    assert together > 15 and dropped > 5


@pytest.mark.parametrize("graph", [chain(60), chain(60, cubic=True), plate(225)], ids=["chain", "cubic chain", "plate"])
def test_models_give_the_same(short: None, graph: Graph) -> None:
    system = equations(graph.freeze())
    made, _, _ = schedule_routines(system)
    schedules = [make() for name, make in made.schedules.items() if name not in ("prepare", "outputs")]
    kernels = machine_kernels(schedules)
    assert any(len(group.loops) > 1 for schedule in schedules for group in tile_loops(schedule.loops))
    rng = np.random.default_rng(2)
    for schedule in schedules:
        given = [rng.uniform(0.5, 1.5, n) for n in schedule.sizes]
        np.testing.assert_allclose(kernels[schedule.name](*given), numpy_kernel(schedule)(*given), rtol=1e-11, atol=1e-12)


def test_a_chain_runs_in_one_loop_that_stores_its_results_alone(short: None) -> None:
    made, _, _ = schedule_routines(equations(chain(60).freeze()))
    rates = made.schedules["rates"]()
    group = max(tile_loops(rates.loops), key=lambda group: len(group.loops))
    found = fuse_loops(group, [])
    assert found is not None and len(group.loops) == 3 and list(group.lags) == sorted(group.lags, reverse=True)
    assert len(found.dropped) == 2 and max(found.carried.values()) <= loop_blocking.MAX_CARRIED_ROUNDS


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="tests processors of this family with AVX-512")
def test_results_apart_are_written_one_by_one_at_counted_places(monkeypatch: pytest.MonkeyPatch) -> None:
    llvm = machine.binding()
    features = type(llvm.get_host_cpu_features())({f"avx512{part}": True for part in ("f", "dq", "vl")} | {"fma": True})
    monkeypatch.setenv("SCREWBOND_PROCESSOR", "host")
    monkeypatch.setattr(machine, "_processor", machine._processor.__wrapped__)  # which caches the processor of this machine
    monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: "skylake-avx512")
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: features)
    made, _, _ = schedule_routines(equations(chain(600).freeze()))
    text = kernels_text([made.schedules["rates"]()])

    def assembly() -> str:
        target = machine.target_machine(2)
        return target.emit_assembly(machine.optimised(text, 2, target))

    code = assembly()
    assert "vmulpd" in code and "vscatter" not in code and "vpextrq" not in code
    cpu, told = machine.processor()
    monkeypatch.setattr(machine, "processor", lambda: (cpu, told.removesuffix(",+prefer-no-scatter")))
    assert "vscatter" in assembly()
