"""An electric cart from its battery to the road, in one graph over five domains. A half bridge chops the battery voltage,
a motor drives a wheel through a gear with losses, a tyre slips on the road, and a hydraulic brake holds the cart at the end.

    battery - bridge - winding - GY gap - rotor - gear - wheel - TF rim - tyre - cart      The winding and the brake warm two
                          | heat                           | brake (pressure, heat)        bodies, which ambient air cools.

The duty cycle rises, stays constant, and falls again: then the motor brakes and charges the battery. The picture shows the energy
ledger by domain: energy that one domain gives up is received by another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from screwbond.models import parts

from bondgraph import J0, J1, Block, Friction, Graph, I, R, Result, Se, simulate
from bondgraph.signals import pulse, sawtooth
from screws.scalars import maximum, minimum

DUTY, PERIOD, T_END = 0.7, 4e-3, 12.0  # -, s, s
RISE, FALL, STOP = 4.0, 7.0, 10.0  # s: the duty is full from the first to the second, and zero from the last
MASS, WHEEL, RADIUS, RATIO, EFFICIENCY = 250.0, 0.5, 0.25, 5.0, 0.95  # kg, kg m^2, m, -, -
MAGNET, COPPER, COIL, ROTOR, BEARING = 0.15, 0.06, 1e-3, 0.02, 2e-3  # V s/rad, ohm, H, kg m^2, N m s/rad
BATTERY = {"capacity": 1.4e5, "charge": 0.8, "V_empty": 42.0, "V_full": 54.0, "R0": 0.02, "R1": 0.01, "C1": 1e3}
DRAG, ROLLING, LOAD = 0.4, 0.015, 9.81 * MASS  # N s^2/m^2, -, N
PRESSURE, TORQUE, AMBIENT = 4e6, 150.0, 293.15  # Pa, N m at that pressure, K


def duty_of_drive(t: float) -> float:
    """Return the fraction of a period in which the upper switch is closed, at the time t (s)."""
    return DUTY * minimum(minimum(t / RISE, 1.0), maximum((STOP - t) / (STOP - FALL), 0.0))


def drive_train(duty: Callable[[float], float] = duty_of_drive) -> Graph:
    """Return the cart, at rest; `duty` is a function of time."""
    graph = Graph("drive train")
    bus, bridge = J0("bus", domain="electrical"), J0("bridge", domain="electrical")
    graph.between(bus, None, parts.electrical.battery("battery", **BATTERY))
    graph.add(sawtooth("carrier", PERIOD, low=1e-9))  # a minimum above zero: zero duty gives no pulse
    gate = ("y", lambda t, saw: 0.5 + duty(t) - saw, ["t", "saw"])
    graph.add(Block("gate", [gate], inputs={"t": "time", "saw": "carrier.y"}))
    leg, minus = parts.electrical.half_bridge("leg", "gate.y", Ron=1e-3, knee=0.7), J0("minus", domain="electrical")
    graph.connect(bus, leg.port("plus")).connect(leg.port("out"), bridge)
    graph.connect(leg.port("minus"), minus).connect(Se("ground", 0.0), minus)

    motor = parts.machines.dc_motor("motor", k=MAGNET, R_a=0.0, L_a=COIL, J=ROTOR, b=BEARING)
    winding = R("winding", COPPER, heat=True)
    graph.between(bridge, None, winding, motor.port("armature"))
    gear, rim = parts.motion.lossy_gear("gear", RATIO, EFFICIENCY), parts.motion.rack_and_pinion("rim", RADIUS)
    brake = Friction("brake", TORQUE, scale=lambda p: maximum(p, 0.0) / PRESSURE, signals=["caliper.effort"], heat=True)
    wheel = graph.connect(motor.port("shaft"), gear.port("1")).series(I("wheel", inertia=WHEEL), brake)
    graph.connect(gear.port("2"), wheel).connect(wheel, rim)

    cart, road = J1("cart", domain="translation"), J0("road", domain="translation")
    graph.connect(rim, road).connect(road, parts.motion.tyre("tyre", N=LOAD / 2, speed="cart.flow", v0=0.5)).connect(road, cart)
    resistance = parts.motion.drag("air", DRAG), parts.motion.rolling_resistance("rolling", ROLLING, LOAD, v0=0.05)
    graph.between(None, cart, I("mass", MASS), *resistance)

    graph.add(pulse("pedal", start=9.0, width=T_END, after=PRESSURE))
    foot = Se("foot", lambda p: p, signals=["pedal.y"], domain="hydraulic")
    graph.series(foot, parts.hydraulic.laminar_pipe("hose", d=2e-3), parts.hydraulic.chamber("caliper", B=2e7, V0=2e-5))
    for hot, c, G in ((winding, 2e3, 5.0), (brake, 4e3, 8.0)):
        body, air = graph.parallel(parts.thermal.heat_capacity(f"{hot.name} body", c)), Se(f"{hot.name} air", AMBIENT)
        cooled = parts.thermal.conductance(f"{hot.name} cooling", G)
        graph.connect(hot.port("heat"), body).connect(body, cooled.port("1")).connect(cooled.port("2"), air)
    return graph


def run() -> Result:
    """Simulate start, drive and stop."""
    return simulate(drive_train(), T_END, samples=PERIOD / 10)


def draw(result: Result, speed: Any, current: Any, heat: Any, energy: Any) -> None:
    """Draw speeds, current, temperatures, and the energy received by each domain, on four axes."""
    t, domains = result.t, result.ledger.domains
    speed.plot(t, RADIUS * result["wheel.flow"], label="rim of the wheel")
    speed.plot(t, result["cart.flow"], label="cart")
    current.plot(t, result["winding.flow"], linewidth=0.6)
    for hot in ("winding", "brake"):
        heat.plot(t, result[f"{hot} body.effort"] - AMBIENT, label=hot)
    shares = {name: each.received / 1e3 for name, each in domains.items() if name != "electrical"}
    energy.stackplot(t, *shares.values(), labels=shares)
    energy.plot(t, -domains["electrical"].received / 1e3, "k--", label="given by the circuit")
    labels = ("speed (m/s)", "winding (A)", "above ambient (K)", "received by domain (kJ)")
    for axes, label in zip((speed, current, heat, energy), labels, strict=True):
        axes.set(ylabel=label)
        if axes is not current:
            axes.legend(loc="upper left")
    energy.set(xlabel="time (s)")


if __name__ == "__main__":
    from screwbond.models.studies.tasks import output_folder

    from bondgraph.output.plot_style import styled

    out = output_folder(__doc__, "demo/drive_train")
    result = run()
    print(f"{result!r}; the energy ledger closes to {result.ledger.relative_residual:.0e} of the energy scale")
    for name, domain in result.ledger.domains.items():
        print(f"  {name:>12}: received {domain.received[-1]:8.1f} J, dissipated {domain.dissipated[-1]:7.1f} J")
    with styled():
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(4, 1, figsize=(8.0, 10.0), sharex=True, layout="constrained")
        draw(result, *axes)
        figure.savefig(out / "account.png")
    print(f"  picture in {out / 'account.png'}")
