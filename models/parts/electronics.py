"""Electronics: transistors and amplifiers, whose pins are ports with the voltage to ground as effort and the current into the
part as flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from screwbond.models.parts.electrical import growth
from screwbond.models.parts.record import Shelf, Value, modulated, number

from bondgraph import Automaton, Block, Element, Graph, R, Se, Sf, Transition, multiport
from bondgraph.signals import hysteresis
from screws.scalars import absolute, array, exp, maximum, where

SHELF = Shelf("electronics")
BOLTZMANN = 8.617333262e-5
"""Boltzmann's constant divided by the elementary charge, V/K."""


# --- transistors


def _transistor(name: str, law: Any, pins: str, values: Mapping[str, Value]) -> Element:
    parameters, signals = modulated(**values)

    def flows(v: Any, polarity: Any, *others: Any) -> Any:
        return polarity * array(law(*(polarity * v[k] for k in range(3)), *others))

    ports = dict.fromkeys(pins.split(), "electrical")
    return multiport("R", name, flows, ports, passive=not signals, parameters=parameters, signals=signals)


@SHELF.part(
    r"i_c = I_s(T) (e^{v_{be} / V_T} - (1 + 1 / \beta_r) e^{v_{bc} / V_T} + 1 / \beta_r),\quad"
    r" i_b = I_s(T) ((e^{v_{be} / V_T} - 1) / \beta_f + (e^{v_{bc} / V_T} - 1) / \beta_r),\quad V_T = k T / q",
    "Ebers and Moll 1954; Is(T) of Massobrio and Antognetti 1993, section 2.5",
    "polarity=1 signed, Is=1e-16 A, Bf=100, Br=1, EG=1.11 V, XTI=3, top=40, T=300 K signal",
)
def bjt(name: str, polarity: Value, Is: Value, Bf: Value, Br: Value, EG: Value, XTI: Value, top: Value, T: Value) -> Element:
    """Bipolar transistor (npn; pnp with polarity -1) at temperature T; Is applies at 300 K.

    Above `top` k T / q, tangents continue the exponentials.
    """

    def law(c: Any, b: Any, e: Any, Is: Any, Bf: Any, Br: Any, EG: Any, XTI: Any, top: Any, T: Any) -> Any:
        V_T, warm = BOLTZMANN * T, T / 300.0
        Is = Is * warm**XTI * exp((warm - 1) * EG / V_T)
        forward, reverse = (Is * growth(v / V_T, top) for v in (b - e, b - c))
        collector, base = forward - reverse * (1 + 1 / Br), forward / Bf + reverse / Br
        return [collector, base, -collector - base]

    values = {"polarity": polarity, "Is": Is, "Bf": Bf, "Br": Br, "EG": EG, "XTI": XTI, "top": top, "T": T}
    return _transistor(name, law, "collector base emitter", values)


@SHELF.part(
    r"i_d = \tfrac{K}{2} (1 + \lambda \lvert v_{ds} \rvert)"
    r" (\max(v_{gs} - V_t, 0)^2 - \max(v_{gd} - V_t, 0)^2) + G_{ds} v_{ds},\quad i_g = 0",
    "Shichman and Hodges 1968",
    "polarity=1 signed, K=2e-3 A/V^2, Vt=1 V signed, slope=0.01 1/V, Gds=1e-9 S",
)
def mosfet(name: str, polarity: Value, K: Value, Vt: Value, slope: Value, Gds: Value) -> Element:
    """MOSFET (n-channel; p-channel with polarity -1) with threshold Vt; `slope` is lambda."""

    def law(d: Any, g: Any, s: Any, K: Any, Vt: Any, slope: Any, Gds: Any) -> Any:
        opened = maximum(g - s - Vt, 0.0) ** 2 - maximum(g - d - Vt, 0.0) ** 2
        drain = K / 2 * (1 + slope * absolute(d - s)) * opened + Gds * (d - s)
        return [drain, 0.0 * drain, -drain]

    values = {"polarity": polarity, "K": K, "Vt": Vt, "slope": slope, "Gds": Gds}
    return _transistor(name, law, "drain gate source", values)


# --- amplifiers


