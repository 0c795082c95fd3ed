"""Cases from public issue trackers, rebuilt as small models of events and steps whose exact solutions are known.

The exact values are closed forms, elliptic functions, or SciPy's solutions of hand-written equations; no code from the
reports is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bondgraph import J1, Automaton, Block, C, Constraint, Element, Graph, I, R, Se, Transition, signals
from screws.scalars import less, sign, sin, sqrt, where

GRAVITY = 9.81


class Answer(NamedTuple):
    """A run, some of its values, their exact values, and the size relative to which differences are measured."""

    run: Any
    values: ArrayLike
    exact: ArrayLike
    size: float = 1.0


class Case(NamedTuple):
    solve: Callable[[], Answer]
    bound: float


CASES: dict[str, Case] = {}


def case(name: str, bound: float) -> Callable[[Callable[[], Answer]], Callable[[], Answer]]:
    def enter(solve: Callable[[], Answer]) -> Callable[[], Answer]:
        CASES[name] = Case(solve, bound)
        return solve

    return enter


def with_blocks(name: str, *blocks: Element) -> Graph:
    graph = Graph(name)
    graph.add(*blocks)
    return graph


def sliding() -> Graph:
    laws = [("dx", lambda m: where(less(0.5, m), -2.0, 2.0), ["m"]), ("dy", lambda m: where(less(0.5, m), 1.5, -3.0), ["m"])]
    block = Block("s", laws, inputs={"m": "order.mode"}, states={"x": 1.5, "y": 1.0}, rates={"x": "dx", "y": "dy"})
    graph = with_blocks("sliding", block)
    down = Transition("above", "below", lambda x, y: y - x, ("s.x", "s.y"))
    up = Transition("below", "above", lambda x, y: x - y, ("s.x", "s.y"))
    graph.add_automaton(Automaton("order", ("below", "above"), "above", (down, up)))
    return graph


def integral(rate: Callable[..., Any], arguments: dict[str, str], start: float) -> Block:
    return Block("x", [("rate", rate, list(arguments))], inputs=arguments, states={"x": start}, rates={"x": "rate"})


def latch(name: str, guard: Callable[..., Any], *arguments: str, **more: Any) -> Automaton:
    return Automaton(name, ("before", "after"), "before", (Transition("before", "after", guard, arguments, **more),))


def touch(graph: Graph, place: Any, name: str, gap: float, restitution: float) -> None:
    edges = (
        Transition("free", "free", lambda h: -h, (f"{name}.h",), kind="hit", impact=(name,), accumulates="rest"),
        Transition("rest", "free", lambda f: -f, (f"{name}.multiplier",), kind="off"),
    )
    graph.add_automaton(Automaton(f"at {name}", ("free", "rest"), "free", edges))
    graph.connect(place, Constraint(name, initial=gap, automaton=f"at {name}", active=["rest"], restitution=restitution))


def ball(height: float, restitution: float) -> Graph:
    graph, v = Graph("ball"), J1("v", domain="translation")
    graph.connect(Se("weight", -GRAVITY), v).connect(v, I("mass", 1.0))
    touch(graph, v, "floor", height, restitution)
    return graph


def times(run: Any) -> np.ndarray:
    return np.array([event.time for event in run.events])


@case("scipy #9228", 1e-13)
def roots_between_steps() -> Answer:
    """A cubic has roots at -6, -2 and 2, of which long steps would detect only one."""
    graph = with_blocks("cubic", integral(lambda t: 3 * t * t + 12 * t - 4, {"t": "time"}, -120.0))
    up = Transition("below", "above", lambda x: x, "x.x")
    graph.add_automaton(Automaton("sign", ("below", "above"), "below", (up, Transition("above", "below", lambda x: -x, "x.x"))))
    run = graph.simulate(4.0, t_start=-8.0)
    return Answer(run, times(run), [-6.0, -2.0, 2.0])


@case("scipy #15262", 1e-14)
def electron_across_a_gap() -> Answer:
    """An electron crosses 1 um in a field of 1 GV/m in 0.107 ps."""
    mass, charge, width = 9.1093837015e-31, 1.602176634e-19, 1e-6
    graph, v = Graph("gap"), J1("v", domain="translation")
    graph.connect(Se("force", charge * 1e9), v).connect(v, I("electron", mass)).add(signals.integrator("way", "v.flow"))
    graph.add_automaton(latch("anode", lambda x: x - width, "way.y"))
    exact = np.sqrt(2 * width * mass / (charge * 1e9))
    run = graph.simulate(1.51 * exact)
    return Answer(run, times(run), [exact], exact)


@case("chebfun #1512", 1e-14)
def short_pulse() -> Answer:
    graph, v = Graph("pulse"), J1("v")
    graph.connect(Se("push", lambda u: u, signals=["p.y"]), v).connect(v, I("mass", 1.0, initial=1.0)).connect(
        v, R("damper", 1.0)
    )
    graph.add(signals.pulse("p", start=1.0, width=0.05, after=20.0))
    run = graph.simulate(2.0)
    return Answer(run, run["v.flow"][-1], np.exp(-2) + 20 * (np.exp(-0.95) - np.exp(-1)))


@case("sundials #881", 1e-13)
def rare_pulse() -> Answer:
    pulse = integral(lambda t: where(less(20.0, t), where(less(t, 20.1), 1e4, 0.0), 0.0), {"t": "time"}, 0.0)
    run = with_blocks("rare", pulse).simulate(1e4, samples=5e3)
    return Answer(run, run["x.x"], [0.0, 1000.0, 1000.0], 1000.0)


@case("diffrax #58", 1e-7)
def forcing_that_jumps() -> Answer:
    w, damping = 2 * np.pi, 0.5
    graph, v = Graph("oscillator"), J1("v", domain="translation")
    graph.connect(Se("force", lambda f: f, signals=["f.y"]), v).connect(v, I("mass", 1.0)).connect(v, R("damper", 2 * damping))
    graph.connect(v, C("spring", stiffness=w**2, initial=1.0)).add(signals.step("f", start=7.5, after=w**2))
    run = graph.simulate(15.0)
    wd = np.sqrt(w**2 - damping**2)

    def decay(t: np.ndarray) -> np.ndarray:
        return np.exp(-damping * t) * (np.cos(wd * t) + damping / wd * np.sin(wd * t))

    late = np.maximum(run.t - 7.5, 0.0)
    return Answer(run, run["spring.q"], decay(run.t) + (1.0 - decay(late)))


@case("DifferentialEquations.jl #258", 1e-15)
def events_on_the_grid_of_steps() -> Answer:
    graph = with_blocks("clock", integral(lambda t: 0 * t + 1.0, {"t": "time"}, 0.0))
    for name, level in (("one", 1e-3), ("two", 2e-3)):
        graph.add_automaton(latch(name, lambda x, level=level: x - level, "x.x"))
    run = graph.simulate(0.05, max_step=1e-3)
    return Answer(run, times(run), [1e-3, 2e-3])


@case("DifferentialEquations.jl #601", 1e-13)
def event_at_time_zero() -> Answer:
    """A wall is reached at t = 0 of a run from -10 s to 10 s, where tolerances relative to t vanish."""
    graph = with_blocks("wall", integral(lambda t: 0 * t + 1.0, {"t": "time"}, -10.0))
    graph.add_automaton(latch("wall", lambda x: x, "x.x"))
    run = graph.simulate(10.0, t_start=-10.0)
    return Answer(run, times(run), [0.0])


@case("OrdinaryDiffEq.jl #2689", 1e-14)
def guard_zero_at_the_start() -> Answer:
    """A guard that is zero at the start is crossed, and the run ends like a run from -1 s."""
    rate = integral(lambda t, on: where(less(0.5, on), sin(10 * t), 0.0), {"t": "time", "on": "switch.mode"}, 0.0)
    graph = with_blocks("switched", rate)
    graph.add_automaton(latch("switch", lambda t: t, "time"))
    compiled = graph.compile()
    early, run = compiled.simulate(1.0, t_start=-1.0), compiled.simulate(1.0)
    exact = (1 - np.cos(10)) / 10
    return Answer(run, [*times(early), *times(run), early["x.x"][-1], run["x.x"][-1]], [0.0, 0.0, exact, exact])


@case("DiffEqBase.jl #671", 1e-14)
def triple_root() -> Answer:
    graph, v = Graph("falling"), J1("v", domain="translation")
    graph.connect(Se("weight", -GRAVITY), v).connect(v, I("mass", 1.0)).add(signals.integrator("height", "v.flow", initial=1.0))
    graph.add_automaton(latch("ground", lambda h: -(h**3), "height.y"))
    run = graph.simulate(1.0)
    return Answer(run, times(run), [np.sqrt(2 / GRAVITY)])


def robertson() -> Graph:
    laws = [
        ("a", lambda u, v, w: -0.04 * u + 1e4 * v * w, ["u", "v", "w"]),
        ("b", lambda u, v, w: 0.04 * u - 1e4 * v * w - 3e7 * v * v, ["u", "v", "w"]),
        ("c", lambda v: 3e7 * v * v, ["v"]),
    ]
    return with_blocks("Robertson", Block("k", laws, states={"u": 1.0, "v": 0.0, "w": 0.0}, rates={"u": "a", "v": "b", "w": "c"}))


@case("Sundials.jl #292", 1e-15)
def two_events_at_once() -> Answer:
    graph = robertson()
    for name in ("one", "two"):
        graph.add_automaton(latch(name, lambda t: t - 10.0, "time"))
    run = graph.simulate(100.0)
    return Answer(run, times(run), [10.0, 10.0])


@case("OrdinaryDiffEq.jl #4019", 3e-6)
def robertson_for_long() -> Answer:
    """The amounts of Robertson's reaction at 1e11 s agree with a reference and are never negative.

    Reference: Test Set for IVP Solvers (Mazzia and Magherini 2008).
    """
    run = robertson().simulate(1e11, samples=5e10)
    reference = np.array([0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050])
    assert min(run[f"k.{name}"].min() for name in "uvw") >= 0.0
    return Answer(run, [run[f"k.{name}"][-1] for name in "uvw"] / reference, 1.0)


@case("OpenModelica #14472", 1e-15)
def ticks_of_a_clock() -> Answer:
    laws = [("next", lambda n: n + 1, ["n"]), ("now", lambda t: t, ["t"])]
    states, updates = {"n": 0.0, "last": -1.0}, {"n": "next", "last": "now"}
    counter = Block("clock", laws, inputs={"t": "time"}, states=states, updates=updates, period=0.1)
    run = with_blocks("sampled", counter).simulate(1.0, samples=[0.0, 0.05, 0.25, 0.95])
    return Answer(run, np.stack([run["clock.n"], run["clock.last"]]), [[1, 1, 3, 10], [0.0, 0.0, 0.2, 0.9]])


@case("OpenModelica #13247", 1e-8)
def photon_on_a_heat_capacity() -> Answer:
    """The energy k T^2 / 2 jumps by 4 J at 1 s; the cooling thereafter has an implicit closed form."""
    k, leak, bath = 3.0, 0.5, 1.0
    left, right = [], []
    for start in (bath, 1.7):
        laws = [("T", lambda E: sqrt(2 * E / k), ["E"]), ("rate", lambda T: leak * (bath - T), ["T"])]
        graph = with_blocks("heat", Block("heat", laws, states={"E": k * start**2 / 2}, rates={"E": "rate"}))
        graph.add_automaton(latch("photon", lambda t: t - 1.0, "time", resets=(("heat.E", lambda E: E + 4.0, ("heat.E",)),)))
        run = graph.simulate(3.0, rtol=1e-10)
        (before,), (after,) = run.at_events("heat.E")
        above, last = np.sqrt(2 * after / k) - bath, run["heat.T"][-1] - bath
        left += [after - before, k / leak * (above - last + bath * np.log(above / last))]
        right += [4.0, 2.0]
    return Answer(run, left, right)


@case("OpenModelica #4229", 1e-5)
def ball_after_its_bounces() -> Answer:
    run = ball(1.0, 0.7).simulate(20.0)
    end = np.sqrt(2 / GRAVITY) * 1.7 / 0.3
    return Answer(run, [run.events[-1].time, np.abs(run["floor.h"][run.t > end]).max()], [end, 0.0])


@case("ModelicaStandardLibrary #1619", 1e-7)
def event_of_a_late_start() -> Answer:
    """A rate changes 9.81594 s after starts at 0, 2000 and 1e9 s; at 1e9 s, time has a resolution of 1e-7 s."""
    starts, late = (0.0, 2000.0, 1e9), 9.81594
    ends = []
    for start in starts:
        rate = integral(lambda t, s=start: where(less(t, s + late), 1.0, -2.0), {"t": "time"}, 0.0)
        run = with_blocks("late", rate).simulate(start + 20.0, t_start=start)
        ends.append(run["x.x"][-1])
    return Answer(run, ends, late - 2 * (20 - late))


@case("drake #14552", 1e-15)
def ticks_with_a_small_offset() -> Answer:
    """A clock with a period of 0.1 s and an offset of 0.1 us ticks ten times in a second, also at 1.7e9 s."""
    counts = []
    for start in (0.0, 1e9, 1.7e9):
        counter = Block(
            "clock", [("next", lambda n: n + 1, ["n"])], states={"n": 0.0}, updates={"n": "next"}, period=0.1, offset=1e-7
        )
        run = with_blocks("sampled", counter).simulate(start + 1.0, t_start=start)
        counts.append(run["clock.n"][-1])
    return Answer(run, counts, 10.0)


@case("modelica-buildings #3735", 1e-7)
def thermostat() -> Answer:
    """A heater with hysteresis switches 19 931 times in 10 000 s, at the exact times."""
    room = integral(lambda T, on: 8.0 * on - 0.4 * (T - 10.0), {"T": "x.x", "on": "relay.mode"}, 15.0)
    graph = with_blocks("room", room)
    off = Transition("on", "off", lambda T: T - 21.0, "x.x")
    on = Transition("off", "on", lambda T: 19.0 - T, "x.x")
    graph.add_automaton(Automaton("relay", ("off", "on"), "on", (off, on)))
    run = graph.simulate(1e4)
    cooling, heating = np.log(11 / 9) / 0.4, np.log(11 / 9) / 0.4
    turns = np.arange(len(run.events))
    exact = np.log(15 / 9) / 0.4 + (turns + 1) // 2 * cooling + turns // 2 * heating
    return Answer(run, times(run), exact)


def bang_bang() -> Answer:
    """A force of -sign(x) N moves a mass of 1 kg along parabolas with a period of 4 sqrt(2) s."""
    graph, v = Graph("bang-bang"), J1("v", domain="translation")
    graph.connect(Se("force", lambda x: -sign(x), signals=["place.y"]), v).connect(v, I("mass", 1.0))
    graph.add(signals.integrator("place", "v.flow", initial=1.0))
    run = graph.simulate(1000.0)
    quarter = np.sqrt(2.0)
    nearest = np.round(run.t / (2 * quarter))  # the turning point that is nearest in time
    exact = (1.0 - (run.t - 2 * quarter * nearest) ** 2 / 2) * (-1.0) ** nearest
    return Answer(run, run["place.y"], exact)
