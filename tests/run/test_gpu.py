"""The host's part of many runs on a GPU works with a simulated GPU that fails on demand."""

import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from bondgraph import J1, C, Graph, I, R, Se, sweep
from bondgraph.errors import DeviceWarning, ExtraError, RunError
from bondgraph.sweeps import last, peak, uniform
from tests.inner.devices import choose, device_of
from tests.inner.emit import machine_CompileError as CompileError
from tests.inner.run import CostGuess, PreparedProgram, gpu_launcher, gpu_launches
from tests.inner.sweeps import interface
from tests.run.stand_in_gpu import StandIn, Text

KEEP = {"top": peak("spring.q"), "course": "spring.q"}


@pytest.fixture(scope="module")
def oscillator():
    graph, velocity = Graph("oscillator"), J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", inertia=2.0))
    graph.connect(velocity, C("spring", stiffness=50.0)).connect(velocity, R("damper", resistance=5.0))
    return graph.compile()


@pytest.fixture
def prepared(oscillator):
    return oscillator.prepare_run(1.0, samples=0.25, progress=False)


@pytest.fixture
def plug(monkeypatch):
    def plugged(*gpus, **of_text):
        def maker(number):
            if number >= len(gpus):
                raise RunError(choose.Problem("E287", "there is no such GPU"))
            return gpus[number]

        monkeypatch.setattr(choose, "MAKERS", {"cuda": maker})
        monkeypatch.setattr(choose, "_opened", {})
        monkeypatch.setattr(gpu_launcher, "gpu_refusal", lambda prepared: None)
        monkeypatch.setattr(
            gpu_launcher,
            "gpu_kernel",
            lambda prepared, blocks, kept, outputs, check_rank: Text(prepared, tuple(kept), outputs, check_rank, **of_text),
        )
        return gpus[0] if gpus else None

    return plugged


def starts(prepared, runs, seed=1):
    stiffness = np.random.default_rng(seed).uniform(20.0, 80.0, runs)
    return prepared.start_values_many({"spring.stiffness": stiffness}, {"spring.q": np.linspace(0.0, 0.1, runs)})


