"""Complete sweeps on a GPU whose PTX runs as C give the same bits as on the CPU."""

import shutil

import numpy as np
import pytest

from bondgraph import sweep
from bondgraph.sweeps import events, first_time, last, lowest, peak, uniform
from examples.bouncing_ball import with_restitution
from tests.inner.devices import LoadedKernel, choose
from tests.ptx_emulator import Emulated
from tests.run.stand_in_gpu import StandIn
from tests.sweeps.oscillators import oscillator
from tests.systems import SYSTEMS

pytestmark = [pytest.mark.release, pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")]


class EmulatedGPU(StandIn):
    """GPU whose threads the processor runs one after another, from the PTX that a driver would receive."""

    def load(self, text, entry):
        loaded = super().load(text, entry)
        return LoadedKernel(Emulated(text, self.folder, "-O0"), loaded.stack, loaded.threads, loaded.blocks)

    def work(self, kernel, blocks, address):
        kernel.handle.launch(address, blocks, kernel.threads)


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    plugged = EmulatedGPU(memory=1 << 32)
    plugged.folder = tmp_path
    monkeypatch.setattr(choose, "MAKERS", {"cuda": lambda number: plugged})
    monkeypatch.setattr(choose, "_opened", {})
    return plugged


CASES = {
    "oscillator": (
        oscillator,
        4.0,
        64,
        {"spring.stiffness": uniform(20.0, 80.0)},
        {"top": peak("spring.q"), "course": "spring.q"},
    ),
    "ball": (
        with_restitution,
        4.0,
        64,
        {"ball.inertia": uniform(0.5, 2.0), "ball.p": uniform(-0.5, 0.5)},
        {"end": last("floor.h"), "bounces": events("bounces"), "first": first_time("bounces"), "top": peak("floor.h")},
    ),
    "eggs that collide": (
        SYSTEMS["two bodies"],
        0.05,
        8,
        {"contact.spring.stiffness": uniform(4e4, 6e4)},
        {"deepest": lowest("contact.gap"), "events": events(""), "course": "contact.gap"},
    ),
    "rolling eggs": (
        SYSTEMS["rolling eggs"],
        0.05,
        8,
        {"gravity.spring.force": uniform(0.4, 0.8)},
        {"deepest": lowest("contact.gap"), "events": events(""), "course": "contact.gap"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_sweep_has_the_bits_of_the_cpu(name, gpu, tmp_path):
    build, t_end, runs, points, keep = CASES[name]
    compiled = build().compile()
    asked = {"runs": runs, "keep": keep, "samples": t_end / 40}
    here = sweep(compiled, points, t_end, **asked)
    there = sweep(compiled, points, t_end, **asked, device="cuda", store=tmp_path / "runs.db")
    assert {name: here[name].tobytes() for name in here.names()} == {name: there[name].tobytes() for name in there.names()}
    assert set(there.device) == {"cuda:0"} and there.complete
    assert len(gpu.launched) > 2, "runs must pause and resume"
    assert not np.array_equal(here[next(iter(keep))][:1], here[next(iter(keep))][1:2])
