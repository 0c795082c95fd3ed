"""Examples of the pages as short files, each with the script of the page: linear laws, formulas, signals, automata."""

from __future__ import annotations

import math

from bondgraph import (
    GY,
    IC,
    J0,
    J1,
    TF,
    Automaton,
    Block,
    C,
    Ce,
    Constraint,
    Diode,
    Friction,
    Graph,
    I,
    Parameter,
    R,
    Re,
    Se,
    Sf,
    Switch,
    Transition,
    signals,
)  # fmt: skip
from screws.scalars import array, cos, sin


def oscillator():
    graph, velocity = Graph("oscillator"), J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", inertia=2.0))
    return graph.connect(velocity, C("spring", stiffness=50.0)).connect(velocity, R("damper", resistance=5.0))


OSCILLATOR = """
graph: oscillator
elements:
  push: {Se: 1.0}
  velocity: {J1: {domain: translation}}
  mass: {I: {inertia: 2.0}}
  spring: {C: {stiffness: 50.0}}
  damper: {R: {resistance: 5.0}}
bonds: [push -> velocity, velocity -> mass, velocity -> spring, velocity -> damper]
"""


def quartic():
    graph, velocity = Graph("oscillator"), J1("velocity", domain="translation")
    graph.connect(Se("push", 1.0), velocity).connect(velocity, I("mass", inertia=2.0))
    graph.connect(velocity, C("spring", energy=lambda q, k: k * q**4 / 4, parameters={"k": 50.0}))
    return graph.connect(velocity, R("damper", resistance=5.0))


QUARTIC = OSCILLATOR.replace("{C: {stiffness: 50.0}}", '{C: {energy: "k*q**4/4", parameters: {k: 50.0}}}')


def supply():
    drive, cable, rail = Graph("drive"), J1("cable", domain="electrical"), J0("rail", domain="electrical")
    drive.connect(Se("supply", 12.0), cable).connect(cable, R("wire", resistance=0.5)).connect(cable, rail)
    return drive.connect(rail, C("buffer", capacitance=0.02))


SUPPLY = """
graph: drive
elements:
  supply: {Se: 12.0}
  cable: {J1: {domain: electrical}}
  wire: {R: 0.5}
  rail: {J0: {domain: electrical}}
  buffer: {C: {capacitance: 0.02}}
bonds: [supply -> cable, cable -> wire, cable -> rail -> buffer]
"""


def rc():
    loop = J1("loop", domain="electrical")
    resistor, capacitor = R("r", Parameter(1.0, "kOhm")), C("c", capacitance=Parameter(20.0, "uF"), initial=1e-5)
    return Graph("rc").connect(loop, resistor).connect(loop, capacitor)


RC = """
graph: rc
elements:
  loop: {J1: {domain: electrical}}
  r: {R: 1.0 kOhm}
  c: {C: {capacitance: 20.0 uF, initial: 1e-5}}
bonds: [loop -> r, loop -> c]
"""


def kettle():
    graph, loop, water, heater = Graph("kettle"), J1("loop"), J0("water"), R("heater", 5.0, heat=True)
    graph.connect(Se("mains", 10.0), loop).connect(loop, heater).connect(heater.port("heat"), water)
    return graph.connect(water, C("body", capacitance=100.0, initial=30000.0, domain="heat")).connect(water, R("loss", 1e6))


KETTLE = """
graph: kettle
elements:
  mains: {Se: 10.0}
  loop: J1
  heater: {R: {resistance: 5.0, heat: true}}
  water: J0
  body: {C: {capacitance: 100.0, initial: 30000.0, domain: heat}}
  loss: {R: 1e6}
bonds: [mains -> loop -> heater, heater.heat -> water, water -> body, water -> loss]
"""


def synthesis():
    reaction, reactants, twice = Re("synthesis"), J1("reactants"), TF("two", 2.0, structural=True)
    graph = Graph("synthesis").connect(Ce("B", initial=1.0), reactants).connect(reactants, reaction.port("1"))
    graph.connect(Ce("A", initial=2.0), twice.port("2")).connect(twice.port("1"), reactants)
    return graph.connect(reaction.port("2"), Ce("C"))


SYNTHESIS = """
graph: synthesis
elements:
  B: {Ce: {initial: 1.0}}
  reactants: J1
  synthesis: Re
  A: {Ce: {initial: 2.0}}
  two: {TF: {ratio: 2.0, structural: true}}
  C: Ce
bonds: [B -> reactants, reactants -> synthesis.1, A -> two.2, two.1 -> reactants, synthesis.2 -> C]
"""


def jenkin():
    graph, node, slider = Graph("jenkin"), J0("node", domain="translation"), J1("slider", domain="translation")
    graph.connect(Sf("command", 0.1), node).connect(node, C("spring", stiffness=4.0))
    return graph.connect(node, slider).connect(slider, Friction("f", 1.0))


