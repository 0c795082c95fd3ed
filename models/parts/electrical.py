"""Electrical parts: semiconductors, switches, bridges, transformers, lines, sources and batteries.

The current of a part with one port flows into it, and its voltage is the effort of the port.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from screwbond.models.parts.record import Shelf, Value, modulated, number

from bondgraph import J0, TF, Automaton, Block, C, Diode, Element, Graph, I, R, Se, Sf, Switch, Transition, multiport
from bondgraph.signals import delay
from screws.scalars import absolute, atan, expm1, maximum, minimum, sign, sin, sqrt, where

SHELF = Shelf("electrical")


def _node(name: str) -> Element:
    return J0(name, domain="electrical")


# --- laws


def growth(x: Any, top: Any) -> Any:
    """Return e^x - 1 for x up to `top`, and beyond it the tangent at `top`."""
    below = expm1(minimum(x, top))
    return below + (1 + below) * maximum(x - top, 0.0)


def _junction(v: Any, Is: Any, Vt: Any, Rp: Any, top: Any) -> Any:
    return Is * growth(v / Vt, top) + v / Rp


@SHELF.law(R, "flow", r"i = I_s (e^{v / V_t} - 1) + v / R_p", "Shockley 1949", "Is=1e-6 A, Vt=0.04 V, Rp=1e8 ohm, top=15")
def diode(v: Value, Is: Value, Vt: Value, Rp: Value, top: Value) -> Value:
    """Exponential diode with leak Rp; linear above `top` Vt."""
    return _junction(v, Is, Vt, Rp, top)


@SHELF.law(
    R,
    "flow",
    r"i = I_s (e^{v / V_t} - 1) - I_b (e^{-(v + B_v) / (N_b V_t)} - e^{-B_v / (N_b V_t)}) + v / R_p",
    "Zener 1934",
    "Is=1e-6 A, Vt=0.04 V, Bv=5.1 V, Ib=0.7 A, Nb=0.74, Rp=1e8 ohm, top=30",
)
def zener(v: Value, Is: Value, Vt: Value, Bv: Value, Ib: Value, Nb: Value, Rp: Value, top: Value) -> Value:
    """Zener diode, which also conducts in reverse above Bv."""
    back = growth(-(v + Bv) / (Nb * Vt), top) - expm1(-Bv / (Nb * Vt))
    return _junction(v, Is, Vt, Rp, top) - Ib * back


@SHELF.law(
    R, "flow", r"i = I_0 \operatorname{sgn}(v) (\lvert v \rvert / V_0)^\alpha", "Matsuoka 1971", "V0=100 V, I0=1e-3 A, alpha=30"
)
def varistor(v: Value, V0: Value, I0: Value, alpha: Value) -> Value:
    """Varistor with the current I0 at the voltage V0, and almost no current well below V0."""
    return I0 * sign(v) * (absolute(v) / V0) ** alpha


@SHELF.law(R, "effort", r"v = V_0\, i / \sqrt{i^2 + i_0^2} + R\, i", "Ayrton 1902", "V0=20 V, i0=1e-3 A, R=0 ohm")
def arc(i: Value, V0: Value, i0: Value, R: Value) -> Value:
    """Electric arc with nearly constant voltage."""
    return V0 * i / sqrt(i * i + i0 * i0) + R * i


@SHELF.law(
    R,
    "flow",
    r"i = I_s (e^{v / V_t} - 1) + v / R_p - I_{ph} G / (1000\,\mathrm{W/m^2})",
    "Prince 1955",
    "Is=1e-9 A, Vt=0.03 V, Rp=1e3 ohm, Iph=3 A, G=1000 W/m^2 signal, top=40",
    passive=False,
)
def photovoltaic_cell(v: Value, Is: Value, Vt: Value, Rp: Value, Iph: Value, G: Value, top: Value) -> Value:
    """Photovoltaic cell: diode in parallel with the photocurrent, Iph at G = 1000 W/m^2."""
    return _junction(v, Is, Vt, Rp, top) - Iph * G / 1000.0


@SHELF.law(C, "energy", r"C(v) = C_0 / \sqrt{1 - v / V_j}", "Sze and Ng 2007, section 2.2", "C0=1e-9 F, Vj=0.7 V")
def junction_capacitance(q: Value, C0: Value, Vj: Value) -> Value:
    """Depletion capacitance of an abrupt junction, constant above Vj / 2."""
    x = q / C0
    curved = minimum(x, (2 - sqrt(2.0)) * Vj)
    line = x - curved
    voltage, slope = curved - curved**2 / (4 * Vj), 1 - curved / (2 * Vj)
    return C0 * (curved**2 / 2 - curved**3 / (12 * Vj) + line * voltage + line**2 * slope / 2)


@SHELF.law(
    I,
    "flux",
    r"\psi = L_\infty i + (L_0 - L_\infty) I_s \arctan(i / I_s)",
    "Modelica Standard Library, SaturatingInductor",
    "L0=2.0 H, Linf=0.2 H, Is=1 A",
)
def saturating_inductor(i: Value, L0: Value, Linf: Value, Is: Value) -> Value:
    """Saturating inductor: inductance L0 at small currents, Linf far above Is."""
    return Linf * i + (L0 - Linf) * Is * atan(i / Is)


# --- transformers


@SHELF.part(r"v_1 = n v_2,\quad i_2 = n i_1", "Karnopp, Margolis and Rosenberg 2012", "n=1 signed")
def ideal_transformer(name: str, n: Value) -> Element:
    """Ideal transformer with n : 1 windings."""
    return TF(name, n, domains=("electrical", "electrical"))


@SHELF.part(
    r"\psi = L\, i,\quad L = \begin{pmatrix} L_1 & k\sqrt{L_1 L_2} \\ k\sqrt{L_1 L_2} & L_2 \end{pmatrix}",
    "Neumann 1845",
    "L1=1 H, L2=1 H, k=0.9 signed",
)
def coupled_coils(name: str, L1: Value, L2: Value, k: Value) -> Graph:
    """Two coupled coils with coupling coefficient k between -1 and 1."""

    def energy(psi: Any, L1: Any, L2: Any, k: Any) -> Any:
        a, b = psi[0] / sqrt(L1), psi[1] / sqrt(L2)
        return (a * a - 2 * k * a * b + b * b) / (2 * (1 - k * k))

    ports = {"1": "electrical", "2": "electrical"}
    return multiport("I", name, energy, ports, initial=[0.0, 0.0], parameters={"L1": L1, "L2": L2, "k": k})


@SHELF.part(
    r"v_1 = (R_1 + s L_1) i_1 + n v_m,\quad v_m = s L_m (n i_1 - i_2),\quad v_2 = v_m - (R_2 + s L_2) i_2",
    "Steinmetz 1897",
    "n=1, R1=0.1 ohm, L1=1e-3 H, R2=0.1 ohm, L2=1e-3 H, Lm=1 H",
)
def transformer(name: str, n: Value, R1: Value, L1: Value, R2: Value, L2: Value, Lm: Value) -> Graph:
    """Transformer with n : 1 windings, resistances, leakage, and magnetising inductance Lm at the second winding."""
    part, core = Graph(name), TF("core", n, domains=("electrical", "electrical"))
    first, second = part.series(R("R1", R1), I("L1", inductance=L1)), part.series(R("R2", R2), I("L2", inductance=L2))
    part.connect(first, core).connect(core, field := part.parallel(I("Lm", inductance=Lm))).connect(field, second)
    out = TF("out", 1.0, structural=True, domains=("electrical", "electrical"))
    return part.connect(second, out.port("1")).expose("1", first).expose("2", out.port("2"))


@SHELF.part(
    r"-\partial_x v = R' i + L' \partial_t i,\quad -\partial_x i = G' v + C' \partial_t v",
    "Heaviside 1885",
    "R_line=1 ohm, L_line=1e-3 H, G_line=1e-6 S, C_line=1e-6 F, sections=5",
)
def line_of_sections(name: str, R_line: Value, L_line: Value, G_line: Value, C_line: Value, sections: Value) -> Graph:
    """Lossy line of equal sections; R_line, L_line, G_line and C_line are totals."""
    part, count = Graph(name), round(number(sections))
    share = [number(each) / count for each in (R_line, L_line, G_line, C_line)]
    part.expose("1", start := _node("begin"))
    for k in range(count):
        part.between(start, node := _node(f"node {k}"), R(f"R {k}", share[0]), I(f"L {k}", inductance=share[1]))
        part.between(node, None, R(f"G {k}", conductance=share[2])).between(
            start := node, None, C(f"C {k}", capacitance=share[3])
        )
    return part.expose("2", start)


@SHELF.part(
    r"v_1 = Z i_1 + e_1,\quad e_1(t) = (v_2 + Z i_2)(t - T),\quad v_2 = Z i_2 + e_2,\quad e_2(t) = (v_1 + Z i_1)(t - T)",
    "Branin 1967",
    "Z=50 ohm, T=1e-6 s",
)
def lossless_line(name: str, Z: Value, T: Value) -> Graph:
    """Lossless line with characteristic impedance Z and delay T, initially at rest; currents flow into it.

    The energy ledger counts Z as a dissipator and the arriving waves as sources.
    """
    part = Graph(name)
    for end, other in (("1", "2"), ("2", "1")):
        wave = Sf(f"wave{end}", lambda e, Z: e / Z, parameters={"Z": Z}, signals=[f"e{end}.y"])
        part.expose(end, part.parallel(wave, R(f"Z{end}", Z, domain="electrical")))
        part.add(
            Block(f"sent{end}", [("y", lambda e, v: 2 * v - e, ["e", "v"])], inputs={"e": f"e{end}.y", "v": f"Z{end}.effort"})
        )
        part.add(delay(f"e{other}", f"sent{end}.y", T, initial=0.0))
    return part


# --- switches

SWITCH = r"v = R_{on} (i - G_{off} V_k) + V_k\ \text{(on)},\quad i = G_{off}\, v\ \text{(off)}"
VALVE = "Ron=1e-5 ohm, Goff=1e-5 S, knee=0 V"


def _with_leak(name: str, Goff: Value, automaton: str, *series: Element) -> Graph:
    part = Graph(name)
    pin = part.parallel(R("leak", conductance=Goff, domain="electrical"))
    return part.connect(pin, part.series(*series)).expose("1", pin).export("mode", f"{automaton}.mode")


def _valve(name: str, Ron: Value, Goff: Value, knee: Value, valve: Element, automaton: str = "valve") -> Graph:
    """Return an ideal valve in series with a resistance and a knee, in parallel with a leak; in the third state of its automaton,
    that of a triac, it conducts backwards.

    The resistance is chosen so that Ron is the slope of the valve and its leak together.
    """

    def drop(i: Any, Ron: Any, Goff: Any, knee: Any, mode: Any) -> Any:
        return Ron / (1 - Ron * Goff) * i + knee * where(mode > 1.5, -1.0, 1.0)

    loss = R("drop", effort=drop, parameters={"Ron": Ron, "Goff": Goff, "knee": knee}, signals=[f"{automaton}.mode"])
    return _with_leak(name, Goff, automaton, valve, loss)


@SHELF.part(SWITCH, "Modelica Standard Library, IdealDiode", VALVE)
def ideal_diode(name: str, Ron: Value, Goff: Value, knee: Value) -> Graph:
    """Ideal diode with on-resistance Ron, off-conductance Goff and forward voltage `knee`."""
    return _valve(name, Ron, Goff, knee, Diode("valve"))


_FORWARD, _BACKWARD = ("off", "forward", 1.0), ("off", "backward", -1.0)


def _gated(
    name: str, gate: Value, resistances: tuple[Value, Value, Value], ways: Sequence[tuple[str, str, float]], turns_off: bool
) -> Graph:
    """Return a valve that a gate above 1/2 turns on if its voltage has the sign of one of the `ways` (off state, on state, sign);
    it turns off when its current falls to zero or, with `turns_off`, when its gate falls to 1/2."""
    gates, parameters = modulated(gate=gate)
    part = _valve(name, *resistances, Switch("valve", automaton="gate", closed=[way for _, way, _ in ways]), "gate")
    part.add(Block("input", [("u", lambda gate: gate, ["gate"])], inputs=parameters, parameters=gates))
    transitions = []
    for off, on, sense in ways:
        signals = {"on": ("valve.effort", "input.u"), "off": ("valve.flow", "input.u")}
        fires = Transition(off, on, lambda v, u, sense=sense: minimum(sense * v, u - 0.5), signals["on"], kind=f"{name} turns on")
        ends = (lambda i, u, sense=sense: maximum(-sense * i, 0.5 - u)) if turns_off else (lambda i, u, sense=sense: -sense * i)
        transitions += [fires, Transition(on, off, ends, signals["off"], kind=f"{name} turns off")]
    return part.add_automaton(Automaton("gate", ("off", *(way for _, way, _ in ways)), "off", transitions))


@SHELF.part(SWITCH, "Moll et al. 1956", f"gate=1 signal, {VALVE}")
def thyristor(name: str, gate: Value, Ron: Value, Goff: Value, knee: Value) -> Graph:
    """Thyristor: a gate signal above 1/2 turns it on at positive voltage; it turns off when its current falls to zero."""
    return _gated(name, gate, (Ron, Goff, knee), [_FORWARD], turns_off=False)


@SHELF.part(SWITCH, "New, Frank et al. 1958", f"gate=1 signal, {VALVE}")
def gto(name: str, gate: Value, Ron: Value, Goff: Value, knee: Value) -> Graph:
    """Gate turn-off thyristor: a thyristor that also turns off when its gate signal falls to 1/2."""
    return _gated(name, gate, (Ron, Goff, knee), [_FORWARD], turns_off=True)


@SHELF.part(SWITCH, "Gentry 1964", f"gate=1 signal, {VALVE}")
def triac(name: str, gate: Value, Ron: Value, Goff: Value, knee: Value) -> Graph:
    """Triac: a bidirectional thyristor."""
    return _gated(name, gate, (Ron, Goff, knee), [_FORWARD, _BACKWARD], turns_off=False)


@SHELF.part(
    r"v = R_{on}\, i\ (u > \tfrac12),\quad i = G_{off}\, v\ \text{otherwise}",
    "Karnopp and Rosenberg 1992",
    "control=1 signal, Ron=1e-5 ohm, Goff=1e-5 S",
)
def switch(name: str, control: Value, Ron: Value, Goff: Value) -> Graph:
    """Switch, closed while its control signal is above 1/2."""
    parameters, signals = modulated(control=control)
    contact = Switch("contact", automaton="state", closed=("closed",))
    part = _with_leak(name, Goff, "state", contact, R("contact resistance", Ron))
    part.add(Block("input", [("u", lambda control: control, ["control"])], inputs=signals, parameters=parameters))
    closes = Transition("open", "closed", lambda u: u - 0.5, ("input.u",), kind=f"{name} closes")
    opens = Transition("closed", "open", lambda u: 0.5 - u, ("input.u",), kind=f"{name} opens")
    return part.add_automaton(Automaton("state", ("open", "closed"), "open", (closes, opens)))


@SHELF.part(
    r"v = R_{on}\, i\ \text{(closed)},\quad i = G_{off}\, v\ \text{(open)}",
    "Karnopp and Rosenberg 1992",
    "control=1 signal, Ron=1e-5 ohm, Goff=1e-5 S",
)
def two_way_switch(name: str, control: Value, Ron: Value, Goff: Value) -> Graph:
    """Changeover switch: connects port `common` to port `on` while the control signal is above 1/2, otherwise to port `off`."""
    part, (parameters, signals) = Graph(name), modulated(control=control)
    formulas = [("on", lambda control: control, ["control"]), ("off", lambda control: 1.0 - control, ["control"])]
    part.add(Block("controls", formulas, inputs=signals, parameters=parameters))
    part.expose("common", common := _node("common"))
    for port in ("on", "off"):
        part.between(common, node := _node(f"to {port}"), switch(port, f"controls.{port}", Ron, Goff)).expose(port, node)
    return part


@SHELF.part(
    r"v = R_{on}\, i\ \text{(closed)},\quad v = \operatorname{sgn}(i) \min(V_0 + \dot V (t - t_s), V_m)\ \text{(arc)},\quad"
    r" i = G_{off}\, v\ \text{(open)}",
    "Modelica Standard Library, IdealSwitchWithArc",
    "control=1 signal, V0=30 V, dVdt=1e4 V/s, Vmax=60 V, Ron=1e-5 ohm, Goff=1e-5 S",
)
def arc_switch(name: str, control: Value, V0: Value, dVdt: Value, Vmax: Value, Ron: Value, Goff: Value) -> Graph:
    """Switch with an arc that burns from opening until the current is zero; closed while the control signal is above 1/2."""
    parameters, signals = modulated(control=control)
    part, levels = Graph(name), {"V0": V0, "dVdt": dVdt, "Vmax": Vmax, "Ron": Ron, "Goff": Goff}

    def effort(i: Any, mode: Any, t: Any, V0: Any, dVdt: Any, Vmax: Any, Ron: Any, Goff: Any) -> Any:
        burning = sign(i) * minimum(V0 + dVdt * t, Vmax)
        return where(mode > 1.5, burning, where(mode > 0.5, Ron, 1 / Goff) * i)

    read = {"mode": "state.mode", "t": "timer.t"}
    part.add(Block("input", [("u", lambda control: control, ["control"])], inputs=signals, parameters=parameters))
    part.add(Block("timer", [("rate", lambda: 1.0, [])], states={"t": 0.0}, rates={"t": "rate"}))
    contact = R("contact", effort=effort, parameters=levels, signals=read, domain="electrical")
    part.add(
        Block(
            "ends",
            [("left", lambda i, v, Goff: absolute(v) * Goff - absolute(i), ["i", "v", "Goff"])],
            inputs={"i": "contact.flow", "v": "contact.effort"},
            parameters={"Goff": Goff},
        )
    )
    closes, breaks = (("input.u",), lambda u: u - 0.5), (("input.u",), lambda u: 0.5 - u)
    edges = [Transition(start, "closed", closes[1], closes[0], kind=f"{name} closes") for start in ("open", "arc")]
    edges.append(Transition("closed", "arc", breaks[1], breaks[0], resets=(("timer.t", lambda: 0.0, ()),), kind=f"{name} opens"))
    edges.append(Transition("arc", "open", lambda left: left, ("ends.left",), kind=f"{name} is quenched"))
    pin = part.series(contact)
    part.add_automaton(Automaton("state", ("open", "closed", "arc"), "open", edges))
    return part.expose("1", pin).export("mode", "state.mode")


@SHELF.part(r"\dot w = i^2,\quad i = 0\ \text{once}\ w \ge I^2t", "Preece 1884", "I2t=10 A^2 s, R_cold=1e-2 ohm, Goff=1e-9 S")
def fuse(name: str, I2t: Value, R_cold: Value, Goff: Value) -> Graph:
    """Fuse, which opens permanently once the integral of the squared current, `heat.w`, reaches I2t."""
    part = _with_leak(name, Goff, "state", Switch("contact", automaton="state", closed=("intact",)), R("wire", R_cold))
    part.add(
        Block("heat", [("rate", lambda i: i * i, ["i"])], inputs={"i": "contact.flow"}, states={"w": 0.0}, rates={"w": "rate"})
    )
    part.add(Block("rating", [("left", lambda w, I2t: w - I2t, ["w", "I2t"])], inputs={"w": "heat.w"}, parameters={"I2t": I2t}))
    blows = Transition("intact", "blown", lambda left: left, ("rating.left",), kind=f"{name} blows")
    return part.add_automaton(Automaton("state", ("intact", "blown"), "intact", (blows,)))


# --- bridges

LEG = r"v_o \approx v_+\ (u > \tfrac12),\quad v_o \approx v_-\ \text{otherwise},\quad i_+ + i_- = i_o"
MOHAN = "Mohan, Undeland and Robbins 2003, chapter 8"


@SHELF.part(LEG, MOHAN, f"gate=1 signal, {VALVE}")
def half_bridge(name: str, gate: Value, Ron: Value, Goff: Value, knee: Value) -> Graph:
    """Two transistors with antiparallel diodes; a gate signal above 1/2 turns on the upper transistor, otherwise the lower.

    Ports plus, out and minus.
    """
    part, contacts = Graph(name), two_way_switch("contacts", gate, Ron, Goff)
    plus, out, minus = map(_node, ("plus", "out", "minus"))
    part.connect(plus, contacts.port("on")).connect(out, contacts.port("common")).connect(minus, contacts.port("off"))
    part.between(out, plus, ideal_diode("upper diode", Ron, Goff, knee))
    part.between(minus, out, ideal_diode("lower diode", Ron, Goff, knee))
    return part.expose("plus", plus).expose("out", out).expose("minus", minus)


def _legs(name: str, gates: Mapping[str, Value], *resistances: Value) -> Graph:
    part, plus, minus = Graph(name), _node("plus"), _node("minus")
    for port, gate in gates.items():
        leg = half_bridge(port, gate, *resistances)
        part.connect(plus, leg.port("plus")).connect(leg.port("minus"), minus).expose(port, leg.port("out"))
    return part.expose("plus", plus).expose("minus", minus)


@SHELF.part(LEG, MOHAN, f"left=1 signal, right=0 signal, {VALVE}")
def h_bridge(name: str, left: Value, right: Value, Ron: Value, Goff: Value, knee: Value) -> Graph:
    """H bridge of two half bridges with gate signals left and right; ports plus, minus, left and right."""
    return _legs(name, {"left": left, "right": right}, Ron, Goff, knee)


@SHELF.part(LEG, MOHAN, f"a=1 signal, b=0 signal, c=0 signal, {VALVE}")
def three_phase_bridge(name: str, a: Value, b: Value, c: Value, Ron: Value, Goff: Value, knee: Value) -> Graph:
    """Three half bridges with gate signals a, b and c; ports plus, minus, a, b and c."""
    return _legs(name, {"a": a, "b": b, "c": c}, Ron, Goff, knee)


# --- sources, batteries


@SHELF.part(
    r"v_k = \hat V \sin(2\pi f t + \varphi - 2\pi k / 3),\quad k = 0, 1, 2",
    "Steinmetz 1897",
    "amplitude=325 V, frequency=50 Hz, phase=0 rad signed, R_line=0.1 ohm",
    passive=False,
)
def three_phase_source(name: str, amplitude: Value, frequency: Value, phase: Value, R_line: Value) -> Graph:
    """Three-phase source in star connection with a resistance in each line; ports a, b and c."""
    part, values = Graph(name), {"V": amplitude, "f": frequency, "phase": phase}
    for k, line in enumerate("abc"):

        def voltage(t: Any, V: Any, f: Any, phase: Any, k: int = k) -> Any:
            return V * sin(2 * np.pi * (f * t - k / 3) + phase)

        source = Se(f"source {line}", voltage, parameters=values, signals={"t": "time"}, domain="electrical")
        node = _node(f"line {line}")
        part.between(None, node, source, R(f"R {line}", R_line)).expose(line, node)
    return part


BATTERY = r"v = V_0 + (V_1 - V_0) q / Q + R\, i + v_1,\quad C_1 \dot v_1 = i - v_1 / R_1"


@SHELF.part(
    BATTERY,
    "Plett 2015, Battery Management Systems, chapter 2",
    "capacity=3600 C, charge=0.5, V_empty=3 V, V_full=4.2 V, R0=0.02 ohm, R1=0.01 ohm, C1=1e3 F",
)
def battery(name: str, capacity: Value, charge: Value, V_empty: Value, V_full: Value, R0: Value, R1: Value, C1: Value) -> Graph:
    """Battery with R0 and one RC pair (R1, C1); its open-circuit voltage rises with charge from V_empty to V_full.

    `charge` is the initial fraction of the capacity. The current into the port charges it.
    """
    part = Graph(name)

    def energy(q: Any, Q: Any, low: Any, high: Any) -> Any:
        return low * q + (high - low) * q * q / (2 * Q)

    limits = {"Q": capacity, "low": V_empty, "high": V_full}
    cell = C("cell", energy=energy, parameters=limits, initial=number(charge) * number(capacity), domain="electrical")
    pin = part.series(cell, R("R0", R0))
    return part.connect(pin, part.parallel(R("R1", R1), C("C1", capacitance=C1))).expose("1", pin)


@SHELF.part(
    r"v = R\, i + q / C,\quad i_l = (q / C) / R_l",
    "Conway 1999",
    "capacitance=100 F, ESR=0.01 ohm, R_leak=1e4 ohm, voltage=0 V signed",
)
def supercapacitor(name: str, capacitance: Value, ESR: Value, R_leak: Value, voltage: Value) -> Graph:
    """Supercapacitor with series resistance ESR and leak, initially at `voltage`."""
    part, charge = Graph(name), number(capacitance) * number(voltage)
    store = C("store", capacitance=capacitance, initial=charge, domain="electrical")
    return part.connect(pin := part.series(R("ESR", ESR)), part.parallel(store, R("leak", R_leak))).expose("1", pin)
