"""Magnetic parts: magnetomotive force in A and rate of flux in Wb/s; a C stores the flux."""

from __future__ import annotations

from math import pi
from typing import Any

from screwbond.models.parts.record import Shelf, Value

from bondgraph import GY, J1, Block, C, Graph, R, Se, multiport
from screws.scalars import less, maximum, tanh, where

SHELF = Shelf("magnetic")
MU0 = 4e-7 * pi
"""Permeability of the vacuum, H/m."""


@SHELF.law(
    C,
    "energy",
    r"V_m = l\,\Phi / (\mu_0 \mu_r A)",
    "Karnopp, Margolis and Rosenberg 2012",
    "length=0.1 m, area=1e-4 m^2, mu_r=1000",
)
def reluctance(flux: Value, length: Value, area: Value, mu_r: Value) -> Value:
    """Reluctance of a linear core, or of a gap (mu_r = 1)."""
    return flux * flux * length / (2 * MU0 * mu_r * area)


@SHELF.law(C, "energy", r"V_m = \Phi / \Lambda", "Karnopp, Margolis and Rosenberg 2012", "permeance=1e-8 H")
def leakage(flux: Value, permeance: Value) -> Value:
    """Leakage path with a permeance."""
    return flux * flux / (2 * permeance)


@SHELF.law(
    C,
    "energy",
    r"H = B / (\mu_0 \mu_i) + H_s (B / B_s)^n",
    "Rayleigh 1887; power law of saturation",
    "length=0.1 m, area=1e-4 m^2, mu_i=2000, Bs=1.5 T, Hs=500 A/m, n=9",
)
def saturating_core(flux: Value, length: Value, area: Value, mu_i: Value, Bs: Value, Hs: Value, n: Value) -> Value:
    """Saturating core: H is linear in the flux density, plus an odd power n of it."""
    B = flux / area
    return area * length * (B * B / (2 * MU0 * mu_i) + Hs * Bs * (B * B / (Bs * Bs)) ** ((n + 1) / 2) / (n + 1))


@SHELF.part(
    r"V_m = \Phi x / (\mu_0 A),\quad F = \Phi^2 / (2 \mu_0 A)",
    "Karnopp, Margolis and Rosenberg 2012",
    "area=1e-4 m^2, gap=1e-3 m",
)
def air_gap(name: str, area: Value, gap: Value) -> Graph:
    """Air gap with its closing force; ports core and gap; positive flow at port gap widens the gap from its initial width."""

    def energy(state: Value, area: Value, gap: Value) -> Value:
        return state[0] ** 2 * (gap + state[1]) / (2 * MU0 * area)

    ports = {"core": "magnetic", "gap": "translation"}
    return multiport("C", name, energy, ports, initial=[0.0, 0.0], parameters={"area": area, "gap": gap})


@SHELF.part(r"V_m = N i,\quad v = N \dot\Phi", "Karnopp, Margolis and Rosenberg 2012", "turns=100 signed, resistance=0 ohm")
def coil(name: str, turns: Value, resistance: Value) -> Graph:
    """Coil with a resistance; ports winding and core."""
    part, winding = Graph(name), J1("winding", domain="electrical")
    gyrator = GY("turns", turns, domains=("electrical", "magnetic"))
    part.connect(winding, R("R", resistance)).connect(winding, gyrator)
    return part.expose("winding", winding).expose("core", gyrator.port("2"))


@SHELF.part(
    r"V_m = H_c l - l\,\Phi / (\mu_0 \mu_r A)",
    "Karnopp, Margolis and Rosenberg 2012",
    "Hc=9e5 A/m, length=0.01 m, area=1e-4 m^2, mu_r=1.05",
    passive=False,
)
def magnet(name: str, Hc: Value, length: Value, area: Value, mu_r: Value) -> Graph:
    """Permanent magnet with linear demagnetisation."""
    part, pole = Graph(name), J1("pole", domain="magnetic")
    source = Se("coercivity", lambda Hc, length: Hc * length, parameters={"Hc": Hc, "length": length}, domain="magnetic")
    inner = reluctance("inner", length=length, area=area, mu_r=mu_r)
    return part.connect(pole, source).connect(pole, inner).expose("1", pole)


@SHELF.law(R, "effort", r"V_m = G \dot\Phi", "Steinmetz 1892", "G=1000 S")
def eddy_loss(rate: Value, G: Value) -> Value:
    """Eddy currents, whose magnetomotive force is proportional to the flux rate; G is the conductance of one turn."""
    return G * rate


ANHYSTERETIC = r"\dot M_i = \max((M_a - M_i) \dot H_e, 0) / k,\quad M = (1 - c) M_i + c M_a,\quad M_a = M_s \tanh(H_e / a)"


@SHELF.part(
    ANHYSTERETIC + r",\quad H_e = H + \alpha M",
    "Jiles and Atherton 1986, with tanh, and no wall motion against the field",
    "length=0.1 m, area=1e-4 m^2, Ms=1.4e6 A/m, a=500 A/m, k=300 A/m, c=0.1, alpha=2e-4",
)
def hysteretic_core(name: str, length: Value, area: Value, Ms: Value, a: Value, k: Value, c: Value, alpha: Value) -> Graph:
    """Jiles-Atherton hysteretic core, initially demagnetised; its stored energy is counted as loss."""
    part, words = Graph(name), ("rate", "he", "mi", "area", "Ms", "a", "k", "c", "alpha")

    def rates(rate: Value, he: Value, mi: Value, area: Value, Ms: Value, a: Value, k: Value, c: Value, alpha: Value) -> Value:
        ratio = tanh(he / a)
        wall = maximum((Ms * ratio - mi) * where(less(rate, 0.0), -1.0, 1.0), 0.0) / k
        dhe = rate / (area * MU0 * (1 + (1 - alpha) * ((1 - c) * wall + c * Ms / a * (1 - ratio * ratio))))
        return dhe, wall * dhe

    def field(he: Value, mi: Value, Ms: Value, a: Value, c: Value, alpha: Value) -> Value:
        return he - alpha * ((1 - c) * mi + c * Ms * tanh(he / a))

    laws: list[Any] = [(("dhe", "dmi"), rates, words), ("H", field, ("he", "mi", "Ms", "a", "c", "alpha"))]
    numbers = {"area": area, "Ms": Ms, "a": a, "k": k, "c": c, "alpha": alpha}
    states, moving = {"he": 0.0, "mi": 0.0}, {"he": "dhe", "mi": "dmi"}
    part.add(Block("iron", laws, inputs={"rate": "core.flow"}, states=states, rates=moving, parameters=numbers))
    path, extent = {"H": "iron.H"}, {"length": length}
    core = R("core", effort=lambda _, length, H: length * H, parameters=extent, signals=path, domain="magnetic")
    return part.expose("1", part.series(core))