JENKIN = """
graph: jenkin
elements:
  command: {Sf: 0.1}
  node: {J0: {domain: translation}}
  spring: {C: {stiffness: 4.0}}
  slider: {J1: {domain: translation}}
  f: {Friction: 1.0}
bonds: [command -> node, node -> spring, node -> slider, slider -> f]
"""


def buck():
    source, node, coil, branch, out = J1("source"), J0("node"), J1("coil"), J1("branch"), J0("out")
    graph = Graph("buck").connect(Se("battery", 24.0), source).connect(source, node).connect(node, coil).connect(coil, out)
    graph.connect(source, Switch("transistor", automaton="gate", closed="on")).connect(source, R("on resistance", 1e-3))
    graph.connect(branch, Diode("freewheel")).connect(branch, R("diode resistance", 1e-3)).connect(branch, node)
    graph.connect(coil, I("coil L", 1e-4)).connect(out, C("smoothing", capacitance=1e-4)).connect(out, R("load", 5.0))
    saw = {"parameters": {"f": 20e3, "duty": 0.5}, "states": {"phase": 0.0}, "rates": {"phase": "rise"}}
    graph.add(Block("saw", [("rise", lambda f: f, "f")], **saw))
    off = Transition("on", "off", lambda phase, duty: phase - duty, ("saw.phase", "saw.duty"))
    on = Transition("off", "on", lambda phase: phase - 1.0, "saw.phase", resets=(("saw.phase", lambda: 0.0, ()),))
    return graph.add_automaton(Automaton("gate", ("on", "off"), "on", (off, on)))


BUCK = """
graph: buck
elements:
  battery: {Se: 24.0}
  source: J1
  node: J0
  coil: J1
  out: J0
  transistor: {Switch: {automaton: gate, closed: on}}
  on resistance: {R: 1e-3}
  branch: J1
  freewheel: Diode
  diode resistance: {R: 1e-3}
  coil L: {I: 1e-4}
  smoothing: {C: {capacitance: 1e-4}}
  load: {R: 5.0}
  saw:
    Block:
      equations: {rise: f}
      parameters: {f: 20e3, duty: 0.5}
      states: {phase: 0.0}
      rates: {phase: rise}
automata:
  gate:
    states: ["on", "off"]
    transitions:
      - {from: on, to: off, when: phase - duty, signals: [saw.phase, saw.duty]}
      - {from: off, to: on, when: phase - 1.0, signals: saw.phase, resets: {saw.phase: 0.0}}
bonds:
  - battery -> source -> node -> coil -> out
  - source -> transistor
  - source -> on resistance
  - branch -> freewheel
  - branch -> diode resistance
  - branch -> node
  - coil -> coil L
  - out -> smoothing
  - out -> load
"""


def gears():
    graph, plate, table = Graph("train"), J1("plate", domain="rotation"), J1("table", domain="rotation")
    graph.connect(Se("torque", 0.1), plate).connect(plate, I("disc", inertia=1e-4)).connect(table, I("top", inertia=0.1))
    return graph.connect(plate, gear := TF("gear", ratio=0.03)).connect(gear, table)


GEARS = """
graph: train
elements:
  torque: {Se: 0.1}
  plate: {J1: {domain: rotation}}
  disc: {I: {inertia: 1e-4}}
  table: {J1: {domain: rotation}}
  top: {I: {inertia: 0.1}}
  gear: {TF: 0.03}
bonds: [torque -> plate, plate -> disc, table -> top, plate -> gear, gear -> table]
"""


def delayed():
    graph = Graph("delayed")
    graph.add(signals.delay("d", "x.y", 1.0, initial=1.0), signals.gain("rate", "d.y", -1.0))
    graph.add(signals.integrator("x", "rate.y", 1.0))
    return graph


DELAYED = """
graph: delayed
elements:
  d: {delay: {input: x.y, time: 1.0, initial: 1.0}}
  rate: {gain: {input: d.y, k: -1.0}}
  x: {integrator: {input: rate.y, initial: 1.0}}
"""


def drive():
    graph, coil, shaft, motor = Graph("drive"), J1("coil"), J1("shaft"), GY("motor", 0.2)
    graph.connect(Se("supply", lambda u: u, signals=["voltage.y"]), coil)
    graph.connect(coil, R("winding", 4.0)).connect(coil, I("inductance", 0.5))
    graph.connect(coil, motor.port("1")).connect(motor.port("2"), shaft)
    graph.connect(shaft, I("rotor", 0.1)).connect(shaft, R("bearing", 0.05))
    graph.add(
        signals.smooth_step("goal", start=0.5, duration=1.0, after=15.0, unit="rad/s"),
        signals.summation("error", {"goal.y": 1, "rotor.flow": -1}),
        signals.pid("control", "error.y", kp=10.0, ki=8.0),
        signals.limiter("voltage", "control.y", -24.0, 24.0, unit="V"),
    )
    return graph


