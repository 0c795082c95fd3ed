"""An arm of two links moves from a stretched to a bent pose in the shortest time that its motors allow. The equations of its
graph go to CasADi; direct collocation at Legendre points turns them into a nonlinear program (Betts 2010, section 4.5), which
IPOPT solves; the resulting torques then drive the graph itself to the goal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from screwbond.models.chains import Chain, Link, chain_graph, cylinder_inertia

from bondgraph import Compiled, Graph, Result, Se, compile_model
from bondgraph.export import to_casadi
from screws import joints, pose

GOAL, LIMITS = np.array([-1.0, 1.5]), np.array([8.0, 3.0])  # angles, rad; torques of shoulder and elbow, N m
INTERVALS, POINTS = 40, 3  # intervals of constant torque, and collocation points in each
MOTORS = ("shoulder.value", "elbow.value")


@cache
def arm() -> Compiled:
    """Return two links that turn about parallel axes, against gravity, each with a torque at its joint."""
    upper, fore = cylinder_inertia(1.0, 0.02, (0, 0, 0), (0.3, 0, 0)), cylinder_inertia(0.5, 0.015, (0, 0, 0), (0.25, 0, 0))
    elbow = joints.revolute((0, 1, 0), (0.3, 0, 0))
    links = (
        Link("upper", joints.revolute((0, 1, 0)), upper, damping=0.05),
        Link("fore", elbow, fore, home=pose(np.eye(3), (0.3, 0, 0)), damping=0.05),
    )
    moving = chain_graph(Chain("arm", links), ports=["fore"], joint_ports=["upper", "fore"], gravity=(0, 0, -9.81))
    graph = Graph("fast arm").connect(Se("shoulder", 0.0), moving.port("joint upper"))
    return compile_model(graph.connect(Se("elbow", 0.0), moving.port("joint fore")))


@dataclass(frozen=True)
class Plan:
    """Minimum time (s), torques (2, intervals) in N m, and iterations of IPOPT."""

    time: float
    torques: np.ndarray
    iterations: int


def ends() -> tuple[np.ndarray, np.ndarray]:
    """Return the states at the start and at the goal, where the arm is at rest."""
    start, _ = arm().initial()
    goal, _ = arm().initial({"arm.q": GOAL})
    return start, goal


@cache
def plan() -> Plan:
    """Minimise the time of the motion subject to the torque limits."""
    import casadi as ca

    rates, layout, (x, m), p = to_casadi(arm()), arm().program.layout, arm().initial(), arm().parameters()
    opti, (start, goal) = ca.Opti(), ends()
    time, states, torques = opti.variable(), opti.variable(len(x), INTERVALS + 1), opti.variable(2, INTERVALS)
    step = time / INTERVALS
    times = ca.collocation_points(POINTS, "legendre")
    slopes, last, _ = ca.collocation_coeff(times)

    def rate(state: Any, torque: Any) -> Any:
        parameters = ca.MX(ca.DM(p[: rates.size1_in("p")]))
        for place, name in enumerate(MOTORS):
            parameters[layout[name].start] = torque[place]
        return rates(0.0, state, parameters, m)

    for k in range(INTERVALS):
        inner = opti.variable(len(x), POINTS)
        through = ca.horzcat(states[:, k], inner)
        inner_rates = ca.horzcat(*(rate(inner[:, j], torques[:, k]) for j in range(POINTS)))
        opti.subject_to(through @ slopes == step * inner_rates)
        opti.subject_to(states[:, k + 1] == through @ last)
        for j, part in enumerate(times):
            opti.set_initial(inner[:, j], start + (goal - start) * (k + part) / INTERVALS)
        opti.set_initial(states[:, k], start + (goal - start) * k / INTERVALS)
        opti.subject_to(opti.bounded(-LIMITS, torques[:, k], LIMITS))
    opti.subject_to(states[:, 0] == start)
    opti.subject_to(states[:, INTERVALS] == goal)
    opti.subject_to(opti.bounded(0.05, time, 5.0))
    opti.set_initial(time, 1.0)
    opti.minimize(time)
    opti.solver("ipopt", {"print_time": False, "expand": True}, {"print_level": 0, "sb": "yes"})
    solution = opti.solve()
    return Plan(float(solution.value(time)), solution.value(torques), int(solution.stats()["iter_count"]))


def runs() -> list[Result]:
    """Run the graph with the optimal torques, one interval after the other."""
    optimum, results = plan(), list[Result]()
    for torque in optimum.torques.T:
        values = dict(zip(MOTORS, torque, strict=True))
        begin = results[-1].final if results else None
        results.append(arm().simulate(optimum.time / INTERVALS, initial=begin, parameters=values, rtol=1e-10, progress=False))
    return results


if __name__ == "__main__":
    from screwbond.models.studies.tasks import output_folder

    from bondgraph.output.plot_style import styled

    out = output_folder(__doc__, "demo/fast_arm")
    optimum, results = plan(), runs()
    busy = np.mean(np.max(np.abs(optimum.torques) / LIMITS[:, None], axis=0) > 0.999)
    print(f"{optimum.time:.6f} s after {optimum.iterations} iterations; a torque is at its limit for {busy:.0%} of the time")
    print(f"the graph ends {np.abs(results[-1].x[-1] - ends()[1]).max():.1e} from the goal")
    with styled():
        import matplotlib.pyplot as plt

        figure, (upper, lower) = plt.subplots(2, figsize=(7.0, 4.9), layout="constrained", sharex=True)
        begins = np.linspace(0.0, optimum.time, INTERVALS + 1)
        for place, name in enumerate(("shoulder", "elbow")):
            lower.stairs(optimum.torques[place], begins, baseline=None, label=name)
            upper.plot(begins, [0.0, *(run["arm.q"][-1, place] for run in results)])
        upper.set(ylabel="angle (rad)", title="Time-optimal arm motion")
        lower.set(xlabel="time (s)", ylabel="torque (N m)")
        lower.legend()
        figure.savefig(out / "torques.png")
    print(f"  picture in {out / 'torques.png'}")
