"""Public models of rotation: shafts, gears, clutches, brakes."""

from __future__ import annotations

from math import pi

from screwbond.models import parts

from bondgraph import J1, TF, Block, C, Friction, Graph, I, Parameter, R, Se, signals
from examples.gallery.record import Collection
from screws.scalars import maximum, minimum, sin, where

MODELS = Collection("Rotation")
MSL = "Modelica.Mechanics.Rotational.Examples."
m = parts.motion

FIRST = {"damper.w_rel": "-inertia2.flow", "inertia3.w": "inertia3.flow"}


@MODELS.model(MSL + "First", statements=25, t_end=1.0, signals=FIRST, tolerance=1e-3)
def first() -> Graph:
    """Drive train with a gear, an elastic shaft and a damper."""
    graph, gear = Graph("first"), TF("gear", 0.1, domains=("rotation", "rotation"))
    motor = graph.series(Se("torque", lambda t: 10 * sin(10 * pi * t), signals="time"), I("inertia1", 0.1))
    shaft, load = graph.series(I("inertia2", 2.0), R("damper", 10.0)), graph.series(I("inertia3", 2.0))
    graph.connect(motor, gear).connect(gear, shaft)
    return graph.between(shaft, load, C("spring", stiffness=1e4))


FRICTION = {"clutch.w_rel": "clutch.flow", "inertia3.w": "inertia3.flow", "spring.phi_rel": "spring.q"}


@MODELS.model(MSL + "Friction", statements=31, t_end=3.0, signals=FRICTION, tolerance=3e-5)
def friction() -> Graph:
    """Drive train with a slipping clutch and a brake."""
    graph = Graph("friction")
    graph.add(signals.step("press", start=0.5))
    drive = Se("torque", lambda t: where(t < 0.5, 200 * sin(100 * t), 0.0), signals="time")
    motor = graph.series(drive, I("inertia3", 1.0, initial=100.0))
    shaft = graph.series(I("inertia2", 0.05, initial=4.5))
    load = graph.series(I("inertia1", 1.0, initial=90.0), m.clutch("brake", 800.0, pressure="press.y"))
    graph.between(motor, shaft, m.clutch("clutch", 80.0))
    return graph.between(shaft, load, C("spring", stiffness=160.0), R("damper", 1.0))


CLUTCHES = {"J1.w": "J1.flow"} | {f"clutch{k}.w_rel": f"clutch{k}.flow" for k in (1, 2, 3)}


@MODELS.model(MSL + "CoupledClutches", statements=28, t_end=1.5, signals=CLUTCHES, tolerance=3e-5)
def coupled_clutches() -> Graph:
    """Four inertias coupled by three clutches, which engage one after the other."""
    graph = Graph("clutches")
    graph.add(signals.sine("press1", 1.0, 0.4 * pi, pi / 2), signals.step("press2", 0.4), signals.step("press3", 0.9))
    shafts = [graph.series(I(f"J{k}", 1.0, initial=10.0 * (k == 1))) for k in (1, 2, 3, 4)]
    graph.between(None, shafts[0], Se("torque", lambda t: 10 * sin(10 * pi * t), signals="time"))
    for k in (1, 2, 3):
        graph.between(shafts[k - 1], shafts[k], m.clutch(f"clutch{k}", 10.0, hold=1.1, pressure=f"press{k}.y"))
    return graph


BACKLASH = {"springDamper.phi_rel": "spring.q", "springDamper.w_rel": "spring.flow"} | {
    "elastoBacklash.phi_rel": "backlash.spring.q",
    "elastoBacklash.w_rel": "backlash.spring.flow",
}


@MODELS.model(MSL + "Backlash", statements=15, t_end=1.0, signals=BACKLASH, tolerance=1e-4)
def backlash() -> Graph:
    """Two inertias on springs, one of which has backlash."""
    graph, plain, loose = Graph("backlash"), J1("inertia1", domain="rotation"), J1("inertia2")
    graph.connect(plain, I("body1", 5.0)).connect(loose, I("body2", 5.0))
    graph.between(None, plain, C("spring", stiffness=2e4, initial=pi / 2), R("damper", 50.0))
    return graph.between(None, loose, m.backlash("backlash", pi / 4, 2e4, 50.0, x0=pi / 2))


