"""Energy accounts close for fast processes whose power is the difference of two large powers that nearly cancel."""

from __future__ import annotations

import pytest

from bondgraph import J0, J1, TF, C, Ce, Graph, Parameter, R, Re, Se, compile_model
from screws import scalars as s

HELD = 5.0
"""Chemical potential of the held species, in units of RT."""


def binding(bound: str = "H", RT: float = 1.0, size: float = 1.0) -> Graph:
    """Return a graph of E + H <=> EH (fast) and EH <=> E + P (slow), with the potential of H held; E binds two H unless `bound`
    is "H"."""
    graph, free, complex_node = Graph("pump"), J0("E node"), J0("EH node")
    bind, turn = Re("bind", Parameter(size, "mol/s"), RT=RT), Re("turn", 1e-3 * size, RT=RT)
    left, right, source = J1("E + H"), J1("E + P"), Se("H", HELD * RT, domain="chemical")
    for node, name, constant, amount in ((free, "E", 3.1, 0.37), (complex_node, "EH", 7.3, 0.21), (right, "P", 0.7, 0.11)):
        graph.connect(node, Ce(name, constant / size, RT=RT, initial=amount * size))
    graph.connect(free, left).connect(left, bind.port("1")).connect(bind.port("2"), complex_node)
    graph.connect(complex_node, turn.port("1")).connect(turn.port("2"), right).connect(right, free)
    if bound == "H":
        return graph.connect(source, left)
    two = TF("two", 2.0, structural=True)
    return graph.connect(source, two.port("2")).connect(two.port("1"), left)


@pytest.mark.parametrize(("bound", "RT", "size"), [("H", 1.0, 1.0), ("2 H", 8.314 * 310.0, 1e-15)])
def test_a_held_species_supplies_the_bound_amount(bound, RT, size):
    """The supplied energy is the potential times the bound amount, which the states give exactly."""
    compiled, count = compile_model(binding(bound, RT, size)), 1 if bound == "H" else 2
    prepared, rates = compiled.prepare_run(1e3), [size * 10.0**power for power in (0, 3, 6, 9, 12)]
    ends = prepared.run_many(*prepared.start_values_many(parameters={"bind.rate": rates}), {"E": "E.q"})
    assert ends.ok.all()
    for rate in rates:
        run = compiled.simulate(1e3, parameters={"bind.rate": rate})
        taken = run["EH.q"] + run["P.q"] - run["EH.q"][0] - run["P.q"][0]
        supplied = HELD * RT * count * taken[-1]
        assert run.ok and run.ledger.supplied[-1] == pytest.approx(supplied, abs=1e-5 * run.ledger.in_play), rate
        assert run.ledger.relative_residual < 1e-5 and run.statistics.steps < 5000


@pytest.mark.parametrize("rtol", [1e-5, 1e-9])
@pytest.mark.parametrize("rate", [1e6, 1e12])
def test_a_capacitor_behind_a_tiny_resistance_follows_its_source(rate, rtol):
    """The voltage of the small resistor, a difference of nearly equal numbers, is rounding error."""
    graph, v, n = Graph("rc"), J1("v"), J0("n")
    graph.connect(Se("u", lambda t: 2.0 + s.sin(t), signals=["time"]), v).connect(v, R("r", resistance=1.0 / rate))
    graph.connect(v, n).connect(n, C("c", capacitance=1.0, initial=2.0)).connect(n, R("load", resistance=1e3))
    run = compile_model(graph).simulate(20.0, samples=1.0, rtol=rtol, method="rodas5p")
    assert run.ok and run.ledger.relative_residual < 1e3 * rtol and run.statistics.steps < 10_000
    leaked = run.ledger.elements["load"][-1]
    stored = (run["c.q"] ** 2 - 4.0) / 2.0
    assert run.ledger.supplied[-1] == pytest.approx(stored[-1] + leaked, abs=1e3 * rtol * run.ledger.in_play + 10.0 / rate)
