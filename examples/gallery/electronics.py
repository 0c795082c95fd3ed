"""Public models of electronics: diodes, amplifiers, filters."""

from __future__ import annotations

from math import pi

from screwbond.models import parts

from bondgraph import J0, C, Graph, R, Se
from examples.gallery.record import Collection
from screws.scalars import sin

MODELS = Collection("Electronics")
MSL = "Modelica.Electrical.Analog.Examples."
e = parts.electrical


@MODELS.model(MSL + "OvervoltageProtection", statements=17, t_end=0.4, signals={"CL.v": "CL.effort"}, tolerance=1e-4)
def overvoltage_protection() -> Graph:
    """Two Zener diodes back to back limit a voltage."""
    graph, out, middle = Graph("overvoltage protection"), J0("out"), J0("middle")
    graph.between(None, out, Se("source", lambda t: 10 * sin(10 * pi * t), signals="time"), R("Rv", 20.0))
    graph.between(out, middle, e.zener("z1")).between(None, middle, e.zener("z2"))
    return graph.between(out, None, R("RL", 2000.0)).between(out, None, C("CL", capacitance=1e-7))