EDDY = {"heatCapacitor.T": "copper.T", "eddyCurrentTorque.lossPower": "brake.power"}


@MODELS.model(MSL + "EddyCurrentBrake", statements=5, t_end=1.0, signals=EDDY, tolerance=1e-5)
def eddy_current_brake() -> Graph:
    """Brake whose copper warms, which raises the speed of its maximum torque."""
    graph, warming = Graph("eddy"), [("w0", lambda T: 10 * (1 + 3.92e-3 * (T - 293.15)), "T")]
    graph.add(Block("copper", warming, inputs={"P": "brake.power"}, states={"T": Parameter(293.15, "K")}, rates={"T": "P"}))
    graph.series(I("inertia", 1.0, initial=20.0), m.eddy_current_brake("brake", 100.0, w0="copper.w0"))
    return graph


BEARING = {"load.w": "load.flow", "shaft.w": "shaft.flow", "springDamper.phi_rel": "mount.q"}


@MODELS.model(MSL + "ElasticBearing", statements=20, t_end=10.0, signals=BEARING, tolerance=3e-6)
def elastic_bearing() -> Graph:
    """Gear whose housing is mounted on a spring and a damper."""
    graph, gear, housing = Graph("bearing"), TF("gear", 1 / 3, domains=("rotation", "rotation")), J1("housing frame")
    shaft = graph.series(Se("torque", signals="time", effort=lambda t: 20 * minimum(t, 5.0)), I("shaft", 1.0))
    load, lever = graph.series(I("load", 50.0)), TF("support", 2 / 3, domains=("rotation", "rotation"))
    graph.connect(housing, I("housing", 5.0)).between(None, housing, C("mount", stiffness=1e5), R("damper", 5.0))
    out = graph.parallel(C("spring", stiffness=1e3))
    return graph.connect(shaft, gear).connect(gear, out).connect(housing, lever).connect(lever, out).connect(out, load)


CLUTCH = {"inertiaIn.w": "in.flow", "oneWayClutch.w_rel": "freewheel.flow"}


@MODELS.model(MSL + "OneWayClutch", statements=11, t_end=2.0, signals=CLUTCH, tolerance=1e-4)
def one_way_clutch() -> Graph:
    """Freewheel in parallel with a clutch that is engaged from time to time."""
    graph = Graph("one way")
    graph.add(signals.square("press", period=1.3, start=0.3))
    torque = Se("torque", lambda t: 10 * sin(6 * pi * t), signals="time")
    drive, pads = graph.series(torque, I("in", 1.0, initial=-0.5)), m.clutch("pads", 1.5, hold=25.0, pressure="press.y")
    return graph.between(drive, graph.series(I("out", 1.0)), m.one_way_clutch("freewheel"), pads)


@MODELS.model(MSL + "OneWayClutchDisengaged", statements=13, t_end=2.0, signals=CLUTCH, tolerance=1e-4)
def one_way_clutch_disengaged() -> Graph:
    """Freewheel between a drive and a load."""
    graph, torque = Graph("freewheel"), Se("torque", lambda t: 0.3 + 10 * sin(4 * pi * t), signals="time")
    drive = graph.series(torque, I("in", 1.0, initial=-0.5))
    load = graph.series(Se("load", -0.3), I("out", 1.0))
    return graph.between(drive, load, m.one_way_clutch("freewheel"))


@MODELS.model(MSL + "RollingWheel", statements=9, t_end=5.0, signals={"inertia.w": "inertia.flow"}, tolerance=3e-6)
def rolling_wheel() -> Graph:
    """Wheel that drives a vehicle against its drag."""
    graph, wheel = Graph("rolling wheel"), TF("wheel", 1.0, domains=("rotation", "translation"))
    shaft = graph.series(Se("torque", lambda t: where(t < 0.1, 0.0, 10.0), signals="time"), I("inertia", 1.0))
    return graph.connect(shaft, wheel).connect(wheel, graph.series(I("mass", 1.0), m.drag("drag", 0.4)))


