"""Networks of ideal elements, some of which constrain states, agree with closed forms."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from bondgraph import J0, J1, Automaton, C, Diode, Element, Graph, I, R, RunEndedWarning, Se, Switch, Transition, compile_model
from screws.scalars import sin


class Network:
    def __init__(self) -> None:
        self.graph, self.count, self.nodes = Graph("network"), itertools.count(), dict[str, Element]()

    def arm(self, tail: str, head: str, *parts: Element) -> None:
        arm = J1(f"arm{next(self.count)}", domain="electrical")
        for name in {tail, head} - {""}:
            self.nodes.setdefault(name, J0(name, domain="electrical"))
        if tail:
            self.graph.connect(self.nodes[tail], arm)
        if head:
            self.graph.connect(arm, self.nodes[head])
        for part in parts:
            self.graph.connect(arm, part)

    def chain(self, tail: str, head: str, names: str) -> None:
        nodes = [tail, *(f"before {name}" for name in names[1:]), head]
        for name, (a, b) in zip(names, itertools.pairwise(nodes), strict=True):
            self.arm(a, b, Diode(f"D{name}"))


def test_a_freewheeling_coil_behind_chains_of_diodes_follows_its_closed_form() -> None:
    """Nine diodes have 512 modes; only the last is in series with the coil, so L di/dt + R i = max(sin t, 0)."""
    network, load, inductance = Network(), 0.5, 0.8
    network.arm("", "u", Se("source", lambda t: -sin(t), signals="time"))
    network.chain("u", "a", "abc")
    network.chain("", "a", "defgh")
    network.arm("a", "", Diode("last"), I("L", inductance), R("R", load))
    run = compile_model(network.graph).simulate(7.0, samples=0.05, progress=False)
    assert run.ok, run.failure
    z = complex(load, inductance)
    rate = load / inductance

    def steady(t: Any) -> Any:
        return (np.exp(1j * t) / z).imag

    def first(t: Any, current: float = 0.0, begin: float = 0.0) -> Any:
        return steady(t) + (current - steady(begin)) * np.exp(-rate * (t - begin))

    half, whole = first(np.pi), first(np.pi) * np.exp(-rate * np.pi)
    free = half * np.exp(-rate * (run.t - np.pi))
    current = np.where(run.t < np.pi, first(run.t), np.where(run.t < 2 * np.pi, free, first(run.t, whole, 2.0 * np.pi)))
    np.testing.assert_allclose(run["L.flow"], current, rtol=0.0, atol=1e-6)
    inside = (run.t > np.pi) & (run.t < 2.0 * np.pi)
    np.testing.assert_allclose(run["Dd.flow"][inside], current[inside], rtol=0.0, atol=1e-6)


def test_diodes_across_a_capacitor_contradict_a_chain_that_drives_it() -> None:
    """The diodes across the capacitor cannot conduct together with the chain, which would impose another rate."""
    network = Network()
    network.arm("", "u", Se("source", lambda t: -sin(t) * (t * 0.1 + 1.0), signals="time"))
    network.chain("u", "a", "abcde")
    network.arm("a", "", C("C", capacitance=0.3))
    network.arm("", "a", Diode("Df"))
    network.arm("", "a", Diode("Dg"))
    network.chain("", "a", "hi")
    run = compile_model(network.graph).simulate(9.0, samples=0.05, progress=False)
    assert run.ok, run.failure
    t = np.linspace(0.0, 9.0, 90001)
    peak = np.maximum.accumulate(np.sin(t) * (1.0 + 0.1 * t))
    np.testing.assert_allclose(run["C.effort"], np.interp(run.t, t, peak), rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("chain", ["S", "ST"])
def test_a_switch_that_shorts_a_capacitor_at_an_ideal_source_ends_the_run(chain: str) -> None:
    network = Network()

    def switch(name: str, start: str, at: float) -> Element:
        states = ("open", "closed")
        turns = Transition(*states, lambda t, at=at: t - at, "time")
        network.graph.add_automaton(Automaton(f"lever {name}", states, start, (turns,)))
        return Switch(name, automaton=f"lever {name}", closed="closed")

    network.arm("", "node u", Se("source", lambda t: -1.0 - 0.5 * sin(t), signals="time"))
    for name, (a, b) in zip(chain, itertools.pairwise(["u", *chain[1:], "a"]), strict=True):
        network.arm(f"node {a}", f"node {b}", switch(name, "closed", 0.0))
    network.arm("node a", "", C("C", capacitance=0.3, initial=0.3))
    network.arm("node a", "", switch("short", "open", 1.0))
    network.chain("", "node a", "ab")
    with pytest.warns(RunEndedWarning):
        run = compile_model(network.graph).simulate(2.0, samples=0.25, progress=False)
    assert run.t[-1] == 1.0
    assert all(text in str(run.failure) for text in ("E220", *(f'"{name}"' for name in (*chain, "short"))))
    np.testing.assert_allclose(run["C.effort"], 1.0 + 0.5 * np.sin(run.t), rtol=1e-6)
