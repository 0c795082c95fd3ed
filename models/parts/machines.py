"""Electric machines: motors whose ports are named after their windings and shaft."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models.parts.record import Shelf, Value

from bondgraph import GY, J0, J1, MGY, MTF, TF, Block, Element, Graph, I, R
from screws.scalars import array, cos, sin, sqrt

SHELF = Shelf("machines")


def _with_rotor(part: Graph, J: Value, b: Value, *gaps: Element) -> Graph:
    rotor = J1("rotor", domain="rotation")
    for gap in gaps:
        part.connect(gap, rotor)
    return part.connect(rotor, I("J", inertia=J)).connect(rotor, R("b", damping=b)).expose("shaft", rotor)


@SHELF.part(
    r"v = R\, i + L \dot i + k\,\omega,\quad J \dot\omega = k\, i - b\,\omega + \tau",
    "Fitzgerald and Kingsley 1952",
    "k=0.05 V s/rad, R_a=1 ohm, L_a=1e-3 H, J=1e-5 kg m^2, b=1e-6 N m s/rad",
)
def dc_motor(name: str, k: Value, R_a: Value, L_a: Value, J: Value, b: Value) -> Graph:
    """Permanent-magnet DC motor; ports `armature` and `shaft`; tau is the torque of the load on the shaft."""
    part, gap = Graph(name), GY("gap", k, domains=("electrical", "rotation"))
    armature = part.series(R("R", R_a), I("L", inductance=L_a))
    return _with_rotor(part.connect(armature, gap).expose("armature", armature), J, b, gap)


@SHELF.part(
    r"v = R_t i + L_t \dot i + L_{af}\, i\,\omega,\quad J \dot\omega = L_{af}\, i^2 - b\,\omega + \tau",
    "Krause 1986, chapter 2",
    "L_af=1e-2 H, R_t=0.1 ohm, L_t=2e-3 H, J=1e-2 kg m^2, b=1e-3 N m s/rad",
)
def series_motor(name: str, L_af: Value, R_t: Value, L_t: Value, J: Value, b: Value) -> Graph:
    """Series-wound DC motor; R_t and L_t are totals of field and armature; ports `armature` and `shaft`."""
    part = Graph(name)
    armature = part.series(R("R", R_t), I("L", inductance=L_t))
    gap = MGY("gap", lambda i, L_af: L_af * i, parameters={"L_af": L_af}, signals={"i": "L.flow"})
    return _with_rotor(part.connect(armature, gap).expose("armature", armature), J, b, gap)


@SHELF.part(
    r"v_a = R_a i_a + L_a \dot i_a + L_{af}\, i_f\,\omega,\quad v_f = R_f i_f + L_f \dot i_f,\quad"
    r" J \dot\omega = L_{af}\, i_f i_a - b\,\omega + \tau",
    "Krause 1986, chapter 2",
    "L_af=1 H, R_a=0.1 ohm, L_a=2e-3 H, R_f=100 ohm, L_f=1 H, J=1e-2 kg m^2, b=1e-3 N m s/rad",
)
def excited_motor(name: str, L_af: Value, R_a: Value, L_a: Value, R_f: Value, L_f: Value, J: Value, b: Value) -> Graph:
    """DC motor with field winding; ports `armature`, `field` and `shaft`. For a shunt motor connect both windings to one node."""
    part = Graph(name)
    armature, field = part.series(R("R_a", R_a), I("L_a", inductance=L_a)), part.series(R("R_f", R_f), I("L_f", inductance=L_f))
    gap = MGY("gap", lambda i, L_af: L_af * i, parameters={"L_af": L_af}, signals={"i": "L_f.flow"})
    part.connect(armature, gap).expose("armature", armature).expose("field", field)
    return _with_rotor(part, J, b, gap)


@SHELF.part(
    r"\lambda = L\, i + (\psi, 0),\quad v = R\, i + \dot\lambda + p\,\omega (-\lambda_q, \lambda_d),\quad"
    r" \tau = p (\lambda_d i_q - \lambda_q i_d)",
    "Park 1929",
    "pole_pairs=2, psi=0.1 Wb, R_s=0.1 ohm, L_d=1e-3 H, L_q=1e-3 H, J=1e-3 kg m^2, b=1e-4 N m s/rad",
)
def synchronous_motor(name: str, pole_pairs: Value, psi: Value, R_s: Value, L_d: Value, L_q: Value, J: Value, b: Value) -> Graph:
    """Permanent-magnet synchronous motor with a free star point; ports a, b, c and `shaft`.

    The transform conserves power: `psi` and currents in the rotor's axes are sqrt(3/2) times the phase amplitudes.
    """
    part, axes = Graph(name), J1("axes", dimension=2, domain="electrical")
    part.add(_angle())
    for k, phase in enumerate("abc"):

        def row(phi: Any, p: Any, k: int = k) -> Any:
            angle = p * phi - 2 * np.pi * k / 3
            return sqrt(2 / 3) * array([cos(angle), -sin(angle)])

        park = MTF(
            f"park {phase}",
            row,
            parameters={"p": pole_pairs},
            signals={"phi": "angle.phi"},
            dimensions=(2, 1),
            domains=("electrical", "electrical"),
        )
        part.connect(park.port("1"), axes).expose(phase, park.port("2"))
    flux = I(
        "flux", energy=lambda p, L_d, L_q: p[0] ** 2 / (2 * L_d) + p[1] ** 2 / (2 * L_q), parameters={"L_d": L_d, "L_q": L_q}
    )
    part.connect(axes, flux).connect(axes, R("R", R_s))

    def linked(flux: Any, p: Any, psi: Any) -> Any:
        return p * array([[-flux[1]], [flux[0] + psi]])

    gap = MGY("gap", linked, parameters={"p": pole_pairs, "psi": psi}, signals={"flux": "flux.p"}, dimensions=(2, 1))
    return _with_rotor(part.connect(axes, gap), J, b, gap)


@SHELF.part(
    r"\lambda_s = L_s i_s + L_m i_r,\quad \lambda_r = L_m i_s + L_r i_r,\quad v_s = R_s i_s + \dot\lambda_s,\quad"
    r" 0 = R_r i_r + \dot\lambda_r - p\,\omega J \lambda_r",
    "Krause 1986, chapter 4",
    "pole_pairs=2, R_s=0.5 ohm, R_r=0.5 ohm, L_m=0.06 H, L_ls=2e-3 H, L_lr=2e-3 H, J=0.02 kg m^2, b=1e-3 N m s/rad",
)
def induction_motor(
    name: str, pole_pairs: Value, R_s: Value, R_r: Value, L_m: Value, L_ls: Value, L_lr: Value, J: Value, b: Value
) -> Graph:
    """Induction motor with a squirrel cage and a free star point; ports a, b, c and `shaft`.

    Quantities of the cage are referred to the stator.
    """
    part, stator, rotor = (
        Graph(name),
        J1("stator", dimension=2, domain="electrical"),
        J1("cage", dimension=2, domain="electrical"),
    )
    for k, phase in enumerate("abc"):
        angle = 2 * np.pi * k / 3
        axis, both = np.sqrt(2 / 3) * np.array([np.cos(angle), np.sin(angle)]), ("electrical", "electrical")
        clarke = TF(f"clarke {phase}", axis, structural=True, domains=both)
        part.connect(clarke.port("1"), stator).expose(phase, clarke.port("2"))
    field = J0("field", dimension=2, domain="electrical")
    part.connect(stator, R("R_s", R_s)).connect(stator, I("leakage s", inductance=L_ls)).connect(stator, field)
    part.connect(field, I("field flux", inductance=L_m)).connect(field, rotor)
    part.connect(rotor, R("R_r", R_r)).connect(rotor, I("leakage r", inductance=L_lr))

    def linked(main: Any, leakage: Any, p: Any) -> Any:
        flux = main - leakage
        return p * array([[-flux[1]], [flux[0]]])

    signals = {"main": "field flux.p", "leakage": "leakage r.p"}
    gap = MGY("gap", linked, parameters={"p": pole_pairs}, signals=signals, dimensions=(2, 1))
    return _with_rotor(part.connect(rotor, gap), J, b, gap)


@SHELF.part(
    r"v_k = R\, i_k + L \dot i_k + K_k(\varphi)\,\omega,\quad \tau = \sum_k K_k i_k,\quad K = k\,(-\sin p\varphi, \cos p\varphi)",
    "Acarnley 2002, chapter 2",
    "teeth=50, k=0.2 V s/rad, R_s=1 ohm, L_s=2e-3 H, J=1e-5 kg m^2, b=1e-3 N m s/rad",
)
def stepper_motor(name: str, teeth: Value, k: Value, R_s: Value, L_s: Value, J: Value, b: Value) -> Graph:
    """Two-phase hybrid stepper motor; ports a, b and `shaft`."""
    part, gaps = Graph(name), []
    part.add(_angle())
    for phase, form in (("a", lambda x: -sin(x)), ("b", cos)):
        winding = part.series(R(f"R {phase}", R_s), I(f"L {phase}", inductance=L_s))
        constants, signals = {"k": k, "p": teeth}, {"phi": "angle.phi"}
        gaps.append(MGY(f"gap {phase}", lambda phi, k, p, form=form: k * form(p * phi), parameters=constants, signals=signals))
        part.connect(winding, gaps[-1]).expose(phase, winding)
    return _with_rotor(part, J, b, *gaps)


def _angle() -> Element:
    return Block("angle", [], inputs={"w": "rotor.flow"}, states={"phi": 0.0}, rates={"phi": "w"})
