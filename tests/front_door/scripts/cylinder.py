"""A hydraulic cylinder lifts a mass; a valve, whose spool follows the height, connects the chamber to the pump or the tank."""

from screwbond import J0, J1, TF, C, Graph, I, R, Se, signals, simulate
from screws.scalars import absolute, maximum, sqrt

AREA, LOAD, OIL = 2e-3, 1000.0, 2e-12  # m^2, kg, m^3/Pa


def edge(p, k, side, spool):
    """Return the turbulent flow (m^3/s) at a pressure drop p through one edge of the valve, open on its side of the spool's
    centre."""
    return k * maximum(side * spool, 0.0) * p / sqrt(absolute(p) + 1e3)


chamber, inlet, outlet = J0("chamber", domain="hydraulic"), J1("inlet"), J1("outlet")
rod, piston = J1("rod", domain="translation"), TF("piston", ratio=1 / AREA)
lift = Graph("lift").connect(Se("pump", effort=1e7), inlet).connect(inlet, chamber).connect(chamber, outlet)
lift.connect(outlet, Se("tank", effort=1e5)).connect(chamber, C("oil", capacitance=OIL, initial=OIL * LOAD * 9.81 / AREA))
for side, way in ((1.0, inlet), (-1.0, outlet)):
    lift.connect(way, R(f"{way.name} edge", flow=edge, parameters={"k": 3e-7, "side": side}, signals={"spool": "spool.y"}))
lift.connect(chamber, piston).connect(piston, rod).connect(rod, I("load", mass=LOAD))
lift.connect(rod, Se("weight", effort=LOAD * 9.81)).connect(rod, R("seal", damping=2e3))

error = signals.summation("error", {"goal.y": 1, "height.y": -1})
lift.add(signals.smooth_step("goal", start=0.2, duration=1.0, after=0.3), signals.integrator("height", "rod.flow"), error)
lift.add(signals.gain("lever", "error.y", 10.0), signals.limiter("spool", "lever.y", -1.0, 1.0))

run = simulate(lift, 4.0)
print(f"{run['height.y'][-1]:.4f} m after 4 s, {run['chamber.effort'].max() / 1e5:.1f} bar at most")
