"""Curves on the page of parts, from the formula of a part or from a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import pi
from typing import Any

import numpy as np
from scipy.integrate import cumulative_trapezoid
from screwbond.models.parts.record import Part

from bondgraph import Block, Element, Graph, R, Se, Sf, compile_model
from bondgraph.model.laws import Resistor
from screws.scalars import cos, floor, sin, where

INTEGRATED = {"displacement": "flow", "momentum": "effort"}


@dataclass(frozen=True)
class Formula:
    """Law of a resistor between two values of its argument."""

    low: float
    high: float

    def axes(self, part: Part) -> tuple[str, str]:
        return ("effort", "flow") if _law(part)[0].flow else ("flow", "effort")

    def points(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        law, numbers = _law(part)
        op = law.flow or law.effort
        assert op is not None
        x = np.linspace(self.low, self.high, 121)
        return x, np.array([float(op(value, *numbers)) for value in x])


def _law(part: Part) -> tuple[Resistor, list[Any]]:
    element = part.make("part")
    assert isinstance(element, Element)
    return element.law_as(Resistor), [each.value for each in element.parameters.values()]


Source = float | Callable[[Any], Any]
"""Constant, or function of time in s."""


@dataclass(frozen=True)
class Effort:
    """Effort source at a port, with an optional series resistance."""

    value: Source
    inner: float = 0.0


@dataclass(frozen=True)
class Flow:
    value: Source


@dataclass(frozen=True)
class Load:
    resistance: float


@dataclass(frozen=True)
class Run:
    """Two signals of a part that runs between sources and loads, each of them with the name of its port.

    The axes are "time", or signals: "1.effort", "shaft.flow", "1.displacement".
    """

    x: str
    y: str
    t_end: float
    ports: Mapping[str, Effort | Flow | Load]
    values: Mapping[str, Any] = field(default_factory=dict)
    skip: float = 0.0
    command: Callable[[Any], Any] | None = None
    """Signal "command.y" as a function of time."""

    def axes(self, _part: Part) -> tuple[str, str]:
        return self.x, self.y

    def points(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        made = part.make("part", **self.values)
        graph = Graph("curve")
        graph.add(made)
        if self.command:
            graph.add(Block("command", [("y", self.command, ["t"])], inputs={"t": "time"}))
        for port, end in self.ports.items():
            there = made if isinstance(made, Element) and len(made.ports) == 1 else made.port(port)
            if isinstance(end, Load):
                graph.connect(there, R(port, end.resistance))
                continue
            read = {"signals": ["time"]} if callable(end.value) else {}
            source = (Se if isinstance(end, Effort) else Sf)(port, end.value, **read)
            inner = [R(f"behind {port}", end.inner)] if isinstance(end, Effort) and end.inner else []
            graph.connect(graph.series(source, *inner), there) if inner else graph.connect(source, there)
        run = compile_model(graph, progress=False).simulate(self.t_end, progress=False, samples=self.t_end / 200)
        assert run.ok, run.warnings
        kept = np.asarray(run.t) >= self.skip
        return _signal(run, self.x)[kept], _signal(run, self.y)[kept]


def _signal(run: Any, name: str) -> np.ndarray:
    """Return the samples of a signal, or of the integral of a flow or an effort."""
    end, _, quantity = name.rpartition(".")
    if name == "time":
        return np.asarray(run.t)
    if quantity in INTEGRATED:
        return cumulative_trapezoid(_signal(run, f"{end}.{INTEGRATED[quantity]}"), np.asarray(run.t), initial=0.0)
    return np.asarray(run[name]).reshape(-1)


def _wave(amplitude: float, periods: float = 1.0, offset: float = 0.0) -> Callable[[Any], Any]:
    return lambda t: offset + amplitude * sin(2 * pi * periods * t)


def _to_and_fro(amplitude: float, t_end: float = 1.0) -> Flow:
    """Return a flow whose integral is one period of a sine of this amplitude."""
    rate = 2 * pi / t_end
    return Flow(lambda t: amplitude * rate * cos(rate * t))


def _in_period(t: Any, period: float) -> Any:
    return t - period * floor(t / period)


def _rise(low: float, high: float, t_end: float = 1.0) -> Callable[[Any], Any]:
    return lambda t: low + (high - low) * t / t_end


def _over_effort(amplitude: float, t_end: float = 1.0, **values: Any) -> Run:
    return Run("1.effort", "1.flow", t_end, {"1": Effort(_wave(amplitude, 1.0 / t_end))}, values)


def _stored(amplitude: float, **values: Any) -> Run:
    return Run("1.displacement", "1.effort", 1.0, {"1": _to_and_fro(amplitude)}, values)


def _turned(speed: float, up: str, **ports: Any) -> Run:
    return Run("1.flow", up, 1.0, {"1": Flow(_rise(-speed, speed)), **ports})


_PHASES = {each: Effort(lambda t, k=k: 325.0 * sin(2 * pi * (50.0 * t - k / 3))) for k, each in enumerate("abc")}


def _gated(word: str, command: Callable[[Any], Any]) -> Run:
    """Return a run of a part that switches a 50 Hz voltage; the curve is its current."""
    mains = Effort(_wave(10.0, 50.0), 1.0)
    return Run("time", "1.flow", 0.04, {"1": mains}, {word: "command.y"}, command=lambda t: 1.0 * command(t))


def _bridge(gate: str, *outputs: str) -> Run:
    """Return a run of a bridge between 10 V and 0 V with a rising duty; the curve is the voltage of its first output."""
    ports = {"plus": Effort(10.0), "minus": Effort(0.0), **dict.fromkeys(outputs, Load(10.0))}
    return Run(
        "time", f"{outputs[0]}.effort", 1.0, ports, {gate: "command.y"}, command=lambda t: 1.0 * (_in_period(t, 0.125) < t / 8)
    )


CURVES: dict[str, Formula | Run] = {
    # electrical
    "diode": Formula(-0.5, 0.6),
    "zener": Formula(-5.2, 0.52),
    "varistor": Formula(-105.0, 105.0),
    "arc": Formula(-5.0, 5.0),
    "photovoltaic_cell": Formula(-0.1, 0.66),
    "junction_capacitance": Run("1.effort", "1.displacement", 1.0, {"1": _to_and_fro(1e-9)}),
    "ideal_transformer": Run("time", "2.effort", 1.0, {"1": Effort(_wave(1.0)), "2": Load(1.0)}, {"n": 2.0}),
    "coupled_coils": Run("time", "2.effort", 0.1, {"1": Effort(_wave(10.0, 50.0)), "2": Load(10.0)}),
    "transformer": Run("time", "2.effort", 0.1, {"1": Effort(_wave(10.0, 50.0)), "2": Load(10.0)}),
    "saturating_inductor": Run("1.flow", "1.momentum", 1.0, {"1": Effort(_to_and_fro(4.0).value)}),
    "line_of_sections": Run("time", "2.effort", 1e-3, {"1": Effort(1.0), "2": Load(1e3)}),
    "ideal_diode": _over_effort(1.0, Ron=0.1, Goff=0.01, knee=0.5),
    "thyristor": _gated("gate", lambda t: _in_period(t, 0.01) > 0.003),
    "gto": _gated("gate", lambda t: (_in_period(t, 0.02) > 0.003) * (_in_period(t, 0.02) < 0.007)),
    "triac": _gated("gate", lambda t: _in_period(t, 0.01) > 0.003),
    "switch": _gated("control", lambda t: (t > 0.003) * (t < 0.027)),
    "two_way_switch": Run(
        "time",
        "common.flow",
        1.0,
        {"common": Effort(1.0), "on": Load(1.0), "off": Load(3.0)},
        {"control": "command.y"},
        command=lambda t: 1.0 * (_in_period(t, 0.5) < 0.25),
    ),
    "arc_switch": Run(
        "time",
        "1.flow",
        0.04,
        {"1": Effort(_wave(100.0, 50.0), 1.0)},
        {"control": "command.y"},
        command=lambda t: 1.0 * (t < 0.023),
    ),
    "fuse": Run("time", "1.flow", 0.02, {"1": Effort(_wave(1.0, 50.0))}),
    "op_amp": Run("plus.effort", "out.effort", 1.0, {"plus": Effort(_wave(1e-4)), "minus": Effort(0.0), "out": Load(1e3)}),
    "limited_op_amp": Run(
        "plus.effort", "out.effort", 1.0, {"plus": Effort(_wave(5e-4)), "minus": Effort(0.0), "out": Load(1e3)}
    ),
    "comparator": Run(
        "plus.effort", "out.effort", 1.0, {"plus": Effort(_wave(1.0)), "minus": Effort(0.0), "out": Load(1e3)}, {"h": 0.3}
    ),
    "nullor": Run("in.effort", "out.effort", 1.0, {"in": Effort(_wave(1.0), 1.0), "out": Load(1.0)}, {"error": 0.1}),
    "three_phase_source": Run("time", "a.flow", 0.04, {"a": Load(10.0), "b": Load(10.0), "c": Load(10.0)}),
    "battery": Run("time", "1.effort", 3000.0, {"1": Flow(-0.6)}, {"charge": 1.0}),
    "supercapacitor": Run("time", "1.effort", 600.0, {"1": Flow(lambda t: where(t < 300.0, 1.0, -1.0))}),
    "half_bridge": _bridge("gate", "out"),
    "h_bridge": _bridge("left", "left", "right"),
    "three_phase_bridge": _bridge("a", *"abc"),
    "lossless_line": Run("time", "2.effort", 1e-5, {"1": Effort(1.0, 10.0), "2": Load(1e3)}),
    # electronics
    "bjt": Run(
        "base.effort", "collector.flow", 1.0, {"collector": Effort(5.0), "base": Effort(_rise(0.5, 0.8)), "emitter": Effort(0.0)}
    ),
    "mosfet": Run(
        "drain.effort", "drain.flow", 1.0, {"drain": Effort(_rise(0.0, 5.0)), "gate": Effort(3.0), "source": Effort(0.0)}
    ),
    # machines
    "dc_motor": Run(
        "shaft.flow", "part.gap.2.effort", 1.0, {"armature": Effort(12.0), "shaft": Flow(_rise(0.0, 240.0))}, skip=0.02
    ),
    "series_motor": Run(
        "shaft.flow", "part.gap.2.effort", 5.0, {"armature": Effort(48.0), "shaft": Flow(_rise(0.0, 300.0, 5.0))}, skip=0.3
    ),
    "excited_motor": Run(
        "shaft.flow",
        "part.gap.2.effort",
        5.0,
        {"armature": Effort(48.0), "field": Effort(100.0), "shaft": Flow(_rise(0.0, 48.0, 5.0))},
        skip=0.3,
    ),
    "synchronous_motor": Run(
        "shaft.flow", "a.effort", 0.1, {**dict.fromkeys("abc", Load(10.0)), "shaft": Flow(_rise(0.0, 300.0, 0.1))}
    ),
    "induction_motor": Run("shaft.flow", "part.gap.2.effort", 5.0, {**_PHASES, "shaft": Flow(_rise(0.0, 200.0, 5.0))}, skip=0.6),
    "stepper_motor": Run("shaft.displacement", "shaft.effort", 1.0, {"a": Flow(1.0), "b": Flow(0.0), "shaft": Flow(0.25)}),
    # hydraulic
    "orifice": Formula(-2e4, 2e4),
    "check_valve": Formula(-3e4, 4e4),
    "relief_valve": Formula(0.0, 1.3e7),
    "reducing_valve": Formula(-1e7, 1e7),
    "laminar_pipe": Formula(-1e-4, 1e-4),
    "pipe": Formula(-1e-3, 1e-3),
    "spool_valve": Run(
        "A.effort", "A.flow", 1.0, {"P": Effort(1e7), "T": Effort(0.0), "A": Effort(_rise(0.0, 2e7)), "B": Effort(0.0)}
    ),
    "line": Run("time", "1.flow", 5.0, {"1": Effort(1e6)}),
    "tank": Run("1.displacement", "1.effort", 1.0, {"1": Flow(1.0)}),
    "overflowing_tank": Run("1.displacement", "1.effort", 4.0, {"1": Flow(1.0)}),
    "chamber": _stored(1e-6),
    "accumulator": Run("1.displacement", "1.effort", 1.0, {"1": Flow(5e-4)}),
    "cylinder": Run(
        "head.effort", "piston.effort", 1.0, {"head": Effort(_rise(0.0, 1e7)), "rod": Effort(2e6), "piston": Flow(0.0)}
    ),
    "pump": Run(
        "outlet.effort",
        "inlet.flow",
        1.0,
        {"shaft": Flow(150.0), "inlet": Effort(0.0), "outlet": Effort(_rise(0.0, 2e7))},
        {"leak": 3e-12},
    ),
    "hydraulic_motor": Run(
        "shaft.flow", "shaft.effort", 1.0, {"shaft": Flow(_wave(10.0)), "inlet": Effort(1e7), "outlet": Effort(0.0)}
    ),
    "pump_by_curve": Run("inlet.flow", "outlet.effort", 1.0, {"inlet": Effort(0.0), "outlet": Flow(_rise(0.0, -3e-3))}),
    "gas_chamber": Run("1.displacement", "1.effort", 1.0, {"1": Flow(5e-3)}),
    "choked_orifice": Run("2.effort", "1.flow", 1.0, {"1": Effort(6e5), "2": Effort(_rise(1e5, 6e5))}),
    # magnetic
    "reluctance": _stored(1e-4),
    "saturating_core": _stored(2.2e-4),
    "air_gap": Run("gap.displacement", "gap.effort", 1.0, {"core": Effort(500.0, 1e3), "gap": Flow(2e-3)}, skip=0.1),
    "coil": Run("time", "core.effort", 0.1, {"winding": Effort(_wave(1.0, 20.0)), "core": Load(100.0)}, {"resistance": 1.0}),
    "magnet": Run("1.displacement", "1.effort", 1.0, {"1": Flow(-1e-4)}),
    "eddy_loss": Formula(-1.0, 1.0),
    "leakage": _stored(1e-4),
    "hysteretic_core": Run("part.iron.H", "1.displacement", 4.0, {"1": _to_and_fro(1e-4, 2.0)}),
    # motion
    "gear": _turned(10.0, "2.flow", **{"2": Load(1.0)}),
    "planetary_gear": Run(
        "sun.flow", "carrier.flow", 1.0, {"sun": Flow(_rise(-10.0, 10.0)), "ring": Flow(5.0), "carrier": Load(1.0)}
    ),
    "rack_and_pinion": _turned(10.0, "2.flow", **{"2": Load(1.0)}),
    "lead_screw": _turned(10.0, "2.flow", **{"2": Load(1.0)}),
    "lossy_gear": Run(
        "part.core.2.effort", "part.loss.effort", 1.0, {"1": Effort(40.0, 1.0), "2": Effort(_wave(100.0))}, {"eta": 0.6}
    ),
    "worm_gear": Run("2.effort", "1.flow", 1.0, {"1": Effort(2.0, 1.0), "2": Effort(_wave(100.0))}),
    "belt": Run("time", "shaft.effort", 1.0, {"1": Effort(_wave(100.0)), "2": Load(10.0), "shaft": Load(1.0)}),
    "torque_converter": Run("turbine.flow", "turbine.effort", 1.0, {"pump": Flow(200.0), "turbine": Flow(_rise(0.0, 200.0))}),
    "engine_map": Formula(0.0, 600.0),
    "clutch": _stored(1.0),
    "torque_limiter": Run("time", "1.flow", 1.0, {"1": Effort(_wave(15.0), 1.0)}),
    "one_way_clutch": Run("time", "1.flow", 1.0, {"1": Effort(_wave(1.0, 2.0), 1.0)}),
    "stribeck_friction": Formula(-0.6, 0.6),
    "lugre_friction": Run("1.flow", "1.effort", 1.0, {"1": Flow(_wave(5e-3))}),
    "bearing_friction": Formula(-200.0, 200.0),
    "drag": Formula(-1.0, 1.0),
    "rolling_resistance": Formula(-0.05, 0.05),
    "eddy_current_brake": Formula(-300.0, 300.0),
    "hardening_spring": _stored(1.0),
    "gas_spring": _stored(0.05),
    "strut": _stored(0.1),
    "stop": _stored(0.02),
    "elasto_gap": _stored(0.01),
    "backlash": _stored(0.02),
    "tyre": Formula(-10.0, 10.0),
    "tyre_sideways": Formula(-10.0, 10.0),
    "relaxing_tyre": Run("time", "1.effort", 0.1, {"1": Flow(1.0)}),
    "slider_crank": Run("time", "slide.flow", 1.0, {"crank": Flow(4 * pi), "slide": Load(1.0)}),
    "cam": Run("time", "slide.flow", 1.0, {"crank": Flow(4 * pi), "slide": Load(1.0)}),
    # thermal
    "heat_capacity": _stored(30.0),
    "conductance": Run("1.effort", "1.flow", 1.0, {"1": Effort(_rise(250.0, 350.0)), "2": Effort(300.0)}),
    "convection": Run("1.effort", "1.flow", 1.0, {"1": Effort(_rise(250.0, 350.0)), "2": Effort(300.0)}),
    "radiation": Run("1.effort", "1.flow", 1.0, {"1": Effort(_rise(250.0, 600.0)), "2": Effort(300.0)}),
    "exchanger": _over_effort(50.0),
    "peltier": Run(
        "current.flow", "cold.flow", 1.0, {"current": Flow(_rise(0.0, 10.0)), "cold": Effort(290.0), "hot": Effort(300.0)}
    ),
    "phase_change": Run("1.displacement", "1.effort", 1.0, {"1": Flow(5e5)}),
    # chemical
    "chemostat": _stored(1.0, mu=1000.0),
    "network": Run("time", "part.amounts.C", 10.0, {}, {"text": "A -> B : 1; B -> C : 0.5", "amounts": {"A": 1.0}}),
    "diffusion": Run("1.effort", "1.flow", 1.0, {"1": Effort(_rise(-5e3, 5e3)), "2": Effort(0.0)}),
    "michaelis_menten": Run("1.effort", "1.flow", 1.0, {"1": Effort(_rise(-5e3, 15e3)), "2": Effort(0.0)}),
    "hill": Run("1.effort", "1.flow", 1.0, {"1": Effort(_rise(-2e3, 15e3)), "2": Effort(-5e3)}),
    "membrane": Run(
        "voltage.effort",
        "voltage.flow",
        1.0,
        {"inside": Effort(5e3), "outside": Effort(0.0), "voltage": Effort(_rise(-0.15, 0.15))},
    ),
    "ion_channel": Run("time", "1.flow", 0.02, {"1": Effort(-0.02)}),
    "electrode": Formula(-0.12, 0.12),
}
