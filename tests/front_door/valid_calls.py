"""A valid call of each public function, for tests that replace one argument at a time with a wrong value."""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from screwbond.models.chains import BodyInertia, Chain, Link, Mimic, inverse_dynamics, inverse_kinematics, jacobian, mass_matrix

import screwbond as sb
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
    HeatTransfer,
    I,
    Parameter,
    R,
    Re,
    ScrewbondError,
    Se,
    Sf,
    StateSpec,
    Switch,
    Transition,
    analysis,
    estimation,
    export,
    multiport,
    signals,
)
from bondgraph.estimation import Experiment
from screws import joints, shapes

JUNK = (None, "x", float("nan"), -1, True, [], {}, np.zeros((2, 3)))

Calls = Mapping[str, tuple[Callable[..., Any], Mapping[str, Any]]]


def of_elements() -> Calls:
    named: dict[Callable[..., Any], dict[str, Any]] = {
        C: {"stiffness": 1.0},
        I: {"inertia": 1.0},
        R: {"resistance": 1.0},
        IC: {"inertia": lambda q: 1.0},
        Se: {"effort": 1.0},
        Sf: {"flow": 1.0},
        TF: {"ratio": 2.0},
        GY: {"ratio": 2.0},
        J0: {},
        J1: {},
        Ce: {"constant": 1.0},
        Re: {"rate": 1.0},
        Constraint: {},
        Diode: {},
        Switch: {"automaton": "a", "closed": "b"},
        Friction: {"limit": 1.0},
        HeatTransfer: {"conductance": 1.0},
        Block: {"equations": []},
        Graph: {},
        multiport: {"kind": "C", "law": lambda x: x[0] ** 2, "ports": {"1": None}, "initial": [0.0]},
        signals.gain: {"input": "time", "k": 1.0},
        signals.summation: {"inputs": {"time": 1}},
        signals.product: {"inputs": ["time", "time"]},
        signals.limiter: {"input": "time", "lowest": -1.0, "highest": 1.0},
        signals.dead_zone: {"input": "time", "lowest": -1.0, "highest": 1.0},
        signals.table: {"input": "time", "points": [0.0, 1.0], "values": [0.0, 1.0]},
        signals.measured: {"source": ([0.0, 1.0], [0.0, 1.0])},
        signals.comparator: {"input": "time"},
        signals.hysteresis: {"input": "time", "lower": 0.0, "upper": 1.0},
        signals.quantiser: {"input": "time", "step": 1.0},
        signals.pwm: {"duty": "time", "period": 1.0},
        signals.rate_limiter: {"input": "time", "falling": -1.0, "rising": 1.0},
        signals.logic: {"relation": "and", "inputs": ["time", "time"]},
        signals.integrator: {"input": "time"},
        signals.lowpass: {"input": "time", "time_constant": 1.0},
        signals.derivative_filter: {"input": "time", "time_constant": 1.0},
        signals.delay: {"input": "time", "time": 1.0},
        signals.pid: {"error": "time", "kp": 1.0},
        signals.transfer_function: {"input": "time", "num": [1.0], "den": [1.0, 1.0]},
        signals.state_space: {"inputs": "time", "A": [[1.0]], "B": [[1.0]], "C": [[1.0]]},
        signals.sine: {},
        signals.chirp: {"omega": 1.0, "omega_end": 2.0, "duration": 1.0},
        signals.step: {},
        signals.pulse: {},
        signals.square: {},
        signals.sawtooth: {},
        signals.ramp: {},
        signals.smooth_step: {},
        signals.sampled: {"update": lambda y: y, "period": 1.0},
        signals.hold: {"input": "time", "period": 1.0},
        signals.sampled_derivative: {"input": "time", "period": 1.0},
        signals.sampled_pid: {"error": "time", "kp": 1.0, "period": 1.0},
        signals.sampled_rate_limiter: {"input": "time", "falling": -1.0, "rising": 1.0, "period": 1.0},
        signals.noise: {"deviation": 1.0, "period": 1.0, "seed": 1},
    }
    return {each.__name__: (each, {"name": "x", **arguments}) for each, arguments in named.items()}


