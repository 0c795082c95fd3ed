"""A half car drives on a sinusoidal road, which the rear axle reaches later.

`arms` are the positions of the axles relative to the centre of mass, m; `road` is the amplitude of
the road's vertical speed, m/s.
"""

from screwbond import J0, J1, TF, C, Graph, I, R, Sf
from screws.scalars import sin


def simulate(mass=700.0, inertia=1200.0, arms=(1.2, -1.5), axle=40.0, spring=2e4, damper=1500.0,
             tyre=2e5, road=0.5, omega=8.0, delay=0.2, t_end=3.0):  # fmt: skip
    graph = Graph("half car")
    heave, pitch = J1("heave", domain="translation"), J1("pitch", domain="rotation")
    graph.connect(heave, I("body", mass=mass)).connect(pitch, I("pitching", inertia=inertia))
    for end, arm, lag in (("front", arms[0], 0.0), ("rear", arms[1], delay)):
        names = [f"{end} {part}" for part in ("corner", "wheel", "ground")]
        corner, wheel, ground = (J1(name, domain="translation") for name in names)
        rate = Sf(f"{end} road", lambda t, lag=lag: road * sin(omega * (t - lag)), signals=["time"])
        joint, lever = J0(f"{end} joint"), TF(f"{end} lever", arm)
        graph.connect(pitch, lever.port("1")).connect(lever.port("2"), joint)
        graph.connect(heave, joint).connect(joint, corner)
        graph.connect(wheel, I(f"{end} axle", mass=axle)).connect(rate, ground)
        strut = C(f"{end} spring", stiffness=spring), R(f"{end} damper", damper)
        graph.between(wheel, corner, *strut)
        graph.between(ground, wheel, C(f"{end} tyre", stiffness=tyre))
    return graph.simulate(t_end, samples=601, rtol=1e-9)
