"""Public models of translation: masses, springs, dampers, contacts, friction, vehicles."""

from __future__ import annotations

from math import atan, pi

import numpy as np
from screwbond.models import parts

from bondgraph import TF, Automaton, Block, C, Friction, Graph, I, Parameter, R, Se, Sf, Transition, signals
from examples.gallery.record import Collection
from screws.scalars import absolute, cos, exp, sin, where

MODELS = Collection("Translation")
MSL = "Modelica.Mechanics.Translational.Examples."
m = parts.motion


@MODELS.model(MSL + "Accelerate", statements=5, t_end=1.0, signals={"accelerate.v": "mass.flow"}, tolerance=1e-6)
def accelerate() -> Graph:
    """Mass whose acceleration is prescribed."""
    graph = Graph("accelerate")
    graph.series(Sf("accelerate", lambda t: t, signals="time"), I("mass", mass=1.0))
    return graph


BRAKE = {"mass1.v": "mass1.flow", "mass2.v": "mass2.flow"}


@MODELS.model(MSL + "Brake", statements=11, t_end=2.0, signals=BRAKE, tolerance=1e-5)
def brake() -> Graph:
    """Two masses, each stopped by a brake."""
    graph = Graph("brake")
    graph.add(signals.step("press", start=0.1, after=2.0))
    for k in (1, 2):
        graph.series(I(f"mass{k}", mass=1.0, initial=1.0), Friction(f"brake{k}", 0.5, scale=lambda u: u, signals="press.y"))
    return graph


DAMPER = {f"{name}.v_rel": f"-mass{k}.flow" for k, name in enumerate(("damper1", "damper2", "springDamper3"), 1)}


@MODELS.model(MSL + "Damper", statements=18, t_end=1.0, signals=DAMPER, tolerance=1e-5)
def damper() -> Graph:
    """Masses that dampers slow down, alone and with a spring."""
    graph = Graph("damper")
    graph.series(I("mass1", mass=1.0, initial=10.0), R("damper1", 25.0))
    graph.series(I("mass2", mass=1.0, initial=10.0), R("damper2", 25.0), C("spring2", stiffness=1.0))
    graph.series(I("mass3", mass=1.0, initial=10.0), m.strut("springDamper3", 1.0, 25.0))
    return graph


GAPS = {"elastoGap1.v_rel": "mass2.flow", "springDamper1.v_rel": "mass1.flow"}


@MODELS.model(MSL + "ElastoGap", statements=20, t_end=5.0, signals=GAPS, tolerance=3e-5)
def elasto_gap() -> Graph:
    """Mass between two springs, and mass between two elastic contacts."""
    graph = Graph("gaps")
    sprung, loose = graph.series(I("mass1", mass=1.0)), graph.series(I("mass2", mass=1.0))
    graph.between(None, sprung, C("spring1", stiffness=10.0, initial=3.0), R("damper1", 1.5))
    graph.between(sprung, None, C("spring2", stiffness=10.0, initial=-1.0), R("damper2", 1.5))
    graph.between(None, loose, m.elasto_gap("gap1", 10.0, 1.5, x0=2.5))
    return graph.between(loose, None, m.elasto_gap("gap2", 10.0, 1.5, x0=-1.5))


STICTION = {f"{name}.v": f"{name}.flow" for name in ("mass", "stop1", "stop2")}


