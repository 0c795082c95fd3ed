"""Models whose documents are tested, each compiled once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from screwbond.models.delta import DeltaRobot, linearising_control, task_control
from screwbond.models.maze import maze_graph
from screwbond.models.motion import hold

from bondgraph import J1, TF, Automaton, Block, C, Compiled, Graph, I, Op, R, Se, StateSpec, Transition, compile_model
from bondgraph.signals import sampled_pid
from examples import bouncing_ball
from tests.export import test_indices, test_text
from tests.inner.export import Paper, as_markdown, paper_of
from tests.systems import ROBOT


def sampled() -> Graph:
    graph, v = Graph("sampled position"), J1("velocity", domain="translation")
    graph.connect(v, I("mass", 2.0)).connect(v, C("spring", stiffness=30.0, initial=0.1)).connect(v, R("drag", 0.5))
    error = Op("error", lambda q: 0.3 - q, "0.3 - #1")
    graph.add(Block("error", [("y", error, ["q"])], inputs={"q": "spring.q"}))
    graph.add(sampled_pid("controller", "error.y", 40.0, 10.0, 3.0, period=0.01, time_constant=0.02))
    return graph.connect(Se("drive", lambda y: y, signals=["controller.y"]), v)


def greek() -> Graph:
    graph, v = Graph("Größe_1 & 50 % of Ω"), J1("ω_1")
    graph.connect(v, I("θ #2", 2.0)).connect(v, C("пружина", stiffness=3.0, initial=1.0))
    turned = Block(
        "α^2", [("rate", lambda T: T, ["T"])], inputs={"T": "ω_1.flow"}, states={"a~": StateSpec(0.4)}, rates={"a~": "rate"}
    )
    graph.add(turned)
    return graph.connect(v, R("Dämpfer {a}", 1.0))


def long_names() -> Graph:
    long = "an_unusually_long_name_that_somebody_gave_to_a_part_of_the_machine_number_"
    graph, v, inner, w = Graph(long * 2), J1(f"{long}v", domain="translation"), Graph(f"{long}inner"), J1(f"{long}w")
    inner.connect(w, I(f"{long}m2", 1.0)).connect(w, R(f"{long}r2", 0.3)).expose("port", w)
    graph.connect(v, I(f"{long}m", 2.0)).connect(v, C(f"{long}k", stiffness=3.0)).connect(v, lever := TF(f"{long}t", 2.0))
    reset = (f"{long}k.q", lambda q: 0 * q, (f"{long}k.q",))
    turn = Transition(f"{long}one", f"{long}two", lambda q: q - 1.0, (f"{long}k.q",), (reset,))
    graph.add_automaton(Automaton(f"{long}auto", (f"{long}one", f"{long}two"), f"{long}one", (turn,)))
    return graph.connect(lever, inner.port("port"))


def sampled_delta() -> Graph:
    control = task_control(ROBOT, hold((0.0, 0.0, 0.5), 1.0), kp=400.0, kd=40.0, period=1e-3)
    graph = DeltaRobot(ROBOT).graph(signals=control.torque)
    graph.add(*control.blocks)
    return graph


def linearised_delta() -> Graph:
    control = linearising_control(ROBOT, hold((0.0, 0.0, 0.5), 1.0), kp=400.0, kd=40.0)
    graph = DeltaRobot(ROBOT).graph(signals=control.torque)
    graph.add(*control.blocks)
    return graph


MODELS: dict[str, Callable[[], Graph]] = {
    **test_text.GRAPHS,
    **test_indices.MODELS,
    "sampled": sampled,
    "greek": greek,
    "long names": long_names,
    "bouncing": bouncing_ball.with_restitution,
    "bouncing on a constraint": lambda: bouncing_ball.on_constraint(20.0),
    "ball maze": maze_graph,
    "delta, sampled": sampled_delta,
    "delta, linearised": linearised_delta,
}


@cache
def compiled(name: str) -> Compiled:
    return compile_model(MODELS[name](), backend="numpy")


@cache
def paper(name: str) -> Paper:
    return paper_of(compiled(name), 17)


@cache
def page(name: str) -> str:
    return as_markdown(paper(name))
