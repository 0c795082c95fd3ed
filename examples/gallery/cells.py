"""Public models of cells: membranes with ion channels."""

from __future__ import annotations

from screwbond.models.parts.chemical import network

from bondgraph import J0, Block, C, Graph, R, Se, Sf
from examples.gallery.record import Collection
from screws.scalars import exp, log

MODELS = Collection("Cells")

AXON = {"V": "membrane.effort", "m": "m.x", "h": "h.x", "n": "n.x"}


@MODELS.model("Hodgkin and Huxley 1952, squid axon", statements=25, t_end=50.0, signals=AXON, tolerance=1e-5)
def hodgkin_huxley() -> Graph:
    """Axon under a steady current, which fires again and again; mV, ms, uA/cm^2, with a resting potential of -65 mV."""
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


PUMP = {
    "P1": (5263.6085, 0.000483061870385487),
    "P2": (3803.6518, 0.0574915174273067),
    "P2a": (3110.4445, 0.527445119834607),
    "P4": (16520516.1239, 1.51818391164022e-09),
    "P5": (0.82914, 0.000521923287622898),
    "P6": (993148.433, 7.80721128535043e-05),
    "P8": (37.7379, 0.156693953834181),
    "P9": (2230.2717, 0.149232225342376),
    "P10": (410.6048, 0.108044124948978),
    "Cai": (1.9058, 0.0057),
    "Casr": (31.764, 4.674),
    "MgATP": (244.3021, 3.8),
    "MgADP": (5.8126e-7, 1.3794),
    "Pi": (0.014921, 570.0),
    "H": (1862.5406, 0.004028),
}
"""Constants of species, 1/fmol, and their amounts at the start, fmol."""
STATES = {name: f"amounts.{name}" for name in PUMP if name.startswith("P") and name != "Pi"}
CYCLE = """P1 + MgATP <-> P2 : 0.00053004; P2 + H <-> P2a : 8326784.0537; P2 + 2 Cai <-> P4 : 1567.7476
P4 <-> P5 + 2 H : 1567.7476; P5 <-> P6 + MgADP : 3063.4006; P6 <-> P8 + 2 Casr : 130852.3839
P8 + 2 H <-> P9 : 11612934.8748; P9 <-> P10 + H : 11612934.8748; P10 <-> P1 + Pi : 0.049926"""


@MODELS.model("Tran et al. 2009, Pan et al. 2018, calcium pump", statements=24, t_end=200.0, signals=STATES, tolerance=1e-7)
def calcium_pump() -> Graph:
    """Calcium pump of the heart (SERCA) at 310 K, whose store fills up at the start; amounts in fmol, times in s."""
    K, amounts = ({name: each[k] for name, each in PUMP.items()} for k in range(2))
    fixed = {name: amounts.pop(name) for name in PUMP if name not in STATES}
    return network("SERCA", CYCLE, amounts, chemostats=fixed, constants=K, T=310.0)


VENTRICLE = {"V": "membrane.effort", "Ca": "calcium.x", **{each: f"{each}.x" for each in ("x1", "m", "h", "j", "d", "f")}}
GATES = """x1 0.0057 0.0005 0.083 50 0 0 0.057 1 0.0013 -0.06 20 0 0 -0.04 1
m 0.011 0 0 47 -1 47 -0.1 -1 40 -0.056 72 0 0 0 0
h 0.988 0.126 -0.25 77 0 0 0 0 1.7 0 22.5 0 0 -0.082 1
j 0.975 0.055 -0.25 78 0 0 -0.2 1 0.3 0 32 0 0 -0.1 1
d 0.003 0.095 -0.01 -5 0 0 -0.072 1 0.07 -0.017 44 0 0 0.05 1
f 0.994 0.012 -0.008 28 0 0 0.15 1 0.0065 -0.02 30 0 0 -0.2 1"""
"""Gates: name, start value, and seven coefficients each for the opening and closing rates (Beeler and Reuter 1977, table 1)."""


def _rate(v, c):
    return (c[0] * exp(c[1] * (v + c[2])) + c[3] * (v + c[4])) / (exp(c[5] * (v + c[2])) + c[6])


def _inward(v):
    steep = 4 * (exp(0.04 * (v + 85)) - 1) / (exp(0.08 * (v + 53)) + exp(0.04 * (v + 53)))
    return 0.35 * (steep + 0.2 * (v + 23) / (1 - exp(-0.04 * (v + 23))))


@MODELS.model("Beeler and Reuter 1977, ventricle", statements=40, t_end=600.0, signals=VENTRICLE, tolerance=1e-5)
def cardiac_action_potential() -> Graph:
    """Action potential of a heart ventricle that starts above the threshold; mV, ms, uA/cm^2."""
    graph, membrane = Graph("ventricle"), J0("membrane")
    for name, *numbers in map(str.split, GATES.splitlines()):
        x, *c = map(float, numbers)
        law = ("rate", lambda v, x, c=c: _rate(v, c) * (1 - x) - _rate(v, c[7:]) * x, ["v", "x"])
        graph.add(Block(name, [law], inputs={"v": "membrane.effort"}, states={"x": x}, rates={"x": "rate"}))
    uptake = [("rate", lambda i, x: 0.07 * (1e-7 - x) + 1e-7 * i, ["i", "x"])]
    graph.add(Block("calcium", uptake, inputs={"i": "slow.flow"}, states={"x": 1e-7}, rates={"x": "rate"}))
    graph.connect(membrane, C("charge", capacitance=1.0, initial=-30.0)).connect(membrane, R("potassium", flow=_inward))
    late = R("late", flow=lambda v, x: 0.8 * x * (exp(0.04 * (v + 77)) - 1) / exp(0.04 * (v + 35)), signals="x1.x")
    sodium = R("sodium", flow=lambda e, m, h, j: (4 * m**3 * h * j + 0.003) * e, signals=["m.x", "h.x", "j.x"])
    slow = R("slow", flow=lambda e, d, f: 0.09 * d * f * e, signals=["d.x", "f.x"])
    graph.connect(membrane, late).between(None, membrane, sodium, Se("sodium rest", 50.0))
    nernst = Se("calcium rest", lambda x: -82.3 - 13.0287 * log(x), signals="calcium.x")
    return graph.between(None, membrane, slow, nernst)
