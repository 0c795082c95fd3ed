"""A quarter car drives over a hump; a bump stop ends the travel of its suspension."""

from math import pi

from screwbond import J0, J1, C, Graph, I, R, Sf, simulate
from screws.scalars import maximum, sin, where


def hump(t):
    """Return the vertical speed of a road with a hump of 4 cm, passed in 0.1 s, m/s."""
    return where(t < 0.1, 0.08 * 10 * pi / 2 * sin(2 * 10 * pi * t), 0.0)


wheel, body = J1("wheel", domain="translation"), J1("body", domain="translation")
tyre, travel, strut = J0("tyre"), J0("travel"), J1("strut")
car = Graph("quarter car").connect(Sf("road", flow=hump, signals="time"), tyre).connect(tyre, C("tyre spring", stiffness=2e5))
car.connect(tyre, wheel).connect(wheel, I("wheel mass", mass=40.0)).connect(wheel, travel).connect(travel, body)
car.connect(travel, strut).connect(strut, C("spring", stiffness=2e4)).connect(strut, R("damper", damping=1.2e3))
stop = C("bump stop", energy=lambda q, k, gap: k * maximum(q - gap, 0.0) ** 2 / 2, parameters={"k": 5e5, "gap": 0.04})
car.connect(strut, stop).connect(body, I("body mass", mass=300.0))

run = simulate(car, 3.0)
print(f"{run['spring.q'].max() * 1e3:.1f} mm of travel, {run['bump stop.effort'].max():.0f} N at the stop")