def assert_same(one, other):
    for name in ("t", "x", "m", "integrals", "steps", "rejected", "rates", "events"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert all(one.kept[name].tobytes() == other.kept[name].tobytes() for name in one.kept)
    assert one.failures == other.failures and one.warnings == other.warnings and one.errors.keys() == other.errors.keys()


def test_runs_have_the_bits_of_the_cpu_whatever_the_chunks(prepared, plug):
    blocks = starts(prepared, 500)
    here = prepared.run_many(*blocks, KEEP)
    assert set(here.device) == {"cpu"}
    gpu = plug(StandIn())
    there = prepared.run_many(*blocks, KEEP, device="cuda")
    assert_same(there, here)
    assert set(there.device) == {"cuda:0"}
    assert not gpu.held, "memory is released"
    chunks = {call["runs"] for call in gpu.launched}
    assert len(chunks) == 2, "the first launch samples the costs of all runs; all other runs follow"
    for memory in (72_000, 76_000):
        small = plug(StandIn(memory=memory))
        with pytest.warns(DeviceWarning, match='E291 chunks of runs on "cuda:0" become smaller') as said:
            assert_same(prepared.run_many(*blocks, KEEP, device="cuda"), here)
        assert len(said) == 1
        assert max(call["runs"] for call in small.launched) < 500 and not small.held


def test_one_row_serves_all_runs(prepared, plug):
    gpu = plug(StandIn())
    p, x, m = starts(prepared, 20)
    for blocks in ((p, x[:1], m), (p[:1], x, m), (p[:1], x[:1], m)):
        assert_same(prepared.run_many(*blocks, KEEP, device="cuda"), prepared.run_many(*blocks, KEEP))
    assert gpu.launched[-1]["p_stride"] == gpu.launched[-1]["x_stride"] == 0


def test_no_runs_touch_no_gpu(prepared, plug):
    gpu = plug(StandIn())
    empty = prepared.run_many(*starts(prepared, 0), KEEP, device="cuda")
    assert len(empty) == 0 and not gpu.launched and not gpu.allocated


def test_launches_aim_at_a_fifth_of_a_second(prepared, plug, monkeypatch):
    """A step takes 1 ms of the GPU's clock, so the budget converges to 200 steps, a launch of 0.2 s."""
    gpu = plug(StandIn())
    clock = SimpleNamespace(perf_counter=lambda: 1e-3 * sum(call["budget"] for call in gpu.launched))
    monkeypatch.setattr(gpu_launches, "time", clock)
    prepared.run_many(*starts(prepared, 900), device="cuda")
    budgets = [call["budget"] for call in gpu.launched]
    assert budgets[0] == 16
    assert all(after <= 4 * before for before, after in pairwise(budgets))
    assert 1e-3 * max(budgets) <= 0.3
    assert 1e-3 * budgets[-1] > 0.1


def test_runs_that_the_gpu_cannot_finish_return_to_the_cpu(prepared, plug):
    blocks = starts(prepared, 60)
    varied = np.flatnonzero(np.ptp(blocks[0], axis=0))[0]
    back = frozenset(blocks[0][::7, varied].tolist())
    plug(StandIn(), hands_back=back)
    ends = prepared.run_many(*blocks, KEEP, device="cuda")
    assert_same(ends, prepared.run_many(*blocks, KEEP))
    assert np.array_equal(ends.device == "cpu", np.arange(60) % 7 == 0)
    assert np.count_nonzero(ends.device == "cpu") == 9


def test_runs_with_bad_numbers_are_refused_as_here(prepared, plug):
    plug(StandIn())
    p, x, m = starts(prepared, 10)
    x[3] = np.nan
    ends = prepared.run_many(p, x, m, device="cuda")
    assert list(ends.errors) == [3] and ends.device[3] == "cpu" and ends.device[2] == "cuda:0"


def test_other_clocks_go_to_the_cpu_and_most_of_them_nowhere(prepared, plug, monkeypatch):
    plug(StandIn(), moving=True)
    blocks = starts(prepared, 30)
    with pytest.raises(RunError, match=r"E289[\s\S]*change the clocks[\s\S]*device=None"):
        prepared.run_many(*blocks, device="cuda")
    monkeypatch.setattr(Text, "same_clocks", lambda self, p: np.arange(len(p)) % 3 > 0)
    ends = prepared.run_many(*blocks, KEEP, device="cuda")
    assert_same(ends, prepared.run_many(*blocks, KEEP))
    assert np.array_equal(ends.device == "cuda:0", np.arange(30) % 3 > 0)


# --- which GPU ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cuda:", "CUDA", 0, "cuda:-1", ["cuda"]])
def test_refuses_names_of_no_device(prepared, name):
    with pytest.raises(RunError, match=r'E286 device=.* is not a device[\s\S]*try: device="cuda:1"'):
        prepared.run_many(*starts(prepared, 2), device=name)


def test_gpus_have_numbers(plug, prepared):
    first, second = StandIn(), StandIn(name="cuda:1")
    plug(first, second)
    assert device_of("cuda", 1) is first is device_of("cuda:0", 1) and device_of("cuda:1", 1) is second
    ends = prepared.run_many(*starts(prepared, 3), device="cuda:1")
    assert set(ends.device) == {"cuda:1"} and not first.launched
    with pytest.raises(RunError, match="E287"):
        prepared.run_many(*starts(prepared, 3), device="cuda:2")


def test_auto_takes_a_gpu_with_fast_doubles_for_many_runs(plug):
    slow, fast = StandIn(ratio=64), StandIn(ratio=2, name="cuda:1")
    plug(slow, fast)
    assert device_of("auto", 2_000) is fast and device_of("auto", 1_999) is None
    plug(slow)
    assert device_of("auto", 10**6) is None
    plug()
    assert device_of("auto", 10**6) is None


# --- what cannot run on a GPU ---------------------------------------------------------------------------------------------


def test_models_with_python_callbacks_are_refused(oscillator, plug, tmp_path):
    gpu = plug(StandIn())
    points = {"spring.stiffness": [20.0, 50.0]}
    for given, why, cure in (
        ({"keep": {"mine": lambda result: 1.0}}, '"mine" is kept by your own function', "measures"),
        ({"keep": {"a": last("spring.q")}, "executor": object()}, "executor= sends the runs to other workers", "executor=None"),
    ):
        path = tmp_path / "runs.db"
        with pytest.raises(RunError, match=rf"E289[\s\S]*{why}\n *try: {cure}[\s\S]*try: device=None"):
            sweep(oscillator, points, 1.0, store=path, device="cuda", **given)
        assert not path.exists() and not gpu.launched
    kept = sweep(oscillator, points, 1.0, keep={"mine": lambda result: 1.0}, device="auto")
    assert kept["mine"].tolist() == [1.0, 1.0]


def test_refuses_more_results_than_the_memory_here(prepared, plug):
    plug(StandIn())
    p, x, m = starts(prepared, 1)
    with pytest.raises(RunError, match=r"E294[\s\S]*too small for 1000000000 runs[\s\S]*at most .* runs at a time"):
        prepared.run_many(np.broadcast_to(p, (10**9, p.shape[1])), x, m, KEEP, device="cuda")
    with pytest.raises(RunError, match=r"E294.* for 1000000000000 runs"):
        prepared.gpu_launcher("cuda", 10**12, KEEP, is_stored=True)
    assert prepared.gpu_launcher("cuda", 10**6, KEEP, is_stored=True)


def test_the_number_of_runs_advised_for_the_memory_fits(prepared, plug, monkeypatch):
    plug(StandIn())
    monkeypatch.setattr("bondgraph.run.batch.gpu.launcher.machine_memory", lambda: 40 * 1_005_600)
    with pytest.raises(RunError, match="E294") as refused:
        prepared.gpu_launcher("cuda", 10**12, KEEP, is_stored=True)
    advised = int(float(str(refused.value).split("at most ")[-1].split()[0]))
    assert prepared.gpu_launcher("cuda", advised, KEEP, is_stored=True)


def test_refuses_a_gpu_whose_memory_holds_no_block(prepared, plug):
    plug(StandIn(memory=66_000))
    with pytest.raises(RunError, match=r'E290 the memory of "cuda:0"[\s\S]*the stacks of all threads take .* MB'):
        prepared.run_many(*starts(prepared, 20), KEEP, device="cuda")


# --- faults during a batch ------------------------------------------------------------------------------------------------


def test_memory_that_another_program_takes_makes_chunks_smaller_once(prepared, plug):
    blocks = starts(prepared, 200)
    gpu = plug(StandIn(memory=300_000, stack=0, taken={0: 270_000}))
    with pytest.warns(DeviceWarning, match="E291.*\n  cuMemAlloc returned") as said:
        ends = prepared.run_many(*blocks, KEEP, device="cuda")
    assert len(said) == 1 and not gpu.held
    assert_same(ends, prepared.run_many(*blocks, KEEP))


def test_a_lost_gpu_ends_the_runs_or_hands_the_rest_to_the_cpu(prepared, plug, monkeypatch):
    blocks = starts(prepared, 3_000)
    plug(StandIn(lost_at=3))
    with pytest.raises(RunError, match=r'E292 "cuda:0" was lost[\s\S]*if it has a store[\s\S]*device="auto"'):
        prepared.run_many(*blocks, device="cuda")
    assert not choose._opened, "the GPU must be reopened the next time"
    plug(StandIn(lost_at=3))
    monkeypatch.setattr(
        PreparedProgram, "checked_run_and_end", None
    )  # machine code does the remaining runs together, not one by one
    with pytest.warns(DeviceWarning, match='E292 "cuda:0" was lost while it ran: the CPU continues with') as said:
        ends = prepared.run_many(*blocks, KEEP, device="auto")
    assert len(said) == 1
    assert_same(ends, prepared.run_many(*blocks, KEEP))
    assert set(ends.device) == {"cpu", "cuda:0"}


def test_a_text_that_the_driver_refuses(prepared, plug, monkeypatch):
    refusal = RunError(choose.Problem("E293", "the driver refuses to continue"))
    plug(StandIn(refuses=refusal))
    with pytest.raises(RunError, match="E293"):
        prepared.run_many(*starts(prepared, 3_000), device="cuda")
    monkeypatch.setattr(Text, "same_clocks", lambda self, p: np.arange(len(p)) % 3 > 0)
    blocks = starts(prepared, 2_000)
    with pytest.warns(DeviceWarning, match="E293 .* the CPU continues with 2000 runs"):
        ends = prepared.run_many(*blocks, KEEP, device="auto")
    assert_same(ends, prepared.run_many(*blocks, KEEP))
    assert set(ends.device) == {"cpu"}


def test_code_that_cannot_be_made(prepared, plug, monkeypatch):
    plug(StandIn())

    def no_target(*arguments):
        raise CompileError(choose.Problem("E282", "llvmlite cannot write code for GPUs"))

    monkeypatch.setattr(gpu_launcher, "gpu_kernel", no_target)
    with pytest.raises(CompileError, match="E282"):
        prepared.run_many(*starts(prepared, 3), device="cuda")
    with pytest.warns(DeviceWarning, match="E282 .* the CPU continues with 2000 runs"):
        assert set(prepared.run_many(*starts(prepared, 2_000), device="auto").device) == {"cpu"}


def test_runs_that_no_gpu_takes_stay_here_by_auto(prepared, plug, monkeypatch):
    gpu = plug(StandIn())
    monkeypatch.setattr(gpu_launcher, "gpu_refusal", lambda prepared: choose.Problem("E283", "a delay"))
    assert set(prepared.run_many(*starts(prepared, 2_000), device="auto").device) == {"cpu"} and not gpu.launched
    with pytest.raises(RunError, match="E283"):
        prepared.run_many(*starts(prepared, 2), device="cuda")


def test_an_interrupt_between_launches_releases_the_memory(prepared, plug):
    gpu = plug(StandIn(interrupts_at=2))
    with pytest.raises(KeyboardInterrupt):
        prepared.run_many(*starts(prepared, 300), device="cuda")
    assert len(gpu.launched) == 2 and not gpu.held


# --- sweeps -------------------------------------------------------------------------------------------------------------------


def drawn(runs):
    return {"points": {"spring.stiffness": uniform(20.0, 80.0)}, "runs": runs, "keep": {"top": peak("spring.q")}}


def columns(runs):
    return {name: runs[name].tobytes() for name in ("run", *runs.names())}


def test_a_sweep_records_the_device_of_each_run(oscillator, plug, tmp_path):
    here = sweep(oscillator, t_end=1.0, samples=0.25, **drawn(80))
    gpu = plug(StandIn())
    for store in (None, tmp_path / "runs.db"):
        there = sweep(oscillator, t_end=1.0, samples=0.25, store=store, device="cuda", **drawn(80))
        assert columns(there) == columns(here)
        assert set(there.device) == {"cuda:0"} and len(there.device) == 80
    assert set(here.device) == {"cpu"} and not gpu.held


def test_a_sweep_continues_from_its_store_after_a_loss(oscillator, plug, tmp_path, monkeypatch):
    monkeypatch.setattr(interface, "_GPU_LEAST", 30)
    here = sweep(oscillator, t_end=1.0, samples=0.25, **drawn(120))
    path = tmp_path / "runs.db"
    plug(StandIn(lost_at=4))
    with pytest.raises(RunError, match="E292"):
        sweep(oscillator, t_end=1.0, samples=0.25, store=path, device="cuda", **drawn(120))
    stored = interface.Runs(path)
    assert 0 < len(stored) < 120
    first = columns(stored)["top"]
    gpu = plug(StandIn(interrupts_at=1))
    with pytest.raises(KeyboardInterrupt):
        sweep(oscillator, t_end=1.0, samples=0.25, store=path, device="cuda", **drawn(120))
    gpu.interrupts_at = None
    whole = sweep(oscillator, t_end=1.0, samples=0.25, store=path, device="cuda", **drawn(120))
    assert columns(whole) == columns(here) and columns(whole)["top"].startswith(first)
    assert sweep(oscillator, t_end=1.0, samples=0.25, store=path, device=None, **drawn(120)).complete


def test_an_automatic_sweep_continues_on_the_cpu(oscillator, plug, monkeypatch):
    monkeypatch.setattr(choose, "MIN_RUNS", 100)
    monkeypatch.setattr(interface, "_GPU_LEAST", 30)
    plug(StandIn(lost_at=4))
    with pytest.warns(DeviceWarning, match="E292 .* the CPU continues with"):
        runs = sweep(oscillator, t_end=1.0, samples=0.25, device="auto", **drawn(120))
    assert columns(runs) == columns(sweep(oscillator, t_end=1.0, samples=0.25, **drawn(120)))
    assert set(runs.device) == {"cpu", "cuda:0"}


# --- order --------------------------------------------------------------------------------------------------------------------


def test_runs_are_sorted_by_a_guess_of_their_cost():
    random = np.random.default_rng(3)
    numbers = np.hstack([random.uniform(0.0, 4.0, (3300, 1)), np.ones((3300, 1)), random.normal(size=(3300, 1))])
    costs = np.round(100.0 * 10.0 ** (0.5 * numbers[:, 0])).astype(np.int64)
    guess, some, others = CostGuess(numbers), np.arange(100), np.arange(100, 3300)
    assert guess.order(others) is others, "no cost is known"
    guess.learn(some, costs[:100])
    order = guess.order(others)

    def busy_fraction(costs):
        """Return the fraction of time for which threads in groups of 32 are busy until their group's longest run ends."""
        return costs.sum() / sum(32 * group.max() for group in np.split(costs, range(32, len(costs), 32)))

    assert busy_fraction(costs[others]) < 0.5 < 0.9 < busy_fraction(costs[order])
    assert np.array_equal(np.sort(order), others)
    alike = CostGuess(np.ones((200, 2)))
    alike.learn(np.arange(200), np.arange(200))
    assert alike.order(some) is some


def test_a_missing_package_is_named(prepared, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.setattr(choose, "_opened", {})
    with pytest.raises(ExtraError, match=r'E416 .*cuda.*pip install "screwbond\[gpu\]"'):
        prepared.run_many(*starts(prepared, 2), device="cuda")
