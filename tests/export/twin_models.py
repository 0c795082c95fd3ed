"""Models whose source code is compared with machine code at random points in every mode."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from screwbond.models.delta import DeltaParameters, delta_graph

from bondgraph import J0, J1, Block, C, Constraint, Friction, Graph, I, R, Se, StateSpec, compile_model, signals
from bondgraph.export import SymPyModel, sympy_model
from examples import dexterous_hand, rolling_eggs
from examples.bouncing_ball import with_restitution
from tests.analysis.models import motor
from tests.emit.expressions import FORMULAS, POINTS
from tests.export.test_c import diode
from tests.inner.compile import Compiled
from tests.inner.emit import Kernel
from tests.tracing.test_impulses import boost

STATES = 6
COMBINATIONS = 8
"""Up to this number, all combinations of modes are tried; above it, the automata cycle through their states."""


def rc() -> Graph:
    graph, loop = Graph("rc"), J1("loop")
    return graph.connect(Se("u", 2.0), loop).connect(loop, R("r", 3.0)).connect(loop, C("c", capacitance=0.5, initial=0.2))


def servo() -> Graph:
    graph, shaft = Graph("servo"), J1("shaft")
    graph.connect(Se("motor", lambda u: u, signals=["control.y"]), shaft)
    graph.connect(shaft, I("rotor", 0.02)).connect(shaft, R("bearing", 0.01))
    graph.add(
        signals.step("goal", start=0.05, after=1.0),
        signals.integrator("angle", "rotor.flow"),
        signals.summation("error", {"goal.y": 1, "angle.y": -1}),
        signals.sampled_pid("control", "error.y", 4.0, 2.0, 0.05, period=0.01, time_constant=2e-3, limits=(-0.5, 0.5)),
        signals.hold("copy", "control.y", 0.01),
        signals.hold("slow", "angle.y", 0.024, offset=0.003),
    )
    return graph


def stick_slip() -> Graph:
    graph, block = Graph("stick slip"), J1("block")
    graph.connect(block, I("mass", 1.0, initial=0.4)).connect(block, C("spring", stiffness=10.0))
    graph.connect(Se("push", 1.5), block).connect(block, Friction("friction", 2.0))
    return graph


def skid() -> Graph:
    graph, block, down = Graph("skid"), J1("block"), J1("down")
    graph.connect(block, I("mass", np.array([1.0, 1.5]), initial=np.array([0.4, -0.2])))
    graph.connect(Se("wind", np.array([0.1, 0.3])), block)
    graph.connect(Se("weight", 9.81), down).connect(down, I("load", 1.0)).connect(down, Constraint("table"))
    rubs = Friction("friction", 0.3, scale=lambda n: -n, signals=["table.multiplier"], dimension=2)
    return graph.connect(block, rubs)


def clutch() -> Graph:
    graph, left, right = Graph("class"), J1("λ 1"), J1("λ-1")
    graph.connect(left, I("end", 1.0, initial=2.0)).connect(right, I("End", 3.0)).connect(right, R("für", 0.5))
    between, apart = J0("between"), J1("apart")
    graph.connect(left, between).connect(between, right).connect(between, apart)
    graph.connect(apart, Constraint("v1", holds="velocity"))
    double = ("select", lambda w: 2.0 * w, ["w"])
    graph.add(Block("α", [double], inputs={"w": "End.flow"}, states={"Δθ": StateSpec(0.1)}, rates={"Δθ": "select"}))
    return graph


def every() -> Graph:
    states = {name: StateSpec(0.5) for name in "abc"}
    outputs = [(f"y{k}", formula, ["a", "b", "c"]) for k, (formula, _) in enumerate(FORMULAS.values())]
    growth = [(f"d{name}", lambda a, k=k: (k + 1) * a / (3.0 + a * a), [name]) for k, name in enumerate("abc")]
    graph = Graph("every")
    graph.add(Block("f", [*outputs, *growth], states=states, rates={name: f"d{name}" for name in "abc"}))
    graph.add(signals.table("measured", "f.y0", POINTS, np.cos(POINTS)))
    graph.add(signals.table("smooth", "f.y1", POINTS, np.cos(POINTS), kind="akima", outside="extend"))
    return graph


MODELS: dict[str, Callable[[], Graph]] = {
    "every": every,
    "rc": rc,
    "motor": motor,
    "bouncing ball": with_restitution,
    "servo": servo,
    "stick slip": stick_slip,
    "skid": skid,
    "clutch": clutch,
    "boost": lambda: boost("open", 4.0, 24.0),
    "diode": diode,
    "eggs": lambda: rolling_eggs.build()[0],
    "delta": lambda: delta_graph(DeltaParameters.fit()),
    "hand": lambda: dexterous_hand.hand().graph(),
}


@dataclass(frozen=True)
class Case:
    """A model and its points: times (k,), states (k, n), modes (k, modes), the user's parameters and all parameters."""

    compiled: Compiled
    t: np.ndarray
    x: np.ndarray
    m: np.ndarray
    own: np.ndarray
    p: np.ndarray

    def wanted(self, kernel: Kernel | None) -> np.ndarray:
        if kernel is None:
            return np.zeros((len(self.t), 0))
        return np.array([kernel(t, x, self.p, m) for t, x, m in zip(self.t, self.x, self.m, strict=True)])

    def beside(self, word: str) -> np.ndarray | None:
        """Return all states for a function that changes only a few, because the largest value scales the tolerance."""
        return self.x if word in ("reset", "tick") else None

    def kernels(self) -> Iterator[tuple[str, int | None, Kernel | None]]:
        program = self.compiled.program
        for word in ("rates", "outputs", "guards", "powers", "energies"):
            yield word, None, getattr(program, word)
        for word, kernels in (("reset", program.resets), ("push", program.pushes)):
            yield from ((word, k, kernel) for k, kernel in enumerate(kernels) if kernel is not None)
        yield from (("tick", k, clock.kernel) for k, clock in enumerate(program.clocks))
        yield from (("loop", k, loop.kernel) for k, loop in enumerate(program.loops))


