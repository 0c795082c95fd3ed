"""Thermal parts with true bonds (K and W/K, temperature and entropy flow), and with pseudo-bonds (K and W): `exchanger` and
`phase_change`, which a C and an R complement.

Any R, `Friction`, `Diode` or `Switch` with `heat=True` has a port "heat" that takes its loss.
"""

from __future__ import annotations

from typing import Any

from screwbond.models.parts.record import Shelf, Value, modulated

from bondgraph import J0, J1, TF, C, Element, Graph, HeatTransfer, R
from screws.scalars import absolute, expm1, maximum, minimum, tanh

SHELF = Shelf("thermal")


@SHELF.law(C, "energy", r"T = T_0 e^{S / c},\quad U = c\,(T - T_0)", "Thoma 1975", "c=100 J/K, T0=293.15 K")
def heat_capacity(S: Value, c: Value, T0: Value) -> Value:
    """Lumped heat capacity, initially at T0; its state is the entropy change."""
    return c * T0 * expm1(S / c)


@SHELF.part(r"Q = G\,(T_1 - T_2)", "Fourier 1822", "G=1 W/K")
def conductance(name: str, G: Value) -> Element:
    """Thermal conductance, from port 1 to port 2."""
    return HeatTransfer(name, G)


@SHELF.part(r"Q = h A\,(T_1 - T_2)", "Newton 1701", "h=10 W/m^2/K signal, A=1 m^2")
def convection(name: str, h: Value, A: Value) -> Element:
    """Convection from port 1 to port 2 at a wall of area A; h may be a signal."""
    numbers, signals = modulated(A=A, h=h)
    return HeatTransfer(name, heat=lambda T1, T2, h, A: h * A * (T1 - T2), parameters=numbers, signals=signals)


@SHELF.part(r"Q = \varepsilon \sigma A\,(T_1^4 - T_2^4)", "Boltzmann 1884", "epsilon=0.9, A=1 m^2")
def radiation(name: str, epsilon: Value, A: Value) -> Element:
    """Radiation between a body and its enclosure, from port 1 to port 2."""

    def heat(T1: Value, T2: Value, epsilon: Value, A: Value) -> Value:
        return 5.670374419e-8 * epsilon * A * (T1**4 - T2**4)

    return HeatTransfer(name, heat=heat, parameters={"epsilon": epsilon, "A": A})


@SHELF.part(
    r"v = \alpha\,(T_h - T_c) + R\, i,\quad \dot S_c = \alpha\, i\ \text{taken at the cold side}",
    "Peltier 1834; Onsager 1931",
    "alpha=0.05 V/K, resistance=2 ohm, G=0.5 W/K",
)
def peltier(name: str, alpha: Value, resistance: Value, G: Value) -> Graph:
    """Peltier element; ports current, cold and hot; half of the Joule heat goes to each side."""
    part, current = Graph(name), J1("current", domain="electrical")
    cold, hot, carried = J0("cold", domain="thermal"), J0("hot", domain="thermal"), J1("carried", domain="thermal")
    seebeck = TF("Seebeck", alpha, domains=("electrical", "thermal"))
    part.connect(current, seebeck).connect(seebeck, carried).connect(cold, carried).connect(carried, hot)
    for side, node in (("cold", cold), ("hot", hot)):
        half = R(f"half {side}", effort=lambda i, R: R * i / 2, parameters={"R": resistance}, heat=True)
        part.connect(current, half).connect(half.port("heat"), node)
    conduction = HeatTransfer("conduction", G)
    part.connect(hot, conduction.port("1")).connect(conduction.port("2"), cold)
    return part.expose("current", current).expose("cold", cold).expose("hot", hot)


@SHELF.law(
    R,
    "flow",
    r"Q = 2 (T_1 - T_2) / (1 / C_1 + 1 / C_2 + d \coth(k d / 2)),\quad d = \lvert 1 / C_1 - 1 / C_2 \rvert",
    "Kays and London 1984, counterflow",
    "k=100 W/K, C1=100 W/K signal, C2=200 W/K signal",
    domain="heat",
)
def exchanger(T: Value, k: Value, C1: Value, C2: Value) -> Value:
    """Counterflow heat exchanger between two inlets, with conductance k and heat capacity rates C1, C2."""
    both = 1 / C1 + 1 / C2
    d = maximum(absolute(1 / C1 - 1 / C2), 1e-6 * both)
    return 2 * T / (both + d / tanh(k * d / 2))


@SHELF.part(
    r"T = \min(T_0 + H / c_s,\, \max(T_m,\, T_m + (H - H_l) / c_l)),\quad H_l = c_s (T_m - T_0) + L",
    "Voller and Cross 1981",
    "cs=2000 J/K, cl=4000 J/K, L=3.3e5 J, Tm=273.15 K, T0=263.15 K",
)
def phase_change(name: str, cs: Value, cl: Value, L: Value, Tm: Value, T0: Value) -> Element:
    """Melting body (domain "heat") with melting temperature Tm; initially solid at T0, where H is zero."""

    def temperature(H: Value, cs: Value, cl: Value, L: Value, Tm: Value, T0: Value) -> Value:
        molten = cs * (Tm - T0) + L
        return minimum(T0 + H / cs, maximum(Tm, Tm + (H - molten) / cl))

    numbers: dict[str, Any] = {"cs": cs, "cl": cl, "L": L, "Tm": Tm, "T0": T0}
    return C(name, output=temperature, parameters=numbers, domain="heat")
