"""A synchronous motor runs under field-oriented control, sampled at 10 kHz.

The motor has p pole pairs and magnets with the flux `psi`, Wb; `goal` is the target speed, rad/s,
and `most` the largest current, A.
"""

import numpy as np
from screwbond import Graph, R, Se, signals
from screwbond.models import parts
from screws.scalars import array, cos, maximum, minimum, sin


def simulate(p=4, psi=0.05, L=1e-3, ohm=0.2, J=1e-3, load=0.01, goal=100.0, most=20.0,
             h=1e-4, t_end=0.05):  # fmt: skip
    def control(x, error, speed, flux, angle):  # integrals of d and q, and voltages of the phases
        iq, id = flux[1] / L, flux[0] / L
        ed, eq = -id, 8.0 * minimum(maximum(0.5 * error, -most), most) - iq
        zd, zq = x[0] + h * ed, x[1] + h * eq
        vd = 2.0 * ed + 400.0 * zd - p * speed * flux[1]
        vq = 2.0 * eq + 400.0 * zq + p * speed * (flux[0] + psi)
        turns = [p * angle - k for k in np.arange(3) * 2 * np.pi / 3]
        return array([zd, zq, *(np.sqrt(2 / 3) * (cos(a) * vd - sin(a) * vq) for a in turns)])

    graph = Graph("PMSM drive")
    reads = ["error.y", "motor.rotor.flow", "motor.flux.p", "motor.angle.phi"]
    motor = parts.machines.synchronous_motor("motor", p, psi, R_s=ohm, L_d=L, L_q=L, J=J, b=1e-4)
    graph.add(signals.step("goal", 0.01, after=goal))
    graph.add(signals.summation("error", {"goal.y": 1, "motor.rotor.flow": -1}))
    graph.add(signals.sampled("control", control, period=h, initial=np.zeros(5), signals=reads))
    for k, phase in enumerate("abc"):
        inverter = Se(f"inverter {phase}", lambda y, k=k: y[2 + k], signals=["control.y"])
        graph.connect(inverter, motor.port(phase))
    return graph.connect(motor.port("shaft"), R("load", load)).simulate(t_end, samples=h)