DRIVE = """
graph: drive
elements:
  supply: {Se: {effort: u, signals: {u: voltage.y}}}
  coil: J1
  winding: {R: 4.0}
  inductance: {I: 0.5}
  motor: {GY: 0.2}
  shaft: J1
  rotor: {I: 0.1}
  bearing: {R: 0.05}
  goal: {smooth_step: {start: 0.5, duration: 1.0, after: 15.0, unit: rad/s}}
  error: {summation: {inputs: {goal.y: 1, rotor.flow: -1}}}
  control: {pid: {error: error.y, kp: 10.0, ki: 8.0}}
  voltage: {limiter: {input: control.y, lowest: -24.0, highest: 24.0, unit: V}}
bonds: [supply -> coil, coil -> winding, coil -> inductance, coil -> motor.1, motor.2 -> shaft, shaft -> rotor, shaft -> bearing]
"""


def pendulum():
    graph, joint = Graph("pendulum"), J1("joint", domain="rotation")
    graph.connect(joint, I("bob", inertia=0.5)).connect(joint, R("air", resistance=0.1))
    return graph.connect(joint, C("weight", energy=lambda q: -4.0 * cos(q), initial=0.1))


PENDULUM = """
graph: pendulum
elements:
  joint: {J1: {domain: rotation}}
  bob: {I: {inertia: 0.5}}
  air: {R: {resistance: 0.1}}
  weight: {C: {energy: -4.0*cos(q), initial: 0.1}}
bonds: [joint -> bob, joint -> air, joint -> weight]
"""


def cart():
    def inertia(q, M, m, l, g):
        return array([[M + m, m * l * cos(q[1])], [m * l * cos(q[1]), m * l**2]])

    numbers = {"M": 1.2, "m": 0.3, "l": 0.6, "g": 9.81}
    laws = {"inertia": inertia, "potential": lambda q, M, m, l, g: m * g * l * cos(q[1])}
    pole = IC("pole", **laws, parameters=numbers, position=[0.0, 0.2])
    return Graph("cart-pole").connect(rates := J1("rates"), pole).connect(Se("push", [0.5, 0.0]), rates)


CART = """
graph: cart-pole
elements:
  rates: J1
  pole:
    IC:
      inertia: "[[M + m, m*l*cos(q[1])], [m*l*cos(q[1]), m*l**2]]"
      potential: m*g*l*cos(q[1])
      parameters: {M: 1.2, m: 0.3, l: 0.6, g: 9.81}
      position: [0.0, 0.2]
  push: {Se: [0.5, 0.0]}
bonds: [rates -> pole, push -> rates]
"""


def slot():
    graph = Graph("held").connect(turning := J1("turning"), IC("crank", inertia=lambda q: 2, position=0.5))
    graph.connect(sliding := J1("sliding"), IC("slide", inertia=lambda q: 3, position=2 * sin(0.5)))
    position = {"position": lambda a, x: x - 2 * sin(a), "coordinates": ["crank.q", "slide.q"]}
    pin = Constraint("pin", **position, alpha1=2.0, alpha0=1.0)
    return graph.connect(turning, pin.port("1")).connect(sliding, pin.port("2"))


SLOT = f"""
graph: held
elements:
  turning: J1
  crank: {{IC: {{inertia: 2, position: 0.5}}}}
  sliding: J1
  slide: {{IC: {{inertia: 3, position: {2 * math.sin(0.5)!r}}}}}
  pin:
    Constraint: {{position: x - 2*sin(a), coordinates: {{a: crank.q, x: slide.q}}, alpha1: 2.0, alpha0: 1.0}}
bonds: [turning -> crank, sliding -> slide, turning -> pin.1, sliding -> pin.2]
"""


def driven():
    graph, v = Graph("driven"), J1("v")
    push = Se("push", lambda t, a, w: a * sin(w * t), parameters={"a": 1.0, "w": 6.0}, signals={"t": "time"})
    return (
        graph.connect(push, v)
        .connect(v, I("mass", 2.0))
        .connect(v, R("drag", effort=lambda f, c: c * f * f, parameters={"c": 0.1}))
    )


DRIVEN = """
graph: driven
elements:
  push: {Se: {effort: a*sin(w*time), parameters: {a: 1.0, w: 6.0}}}
  v: J1
  mass: {I: 2.0}
  drag: {R: {effort: c*f*f, parameters: {c: 0.1}}}
bonds: [push -> v, v -> mass, v -> drag]
"""


