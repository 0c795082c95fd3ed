"""Public models of cells: membranes with ion channels."""

from __future__ import annotations

from bondgraph import J0, Block, C, Graph, R, Se, Sf
from examples.gallery.record import Collection
from screws.scalars import exp

MODELS = Collection("Cells")

AXON = {"V": "membrane.effort", "m": "m.x", "h": "h.x", "n": "n.x"}


@MODELS.model("Hodgkin and Huxley 1952, squid axon", statements=25, t_end=50.0, signals=AXON, tolerance=1e-5)
def hodgkin_huxley() -> Graph:
    """Axon under a steady current, which fires again and again; mV, ms, uA/cm^2, with the rest at -65 mV."""
    graph, membrane = Graph("axon"), J0("membrane")
    gates = (
        ("m", 0.0529, lambda v: 0.1 * (v + 40) / (1 - exp(-(v + 40) / 10)), lambda v: 4 * exp(-(v + 65) / 18)),
        ("h", 0.5961, lambda v: 0.07 * exp(-(v + 65) / 20), lambda v: 1 / (1 + exp(-(v + 35) / 10))),
        ("n", 0.3177, lambda v: 0.01 * (v + 55) / (1 - exp(-(v + 55) / 10)), lambda v: 0.125 * exp(-(v + 65) / 80)),
    )
    for name, x, opens, closes in gates:
        law = ("rate", lambda v, x, a=opens, b=closes: a(v) * (1 - x) - b(v) * x, ["v", "x"])
        graph.add(Block(name, [law], inputs={"v": "membrane.effort"}, states={"x": x}, rates={"x": "rate"}))
    graph.connect(Sf("stimulus", 10.0), membrane).connect(membrane, C("charge", capacitance=1.0, initial=-65.0))
    sodium = R("sodium", flow=lambda e, m, h: 120 * m**3 * h * e, signals=["m.x", "h.x"])
    potassium = R("potassium", flow=lambda e, n: 36 * n**4 * e, signals=["n.x"])
    for rest, channel in ((50.0, sodium), (-77.0, potassium), (-54.387, R("leak", conductance=0.3))):
        graph.between(None, membrane, channel, Se(f"{channel.name} rest", rest))
    return graph
