"""Hydraulic and pneumatic parts: orifices, valves, lines, vessels, cylinders and machines.

The volume flow of a part with one port runs into it, and its pressure is the effort of its port.
"""

from __future__ import annotations

from math import pi

from screwbond.models.parts.record import Shelf, Value, modulated

from bondgraph import J0, J1, MTF, TF, C, Graph, I, R
from screws.scalars import absolute, maximum, minimum, sqrt

SHELF = Shelf("hydraulic")


def _root_flow(p: Value, K: Value, p0: Value) -> Value:
    """Return K sqrt(p) with its sign, laminar well below the pressure p0."""
    return K * p / sqrt(sqrt(p * p + p0 * p0))


# --- orifices and valves

ROOT = r"Q = K\, p / (p^2 + p_0^2)^{1/4}"


@SHELF.law(R, "flow", ROOT, "Merritt 1967, section 3.3", "K=1e-7 m^3/s/Pa^0.5, opening=1 signal, p0=1e3 Pa")
def orifice(p: Value, K: Value, opening: Value, p0: Value) -> Value:
    """Orifice, turbulent above the pressure p0 and laminar below; a negative opening is shut."""
    return _root_flow(p, K * maximum(opening, 0.0), p0)


@SHELF.law(
    R, "flow", r"Q = G \max(p - p_c, 0) + G_l\, p", "Merritt 1967", "G=1e-8 m^3/s/Pa, cracking=1e4 Pa, leak=1e-15 m^3/s/Pa"
)
def check_valve(p: Value, G: Value, cracking: Value, leak: Value) -> Value:
    """Check valve, which opens above its cracking pressure in one direction."""
    return G * maximum(p - cracking, 0.0) + leak * p


RELIEF = r"Q = K u \sqrt{p},\quad u = \min(\max((p - p_c) / (p_o - p_c), 0), 1)"


@SHELF.law(R, "flow", RELIEF, "Merritt 1967, section 8.5", "K=1e-7 m^3/s/Pa^0.5, cracking=1e7 Pa, full=1.1e7 Pa, p0=1e3 Pa")
def relief_valve(p: Value, K: Value, cracking: Value, full: Value, p0: Value) -> Value:
    """Relief valve, which opens in proportion between its cracking pressure and that of its full opening."""
    return _root_flow(p, K * minimum(maximum((p - cracking) / (full - cracking), 0.0), 1.0), p0)


@SHELF.law(
    R,
    "flow",
    r"Q = K u\, \sqrt{p},\quad u = \min(\max((p_s - p_2) / \Delta, 0), 1)",
    "Merritt 1967, section 8.6",
    "K=1e-7 m^3/s/Pa^0.5, downstream=0 Pa signal, setting=5e6 Pa, band=5e5 Pa, p0=1e3 Pa",
)
def reducing_valve(p: Value, K: Value, downstream: Value, setting: Value, band: Value, p0: Value) -> Value:
    """Pressure-reducing valve, which closes as the pressure behind it, a signal, comes up to its setting."""
    return _root_flow(p, K * minimum(maximum((setting - downstream) / band, 0.0), 1.0), p0)


@SHELF.part(
    r"Q_{PA} = K \max(x, 0) \sqrt{p_P - p_A},\ \ldots",
    "Merritt 1967, chapter 5",
    "K=1e-7 m^3/s/Pa^0.5, opening=1 signal signed, p0=1e3 Pa",
)
def spool_valve(name: str, K: Value, opening: Value, p0: Value) -> Graph:
    """Four-way valve; ports P, T, A, B. A positive opening joins P with A and B with T, a negative one P with B and A with T."""
    part = Graph(name)
    ends = {port: J0(f"line {port}", domain="hydraulic") for port in "PTAB"}
    for tail, head, sense in (("P", "A", 1.0), ("B", "T", 1.0), ("P", "B", -1.0), ("A", "T", -1.0)):

        def edge(p: Value, K: Value, opening: Value, p0: Value, sense: float = sense) -> Value:
            return _root_flow(p, K * maximum(sense * opening, 0.0), p0)

        numbers, signals = modulated(K=K, opening=opening, p0=p0)
        part.between(ends[tail], ends[head], R(f"{tail}{head}", flow=edge, parameters=numbers, signals=signals))
    for port, line in ends.items():
        part.expose(port, line)
    return part


# --- lines and vessels


def _laminar(mu: Value, length: Value, d: Value) -> Value:
    """Return the resistance of a pipe to laminar flow, Pa s/m^3."""
    return 128 * mu * length / (pi * d**4)


LAMINAR = r"p = 128 \mu L Q / (\pi d^4)"


@SHELF.law(R, "effort", LAMINAR, "Poiseuille 1846", "mu=0.04 Pa s, length=1 m, d=0.01 m")
def laminar_pipe(Q: Value, mu: Value, length: Value, d: Value) -> Value:
    """Pipe with laminar flow."""
    return _laminar(mu, length, d) * Q