@SHELF.part(r"v_o = A (v_+ - v_-),\quad i_+ = i_- = 0", "Tietze and Schenk 1999", "gain=1e5", passive=False)
def op_amp(name: str, gain: Value) -> Graph:
    """Static operational amplifier without output limits."""
    part, signals = _inputs(name)
    source = Se(
        "output", lambda plus, minus, gain: gain * (plus - minus), parameters={"gain": gain}, signals=signals, domain="electrical"
    )
    return part.expose("out", part.parallel(source))


def _inputs(name: str) -> tuple[Graph, dict[str, str]]:
    part = Graph(name)
    return part, {pin: part.sense(pin, "electrical") for pin in ("plus", "minus")}


@SHELF.part(r"v_i = \varepsilon v_o,\quad i_i = 0", "Carlin 1964", "error=0 signed", passive=False)
def nullor(name: str, error: Value) -> Graph:
    """Nullor: through feedback, the voltage at port `out` makes the voltage and the current at port `in` zero.

    With an `error` other than zero, the voltage at `in` is `error` times the voltage at `out`.
    """
    part, signals, at = Graph(name), ["unknown.effort"], "electrical"
    draws = R("unknown", relation=lambda v, i, drawn: drawn, signals=["input.flow"], domain=at)
    part.connect(Sf("none", 0.0, domain=at), draws)
    part.expose("in", part.parallel(Se("input", lambda v, k: k * v, parameters={"k": error}, signals=signals, domain=at)))
    return part.expose("out", part.parallel(Se("output", lambda v: v, signals=signals, domain=at)))


@SHELF.part(
    r"v_o = V_+\ (v_+ - v_- > h),\quad v_o = V_-\ (v_+ - v_- < -h)",
    "Tietze and Schenk 1999",
    "low=0 V signed, high=5 V signed, h=0 V",
    passive=False,
)
def comparator(name: str, low: Value, high: Value, h: Value) -> Graph:
    """Comparator with hysteresis: the output jumps at an input voltage of h, and back at -h."""
    part, signals = _inputs(name)
    part.add(Block("input", [("v", lambda plus, minus: plus - minus, ["plus", "minus"])], inputs=signals))
    part.add(hysteresis("relay", "input.v", -number(h), number(h), low=low, high=high, unit="V"))
    return part.expose("out", part.parallel(Se("output", lambda y: y, signals=["relay.y"], domain="electrical")))


@SHELF.part(
    r"v_o = A (v_+ - v_-),\quad v_o = V_-\quad\text{or}\quad v_o = V_+",
    "Modelica Standard Library, IdealizedOpAmpLimited",
    "gain=1e5, low=-15 V signed, high=15 V signed",
    passive=False,
)
def limited_op_amp(name: str, gain: Value, low: Value, high: Value) -> Graph:
    """Operational amplifier with output limits as modes; under positive feedback, as in triggers, it jumps.

    When it leaves a limit, it tries the other limit (`falling`, `rising`), and is linear if it cannot stay there. A trigger
    starts at the lower limit if its inputs allow both.
    """
    part, signals = _inputs(name)
    values = {"gain": gain, "low": low, "high": high}

    def output(plus: Any, minus: Any, mode: Any, gain: Any, low: Any, high: Any) -> Any:
        return where(mode < 1.5, low, where(mode < 3.5, high, gain * (plus - minus)))

    def excess(plus: Any, minus: Any, gain: Any, low: Any, high: Any) -> Any:
        return gain * (plus - minus) - array([low, high])

    part.add(Block("input", [("excess", excess, [*signals, *values])], inputs=signals, parameters=values))

    def edge(start: str, stop: str, limit: int, sense: float) -> Transition:
        return Transition(start, stop, lambda x: sense * x[limit], ("input.excess",), kind=f"{name} is {stop}")

    above_low, below_low, above_high, below_high = (0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)
    edges = [edge("high", "falling", *below_high), edge("falling", "low", *below_low), edge("falling", "linear", *above_low)]
    edges += [edge("low", "rising", *above_low), edge("rising", "high", *above_high), edge("rising", "linear", *below_high)]
    edges += [edge("linear", "high", *above_high), edge("linear", "low", *below_low)]
    part.add_automaton(Automaton("state", ("low", "falling", "rising", "high", "linear"), "low", edges))
    source = Se("output", output, parameters=values, signals={**signals, "mode": "state.mode"}, domain="electrical")
    return part.expose("out", part.parallel(source)).export("mode", "state.mode")