@MODELS.model(MSL + "Friction", statements=16, t_end=5.0, signals=STICTION, tolerance=1e-4)
def friction_with_stops() -> Graph:
    """Masses with Stribeck friction: two under a force, and one on a spring that is stopped by an end stop."""
    graph = Graph("friction")
    push = [Se(f"force{k}", lambda t: 25 * sin(pi / 2 * t), signals="time") for k in (1, 2)]
    v = np.linspace(-12, 12, 99)
    graph.add(signals.table("curve", "mass.flow", v, (5 + abs(v) + 10 * np.exp(-2 * abs(v))) / 15))
    graph.series(I("mass", mass=1.0), Friction("support", 15.0, scale=lambda u: u, signals="curve.y"), push[0])
    spring = C("spring", stiffness=500.0, initial=0.25)
    for name, c, s, p, other in (("stop1", 5, 10, 0, push[1]), ("stop2", 3, 5, -5, spring)):
        law = {"scale": lambda v, c=c, s=s: (c + s * exp(-2 * absolute(v))) / (c + s), "signals": f"{name}.flow"}
        graph.series(I(name, mass=1.0, initial=p), Friction(f"at {name}", c + s, viscous=1.0, **law), other)
    hit = Transition("free", "free", lambda q: -0.15 - q, "spring.q", resets=(("stop2.p", lambda: 0.0, ()),))
    return graph.add_automaton(Automaton("stop", ("free",), "free", (hit,)))


INITIAL = {"m1.v": "m1.flow", "sd1.v_rel": "sd1.flow"}


@MODELS.model(MSL + "InitialConditions", statements=18, t_end=5.0, signals=INITIAL, tolerance=1e-4)
def initial_conditions() -> Graph:
    """Two chains, each of two masses and two springs; one chain starts out of equilibrium."""
    graph = Graph("initial conditions")
    for k, x in ((1, -0.5), (3, 0.0)):
        near, far = graph.series(I(f"m{k}", mass=1.0)), graph.series(I(f"m{k + 1}", mass=1.0))
        graph.between(None, near, C(f"s{k}", stiffness=1e3, initial=x))
        graph.between(near, far, C(f"sd{k}", stiffness=111.0), R(f"d{k}", 1.0))
    return graph


OSCILLATOR = {"damper1.v_rel": "-mass2.flow", "mass1.v": "mass1.flow"}


@MODELS.model(MSL + "Oscillator", statements=21, t_end=1.0, signals=OSCILLATOR, tolerance=2e-3)
def oscillator() -> Graph:
    """Oscillators in resonance, without and with a damper."""
    graph = Graph("oscillator")
    for k, damping in ((1, 0.0), (2, 10.0)):
        force = Se(f"force{k}", lambda t: sin(2 * pi * 15.9155 * t), signals="time")
        graph.series(force, I(f"mass{k}", mass=1.0), C(f"spring{k}", stiffness=1e4), R(f"damper{k}", damping))
    return graph


PRELOAD = {"friction.v_rel": "spool.flow", "outerContactA.v_rel": "A.flow", "outerContactB.v_rel": "-B.flow"}


@MODELS.model(MSL + "PreLoad", statements=36, t_end=100.0, signals=PRELOAD, tolerance=4e-5)
def preload() -> Graph:
    """Spool of a valve between two plates that a spring presses against the housing."""
    graph, contact = Graph("preload"), {"k": 1e6, "c": 250.0}
    force = Se("force", lambda t: 150 * sin(0.02 * pi * t), signals="time")
    spool = graph.series(force, I("spool", mass=0.15), R("friction", 2500.0))
    a, b = graph.series(I("A", mass=0.01)), graph.series(I("B", mass=0.01))
    graph.between(a, b, C("spring", stiffness=2e4, initial=-0.00325))
    graph.between(None, a, m.elasto_gap("outer A", **contact)).between(spool, a, m.elasto_gap("inner A", **contact))
    graph.between(b, None, m.elasto_gap("outer B", **contact, x0=0.00175))
    return graph.between(b, spool, m.elasto_gap("inner B", **contact, x0=0.00175))


@MODELS.model(MSL + "Sensors", statements=17, t_end=1.0, signals={"mass.v": "mass.flow"}, tolerance=4e-5)
def sensors() -> Graph:
    """Mass under a force."""
    graph = Graph("sensors")
    graph.series(Se("force", lambda t: 10 * sin(8 * pi * t), signals="time"), I("mass", mass=1.0))
    return graph


