"""A quarter car drives over a measured road: the column `height` of a CSV file of 100,000 rows."""

from screwbond import J1, C, Graph, I, R, Se, signals


def simulate(file, mass=300.0, axle=40.0, spring=2e4, damper=1500.0, tyre=2e5, t_end=100.0,
             samples=None):  # fmt: skip
    graph = Graph("measured road")
    body, wheel = J1("body", domain="translation"), J1("wheel", domain="translation")
    graph.connect(body, I("car", mass=mass)).connect(wheel, I("axle", mass=axle))
    graph.between(wheel, body, C("spring", stiffness=spring), R("damper", damper))
    graph.add(signals.measured("road", file, "height", unit="m"))
    graph.add(signals.integrator("height", "wheel.flow", unit="m"))
    push = lambda road, y: tyre * (road - y)
    graph.connect(Se("tyre", push, signals=["road.y", "height.y"]), wheel)
    return graph.simulate(t_end, samples=samples, rtol=1e-8)
