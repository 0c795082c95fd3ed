"""A cell that beats by itself: the Purkinje fibre of the heart (Noble 1962), per square centimetre of its membrane.

    E sodium - R -.                        The membrane is a capacitor, C. Each channel is an R, whose conductance follows gates
    E potassium - R - 0 membrane - C       or the voltage, in series with the voltage E at which its ions are in equilibrium.
    E anions - R -'                        Gates are numbers from 0 to 1 that open and close at rates which follow the voltage.

After a beat the slow potassium gate n closes, and the leak of sodium wins: the voltage creeps up until the sodium gate m opens
and starts the next beat. The larger the conductance for anions, the faster the cell beats.
"""

from __future__ import annotations

import numpy as np

from bondgraph import J0, Block, C, Graph, R, Result, Se, simulate
from screws.scalars import exp

MEMBRANE, SODIUM, LEAK, DELAYED, T_END = 12e-6, 0.4, 1.4e-4, 1.2e-3, 6.0  # F, S, S, S (per cm^2), s
RESTS = {"sodium": 0.04, "potassium": -0.1, "anions": -0.06}  # V
GATES = (  # name, start, opening and closing rate (1/ms) at a voltage (mV)
    ("m", 0.05, lambda v: 0.1 * (v + 48) / (1 - exp(-(v + 48) / 15)), lambda v: 0.12 * (v + 8) / (exp((v + 8) / 5) - 1)),
    ("h", 0.80, lambda v: 0.17 * exp(-(v + 90) / 20), lambda v: 1 / (1 + exp(-(v + 42) / 10))),
    ("n", 0.50, lambda v: 1e-4 * (v + 50) / (1 - exp(-(v + 50) / 10)), lambda v: 2e-3 * exp(-(v + 90) / 80)),
)


def inward_rectifier(v: float) -> float:
    """Return the conductance (S) of the ungated potassium channels at a voltage (mV)."""
    return 1.2e-3 * exp(-(v + 90) / 50) + 1.5e-5 * exp((v + 90) / 60)


def cell(anions: float = 0.0) -> Graph:
    """Return the membrane with its channels; `anions` is the conductance for anions (S)."""
    graph, membrane = Graph("pacemaker"), J0("membrane", domain="electrical")
    for name, start, opens, closes in GATES:
        law = ("rate", lambda e, x, a=opens, b=closes: 1e3 * (a(1e3 * e) * (1 - x) - b(1e3 * e) * x), ["e", "x"])
        graph.add(Block(name, [law], inputs={"e": "membrane.effort"}, states={"x": start}, rates={"x": "rate"}))
    channels = (
        R("sodium", flow=lambda e, m, h: (SODIUM * m**3 * h + LEAK) * e, signals=["m.x", "h.x"]),
        R("potassium", flow=lambda e, v, n: (inward_rectifier(1e3 * v) + DELAYED * n**4) * e, signals=["membrane.effort", "n.x"]),
        R("anions", conductance=anions),
    )
    for channel in channels:
        graph.between(None, membrane, channel, Se(f"{channel.name} rest", RESTS[channel.name]))
    return graph.connect(membrane, C("charge", capacitance=MEMBRANE, initial=-0.08 * MEMBRANE))


def run(anions: float = 0.0) -> Result:
    """Simulate the beating cell for a few seconds."""
    return simulate(cell(anions), T_END, samples=2e-4)


def beat(result: Result) -> tuple[float, float, float]:
    """Return the period (s) and the lowest and highest voltage (V) of the last beat, which begins where the voltage rises through
    -20 mV."""
    v, t = result["membrane.effort"], result.t
    rises = np.flatnonzero((v[:-1] < -0.02) & (v[1:] >= -0.02))
    begins = t[rises] - (v[rises] + 0.02) * (t[rises + 1] - t[rises]) / (v[rises + 1] - v[rises])
    last = v[rises[-2] : rises[-1]]
    return float(begins[-1] - begins[-2]), float(last.min()), float(last.max())


if __name__ == "__main__":
    from screwbond.models.studies.tasks import output_folder

    from bondgraph.output.plot_style import styled

    out = output_folder(__doc__, "demo/pacemaker")
    with styled():
        import matplotlib.pyplot as plt

        figure, (voltage, gates, energy) = plt.subplots(3, 1, figsize=(8.0, 7.5), sharex=True, layout="constrained")
        for anions in (0.0, 7.5e-5, 1.8e-4):
            result = run(anions)
            period, lowest, highest = beat(result)
            label = f"{1e3 * anions:.3f} mS: {1e3 * period:.1f} ms"
            print(f"anions {label}, {1e3 * lowest:.1f} to {1e3 * highest:.1f} mV, {result!r}")
            voltage.plot(result.t, 1e3 * result["membrane.effort"], label=label)
            if not anions:
                for name, *_ in GATES:
                    gates.plot(result.t, result[f"{name}.x"], label=name)
                for name in ("sodium", "potassium"):
                    energy.plot(result.t, 1e6 * result.ledger.elements[name], label=name)
        voltage.set(ylabel="membrane (mV)", xlim=(3.0, T_END))
        gates.set(ylabel="gates, without anions")
        energy.set(ylabel="lost in channels (µJ)", xlabel="time (s)")
        for axes in (voltage, gates, energy):
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        figure.savefig(out / "beats.png")
    print(f"  picture in {out / 'beats.png'}")