SIGN = {f"mass{k}.v": f"mass{k}.flow" for k in (1, 2, 3)}


@MODELS.model(MSL + "SignConvention", statements=17, t_end=1.0, signals=SIGN, tolerance=1e-6)
def sign_convention() -> Graph:
    """Three masses under the same force."""
    graph = Graph("signs")
    for k in (1, 2, 3):
        graph.series(Se(f"force{k}", 1.0), I(f"mass{k}", mass=1.0))
    return graph


JUMPS = ((5.0, 5.6), (10.8, -4.6), (20.0, 1.8), (25.0, -1.8), (50.0, -6.0), (55.0, 5.0))
"""Times, s, and jumps of the torque, as a fraction of its nominal value."""
VEHICLES = {"vehicle.v": "vehicle.flow", "vehicle1.v": "vehicle1.flow"}


@MODELS.model(MSL + "Vehicle", statements=46, t_end=60.0, signals=VEHICLES, tolerance=1e-5)
def vehicle() -> Graph:
    """Vehicle with drag and rolling resistance on a slope, and another vehicle, with twice the torque, that pulls a trailer."""
    graph, roll, weight = Graph("vehicle"), 0.01, 980.665
    torque = 0.25 * (0.295 * (25 / 3.5) ** 2 + roll * weight)
    drive = ("torque", lambda t: torque * sum(where(t < at, 0.0, jump) for at, jump in JUMPS), "t")
    slope = ("alpha", lambda t: where(t < 20.0, 0.0, where(t < 25.0, atan(0.05), 0.0)), "t")
    load = ("load", lambda alpha: weight * cos(alpha), "alpha")
    graph.add(Block("road", [drive, slope, load], inputs={"t": "time"}))
    for name, n in (("vehicle", 1), ("vehicle1", 2)):
        engine, wheel = (
            Se(f"engine {name}", lambda u, n=n: n * u, signals="road.torque"),
            TF(f"wheel {name}", 0.25, domains=("rotation", "translation")),
        )
        grade = Se(f"grade {name}", lambda alpha, n=n: -n * weight * sin(alpha), signals="road.alpha")
        rolling = m.rolling_resistance(f"rolling {name}", n * roll, "road.load", 1e-3)
        body = graph.series(I(name, mass=100.0 * n), m.drag(f"drag {name}", n * 0.3), rolling, grade)
        graph.connect(engine, wheel).connect(wheel, body)
    return graph


ARROWS = {"mass1.v": "mass1.flow", "inertia2.v": "inertia2.flow"}


@MODELS.model(MSL + "WhyArrows", statements=23, t_end=1.0, signals=ARROWS, tolerance=1e-5)
def why_arrows() -> Graph:
    """Two masses on springs."""
    graph = Graph("why arrows")
    for mass, domain in (("mass1", "translation"), ("inertia2", "rotation")):
        graph.series(I(mass, 1.0, domain=domain), C(f"spring {mass}", stiffness=11.0, initial=0.9))
    return graph


EDDY = {"heatCapacitor.T": "copper.T", "eddyCurrentForce.lossPower": "brake.power"}


@MODELS.model(MSL + "EddyCurrentBrake", statements=5, t_end=1.0, signals=EDDY, tolerance=1e-5)
def linear_eddy_current_brake() -> Graph:
    """Linear brake whose copper warms."""
    graph, warming = Graph("eddy"), [("v0", lambda T: 10 * (1 + 3.92e-3 * (T - 293.15)), "T")]
    graph.add(Block("copper", warming, inputs={"P": "brake.power"}, states={"T": Parameter(293.15, "K")}, rates={"T": "P"}))
    law = {"effort": lambda v, v0: 200 * v * v0 / (v * v + v0 * v0), "signals": {"v0": "copper.v0"}}
    graph.series(I("mass", mass=1.0, initial=20.0), R("brake", **law))
    return graph
