"""A boost converter: 12 V in, 24 V out at half duty, with an ideal diode and a transistor that switches 20 000 times a second."""

import numpy as np

from screwbond import J0, J1, Automaton, C, Diode, Graph, I, R, Se, Switch, Transition, signals, simulate

coil, node, branch, out = J1("coil", domain="electrical"), J0("node"), J1("branch"), J0("out")
boost = Graph("boost").connect(Se("battery", 12.0), coil).connect(coil, I("inductor", inductance=1e-4)).connect(coil, node)
boost.connect(node, Switch("transistor", automaton="gate", closed="on")).connect(node, branch).connect(branch, out)
boost.connect(branch, Diode("diode")).connect(branch, R("wire", resistance=0.01))
boost.connect(out, C("smoothing", capacitance=2e-4)).connect(out, R("load", resistance=10.0))

boost.add(signals.square("pwm", period=5e-5, duty=0.5))
off = Transition("on", "off", lambda y: 0.5 - y, "pwm.y")
on = Transition("off", "on", lambda y: y - 0.5, "pwm.y")
boost.add_automaton(Automaton("gate", ("on", "off"), "on", (off, on)))

run = simulate(boost, 0.03)
print(f"{np.mean(run['out.effort'][run.t > 0.025]):.2f} V of 12 V at half duty")
