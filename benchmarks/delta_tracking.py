"""Ten seconds of task-space PD tracking by the delta robot: this project, MuJoCo and Pinocchio, each with a tool error of at most
1 um.

The robot is undamped, since damping of the angles phi has no counterpart in hinges. All programs have the same controller, motion
and start, and are compared with one reference run at a tight tolerance. MuJoCo (one call of `mj_step` for all RK4 steps, with the
controller as `mjcb_control`) and Pinocchio (RK4 in a Python loop, which the time includes) get the controller as one compiled
function. Their steps, and MuJoCo's constraint stiffness, are the first of a grid, from the longest step, that meet the error
bound. The same steps of MuJoCo without a controller show the cost of its callbacks.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from screwbond.models.control.controllers import task_force
from screwbond.models.delta.graphs.control import model_terms, task_control
from screwbond.models.delta.kinematics.arm import theta_of, tip
from screwbond.models.delta.kinematics.parameters import DeltaParameters
from screwbond.models.delta.studies.robot import DeltaRobot
from screwbond.models.motion import Motion, cubic_spline, hold, sequence
from screwbond.models.motion.blocks import DERIVATIVES, motion_parameters

from benchmarks.delta_joints import hinges, undamped
from benchmarks.delta_mujoco import DeltaMujoco
from benchmarks.timing import table
from bondgraph import compile_model
from bondgraph.emit.llvm import compile_routines
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import Tape

KP, KD = 1600.0, 80.0
T_END = 10.0
ROWS = 100
"""Number of times at which the tool is compared, in equal steps to the end."""
STABLE = 1.5
"""Largest product of the step size and the rate of the constraints' double pole that is tried with RK4."""
GOAL = 1e-6
"""Largest distance of the tool from its position in the reference run, m."""


def tour(parameters: DeltaParameters) -> Motion:
    """Return a motion of the tool within limits, twice through six waypoints in 10 s, and then a hold of 1 s."""
    centre = DeltaRobot(parameters).forward_kinematics((0.25 * np.pi,) * 3).w
    offsets = 0.01 * np.array([[0, 0, 0], [10, 2, -3], [3, 10, 3], [-8, 5, -2], [-6, -9, 4], [5, -8, 0], [0, 0, 0]])
    once = cubic_spline(centre + offsets, velocity=0.5, acceleration=4.0, jerk=80.0)
    twice = sequence(once, once)
    slow = twice.scaled(T_END / twice.duration)
    return sequence(slow, hold(slow.position(slow.end), 1.0))


def controller(parameters: DeltaParameters, motion: Motion) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """Return the function (time, motor angles, their rates) -> torques (3,), evaluated in machine code."""
    tables = [np.asarray(value.value) for value in motion_parameters(motion).values()]
    tape = Tape()
    blocks = (("t", 1), ("y", 3), ("dy", 3))
    t, y, dy = (tape.inputs(name, size) for name, size in blocks)
    w, jacobian, inertia, gravity = model_terms(y, parameters)
    r, dr, ddr = (op(t[0], *tables) for op in DERIVATIVES[:3])
    u = KP * (r - w) + KD * (dr - jacobian @ dy) + ddr
    torque = jacobian.T @ task_force(inertia, jacobian, u) + gravity
    kernel = compile_routines([Routine("torque", tape, blocks, tuple(torque))]).kernel("torque")
    now = np.empty(1)

    def call(time: float, y: np.ndarray, dy: np.ndarray) -> np.ndarray:
        now[0] = time
        return kernel(now, y, dy)

    return call


@dataclass(frozen=True)
class Entry:
    """Tracking by one program: settings, error (m), and the call that is timed."""

    name: str
    settings: str
    error: float
    call: Callable[[], Any]
    alone: Callable[[], Any] | None = None
    """Call of the same steps without the controller and its callbacks."""


def error_of(tools: np.ndarray, reference: np.ndarray) -> float:
    away = float(np.max(np.linalg.norm(tools - reference, axis=1)))
    return away if np.isfinite(away) else np.inf


