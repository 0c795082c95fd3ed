"""A motor turns a load through a gear; a sampled PID holds the angle, and the poles over one period show how it settles."""

from screwbond import GY, J1, TF, Graph, I, R, Se, bondgraph, signals

coil, shaft, out, motor, gear = J1("coil"), J1("shaft"), J1("out"), GY("motor", 0.05), TF("gear", 1 / 20)
drive = Graph("drive").connect(Se("supply", effort=lambda u: u, signals="control.y"), coil)
drive.connect(coil, R("winding", resistance=0.8)).connect(coil, I("inductance", inductance=5e-4))
drive.connect(coil, motor).connect(motor, shaft).connect(shaft, I("rotor", inertia=2e-5))
drive.connect(shaft, gear).connect(gear, out)
drive.connect(out, I("load", inertia=0.01)).connect(out, R("bearing", damping=0.02))
drive.add(
    signals.step("goal", start=0.1, after=1.0),
    signals.integrator("angle", "out.flow"),
    signals.summation("error", {"goal.y": 1, "angle.y": -1}),
    signals.sampled_pid("control", "error.y", kp=100.0, ki=400.0, kd=4.0, period=1e-3, time_constant=5e-3, limits=(-24.0, 24.0)),
)

compiled = drive.compile()
run = compiled.simulate(2.0)
poles = bondgraph.analysis.linearise_sampled(compiled).poles()
print(f"{run['angle.y'][-1]:.4f} rad after 2 s; largest pole {abs(poles).max():.4f}")
