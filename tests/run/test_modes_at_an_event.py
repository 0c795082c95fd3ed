"""When several automata switch at an instant, random networks take the consistent mode that enumeration of all modes finds."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

from bondgraph import J0, J1, Automaton, C, Diode, Friction, Graph, I, R, Se, Transition, compile_model
from tests.inner.run import Bound, event_iteration

STEP = 1e-6
"""Time ahead at which the direction of an incipient slip is determined, s."""


def circuit(rng, order=None):
    nodes = int(rng.integers(3, 5))
    branches = []
    for k in range(int(rng.integers(3, 5))):
        a, b = rng.choice(nodes, 2, replace=False)
        branches.append((k, int(a), int(b), rng.uniform(0.1, 2.0), rng.normal() * 3.0))
    stores = [(rng.uniform(0.1, 2.0), rng.uniform(0.5, 2.0), rng.normal(), rng.random() < 0.6) for _ in range(nodes)]
    graph, places = Graph("circuit"), [J0(f"n{k}") for k in range(nodes)]
    for place, (leak, capacitance, charge, has) in zip(places, stores, strict=True):
        graph.connect(place, R(f"leak {place.name}", leak))
        store = C(f"C {place.name}", capacitance=capacitance, initial=charge) if has else R(f"load {place.name}", capacitance)
        graph.connect(place, store)
    for k, a, b, resistance, effort in [branches[i] for i in order or range(len(branches))]:
        branch = J1(f"b{k}")
        graph.connect(places[a], branch).connect(branch, places[b]).connect(branch, R(f"r{k}", resistance))
        graph.connect(branch, Diode(f"d{k}")).connect(Se(f"u{k}", effort), branch)
    return graph, len(branches)


def clutches(rng, order=None):
    count = int(rng.integers(2, 4))
    masses, drives = rng.uniform(0.5, 3.0, count), rng.normal(size=count) * 2.0
    pairs = [(k, k + 1, rng.uniform(0.2, 1.5)) for k in range(count - 1)] + [(0, None, rng.uniform(0.2, 1.5))]
    graph, nodes = Graph("clutches"), [J1(f"v{k}", domain="translation") for k in range(count)]
    for k, node in enumerate(nodes):
        graph.connect(Se(f"F{k}", drives[k]), node).connect(node, I(f"m{k}", masses[k])).connect(node, R(f"b{k}", 0.01))
    for i in order or range(len(pairs)):
        a, b, limit = pairs[i]
        if b is None:
            graph.connect(nodes[a], Friction(f"c{i}", limit))
        else:
            slip = J0(f"slip{i}", domain="translation")
            graph.connect(nodes[a], slip).connect(slip, nodes[b]).connect(slip, Friction(f"c{i}", limit))
    return graph, len(pairs)


def consistent(compiled):
    bound = Bound(compiled.program, compiled.parameters())
    x, _ = compiled.initial()
    edges, found = compiled.program.transitions, []
    for combination in itertools.product(*(range(len(mode.states)) for mode in compiled.system.modes.values())):
        m = np.array(combination, dtype=float)
        active = np.array([m[edge.slot] == edge.source for edge in edges])
        now, soon = bound.guards(0.0, x, m), bound.guards(STEP, x + STEP * bound.rates(0.0, x, m), m)
        if np.all(~active | (now < -1e-9) | ((now < 1e-9) & (soon < now - 1e-3 * STEP))):
            found.append(dict(zip(compiled.system.modes, combination, strict=True)))
    return found


def disagreements(build, seeds):
    """Count random models with one consistent mode, and list (seed, taken, consistent) where the mode taken differs or
    depends on the order."""
    wrong, tried = [], 0
    for seed in seeds:
        _, count = build(np.random.default_rng(seed))
        taken = []
        for order in (None, [*reversed(range(count))]):
            compiled = compile_model(build(np.random.default_rng(seed), order)[0])
            modes = consistent(compiled)
            if len(modes) != 1:
                break
            run = compiled.simulate(1e-9, progress=False)
            taken.append({name: int(run[name][0]) for name in compiled.system.modes} if run.ok else str(run.failure))
            tried += 1
            if taken[-1] != modes[0] or taken[-1] != taken[0]:
                wrong.append((seed, taken[-1], modes))
    return wrong, tried


@pytest.mark.parametrize(("build", "count"), [(circuit, 3), (clutches, 6)])
def test_the_consistent_mode_is_taken(build, count):
    wrong, tried = disagreements(build, range(count))
    assert wrong == [] and tried >= count


def test_transitions_that_fire_together_count_towards_the_maximum():
    graph, a, b = Graph("chain"), J1("a", domain="translation"), J1("b", domain="translation")
    for node, effort in ((a, 5.0), (b, 10.0)):
        graph.connect(Se(f"{node.name} force", effort), node).connect(node, I(f"{node.name} mass", 1.0))
    graph.connect(a, Friction("ground", 0.5)).connect(a, slip := J0("slip", domain="translation"))
    graph.connect(slip, b).connect(slip, Friction("joint", 0.5))
    graph.connect(Se("none", 0.0), free := J1("free", domain="translation")).connect(free, I("m", 1.0, initial=1.0))
    grow = (("m.p", lambda p: -1.01 * p, ("m.p",)),)
    edges = (Transition("up", "down", lambda p: p, "m.p", grow), Transition("down", "up", lambda p: -p, "m.p", grow))
    graph.add_automaton(Automaton("sign", ("up", "down"), "up", edges))
    compiled = compile_model(graph)
    with pytest.warns(match="repeat endlessly"):
        run = compiled.simulate(1.0, progress=False)
    edges = compiled.program.transitions
    assert {"ground", "joint"} <= {event.name for event in run.events}
    assert len(run.events) == event_iteration.MAX_TRANSITIONS + event_iteration.MAX_TRANSITIONS_EACH * len(edges)


if __name__ == "__main__":
    for which in (circuit, clutches):
        print(which.__name__, disagreements(which, range(int(sys.argv[1]))))