def of_parts() -> Calls:
    ball, floor = (
        sb.rigid_body(name, mass=1.0, inertia=(1.0, 1.0, 1.0), surface=sb.sphere(1.0), shape=shapes.Ball(1.0))
        for name in ("ball", "floor")
    )
    inertia = BodyInertia(1.0, np.eye(3))
    arm = Chain("arm", [Link("upper", joints.revolute((0, 0, 1)), inertia)])
    named: dict[Callable[..., Any], dict[str, Any]] = {
        Parameter: {"value": 1.0},
        StateSpec: {"initial": 1.0},
        Automaton: {"name": "a", "states": ("on", "off"), "initial": "on", "transitions": ()},
        Transition: {"source": "on", "target": "off", "guard": lambda t: t, "signals": "time"},
        sb.rigid_body: {"name": "b", "mass": 1.0, "inertia": (1.0, 1.0, 1.0)},
        sb.ground: {"name": "b"},
        sb.prescribed_body: {"name": "b", "twist": (0.0,) * 6},
        sb.planar_body: {"name": "b", "mass": 1.0},
        sb.planar_contact: {"name": "c"},
        sb.force: {"name": "f", "force": (1.0, 0.0, 0.0)},
        sb.torque: {"name": "f", "torque": (1.0, 0.0, 0.0)},
        sb.wrench: {"name": "f", "wrench": (1.0,) * 6},
        sb.attach_force: {"graph": Graph("g"), "part": sb.force("f", (1.0, 0.0, 0.0)), "body": ball},
        sb.point_spring: {"name": "s", "stiffness": 1.0},
        sb.spatial_spring: {"name": "s", "stiffness": np.eye(6)},
        sb.spatial_damper: {"name": "s", "damping": np.eye(6)},
        sb.central_gravity: {"name": "g", "drawn": ball, "centre": floor, "force": 1.0},
        sb.centre_of_stiffness: {"stiffness": np.eye(6)},
        sb.attach_between: {"graph": Graph("g"), "part": sb.spatial_spring("s", np.eye(6)), "a": ball, "b": floor},
        sb.joint_graph: {"name": "j", "joint": joints.revolute((0, 0, 1))},
        sb.attach_joint: {
            "graph": Graph("g"),
            "joint": sb.joint_graph("j", joints.revolute((0, 0, 1))),
            "body_a": ball,
            "body_b": floor,
        },
        sb.contact: {"name": "c", "body1": ball, "body2": floor, "law": sb.Impact(restitution=0.5)},
        sb.attach_contact: {"graph": Graph("g"), "contact": sb.contact("c", ball, floor, law=sb.Impact(restitution=0.5))},
        sb.collisions: {"graph": Graph("g"), "bodies": [ball, floor]},
        sb.Impact: {"restitution": 0.5},
        sb.Compliant: {"normal_stiffness": 1.0},
        sb.Visual: {"sphere": 1.0},
        sb.BodyInertia: {"mass": 1.0, "rotational": np.eye(3)},
        sb.ball_inertia: {"mass": 1.0, "radius": 1.0},
        sb.cylinder_inertia: {"mass": 1.0, "radius": 1.0, "start": (0, 0, 0), "end": (0, 0, 1)},
        sb.Link: {"name": "l", "joint": joints.revolute((0, 0, 1)), "inertia": inertia},
        sb.Chain: {"name": "c", "links": arm.links},
        Mimic: {"link": "upper"},
        sb.chain_graph: {"tree": arm},
        inverse_kinematics: {"tree": arm, "link": "upper", "goal": np.eye(4), "starts": 2},
        jacobian: {"tree": arm, "link": "upper", "q": [0.0]},
        inverse_dynamics: {"tree": arm, "q": [0.0], "v": [0.0], "acceleration": [0.0]},
        mass_matrix: {"tree": arm, "q": [0.0]},
        joints.revolute: {"axis": (0, 0, 1)},
        joints.prismatic: {"axis": (0, 0, 1)},
        sb.sphere: {"radius": 1.0},
        sb.plane: {},
        sb.cylinder: {"radius": 1.0},
        sb.ellipsoid: {"semi_axes": (1.0, 1.0, 1.0)},
        sb.torus: {"R": 2.0, "r": 1.0},
        sb.egg: {"f": 1.0, "S": 4.0},
        shapes.Ball: {"size": 1.0},
        shapes.Box: {"a": 1.0, "b": 1.0, "c": 1.0},
    }
    return {each.__name__: (each, arguments) for each, arguments in named.items()}


