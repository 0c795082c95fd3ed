"""A kettle keeps water warm with a heater that switches.

`heat` is the capacity of the water, J/K, and `loss` the resistance of the wall, K/W; temperatures
are in K.
"""

from screwbond import J0, J1, C, Graph, R, Se, signals


def simulate(ohm=26.5, volt=230.0, heat=4180.0, loss=0.5, room=293.0, low=362.0, high=364.0,
             t_end=600.0):  # fmt: skip
    graph, circuit, water = Graph("kettle"), J1("circuit"), J0("water", domain="heat")
    heater = R("heater", ohm, heat=True, domain="electrical")
    body = C("body", capacitance=heat, initial=heat * room)
    graph.add(signals.hysteresis("hot", "water.effort", low, high, initial="low"))
    graph.connect(Se("mains", lambda hot: volt * (1.0 - hot), signals=["hot.y"]), circuit)
    graph.connect(circuit, heater).connect(heater.port("heat"), water).connect(water, body)
    wall = J1("wall")
    graph.connect(water, wall).connect(wall, R("loss", loss)).connect(wall, Se("kitchen", room))
    return graph.simulate(t_end, rtol=1e-9)