@functools.cache
def case(model: str) -> Case:
    compiled = compile_model(MODELS[model]())
    rng = np.random.default_rng(11)
    x0, _ = compiled.initial()
    counts = [len(mode.states) for mode in compiled.system.modes.values()]
    if np.prod(counts) <= COMBINATIONS:
        modes = [combination for combination in itertools.product(*map(range, counts)) for _ in range(STATES)]
    else:
        modes = [tuple((k + place) % n for place, n in enumerate(counts)) for k in range(STATES)]
    spread = 1.0 if model == "every" else 0.1  # negative numbers as well
    x = x0 + spread * compiled.program.typical * rng.normal(size=(len(modes), len(x0)))
    p = compiled.parameters()
    own = p[: sum(int(np.size(value)) for value in compiled.system.parameters.values())]
    m = np.array(modes, dtype=float).reshape(len(modes), len(counts))
    return Case(compiled, rng.uniform(0.0, 3.0, len(modes)), x, m, own, p)


@functools.cache
def expressions_of(model: str) -> SymPyModel:
    return sympy_model(case(model).compiled)


def assert_same(found: np.ndarray, wanted: np.ndarray, what: str, beside: np.ndarray | None = None) -> None:
    """Check that results agree to 1e-12 of the largest finite number in each row of `wanted` and `beside`."""
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isfinite(found), finite, err_msg=what)
    found, wanted = np.where(finite, found, 0.0), np.where(finite, wanted, 0.0)
    rows = [np.abs(wanted)] if beside is None else [np.abs(wanted), np.abs(beside)]
    size = np.max(np.concatenate(rows, axis=-1), axis=-1, keepdims=True, initial=1e-300)
    wrong = np.max(np.abs(found - wanted) / size, initial=0.0)
    assert wrong <= 1e-12, f"{what}: {wrong:.2e}"
