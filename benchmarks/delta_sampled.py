"""The tracking of `delta_tracking` under a controller that is sampled at 1 kHz and holds its torques between samples.

The tool's velocity is a filtered difference of its position, as in the graph. MuJoCo and Pinocchio run from sample to sample in a
Python loop of 10,000 rounds. In screwbond every sample ends an integration step and restarts the integration, in machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from screwbond.models.control.controllers import task_force
from screwbond.models.delta.graphs.control import FILTER_TIME, model_terms, task_control
from screwbond.models.delta.kinematics.arm import theta_of, tip
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.studies.robot import DeltaRobot
from screwbond.models.motion import Motion
from screwbond.models.motion.blocks import DERIVATIVES, motion_parameters

from benchmarks.delta_joints import angles_of, hinges, undamped
from benchmarks.delta_mujoco import DeltaMujoco
from benchmarks.delta_tracking import GOAL, KD, KP, ROWS, STABLE, T_END, Entry, compare, error_of, report, tour
from bondgraph import compile_model
from bondgraph.emit.llvm import compile_routines
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import Tape

PERIOD = 1e-3


def controller(parameters: DeltaParameters, motion: Motion) -> Callable[[int, np.ndarray], np.ndarray]:
    """Return a function (tick, motor angles) -> torques (3,) of machine code, which keeps the last tool position and its filtered
    difference."""
    tables = [np.asarray(value.value) for value in motion_parameters(motion).values()]
    tape = Tape()
    blocks = (("t", 1), ("y", 3), ("last", 3), ("slope", 3), ("gain", 1))
    t, y, last, slope, gain = (tape.inputs(name, size) for name, size in blocks)
    w, jacobian, inertia, gravity = model_terms(y, parameters)
    now = gain[0] * (FILTER_TIME * slope + (w - last)) / (FILTER_TIME + PERIOD)
    r, dr, ddr = (op(t[0], *tables) for op in DERIVATIVES[:3])
    u = KP * (r - w) + KD * (dr - now) + ddr
    torque = jacobian.T @ task_force(inertia, jacobian, u) + gravity
    kernel = compile_routines([Routine("torque", tape, blocks, (*torque, *w, *now))]).kernel("torque")
    time, on, kept = np.empty(1), np.empty(1), np.zeros((2, 3))

    def call(tick: int, y: np.ndarray) -> np.ndarray:
        time[0], on[0] = tick * PERIOD, float(tick > 0)
        found = kernel(time, y, kept[0], kept[1], on)
        kept[:] = found[3:].reshape(2, 3)
        return found[:3]

    return call


def ours(parameters: DeltaParameters, motion: Motion) -> tuple[Entry, np.ndarray]:
    robot, control = DeltaRobot(parameters), task_control(parameters, motion, kp=KP, kd=KD, period=PERIOD)
    graph = robot.graph(robot.inverse_kinematics(motion.position(0.0)), signals=control.torque)
    graph.add(*control.blocks)
    compiled = compile_model(graph)
    samples = np.linspace(0.0, T_END, ROWS + 1)
    reference = np.asarray(compiled.simulate(T_END, samples=samples, rtol=1e-12)["tool"])
    for rtol in (1e-2, 1e-3, 1e-4, 1e-6, 1e-8):
        call = partial(compiled.simulate, T_END, samples=samples, rtol=rtol)
        run = call()
        error = error_of(np.asarray(run["tool"]), reference)
        if error <= GOAL:
            return Entry("screwbond", f"dop853, rtol {rtol:g}, {run.statistics.steps} steps", error, call), reference
    raise RuntimeError("no tolerance meets the error bound")


def with_mujoco(parameters: DeltaParameters, motion: Motion, reference: np.ndarray) -> Entry:
    """Return MuJoCo's run with the fewest steps between samples that meet the error bound, with any constraint stiffness."""
    import mujoco

    q0, ticks = DeltaRobot(parameters).kinematics.inverse(motion.position(0.0)), round(T_END / PERIOD)

    def run(engine: DeltaMujoco, control: Callable[[int, np.ndarray], np.ndarray], steps: int) -> np.ndarray:
        mujoco.mj_resetData(engine.model, engine.data)
        engine.put(q0, np.zeros(9), np.zeros(3))
        y, ctrl, step, tools = engine.data.qpos[::3], engine.data.ctrl, mujoco.mj_step, [_tool(q0, parameters)]
        for tick in range(ticks):
            ctrl[:] = control(tick, y)
            step(engine.model, engine.data, nstep=steps)
            if (tick + 1) % (ticks // ROWS) == 0:
                tools.append(_tool(engine.q(), parameters))
        return np.array(tools)

    best, control = np.inf, controller(parameters, motion)
    for steps in (1, 2, 4, 10):
        for stiffness in (1e4, 1e5, 1e6, 1e7):
            if PERIOD / steps * stiffness**0.5 > STABLE:
                continue
            engine = DeltaMujoco.make(parameters, step=PERIOD / steps, stiffness=stiffness, damping=2.0 * stiffness**0.5)
            error = error_of(run(engine, control, steps), reference)
            best = min(best, error)
            if error <= GOAL:
                words = f"RK4, step {1e3 * PERIOD / steps:g} ms, constraint stiffness {stiffness:g} 1/s^2"
                return Entry("MuJoCo", words, error, partial(run, engine, control, steps))
    raise RuntimeError(f"MuJoCo reaches {best:.2g} m at best")


def with_pinocchio(parameters: DeltaParameters, motion: Motion, reference: np.ndarray) -> Entry:
    from benchmarks.delta_pinocchio import DeltaPinocchio

    control, engine = controller(parameters, motion), DeltaPinocchio.make(parameters)
    q0, ticks = DeltaRobot(parameters).kinematics.inverse(motion.position(0.0)), round(T_END / PERIOD)
    start = np.concatenate(hinges(q0, np.zeros(9)))

    def rates(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.concatenate([x[9:], engine.acceleration(x[:9], x[9:], u)])

    def run() -> np.ndarray:
        x, tools, h = start, [_tool(q0, parameters)], PERIOD
        for tick in range(ticks):
            u = control(tick, x[:9:3])
            a = rates(x, u)
            b = rates(x + 0.5 * h * a, u)
            c = rates(x + 0.5 * h * b, u)
            x = x + h / 6.0 * (a + 2.0 * b + 2.0 * c + rates(x + h * c, u))
            if (tick + 1) % (ticks // ROWS) == 0:
                tools.append(_tool(angles_of(x[:9]), parameters))
        return np.array(tools)

    error = error_of(run(), reference)
    if error > GOAL:
        raise RuntimeError(f"Pinocchio reaches {error:.2g} m")
    return Entry("Pinocchio", f"RK4 in Python, step {1e3 * PERIOD:g} ms", error, run)


def _tool(q: np.ndarray, parameters: DeltaParameters) -> np.ndarray:
    return np.asarray(tip(theta_of(q[:3]), parameters), dtype=float)


def sampled_tracking(rounds: int = 3) -> dict[str, dict[str, Any]]:
    p = undamped(DeltaParameters.fit())
    return compare(p, tour(p), ours, {"mujoco": with_mujoco, "pinocchio": with_pinocchio}, rounds)


TITLE = "10 s of PD tracking, controller sampled at 1 kHz, whole call"

if __name__ == "__main__":
    print(report(sampled_tracking(), TITLE))
