"""Hydraulic and pneumatic parts: orifices, valves, lines, vessels, cylinders and machines.

The volume flow of a part with one port runs into it, and its pressure is the effort of its port.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi

from screwbond.models.parts.record import Shelf, Value, modulated

from bondgraph import J0, J1, MTF, TF, C, Element, Friction, Graph, I, R, multiport
from bondgraph.signals import curve
from screws.scalars import absolute, exp, less, log, maximum, minimum, sqrt, where

SHELF = Shelf("hydraulic")
Curve = Callable[..., Value]


def _root_flow(p: Value, K: Value, p0: Value) -> Value:
    """Return K sqrt(|p|) with the sign of p, laminar well below the pressure p0."""
    return K * p / sqrt(sqrt(p * p + p0 * p0))


# --- orifices and valves

ROOT = r"Q = K\, p / (p^2 + p_0^2)^{1/4}"


@SHELF.law(R, "flow", ROOT, "Merritt 1967, section 3.3", "K=1e-7 m^3/s/Pa^0.5, opening=1 signal, p0=1e3 Pa")
def orifice(p: Value, K: Value, opening: Value, p0: Value) -> Value:
    """Orifice, turbulent above p0, laminar below; closed if the opening is negative."""
    return _root_flow(p, K * maximum(opening, 0.0), p0)


@SHELF.law(
    R, "flow", r"Q = G \max(p - p_c, 0) + G_l\, p", "Merritt 1967", "G=1e-8 m^3/s/Pa, cracking=1e4 Pa, leak=1e-15 m^3/s/Pa"
)
def check_valve(p: Value, G: Value, cracking: Value, leak: Value) -> Value:
    """Check valve, which opens above its cracking pressure."""
    return G * maximum(p - cracking, 0.0) + leak * p


RELIEF = r"Q = K u \sqrt{p},\quad u = \min(\max((p - p_c) / (p_o - p_c), 0), 1)"


@SHELF.law(R, "flow", RELIEF, "Merritt 1967, section 8.5", "K=1e-7 m^3/s/Pa^0.5, cracking=1e7 Pa, full=1.1e7 Pa, p0=1e3 Pa")
def relief_valve(p: Value, K: Value, cracking: Value, full: Value, p0: Value) -> Value:
    """Relief valve, which opens linearly between cracking pressure and full-opening pressure."""
    return _root_flow(p, K * minimum(maximum((p - cracking) / (full - cracking), 0.0), 1.0), p0)


@SHELF.law(
    R,
    "flow",
    r"Q = K u\, \sqrt{p},\quad u = \min(\max((p_s - p_2) / \Delta, 0), 1)",
    "Merritt 1967, section 8.6",
    "K=1e-7 m^3/s/Pa^0.5, downstream=0 Pa signal, setting=5e6 Pa, band=5e5 Pa, p0=1e3 Pa",
)
def reducing_valve(p: Value, K: Value, downstream: Value, setting: Value, band: Value, p0: Value) -> Value:
    """Pressure-reducing valve, which closes as the downstream pressure, a signal, reaches the set point."""
    return _root_flow(p, K * minimum(maximum((setting - downstream) / band, 0.0), 1.0), p0)


@SHELF.part(
    r"Q_{PA} = K \max(x, 0) \sqrt{p_P - p_A},\ \ldots",
    "Merritt 1967, chapter 5",
    "K=1e-7 m^3/s/Pa^0.5, opening=1 signal signed, p0=1e3 Pa",
)
def spool_valve(name: str, K: Value, opening: Value, p0: Value, heat: bool = False) -> Graph:
    """Four-way valve, ports P, T, A and B; a positive opening connects P to A and B to T, a negative opening P to B and A to T.

    With `heat=True` its port `heat` receives the losses of the lands.
    """
    part = Graph(name)
    ends, warmed = {port: J0(f"line {port}", domain="hydraulic") for port in "PTAB"}, J0("lands", domain="thermal")
    for tail, head, sense in (("P", "A", 1.0), ("B", "T", 1.0), ("P", "B", -1.0), ("A", "T", -1.0)):

        def edge(p: Value, K: Value, opening: Value, p0: Value, sense: float = sense) -> Value:
            return _root_flow(p, K * maximum(sense * opening, 0.0), p0)

        numbers, signals = modulated(K=K, opening=opening, p0=p0)
        land = R(f"{tail}{head}", flow=edge, parameters=numbers, signals=signals, heat=heat)
        part.between(ends[tail], ends[head], land)
        if heat:
            part.connect(land.port("heat"), warmed)
    if heat:
        part.expose("heat", warmed)
    for port, line in ends.items():
        part.expose(port, line)
    return part


# --- lines and vessels


def _laminar(mu: Value, length: Value, d: Value) -> Value:
    return 128 * mu * length / (pi * d**4)


LAMINAR = r"p = 128 \mu L Q / (\pi d^4)"


@SHELF.law(R, "effort", LAMINAR, "Poiseuille 1846", "mu=0.04 Pa s, length=1 m, d=0.01 m")
def laminar_pipe(Q: Value, mu: Value, length: Value, d: Value) -> Value:
    """Pipe with laminar flow (Hagen-Poiseuille)."""
    return _laminar(mu, length, d) * Q


TURBULENT = (
    r"p = 8 \rho L \lambda Q \lvert Q \rvert / (\pi^2 d^5),\quad"
    r" \lambda = \max(64 / \mathrm{Re},\, 0.3164\, \mathrm{Re}^{-1/4})"
)


@SHELF.law(R, "effort", TURBULENT, "Blasius 1913", "rho=850 kg/m^3, mu=0.04 Pa s, length=1 m, d=0.01 m")
def pipe(Q: Value, rho: Value, mu: Value, length: Value, d: Value) -> Value:
    """Smooth pipe, laminar below Re = 1187, where both laws agree, and turbulent above."""
    reynolds = 4 * rho * absolute(Q) / (pi * mu * d)
    return _laminar(mu, length, d) * Q * maximum(1.0, 0.3164 / 64 * reynolds**0.75)


@SHELF.part(
    r"p = R\, Q + \rho L \dot Q / A",
    "Karnopp, Margolis and Rosenberg 2012",
    "rho=850 kg/m^3, length=1 m, area=1e-4 m^2, resistance=1e7 Pa s/m^3",
)
def line(name: str, rho: Value, length: Value, area: Value, resistance: Value) -> Graph:
    """Line with fluid inertia and resistance."""
    part = Graph(name)

    def energy(p: Value, rho: Value, length: Value, area: Value) -> Value:
        return p * p * area / (2 * rho * length)

    fluid = I("fluid", energy=energy, parameters={"rho": rho, "length": length, "area": area}, domain="hydraulic")
    return part.expose("1", part.series(fluid, R("loss", resistance)))


@SHELF.law(C, "energy", r"p = \rho g V / A", "Karnopp, Margolis and Rosenberg 2012", "area=1 m^2, rho=1000 kg/m^3, g=9.81 m/s^2")
def tank(V: Value, area: Value, rho: Value, g: Value) -> Value:
    """Open tank with vertical walls and an outlet at the bottom."""
    return rho * g * V * V / (2 * area)


@SHELF.part(
    r"Q_o = G \max(p - \rho g h, 0)",
    "Karnopp, Margolis and Rosenberg 2012",
    "area=1 m^2, height=2 m, G=1e-3 m^3/s/Pa, rho=1000 kg/m^3, g=9.81 m/s^2",
)
def overflowing_tank(name: str, area: Value, height: Value, G: Value, rho: Value, g: Value) -> Graph:
    """Open tank that overflows at its rim; the overflow is lost."""
    part = Graph(name)

    def over(p: Value, G: Value, rho: Value, g: Value, height: Value) -> Value:
        return G * maximum(p - rho * g * height, 0.0)

    rim = R("rim", flow=over, parameters={"G": G, "rho": rho, "g": g, "height": height}, domain="hydraulic")
    return part.expose("1", part.parallel(tank("level", area, rho, g), rim))


@SHELF.law(C, "energy", r"p = B V / V_0", "Merritt 1967", "B=1.6e9 Pa, V0=1e-4 m^3")
def chamber(V: Value, B: Value, V0: Value) -> Value:
    """Chamber of volume V0 with a fluid of bulk modulus B; V is the volume by which the fluid is compressed."""
    return B * V * V / (2 * V0)


@SHELF.law(C, "energy", r"p = p_0 (V_0 / (V_0 - V))^n", "Merritt 1967", "V0=1e-3 m^3, p0=5e6 Pa, n=1.4")
def accumulator(V: Value, V0: Value, p0: Value, n: Value) -> Value:
    """Gas accumulator with gas volume V0 at p0; V is the oil volume."""
    return p0 * V0 / (n - 1) * (1 - V / V0) ** (1 - n)


# --- cylinders and machines


@SHELF.part(r"F = A_1 p_1 - A_2 p_2,\quad Q_1 = A_1 v,\quad Q_2 = -A_2 v", "Merritt 1967", "A1=2e-3 m^2, A2=1e-3 m^2")
def cylinder(name: str, A1: Value, A2: Value) -> Graph:
    """Ideal cylinder; ports head, rod and `piston`, which extends under head pressure."""
    part, piston = Graph(name), J1("piston", domain="translation")
    for port, area, sense in (("head", A1, 1.0), ("rod", A2, -1.0)):
        face = MTF(f"{port} face", lambda A, sense=sense: sense / A, parameters={"A": area}, domains=("hydraulic", "translation"))
        part.connect(face, piston).expose(port, face.port("1"))
    return part.expose("piston", piston)


def _displacement(name: str, D: Value, leak: Value, b: Value, *friction: Element) -> Graph:
    part, displaced = Graph(name), TF("displacement", D, domains=("rotation", "hydraulic"))
    shaft, flow = part.series(R("friction", damping=b, domain="rotation"), *friction), J1("flow", domain="hydraulic")
    inlet, outlet = J0("inlet", domain="hydraulic"), J0("outlet", domain="hydraulic")
    part.connect(shaft, displaced).connect(displaced, flow).connect(inlet, flow).connect(flow, outlet)
    part.between(outlet, inlet, R("leak", conductance=leak))
    return part.expose("shaft", shaft).expose("inlet", inlet).expose("outlet", outlet)


@SHELF.part(
    r"Q = D \omega - G_l\, p,\quad \tau = D\, p + b\,\omega",
    "Merritt 1967, section 4.4",
    "D=1e-6 m^3/rad, leak=1e-13 m^3/s/Pa, b=1e-3 N m s/rad",
)
def pump(name: str, D: Value, leak: Value, b: Value) -> Graph:
    """Pump or motor of displacement D with leakage and viscous friction; ports shaft, inlet and outlet."""
    return _displacement(name, D, leak, b)


@SHELF.part(
    r"Q = D \omega - G_l\, p,\quad \tau = D\, p + b\,\omega + c_f D \lvert p \rvert \operatorname{sgn}\omega",
    "Wilson 1946; Merritt 1967, section 4.3",
    "D=1e-6 m^3/rad, leak=1e-13 m^3/s/Pa, b=1e-3 N m s/rad, cf=0.05",
)
def hydraulic_motor(name: str, D: Value, leak: Value, b: Value, cf: Value) -> Graph:
    """Hydraulic motor: a `pump` with dry seal friction proportional to pressure; ports shaft, inlet and outlet."""
    return _displacement(name, D, leak, b, Friction("seals", cf, scale=absolute, signals="displacement.1.effort"))


HEAD = curve([0.0, 1e-3, 2e-3, 3e-3], [3e5, 2.8e5, 2e5, 0.0], outside="extend")


@SHELF.part(r"p_2 - p_1 = u^2 H(Q / u)", "Karassik et al. 2008, section 2.1 (affinity laws)", "speed=1 signal", passive=False)
def pump_by_curve(name: str, speed: Value, head: Curve = HEAD) -> Graph:
    """Centrifugal pump with a `curve`: pressure in Pa versus volume flow at speed 1; ports inlet and outlet."""
    part, (numbers, signals) = Graph(name), modulated(u=speed)

    def rise(Q: Value, u: Value) -> Value:
        turning = maximum(absolute(u), 1e-6)
        return -turning * turning * head(Q / turning)

    wheel = R("wheel", effort=rise, parameters=numbers, signals=signals, domain="hydraulic")
    inlet, outlet = J0("inlet", domain="hydraulic"), J0("outlet", domain="hydraulic")
    return part.between(inlet, outlet, wheel).expose("inlet", inlet).expose("outlet", outlet)


# --- gas at one temperature: the flow is its volume flow at the ambient pressure p0, and the effort p0 ln(p / p0)


@SHELF.law(
    C,
    "energy",
    r"p_0 \ln(p / p_0),\quad p = p_0 (1 + V_n / V)",
    "Karnopp, Margolis and Rosenberg 2012",
    "V=1e-3 m^3, p0=101325 Pa",
)
def gas_chamber(Vn: Value, V: Value, p0: Value) -> Value:
    """Isothermal gas chamber; its state is the gas added since the pressure was p0, as a volume at p0."""
    return p0 * ((V + Vn) * log(1 + Vn / V) - Vn)


@SHELF.part(
    r"Q_n = K p_1 \sqrt{1 - y^2},\quad y = \max((p_2 / p_1 - b) / (1 - b), 0)",
    "ISO 6358:1989",
    "K=1e-8 m^3/s/Pa, b=0.3, p0=101325 Pa",
)
def choked_orifice(name: str, K: Value, b: Value, p0: Value) -> Element:
    """Gas orifice with sonic conductance K, choked below the pressure ratio b, laminar near equal pressures."""

    def flows(efforts: Value, K: Value, b: Value, p0: Value) -> Value:
        lower, upper = (p0 * exp(choose(*efforts) / p0) for choose in (minimum, maximum))
        y = maximum((lower / upper - b) / (1 - b), 0.0)
        Q = where(less(efforts[1], efforts[0]), 1.0, -1.0) * upper * _root_flow(1 - y * y, K, 1e-3)
        return [Q, -Q]

    ports = dict.fromkeys("12", "hydraulic")
    return multiport("R", name, flows, ports, passive=True, parameters={"K": K, "b": b, "p0": p0})