TURBULENT = (
    r"p = 8 \rho L \lambda Q \lvert Q \rvert / (\pi^2 d^5),\quad"
    r" \lambda = \max(64 / \mathrm{Re},\, 0.3164\, \mathrm{Re}^{-1/4})"
)


@SHELF.law(R, "effort", TURBULENT, "Blasius 1913", "rho=850 kg/m^3, mu=0.04 Pa s, length=1 m, d=0.01 m")
def pipe(Q: Value, rho: Value, mu: Value, length: Value, d: Value) -> Value:
    """Smooth pipe, laminar below the Reynolds number at which both laws agree, 1187, and turbulent above."""
    reynolds = 4 * rho * absolute(Q) / (pi * mu * d)
    return _laminar(mu, length, d) * Q * maximum(1.0, 0.3164 / 64 * reynolds**0.75)


@SHELF.part(
    r"p = R\, Q + \rho L \dot Q / A",
    "Karnopp, Margolis and Rosenberg 2012",
    "rho=850 kg/m^3, length=1 m, area=1e-4 m^2, resistance=1e7 Pa s/m^3",
)
def line(name: str, rho: Value, length: Value, area: Value, resistance: Value) -> Graph:
    """Line with the inertia of its fluid and a resistance."""
    part = Graph(name)

    def energy(p: Value, rho: Value, length: Value, area: Value) -> Value:
        return p * p * area / (2 * rho * length)

    fluid = I("fluid", energy=energy, parameters={"rho": rho, "length": length, "area": area}, domain="hydraulic")
    return part.expose("1", part.series(fluid, R("loss", resistance)))


@SHELF.law(C, "energy", r"p = \rho g V / A", "Karnopp, Margolis and Rosenberg 2012", "area=1 m^2, rho=1000 kg/m^3, g=9.81 m/s^2")
def tank(V: Value, area: Value, rho: Value, g: Value) -> Value:
    """Open tank with vertical walls, whose outlet is at its bottom."""
    return rho * g * V * V / (2 * area)


@SHELF.law(C, "energy", r"p = B V / V_0", "Merritt 1967", "B=1.6e9 Pa, V0=1e-4 m^3")
def chamber(V: Value, B: Value, V0: Value) -> Value:
    """Chamber of volume V0 filled with a fluid of bulk modulus B; V is what has been pressed in."""
    return B * V * V / (2 * V0)


@SHELF.law(C, "energy", r"p = p_0 (V_0 / (V_0 - V))^n", "Merritt 1967", "V0=1e-3 m^3, p0=5e6 Pa, n=1.4")
def accumulator(V: Value, V0: Value, p0: Value, n: Value) -> Value:
    """Accumulator with a gas that fills the volume V0 at the pressure p0; V is the oil in it."""
    return p0 * V0 / (n - 1) * (1 - V / V0) ** (1 - n)


# --- cylinders and machines


@SHELF.part(r"F = A_1 p_1 - A_2 p_2,\quad Q_1 = A_1 v,\quad Q_2 = -A_2 v", "Merritt 1967", "A1=2e-3 m^2, A2=1e-3 m^2")
def cylinder(name: str, A1: Value, A2: Value) -> Graph:
    """Cylinder without mass or friction; ports head and rod, and `piston`, which the head's pressure pushes out."""
    part, piston = Graph(name), J1("piston", domain="translation")
    for port, area, sense in (("head", A1, 1.0), ("rod", A2, -1.0)):
        face = MTF(f"{port} face", lambda A, sense=sense: sense / A, parameters={"A": area}, domains=("hydraulic", "translation"))
        part.connect(face, piston).expose(port, face.port("1"))
    return part.expose("piston", piston)


@SHELF.part(
    r"Q = D \omega - G_l\, p,\quad \tau = D\, p + b\,\omega",
    "Merritt 1967, section 4.4",
    "D=1e-6 m^3/rad, leak=1e-13 m^3/s/Pa, b=1e-3 N m s/rad",
)
def pump(name: str, D: Value, leak: Value, b: Value) -> Graph:
    """Pump, or motor, of displacement D with leakage and viscous friction; ports shaft, inlet and outlet."""
    part, displaced = Graph(name), TF("displacement", D, domains=("rotation", "hydraulic"))
    shaft, flow = part.series(R("friction", damping=b, domain="rotation")), J1("flow", domain="hydraulic")
    inlet, outlet = J0("inlet", domain="hydraulic"), J0("outlet", domain="hydraulic")
    part.connect(shaft, displaced).connect(displaced, flow).connect(inlet, flow).connect(flow, outlet)
    part.between(outlet, inlet, R("leak", conductance=leak))
    return part.expose("shaft", shaft).expose("inlet", inlet).expose("outlet", outlet)