def cart() -> Graph:
    graph, v = Graph("cart"), J1("v", domain="translation")
    graph.connect(v, C("spring", stiffness=100.0)).connect(v, R("damper", damping=2.0)).connect(v, I("mass", mass=1.0))
    return graph.connect(Se("push", 1.0), v)


def on_a_new_graph(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(**arguments: Any) -> None:
        graph = cart()
        method(graph, **arguments)
        with contextlib.suppress(ScrewbondError):
            graph.freeze()

    return call


def of_graphs() -> Calls:
    named: dict[Callable[..., Any], dict[str, Any]] = {
        Graph.connect: {"tail": J1("w"), "head": I("m", 1.0)},
        Graph.add: {"first": signals.gain("k", "time", 1.0)},
        Graph.export: {"name": "out", "path": "spring.q"},
        Graph.expose: {"name": "shaft", "inner": J1("w")},
        Graph.sense: {"name": "s"},
        Graph.wire: {"source": "spring.q", "part": Graph("other").declare_input("u"), "name": "u"},
        Graph.remove: {"name": "damper"},
        Graph.disconnect: {"tail": "v", "head": "damper"},
        Graph.replace: {"name": "mass", "part": I("mass", 2.0)},
        Graph.port: {"name": "shaft"},
        Graph.start: {"function": lambda q: (q,), "arguments": ["spring.q"], "results": ["mass.p"]},
    }
    return {each.__name__: (on_a_new_graph(each), arguments) for each, arguments in named.items()}


def of_runs() -> Calls:
    graph = cart()
    model = graph.compile(backend="numpy")
    run = model.simulate(1.0, samples=11, progress=False)
    linear = model.linearise("push", "spring.q")
    loop = model.linearise("push", "push.effort")
    short = {"t_end": 0.1, "samples": 3, "progress": False}
    truth = Experiment({"spring.q": (run.t, run["spring.q"])})
    named: dict[Callable[..., Any], dict[str, Any]] = {
        sb.compile_model: {"model": graph, "backend": "numpy"},
        sb.equations: {"model": graph.freeze()},
        sb.assign_causality: {"model": graph.freeze()},
        sb.simulate: {"model": model, **short},
        model.simulate: short,
        model.linearise: {"inputs": "push", "outputs": "spring.q"},
        model.prepare_run: short,
        sb.sweep: {"model": model, "points": {"spring.stiffness": [1.0]}, "keep": {"q": "spring.q"}, **short},
        sb.quasistatic: {"graph": graph, "t_end": 0.1, "step": 0.01},
        analysis.linearise: {"model": model},
        analysis.operating_point: {"model": model},
        analysis.steady_state: {"model": model},
        analysis.sensitivities: {"model": model, "outputs": "spring.q", "parameters": "spring.stiffness"},
        analysis.passivity: {"linear": linear},
        analysis.reciprocity: {"model": model},
        linear.poles: {},
        linear.part: {"inputs": "push.effort", "outputs": "spring.q"},
        linear.frequency_response: {"omega": [1.0]},
        linear.transfer_function: {},
        loop.loop_transfer: {"at": "push.effort"},
        estimation.estimate: {"model": model, "unknown": {"spring.stiffness": (50.0, 200.0)}, "data": truth, "progress": False},
        estimation.run_sensitivities: {"model": model, "names": "spring.stiffness", **short},
        export.latex: {"model": model},
        export.document: {"model": model},
        export.explain: {"model": model, "name": "spring.q"},
        export.c_source: {"model": model},
        export.numpy_source: {"model": model},
        export.state_equations: {"model": model},
        graph.simulate: short,
        graph.diagram: {},
        run.plot: {},
        run.peak: {"name": "spring.q"},
        run.diagram: {"at": 0.5},
        run.bond_values: {"bond": "v -> mass"},
        run.to_dataframe: {},
        sb.page: {"shown": run},
        sb.dump_model: {"model": graph},
    }
    return {f"{each.__qualname__}": (each, arguments) for each, arguments in named.items()}


def bare_errors(function: Callable[..., Any], arguments: Mapping[str, Any], junk: Sequence[Any] = JUNK) -> Iterator[str]:
    function(**arguments)
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        for value in junk:
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    function(**{**arguments, name: value})
            except ScrewbondError:
                pass
            except Exception as error:
                yield f"{function.__name__}({name}={value!r}): {type(error).__name__}: {error}"
