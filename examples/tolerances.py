"""A motor whose parts have tolerances: how fast will the motors of a batch run, and how soon do they reach this speed?

Winding, inductance, magnet and bearing are drawn from their makers' tolerances; every draw is a run. The results are compared
with theory for parts without deviations: the steady speed u k / (k^2 + R b).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bondgraph import GY, J1, Graph, I, R, Result, Se, sweep
from bondgraph.sweeps import Runs, last, normal, peak, uniform

VOLTAGE, MAGNET, WINDING, BEARING = 12.0, 0.05, 1.0, 1e-4  # V, N m/A, Ohm, N m s
STEADY = VOLTAGE * MAGNET / (MAGNET**2 + WINDING * BEARING)  # rad/s


def motor() -> Graph:
    """Return a direct-current motor that is switched on."""
    graph, loop, shaft = Graph("motor"), J1("winding loop", domain="electrical"), J1("shaft", domain="rotation")
    graph.connect(Se("supply", VOLTAGE), loop).connect(loop, R("winding", WINDING)).connect(loop, I("coil", inductance=1e-3))
    magnet = GY("magnet", MAGNET)
    graph.connect(loop, magnet).connect(magnet, shaft)
    return graph.connect(shaft, I("rotor", 2e-5)).connect(shaft, R("bearing", BEARING))


def rise(result: Result) -> float:
    """Return the time at which the motor reaches nine tenths of its final speed, s."""
    speed = result["rotor.flow"]
    return float(np.interp(0.9 * speed[-1], speed, result.t))


def series(count: int = 500, store: Path | None = None) -> Runs:
    """Run a batch of motors, and keep final speed (rad/s), largest current (A) and 90 % rise time (s)."""
    parts = {
        "winding.resistance": normal(WINDING, 0.03),
        "coil.inductance": uniform(0.8e-3, 1.2e-3),
        "magnet.ratio": normal(MAGNET, 0.001),
        "bearing.resistance": uniform(0.5 * BEARING, 1.5 * BEARING),
    }
    keep = {"speed": last("rotor.flow"), "current": peak("coil.flow"), "rise": rise}
    return sweep(motor(), parts, 0.1, keep=keep, runs=count, seed=1, store=store)


if __name__ == "__main__":
    from screwbond.models.studies.tasks import output_folder

    from bondgraph.output.plot_style import styled

    out = output_folder(__doc__, "demo/tolerances")
    runs = series(store=out / "runs.db")
    low, high = np.percentile(runs["speed"], [2.5, 97.5])
    print(f"{len(runs)} motors: 95 of 100 turn at {low:.1f} to {high:.1f} rad/s; without deviations at {STEADY:.1f} rad/s")
    print(f"  current at most {runs['current'].max():.2f} A, speed reached within {1e3 * runs['rise'].max():.1f} ms")
    with styled():
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7.0, 4.9), layout="constrained")
        dots = axes.scatter(1e3 * runs["rise"], runs["speed"], c=runs["magnet.ratio"], s=8)
        axes.set(xlabel="90 % rise time (ms)", ylabel="speed (rad/s)", title="500 motors of a batch")
        figure.colorbar(dots, label="magnet (V s/rad)")
        figure.savefig(out / "motors.png")
    print(f"  picture in {out / 'motors.png'}")
