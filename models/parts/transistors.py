"""Transistors: R-fields of three pins, whose voltages are those to ground and whose currents flow into the part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from screwbond.models.parts.electrical import growth
from screwbond.models.parts.record import Shelf, Value, modulated

from bondgraph import Element, multiport
from screws.scalars import absolute, array, exp, maximum

SHELF = Shelf("transistors")
BOLTZMANN = 8.617333262e-5  # V/K, over the elementary charge


def _transistor(name: str, law: Any, pins: str, values: Mapping[str, Value]) -> Element:
    """Return an R-field whose law gives the currents of pins, by their voltages times the polarity."""
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
    """Bipolar transistor with the temperature T, npn or, with the polarity -1, pnp; Is is that at 300 K.

    Exponentials go on as their tangents above `top` k T / q.
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
    """Field-effect transistor with the threshold Vt, of n or, with the polarity -1, of p channel; `slope` is lambda."""

    def law(d: Any, g: Any, s: Any, K: Any, Vt: Any, slope: Any, Gds: Any) -> Any:
        opened = maximum(g - s - Vt, 0.0) ** 2 - maximum(g - d - Vt, 0.0) ** 2
        drain = K / 2 * (1 + slope * absolute(d - s)) * opened + Gds * (d - s)
        return [drain, 0.0 * drain, -drain]

    values = {"polarity": polarity, "K": K, "Vt": Vt, "slope": slope, "Gds": Gds}
    return _transistor(name, law, "drain gate source", values)
