"""Electric machines agree with their characteristics and equivalent circuits."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models import parts

from bondgraph import J0, Graph, Parameter, R, Se, Sf, compile_model
from tests.models.parts.checks import checks, final

machines = parts.machines


@checks("machines.dc_motor")
def test_dc_motor() -> None:
    graph = Graph("g").connect(Se("u", 12.0), (motor := machines.dc_motor("m", b=1e-3)).port("armature"))
    assert final(graph, "m.rotor.flow") == pytest.approx([12 * 0.05 / (0.05**2 + 1e-3)])
    held = Graph("g").connect(Se("u", 12.0), (motor := machines.dc_motor("m")).port("armature"))
    held.connect(motor.port("shaft"), Sf("brake", 0.0))
    assert final(held, "m.R.flow", "brake.effort") == pytest.approx([12.0, 0.6])


@checks("machines.series_motor")
def test_series_motor() -> None:
    """The speed under a constant load torque T follows from i = sqrt(T / L_af) and v = (R + L_af w) i."""
    graph, motor = Graph("g"), machines.series_motor("m", b=0.0)
    graph.connect(Se("u", 24.0), motor.port("armature")).connect(motor.port("shaft"), Se("load", 4.0))
    assert final(graph, "m.R.flow", "m.rotor.flow", t_end=5.0) == pytest.approx([20.0, (24.0 / 20.0 - 0.1) / 1e-2])


@checks("machines.excited_motor")
def test_shunt_motor() -> None:
    """With both windings at 100 V, i_f = v / R_f, v = R_a i_a + L_af i_f w, and the torque is L_af i_f i_a."""
    graph, motor, node = Graph("g"), machines.excited_motor("m", b=0.0), J0("node")
    graph.connect(Se("u", 100.0), node).connect(node, motor.port("armature")).connect(node, motor.port("field"))
    graph.connect(motor.port("shaft"), Se("load", 20.0))
    assert final(graph, "m.R_f.flow", "m.R_a.flow", "m.rotor.flow", t_end=5.0) == pytest.approx([1.0, 20.0, 98.0])


def on_the_mains(motor, amplitude: float, frequency: float) -> Graph:
    graph, source = Graph("g"), parts.electrical.three_phase_source("mains", amplitude, frequency, R_line=0.0)
    for line in "abc":
        graph.connect(source.port(line), motor.port(line))
    return graph


@checks("machines.synchronous_motor")
def test_synchronous_motor_keeps_step() -> None:
    """The speed is the supply's angular frequency over the p pole pairs; without current, the voltage amplitude is
    sqrt(2/3) p psi w."""
    graph = on_the_mains(machines.synchronous_motor("m", b=0.01), 20.0, Parameter(1.0, "Hz"))
    assert final(graph, "m.rotor.flow", t_end=8.0) == pytest.approx([np.pi], rel=1e-6)
    free = machines.synchronous_motor("m")
    graph = Graph("open").connect(Sf("turn", 100.0), free.port("shaft"))
    for line in "abc":
        graph.connect(free.port(line), R(f"open {line}", 1e4))
    run = compile_model(graph, progress=False).simulate(0.1, rtol=1e-9, progress=False)
    assert np.abs(run["open a.effort"]).max() == pytest.approx(np.sqrt(2 / 3) * 2 * 0.1 * 100.0, rel=1e-3)


@checks("machines.induction_motor")
def test_induction_motor_is_its_equivalent_circuit() -> None:
    """The torque at the slip s = 5 % is 3 |I_r|^2 R_r / s divided by the synchronous speed."""
    slip, w = 0.05, 2 * np.pi * 50
    motor = machines.induction_motor("m", b=0.0)
    graph = on_the_mains(motor, 325.0, 50.0).connect(motor.port("shaft"), Sf("load", (1 - slip) * w / 2))
    run = compile_model(graph, progress=False).simulate(1.0, samples=np.linspace(0.98, 1.0, 201), rtol=1e-8, progress=False)
    second, field = 0.5 / slip + 1j * w * 2e-3, 1j * w * 0.06
    first = 0.5 + 1j * w * 2e-3 + second * field / (second + field)
    current = 325 / np.sqrt(2) / abs(first) * abs(field / (second + field))
    assert run["load.effort"][1:].mean() == pytest.approx(3 * current**2 * 0.5 / slip / (w / 2), rel=1e-4)


@checks("machines.stepper_motor")
def test_stepper_motor_steps() -> None:
    """From one winding to the next the motor turns by a quarter of the tooth pitch."""
    for a, rest in ((1.0, 0.0), (0.0, np.pi / 2 / 50)):
        graph, motor = Graph("g"), machines.stepper_motor("m")
        graph.connect(Se("a", a), motor.port("a")).connect(Se("b", 1.0 - a), motor.port("b"))
        run = compile_model(graph, progress=False).simulate(2.0, initial={"m.angle.phi": 0.01}, rtol=1e-9, progress=False)
        assert run["m.angle.phi"][-1] == pytest.approx(rest, abs=1e-9)
