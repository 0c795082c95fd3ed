"""Idioms of the pages, as a user writes them: they run, and a type checker accepts them."""

import numpy as np
from screwbond.models import attach_contact, contact, ground, rigid_body

import bondgraph
import screwbond
from bondgraph import (
    GY,
    J1,
    TF,
    Automaton,
    C,
    Friction,
    Graph,
    I,
    Parameter,
    R,
    Se,
    Sf,
    Transition,
    by_mode,
    compile_model,
    signals,
)
from bondgraph.analysis import linearise, linearise_sampled, operating_point
from screws import plane, sphere
from screws.scalars import sin

graph, velocity = Graph("oscillator"), J1("velocity", domain="translation")
graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", mass=2.0))
graph.connect(velocity, C("spring", stiffness=Parameter(50.0, "N/m"), initial=0.1))
graph.connect(velocity, R("drag", effort=lambda f, c: c * f, parameters={"c": 5.0}))
graph.connect(velocity, R("bumper", by_mode("touch", {"free": 0.0, "contact": 5.0})))
graph.add(signals.gain("twice", "spring.q", 2.0), signals.hold("held", "twice.y", 0.05))
touches = Transition("free", "contact", lambda q: q - 0.04, "spring.q")
leaves = Transition("contact", "free", lambda q, t: -q, ["spring.q", "time"])
graph.add_automaton(Automaton("touch", ("free", "contact"), "free", [touches, leaves]))
print(graph["spring"].name, list(graph), len(graph), "mass" in graph)

compiled = graph.compile()
result = compiled.simulate(2.0, parameters={"spring.stiffness": 80.0}, initial={"spring.q": 0.2}, rtol=1e-8, samples=0.01)
again = compiled.simulate(4.0, t_start=2.0, initial=result.final, method="rodas5p", max_step=0.1, progress=False, strict=True)
q: np.ndarray = result["spring.q"]
t, most = result.peak("spring.q")
print(q.max(), t + most, result.ok, result.ledger, [event.time for event in result.events])
print(compiled.states["spring.q"].value, compiled.parameters["spring.stiffness"].unit, compiled.names()[0], compiled.report())
axes = result.plot("spring.q", ["velocity.flow", "drag.flow"])
axes[0].figure.savefig("run.png")
print(result.to_dataframe().describe(), result.to_xarray()["spring.q"].mean())

plain = Graph("plain").connect(Se("push", lambda t, a: a * sin(2.0 * t), signals="time", parameters={"a": 1.0}), I("m", mass=1.0))
print(bondgraph.simulate(plain, 1.0, samples=np.linspace(0.0, 1.0, 11))["m.flow"])
loop = J1("loop")
rlc = Graph("rlc").connect(Se("u", 1.0), loop).connect(loop, I("coil", inductance=0.1)).connect(loop, C("c", capacitance=0.01))
circuit = compile_model(rlc.connect(loop, R("r", resistance=1.0)), progress=False)
linear = circuit.linearise("u.value", ["c.q"])
print(linear, linear.poles(), linear.A @ np.zeros(2), linear.transfer_function(), linearise(rlc, inputs=["u.value"]).B)
linear.bode(margins=True)
linear.step(t_end=3.0)
linear.pzmap()
print(linear.c2d(0.01).poles(), linear.to_control())
point = operating_point(circuit, free="u.value", targets={"c.q": 0.02})
print(circuit.simulate(1.0, initial=point)["c.q"])
print(linearise_sampled(compiled, initial={"spring.q": 0.0, "mass.p": 0.0}).poles())
print(bondgraph.export.latex(circuit), bondgraph.analysis.linearise(circuit), bondgraph.render.diagram.diagram(circuit))
graph.diagram(title="An oscillator", values=True).write("oscillator.svg")

axle, wheel = J1("axle"), J1("wheel")
motor, gear = GY("motor", ratio=0.05), TF("gear", ratio=0.1)
drive = Graph("drive").connect(Sf("current", 1.0), motor).connect(motor, axle).connect(axle, gear.port("1"))
drive.connect(gear.port("2"), wheel).connect(wheel, I("disc", inertia=0.1)).connect(wheel, Friction("rub", 0.01))
drive.replace("disc", I("disc", inertia=0.2)).simulate(1.0)

floor = ground("floor", surface=plane())
ball = rigid_body("ball", mass=0.1, inertia=(1e-4,) * 3, surface=sphere(0.03), position=(0, 0, 0.05), gravity=(0, 0, -9.81))
touch = contact("touch", floor, ball, normal_stiffness=1e4, friction=0.3, tangential_stiffness=1e4, tangential_damping=1.0)
print(attach_contact(Graph("dropped"), touch).simulate(0.2).ledger, screwbond.__version__)