def motor():
    graph = Graph("motor")
    current, shaft = J1("current", domain="electrical"), J1("shaft", domain="rotation")
    graph.connect(Se("supply", 12.0), current).connect(current, I("coil", inductance=2e-3))
    graph.connect(current, R("wire", resistance=1.5))
    graph.connect(current, transducer := GY("motor constant", 0.05)).connect(transducer, shaft)
    return graph.connect(shaft, I("rotor", inertia=1e-4)).connect(shaft, R("bearing", resistance=2e-5))


MOTOR = """
graph: motor
elements:
  supply: {Se: 12.0}
  current: {J1: {domain: electrical}}
  coil: {I: {inductance: 2e-3}}
  wire: {R: {resistance: 1.5}}
  motor constant: {GY: 0.05}
  shaft: {J1: {domain: rotation}}
  rotor: {I: {inertia: 1e-4}}
  bearing: {R: {resistance: 2e-5}}
bonds: [supply -> current -> coil, current -> wire, current -> motor constant -> shaft, shaft -> rotor, shaft -> bearing]
"""


def servo():
    graph, shaft = Graph("servo"), J1("shaft")
    graph.connect(Se("motor", lambda u: u, signals=["control.y"]), shaft)
    graph.connect(shaft, I("rotor", 0.02)).connect(shaft, R("bearing", 0.01))
    graph.add(
        signals.step("goal", start=0.1, after=10.0),
        signals.integrator("angle", "rotor.flow"),
        signals.summation("error", {"goal.y": 1, "angle.y": -1}),
        signals.sampled_pid("control", "error.y", kp=4.0, kd=0.4, period=1e-3, time_constant=2e-3, measurement="angle.y"),
    )
    return graph


SERVO = """
graph: servo
elements:
  motor: {Se: {effort: u, signals: {u: control.y}}}
  shaft: J1
  rotor: {I: 0.02}
  bearing: {R: 0.01}
  goal: {step: {start: 0.1, after: 10.0}}
  angle: {integrator: rotor.flow}
  error: {summation: {inputs: {goal.y: 1, angle.y: -1}}}
  control: {sampled_pid: {error: error.y, kp: 4.0, kd: 0.4, period: 1e-3, time_constant: 2e-3, measurement: angle.y}}
bonds: [motor -> shaft -> rotor, shaft -> bearing]
"""


def bridge():
    mains, a, b, plus = J1("mains"), J0("a"), J0("b"), J0("plus")
    graph = Graph("bridge").connect(Se("u", lambda t: 20 * sin(314.16 * t), signals="time"), mains)
    graph.connect(b, mains).connect(mains, a).connect(mains, R("winding", 1.0)).connect(b, R("leak", 1e6))
    for name, tail, head in (("a plus", a, plus), ("b plus", b, plus), ("ground a", None, a), ("ground b", None, b)):
        arm = J1(name)
        graph.connect(arm, Diode(f"diode {name}")).connect(arm, R(f"R {name}", 1e-3)).connect(arm, head)
        if tail:
            graph.connect(tail, arm)
    return graph.connect(plus, C("reservoir", capacitance=1e-3)).connect(plus, R("load", 50.0))


BRIDGE = """
graph: bridge
elements:
  u: {Se: 20*sin(314.16*time)}
  mains: J1
  b: J0
  a: J0
  winding: {R: 1.0}
  leak: {R: 1e6}
  a plus: J1
  diode a plus: Diode
  R a plus: {R: 1e-3}
  plus: J0
  b plus: J1
  diode b plus: Diode
  R b plus: {R: 1e-3}
  ground a: J1
  diode ground a: Diode
  R ground a: {R: 1e-3}
  ground b: J1
  diode ground b: Diode
  R ground b: {R: 1e-3}
  reservoir: {C: {capacitance: 1e-3}}
  load: {R: 50.0}
bonds:
  - u -> mains
  - b -> mains -> a
  - mains -> winding
  - b -> leak
  - a plus -> diode a plus
  - a plus -> R a plus
  - a plus -> plus
  - a -> a plus
  - b plus -> diode b plus
  - b plus -> R b plus
  - b plus -> plus
  - b -> b plus
  - ground a -> diode ground a
  - ground a -> R ground a
  - ground a -> a
  - ground b -> diode ground b
  - ground b -> R ground b
  - ground b -> b
  - plus -> reservoir
  - plus -> load
"""

TWINS = {
    function.__name__: (text, function)
    for text, function in [
        (OSCILLATOR, oscillator), (QUARTIC, quartic), (SUPPLY, supply), (RC, rc), (KETTLE, kettle), (SYNTHESIS, synthesis),
        (JENKIN, jenkin), (BUCK, buck), (GEARS, gears), (DELAYED, delayed), (DRIVE, drive), (PENDULUM, pendulum), (CART, cart),
        (MOTOR, motor), (SERVO, servo), (BRIDGE, bridge), (SLOT, slot), (DRIVEN, driven),
    ]
}  # fmt: skip
"""Short file and script by name."""