def ours(parameters: DeltaParameters, motion: Motion) -> tuple[Entry, np.ndarray]:
    """Return the run at the loosest tolerance that meets the error bound, and the reference tool positions (ROWS + 1, 3)."""
    robot, control = DeltaRobot(parameters), task_control(parameters, motion, kp=KP, kd=KD)
    graph = robot.graph(robot.inverse_kinematics(motion.position(0.0)), signals=control.torque)
    graph.add(*control.blocks)
    compiled = compile_model(graph)
    samples = np.linspace(0.0, T_END, ROWS + 1)
    reference = np.asarray(compiled.simulate(T_END, samples=samples, rtol=1e-12)["tool"])
    for rtol in (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6, 1e-7, 1e-8):

        def call(rtol: float = rtol) -> Any:
            return compiled.simulate(T_END, samples=samples, rtol=rtol)

        run = call()
        error = error_of(np.asarray(run["tool"]), reference)
        if error <= GOAL:
            return Entry("screwbond", f"dop853, rtol {rtol:g}, {run.statistics.steps} steps", error, call), reference
    raise RuntimeError("no tolerance meets the error bound")


def with_mujoco(parameters: DeltaParameters, motion: Motion, reference: np.ndarray) -> Entry:
    """Return MuJoCo's run with the longest step that meets the error bound with at least one constraint stiffness."""
    import mujoco

    control, robot = controller(parameters, motion), DeltaRobot(parameters)
    q0 = robot.kinematics.inverse(motion.position(0.0))

    def run(engine: DeltaMujoco, rows: int, controlled: bool = True) -> np.ndarray:
        # These views stay valid, so that the callback creates none.
        data, y, dy, ctrl = engine.data, engine.data.qpos[::3], engine.data.qvel[::3], engine.data.ctrl

        def torque(*_: Any) -> None:
            ctrl[:] = control(data.time, y, dy)

        mujoco.mj_resetData(engine.model, engine.data)
        engine.put(q0, np.zeros(9), np.zeros(3))
        count = round(T_END / engine.model.opt.timestep)
        tools = [np.asarray(tip(theta_of(engine.q()[:3]), parameters), dtype=float)]
        mujoco.set_mjcb_control(torque if controlled else None)
        try:
            for _ in range(rows):
                mujoco.mj_step(engine.model, engine.data, nstep=count // rows)
                tools.append(np.asarray(tip(theta_of(engine.q()[:3]), parameters), dtype=float))
                if engine.data.warning.number.any() or not np.isfinite(tools[-1]).all():
                    return np.full((rows + 1, 3), np.inf)
        finally:
            mujoco.set_mjcb_control(None)
        return np.array(tools)

    best = np.inf
    mujoco.set_mju_user_warning(lambda _: None)
    for step in (2e-2, 1e-2, 5e-3, 2.5e-3, 2e-3, 1e-3, 5e-4, 2.5e-4, 1e-4):
        for stiffness in (1e2, 1e3, 1e4, 1e5, 1e6, 1e7):
            if step * stiffness**0.5 > STABLE:
                continue
            engine = DeltaMujoco.make(parameters, step=step, stiffness=stiffness, damping=2.0 * stiffness**0.5)
            error = error_of(run(engine, ROWS), reference)
            best = min(best, error)
            if error <= GOAL:
                words = f"RK4, step {1e3 * step:g} ms, constraint stiffness {stiffness:g} 1/s^2"
                return Entry("MuJoCo", words, error, partial(run, engine, 1), partial(run, engine, 1, controlled=False))
    raise RuntimeError(f"MuJoCo reaches {best:.2g} m at best")


def with_pinocchio(parameters: DeltaParameters, motion: Motion, reference: np.ndarray) -> Entry:
    """Return Pinocchio's run with the longest step that meets the error bound, with this project's Baumgarte constants."""
    from benchmarks.delta_pinocchio import DeltaPinocchio

    control, engine = controller(parameters, motion), DeltaPinocchio.make(parameters)
    q0 = DeltaRobot(parameters).kinematics.inverse(motion.position(0.0))
    start = np.concatenate(hinges(q0, np.zeros(9)))

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[9:], engine.acceleration(x[:9], x[9:], control(t, x[:9:3], x[9::3]))])

    def run(step: float, rows: int) -> np.ndarray:
        from benchmarks.delta_joints import angles_of

        x, tools = start, [np.asarray(tip(theta_of(q0[:3]), parameters), dtype=float)]
        count = round(T_END / step)
        for k in range(count):
            t = k * step
            a = rates(t, x)
            b = rates(t + 0.5 * step, x + 0.5 * step * a)
            c = rates(t + 0.5 * step, x + 0.5 * step * b)
            x = x + step / 6.0 * (a + 2.0 * b + 2.0 * c + rates(t + step, x + step * c))
            if (k + 1) % (count // rows) == 0:
                tools.append(np.asarray(tip(theta_of(angles_of(x[:9])[:3]), parameters), dtype=float))
        return np.array(tools)

    for step in (2e-2, 1e-2, 5e-3, 2.5e-3, 2e-3, 1e-3, 5e-4):
        error = error_of(run(step, ROWS), reference)
        if error <= GOAL:
            return Entry("Pinocchio", f"RK4 in Python, step {1e3 * step:g} ms", error, partial(run, step, 1))
    raise RuntimeError("no step meets the error bound")


def tracking(parameters: DeltaParameters | None = None, rounds: int = 5) -> dict[str, dict[str, Any]]:
    """Return the seconds of the whole call, the error and the settings of each installed program, and its `ratio` to this
    project's time; `rounds` is the number of alternating calls."""
    p = undamped(parameters or DeltaParameters.fit())
    return compare(p, tour(p), ours, {"mujoco": with_mujoco, "pinocchio": with_pinocchio}, rounds)


def compare(
    parameters: DeltaParameters,
    motion: Motion,
    ours: Callable[[DeltaParameters, Motion], tuple[Entry, np.ndarray]],
    others: Mapping[str, Callable[[DeltaParameters, Motion, np.ndarray], Entry]],
    rounds: int,
) -> dict[str, dict[str, Any]]:
    """Return the median times of alternating calls, and the medians of their ratios to our time; `others` are the entries of
    other programs by their package, which may be missing."""
    entry, reference = ours(parameters, motion)
    installed = (other for package, other in others.items() if importlib.util.find_spec(package))
    entries = [entry, *(other(parameters, motion, reference) for other in installed)]
    seconds = {each.name: np.empty(rounds) for each in entries}
    for k in range(rounds):
        for each in entries:
            seconds[each.name][k] = seconds_of(each.call)
    base = seconds[entries[0].name]
    alone = {each.name: min(seconds_of(each.alone) for _ in range(rounds)) for each in entries if each.alone}
    return {
        each.name: {
            "seconds": float(np.median(seconds[each.name])),
            "tool_error": each.error,
            "settings": each.settings,
            "ratio": float(np.median(seconds[each.name] / base)),
            "without_controller": alone.get(each.name),
        }
        for each in entries
    }


def seconds_of(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def report(found: Mapping[str, Mapping[str, Any]], title: str = "10 s of PD tracking, whole call") -> str:
    rows = []
    for name, part in found.items():
        alone = part["without_controller"]
        rows.append(
            [
                name,
                f"{1e3 * part['seconds']:.1f} ms",
                f"{part['ratio']:.1f}",
                "" if alone is None else f"{1e3 * alone:.1f} ms",
                f"{1e6 * part['tool_error']:.2g} um",
                part["settings"],
            ]
        )
    return table(title, ("engine", "time", "ratio", "no controller", "tool error", "settings"), rows)


if __name__ == "__main__":
    print(report(tracking()))
