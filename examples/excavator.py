"""The arm of an excavator, from its pump to the load in its bucket: boom, stick and bucket in a plane, and the heat in its oil.

    pump - supply - valve = cylinder - MTF joints - MTF bodies     One valve and one cylinder per joint. All losses of the valves
        relief - tank   | heat to the oil                          warm the oil, which the ambient air cools.

A cylinder has no mass, so its length depends only on its joint angle, by the law of cosines: an MTF closes the
loop exactly. One work cycle raises the boom, and then curls the bucket. The picture shows the energy ledger by domain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models import parts

from bondgraph import J0, J1, MTF, Block, Graph, I, R, Result, Se, Sf, simulate
from screws.scalars import array, cos, maximum, minimum, sin, sqrt

T_END, GRAVITY, AMBIENT = 9.0, 9.81, 293.15  # s, m/s^2, K
MASSES, INERTIAS = np.array([500.0, 250.0, 300.0]), np.array([400.0, 60.0, 25.0])  # kg, kg m^2, about the centres
ARMS = np.array([[1.5, 0.0, 0.0], [3.0, 0.7, 0.0], [3.0, 1.6, 0.5]])  # m along boom, stick and bucket to each centre of mass
START = np.array([0.3, -1.5, -0.8])  # rad: boom above the ground, stick from the boom, bucket from the stick
CYLINDERS = {  # pins from the joint (m), angle between them at zero (rad), sign, areas (m^2), pressure of the rod (Pa)
    "boom": (0.6, 1.4, 1.0, 1.0, 6.4e-3, 3.5e-3, 2e6),
    "stick": (0.5, 1.0, 0.2, -1.0, 5e-3, 2.5e-3, 7e6),
    "bucket": (0.4, 0.4, 0.2, -1.0, 5e-3, 2.5e-3, 2e6),
}
MOVES = {"boom": (0.5, 4.5), "stick": (T_END + 1, T_END + 1), "bucket": (5.0, 7.5)}  # s: the valve opens and closes
VALVE, BULK, VOLUME, FRICTION = 2e-7, 1.6e9, 2e-3, 4e3  # m^3/s/Pa^0.5, Pa, m^3, N m s/rad
SPEED, PUMP, RELIEF = 100.0, 8e-6, {"K": 1e-6, "cracking": 1.8e7, "full": 2e7}  # rad/s, m^3/rad, of the relief valve
OIL, COOLING = 2e4, 60.0  # J/K, W/K


def lever(name: str, q: Any) -> Any:
    """Return the metres by which a cylinder extends per radian of its joint, at the angles q of the joints."""
    a, b, between, sign, *_ = CYLINDERS[name]
    angle = between + sign * q[list(CYLINDERS).index(name)]
    return sign * a * b * sin(angle) / sqrt(a * a + b * b - 2 * a * b * cos(angle))


def jacobian(q: Any) -> Any:
    """Return the Jacobian from the rates of the joints to the velocities x and y of the three centres of mass."""
    angles = np.tri(3) @ q
    turned = [(-sin(angles[k]), cos(angles[k])) for k in range(3)]
    rows = [[sum(arm[k] * turned[k][axis] for k in range(joint, 3)) for joint in range(3)] for arm in ARMS for axis in range(2)]
    return array(rows)


def excavator() -> Graph:
    """Return the arm at rest, held by the oil in its cylinders."""
    graph, joints = Graph("excavator"), J1("joints", dimension=3, domain="rotation")
    supply, tank, oil = J0("supply", domain="hydraulic"), J0("tank", domain="hydraulic"), J0("oil", domain="thermal")
    pump, relief = parts.hydraulic.pump("pump", PUMP), parts.hydraulic.relief_valve("relief", **RELIEF, heat=True)
    graph.connect(Sf("engine", SPEED), pump.port("shaft")).connect(pump.port("outlet"), supply).connect(tank, pump.port("inlet"))
    graph.connect(Se("reservoir", 0.0), tank).between(supply, tank, relief).connect(relief.port("heat"), oil)
    graph.connect(supply, parts.hydraulic.chamber("hose", B=BULK, V0=VOLUME))
    warmth, cooler = parts.thermal.heat_capacity("warmth", OIL, AMBIENT), parts.thermal.conductance("cooler", COOLING)
    graph.connect(oil, warmth).connect(oil, cooler.port("1")).connect(cooler.port("2"), Se("air", AMBIENT))

    graph.add(Block("angles", [], inputs={"w": "joints.flow"}, states={"q": START}, rates={"q": "w"}))
    to_bodies = MTF("bodies", jacobian, signals=["angles.q"], dimensions=(3, 6), domains=("rotation", "translation"))
    centres = J1("centres", dimension=6, domain="translation")
    graph.connect(joints, I("turning", np.tri(3).T @ np.diag(INERTIAS) @ np.tri(3)))  # a body turns with all preceding joints
    graph.connect(joints, R("pins", np.full(3, FRICTION))).connect(joints, to_bodies).connect(to_bodies, centres)
    weights = np.kron(MASSES, [0.0, -GRAVITY])
    graph.connect(centres, I("masses", np.repeat(MASSES, 2))).connect(Se("weights", weights), centres)

    for place, (name, (*_, A1, A2, rod)) in enumerate(CYLINDERS.items()):
        opening = ("y", lambda t, a=MOVES[name]: maximum(minimum(minimum(2 * (t - a[0]), 2 * (a[1] - t)), 1.0), 0.0), ["t"])
        graph.add(Block(f"{name} opening", [opening], inputs={"t": "time"}))
        valve = parts.hydraulic.spool_valve(f"{name} valve", VALVE, f"{name} opening.y", heat=True)
        cylinder = parts.hydraulic.cylinder(f"{name} cylinder", A1, A2)
        graph.connect(supply, valve.port("P")).connect(valve.port("T"), tank).connect(valve.port("heat"), oil)
        held = (-weights @ jacobian(START)[:, place] / lever(name, START) + A2 * rod) / A1
        for port, end, pressure in (("A", "head", held), ("B", "rod", rod)):
            node = graph.parallel(parts.hydraulic.chamber(f"{name} {end}", B=BULK, V0=VOLUME, initial=pressure * VOLUME / BULK))
            graph.connect(valve.port(port), node).connect(node, cylinder.port(end))

        def row(q: Any, name: str = name, place: int = place) -> Any:
            return np.eye(3)[[place]] * lever(name, q)

        link = MTF(f"{name} link", row, signals=["angles.q"], dimensions=(3, 1), domains=("rotation", "translation"))
        graph.connect(cylinder.port("piston"), link.port("2")).connect(link.port("1"), joints)
    return graph


def run() -> Result:
    """Raise the boom, and curl the bucket."""
    return simulate(excavator(), T_END, samples=2e-3)


def draw(result: Result, arm: Any, pressure: Any, pistons: Any, energy: Any) -> None:
    """Draw poses of the arm, pressures, speeds of the cylinders, and the energy received by each domain, on four axes."""
    t, domains = result.t, result.ledger.domains
    for moment in (0.0, 2.5, 5.0, 6.2, T_END):
        angles = np.cumsum(result["angles.q"][int(np.searchsorted(t, moment))])
        x, y = (np.concatenate([[0.0], np.cumsum(ARMS[2] * (1.0, 1.0, 2.0) * turned(angles))]) for turned in (np.cos, np.sin))
        arm.plot(x, y, "o-", markersize=3, label=f"{moment:.1f} s")
    for name in CYLINDERS:
        pressure.plot(t, result[f"{name} head.effort"] / 1e6, linewidth=0.8, label=f"{name}, head")
        pistons.plot(t, result[f"{name} cylinder.piston.flow"], linewidth=0.8, label=name)
    pressure.plot(t, result["supply.effort"] / 1e6, "k--", linewidth=0.8, label="supply")
    for name, each in domains.items():
        energy.plot(t, each.received / 1e3, label=name)
    arm.set_aspect("equal")
    labels = ("y (m)", "pressure (MPa)", "cylinders (m/s)", "received by domain (kJ)")
    for axes, label in zip((arm, pressure, pistons, energy), labels, strict=True):
        axes.set(xlabel="x (m)" if axes is arm else "time (s)", ylabel=label)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


if __name__ == "__main__":
    from screwbond.models.studies.tasks import output_folder

    from bondgraph.output.plot_style import styled

    out = output_folder(__doc__, "demo/excavator")
    result = run()
    print(f"{result!r}; the energy ledger closes to {result.ledger.relative_residual:.0e} of the energy scale")
    with styled():
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(4, 1, figsize=(8.0, 11.0), layout="constrained", height_ratios=(2.0, 1.0, 1.0, 1.0))
        draw(result, *axes)
        figure.savefig(out / "account.png")
