"""Graphs of many equal parts, and the comparison of loops with straight-line code."""

from __future__ import annotations

import numpy as np

from bondgraph import J0, J1, X1, Automaton, C, Graph, I, R, Se, Sf, Transition
from tests.inner.assembly import System
from tests.inner.emit import Kernel, numpy_kernel
from tests.inner.schedule import jacobian_in_loops, kernels_in_loops, schedule_routines
from tests.inner.tape import Alternatives
from tests.inner.tracing import trace


def chain(sections: int, stiffness: float = 100.0, cubic: bool = False) -> Graph:
    graph, before = Graph("chain"), None
    for i in range(sections):
        mass, node, joint = J1(f"v{i}"), J0(f"f{i}"), J1(f"d{i}")
        graph.connect(mass, I(f"m{i}", 1.0 + 0.01 * (i % 7), initial=0.1 * (i % 3)))
        graph.connect(before or Sf("wall"), node).connect(node, mass).connect(node, joint)
        start = 0.01 * (i % 5)
        if cubic:
            spring = C(
                f"k{i}",
                output=lambda q, k: k * q + q * q * q,
                energy=lambda q, k: k * q * q / 2 + q**4 / 4,
                parameters={"k": stiffness + i % 11},
                initial=start,
            )
        else:
            spring = C(f"k{i}", stiffness=stiffness + i % 11, initial=start)
        graph.connect(joint, spring).connect(joint, R(f"c{i}", 0.5 + 0.01 * (i % 13)))
        before = mass
    return graph


def bouncing(count: int) -> Graph:
    graph = Graph("bouncing")
    for i in range(count):
        name, fall, touch = f"contact{i}", J1(f"v{i}"), X1(f"x{i}", automaton=f"contact{i}", active=["on"])
        close = Transition("off", "on", lambda h: -h, (f"h{i}.q",), ((f"m{i}.p", lambda p: 0.9 * p, (f"m{i}.p",)),))
        leave = Transition("on", "off", lambda h: h, (f"h{i}.q",))
        graph.add_automaton(Automaton(name, ("off", "on"), "off", (close, leave)))
        mass, height = I(f"m{i}", 1.0 + 0.1 * i), C(f"h{i}", stiffness=0.0, initial=0.1 + 0.01 * i)
        graph.connect(fall, mass).connect(fall, height).connect(Se(f"g{i}", -9.81 * (1.0 + 0.1 * i)), fall)
        node = J0(f"s{i}")
        graph.connect(fall, touch).connect(touch, node)
        graph.connect(node, C(f"k{i}", stiffness=1e3)).connect(node, R(f"r{i}", conductance=1e-4))
    return graph


def blocks(system: System) -> tuple[np.ndarray, np.ndarray]:
    parts = [[state.initial for state in system.states], list(system.parameters.values())]
    x, p = (np.concatenate([np.zeros(0), *(np.ravel(part) for part in row)]) for row in parts)
    return x, p


def dense(pattern: tuple[np.ndarray, np.ndarray], values: np.ndarray) -> np.ndarray:
    indptr, indices = pattern
    full = np.zeros((len(indptr) - 1, len(indptr) - 1))
    full[indices, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))] = values
    return full


def in_loops(system: System, machine_code: bool = False) -> tuple[dict[str, Kernel], tuple[np.ndarray, np.ndarray]]:
    made, _, differentiate = schedule_routines(system)
    jacobian, pattern = differentiate()
    own = {} if jacobian is None else {"jacobian": jacobian_in_loops(jacobian, machine_code)}
    return kernels_in_loops(made, machine_code) | own, pattern


def assert_equal(system: System, machine_code: bool = False, samples: int = 2) -> None:
    routines, _, straight_pattern = trace(system)
    loops, pattern = in_loops(system, machine_code)
    straight = {
        name: numpy_kernel(routine.reference if isinstance(routine, Alternatives) else routine)
        for name, routine in routines.items()
        if routine.outputs or name in ("rates", "prepare")
    }
    straight.pop("rates_and_powers", None)
    assert loops.keys() | {"prepare"} == straight.keys() | {"prepare"}
    x0, p0 = blocks(system)
    p_straight, p_loops = (np.concatenate([p0, kernels["prepare"](p0)]) for kernels in (straight, loops))
    rng = np.random.default_rng(0)
    counts = [len(mode.states) for mode in system.modes.values()]
    for sample in range(samples):
        x = x0 + 0.1 * sample * rng.normal(size=len(x0))
        for mode in range(max([*counts, 1])):
            m = np.array([float(min(mode, count - 1)) for count in counts])
            for name in straight.keys() - {"prepare"}:
                wanted, found = straight[name](0.3, x, p_straight, m), loops[name](0.3, x, p_loops, m)
                if name == "jacobian":
                    wanted, found = dense(straight_pattern, wanted), dense(pattern, found)
                scale = 1.0 + np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * scale, err_msg=name)
