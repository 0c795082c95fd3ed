"""With `singular="keep"`, runs pass singular positions on their branch, in agreement with minimal coordinates."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from screwbond.models.chains import BodyInertia, Chain, Link, chain_graph, link_pose

from bondgraph import C, Compiled, Constraint, Graph, I, RunError, Se, compile_model, measures
from examples.gallery.multibody import windows
from screws import joints

Z = np.eye(3)[2]
MOMENT = 0.1


@cache
def crank(rate: float = 3.0, extra: bool = False) -> Compiled:
    """Return a crank and a rod of 1 m and 1 kg each, whose position is singular wherever the slider passes the crank's axis."""
    bars = [
        Link(name, joints.revolute(Z, (k, 0, 0)), BodyInertia(1.0, (MOMENT,) * 3, (k + 0.5, 0, 0)))
        for k, name in enumerate(("crank", "rod"))
    ]
    start = {"position": (0.7, -1.4), "velocity": (rate, -2.0 * rate)}
    bodies = chain_graph(chain := Chain("bars", bars), gravity=(0, 0, 0), **start)
    end = np.array([2.0, 0, 0, 1])
    slide = Constraint(
        "slide",
        dimension=1,
        position=lambda q: (link_pose(chain, 1, q) @ end)[1],
        coordinates={"bars.q": 2},
        alpha1=10.0 * rate / 3.0,
        alpha0=25.0 * (rate / 3.0) ** 2,
    )
    graph = Graph("crank").connect(bodies.port("joints"), slide)
    if extra:
        graph.series(Se("push", lambda t: t, signals=["time"]), I("mass", mass=1.0), C("spring", stiffness=40.0, initial=0.1))
    return compile_model(graph, progress=False)


def turned(rate, t):
    """Return the crank angle (k,) at times t, from the kinetic energy of both bars."""

    def inertia(q):  # of two rods at the angles q and -q: the second's centre moves by (-3/2 sin q, 1/2 cos q)
        return 2 * MOMENT + 0.25 + 2.25 * np.sin(q) ** 2 + 0.25 * np.cos(q) ** 2

    energy = inertia(0.7) * rate**2
    q = solve_ivp(lambda _, q: np.sqrt(energy / inertia(q)), (0, t[-1]), [0.7], t_eval=t, rtol=1e-12, atol=1e-12, method="DOP853")
    return q.y[0]


@pytest.mark.parametrize("rate", [3.0, 3e-4, 3e3])
def test_a_crank_with_an_equal_rod_turns_through_dead_centres(rate):
    t_end = 30.0 / rate
    result = crank(rate).simulate(t_end, samples=t_end / 300, singular="keep", progress=False)
    assert result.ok and len(result.t) == 301 and result.t[-1] == t_end
    q = result["bars.q"]
    assert np.abs(q[:, 1] + 2 * q[:, 0]).max() < 1e-8
    assert np.abs(q[:, 0] - turned(rate, result.t)).max() < 1e-6 and q[-1, 0] > 9 * np.pi
    assert np.abs(result["bars.v"][:, 1] + 2 * result["bars.v"][:, 0]).max() < 1e-8 * rate
    with pytest.warns(UserWarning, match='singular="keep"'):
        ended = crank(rate).simulate(t_end, samples=t_end / 300, progress=False)
    assert ended.failure is not None and ended.failure.kind == "singular position"


def test_four_bars_side_by_side_keep_their_energy_for_ten_seconds():
    """All bars are collinear in ten positions, and their common angle is that of a single pendulum."""
    result = compile_model(windows(), progress=False).simulate(10.0, samples=0.01, singular="keep", progress=False)
    assert result.ok and result.t[-1] == 10.0
    q = result["bars.q"]
    factor = 9.81 * (6 / 2 + 5) / (6 / 3 + 5)
    swing = solve_ivp(
        lambda _, y: [y[1], factor * np.sin(y[0])], (0, 10), [0, -1.0], t_eval=result.t, rtol=1e-12, atol=1e-12, method="DOP853"
    ).y
    assert np.abs(q[:, :6] - swing[0][:, None]).max() < 2e-6 and np.sum(np.diff(np.sign(np.cos(swing[0]))) != 0) == 10
    stored = result.ledger.stored
    assert np.abs(stored - stored[0]).max() < 1e-6 * 9.81 * 8


def test_the_energy_of_driven_parts_is_always_accounted():
    result = crank(extra=True).simulate(5.0, singular="keep", progress=False)
    assert result.ok
    w = np.sqrt(40.0)
    x = 0.1 * np.cos(w * result.t) + result.t / 40 - np.sin(w * result.t) / (40 * w)
    assert np.abs(result["spring.q"] - x).max() < 1e-7
    assert np.abs(result.ledger.residual).max() < 1e-6


def test_the_wall_time_is_that_of_the_whole_call(monkeypatch):
    """With `singular="keep"`, runs from one singular position to the next follow the first run."""
    compiled, clock = crank(), itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    run = compiled.simulate(3.0, samples=0.1, singular="keep", progress=False)
    assert run.statistics.wall_time > next(clock) - 4


def test_batches_and_kept_names():
    run = crank().prepare_run(3.0, samples=0.1, singular="keep", progress=False)
    x, p, m = run.start_values()
    ends = run.run_many(np.tile(p, (2, 1)), x, m, {"fast": measures.peak("bars.v[0]")})
    assert ends.ok.all() and np.array_equal(ends.x[0], ends.x[1])
    single = crank().simulate(3.0, samples=0.1, singular="keep", progress=False)
    assert np.abs(ends.x[0] - single.x[-1]).max() < 1e-9 and np.array_equal(run.run(p, x, m).x, ends.x[0])
    with pytest.raises(RunError, match="E306"):
        crank().simulate(3.0, singular="keep", keep=["bars.q"], progress=False)
    with pytest.raises(RunError, match="E304"):
        crank().simulate(3.0, singular="pass", progress=False)


def test_the_cost_of_a_run_is_the_cost_of_all_its_parts():
    whole = crank().simulate(3.0, singular="keep", progress=False).statistics
    assert whole.wall_time > whole.integration_time > 0.0
    first = replace(whole, wall_time=1.0, rounding=replace(whole.rounding, steps=2, rtol=1e-9, states=("a", "b")))
    total = first + replace(whole, wall_time=2.0, rounding=replace(whole.rounding, steps=3, rtol=1e-8, states=("b", "c")))
    assert (total.steps, total.wall_time, total.local_rtol) == (2 * whole.steps, 3.0, whole.local_rtol)
    assert total.rounding == replace(whole.rounding, steps=5, rtol=1e-8, states=("a", "b", "c"))