SHIFT = {"engine.w": "engine.flow", "load.w": "load.flow", "clutch.w_rel": "clutch.flow"}


@MODELS.model(MSL + "SimpleGearShift", statements=24, t_end=5.0, signals=SHIFT, tolerance=3e-6)
def gear_shift() -> Graph:
    """Planetary gear that is shifted to direct drive by releasing a brake and engaging a clutch."""
    graph, ring, gear = Graph("gear shift"), J1("ring"), m.planetary_gear("gear", 1.5)
    engine = graph.series(Se("torque", lambda t: where(t < 0.5, 0.0, 20.0), signals="time"), I("engine", 1.0))
    load = graph.series(I("load", 10.0), R("fan", effort=lambda w: 20 * (w / 10.471975511966) ** 2))
    graph.connect(engine, gear.port("sun")).connect(ring, gear.port("ring")).connect(gear.port("carrier"), load)
    graph.add(signals.ramp("press", 10.0, 2.0, 2.1), signals.ramp("release", -10.0, 2.0, 2.1, offset=1.0))
    graph.between(engine, ring, m.clutch("clutch", 100.0, pressure="press.y"))
    return graph.between(None, ring, m.clutch("brake", 100.0, pressure="release.y"))


LOSSY = {"Inertia2.w": "Inertia2.flow"}


@MODELS.model(MSL + "LossyGearDemo1", statements=18, t_end=0.5, signals=LOSSY, tolerance=1e-5)
def lossy_gear() -> Graph:
    """Lossy gear between a drive and a load, which locks itself from time to time."""
    graph, gear = Graph("lossy gear"), m.lossy_gear("gear", 2.0, 0.5)
    drive = Se("torque1", lambda t: 10 * sin(2 * pi * t), signals="time")
    load = Se("torque2", lambda t: 2.5 * t - 10, signals="time")
    graph.connect(graph.series(drive, I("Inertia1", 1.0)), gear.port("1"))
    return graph.connect(gear.port("2"), graph.series(load, I("Inertia2", 1.5)))


@MODELS.model(MSL + "LossyGearDemo2", statements=22, t_end=0.5, signals=LOSSY, tolerance=1e-4)
def lossy_gear_with_friction() -> Graph:
    """Lossy gear, with friction in the bearing of the drive."""
    graph, gear = Graph("lossy gear"), m.lossy_gear("gear", 2.0, 0.5)
    drive = Se("torque1", lambda t: 10 * sin(2 * pi * t), signals="time")
    load = Se("torque2", lambda t: 2.5 * t - 10, signals="time")
    bearing = Friction("bearing", 0.5, viscous=0.5)
    graph.connect(graph.series(drive, I("Inertia1", 1.0), bearing), gear.port("1"))
    return graph.connect(gear.port("2"), graph.series(load, I("Inertia2", 1.5)))


@MODELS.model(MSL + "LossyGearDemo3", statements=13, t_end=1.0, signals=LOSSY, tolerance=1e-6)
def lossy_gear_with_bearing() -> Graph:
    """Gear with a loss proportional to its load, and a bearing loss of 0.625 N m while it drives and 2.5 N m while it is
    driven."""
    graph, gear = Graph("lossy gear"), TF("gear", 1.0, domains=("rotation", "rotation"))
    loss = {"scale": lambda load: maximum(3 * load + 2.5, 0.625 - 0.75 * load), "signals": "gear.1.effort"}
    bearing = Friction("bearing", 1.0, backward=lambda load: maximum(2.5 - 3 * load, 0.625 + 0.75 * load), **loss)
    load = Se("torque2", lambda t: where(t < 0.5, 0.0, 1.0), signals="time")
    graph.connect(graph.series(I("Inertia1", 1e-3, initial=1e-2), bearing), gear)
    return graph.connect(gear, graph.series(load, I("Inertia2", 1e-3, initial=1e-2)))
