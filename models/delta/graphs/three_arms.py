"""Delta robot as a bond graph of three arms: each an IC field, with tips joined by ideal constraints.

```
 motor --> 1 --> TF (first angle) --> 1 v ----> IC arm            tip 1 --> 0 --> tip 2      tip 1 --> 0 --> tip 3
                                     / \\                                    |                          |
                      MTF swing --> R    MTF dpsi --> 1 tip             constraint                 constraint
```
A robot is a list of arms: any graph with a port `tip` (its velocity (3,) in the common frame), a port `motor` and a signal `tip`
(its position there, m) can be an arm.

Source: Bortoff 2018, eq. (7) to (19).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from screwbond.models.delta.kinematics import arm, formula_notes
from screwbond.models.delta.kinematics.arm import Constants, phi_of, phi_rate, theta_of, theta_rate
from screwbond.models.delta.kinematics.closure import ROTATIONS
from screwbond.models.delta.kinematics.parameters import LETTERS, UNITS, DeltaParameters
from screwbond.models.delta.kinematics.robot_kinematics import DeltaKinematics

from bondgraph import IC, J0, J1, MTF, TF, Block, Constraint, Element, Graph, Op, Parameter, R, Se
from bondgraph.model.domains import ROTATION, TRANSLATION
from screws.scalars import array

INERTIAL = ("L1", "L2", "LC1", "LC2", "M1", "M2", "M3", "J1", "J2", "g")
"""Parameters of an arm's element `mechanism`, on which its energies depend."""

RADII = ("L0", "L3")
"""Parameters of an arm's element `tip place`, on which the tip's position also depends."""

FIRST_COORDINATE = np.array([1.0, 0.0, 0.0])


def constants(**values: Any) -> Constants:
    return Constants(**{**dict.fromkeys(UNITS, 0.0), **values})


def _with_parameters(formula: Any) -> Any:
    def flat(*arguments: Any) -> Any:
        states = arguments[: len(arguments) - len(INERTIAL)]
        return formula(*states, constants(**dict(zip(INERTIAL, arguments[len(states) :], strict=True))))

    return flat


def _tip_position(rotation: np.ndarray) -> Op:
    return Op(
        "tip",
        lambda theta, L0, L3, L1, L2: rotation @ arm.tip(theta, constants(L0=L0, L1=L1, L2=L2, L3=L3)),
        r"R\,\psi(#1)",
        "BO18 (4), corrected",
        formula_notes.TIP,
    )


def _tip_jacobian(rotation: np.ndarray) -> Op:
    return Op(
        "tip Jacobian",
        lambda theta, L1, L2: rotation @ arm.tip_jacobian(theta, constants(L1=L1, L2=L2)),
        r"R\,\partial\psi(#1)",
        "BO18 appendix",
        formula_notes.SLOPE,
    )


_INERTIA = Op("m", _with_parameters(arm.inertia), "m(#1)", "BO18 (1), corrected; BO18 appendix", formula_notes.INERTIA)
_BIAS = Op("c", _with_parameters(arm.coriolis_torque), "c(#1, #2)", "BO18 (8), appendix", formula_notes.BIAS)
_POTENTIAL = Op("V", _with_parameters(arm.potential_energy), "V(#1)", "BO18 (5), corrected", formula_notes.GRAVITY)
ANGLES = Op("angles", phi_of, r"\varphi(#1)")
ANGLE_RATES = Op("angle rates", phi_rate, r"\dot\varphi(#1, #2)")


def delta_arm(
    name: str,
    parameters: DeltaParameters,
    rotation: np.ndarray | None = None,
    *,
    position: Sequence[float] | np.ndarray = (0.0, 0.5 * np.pi, 0.0),
    velocity: Sequence[float] | np.ndarray | None = None,
    form: str = "lagrangian",
) -> Graph:
    """Return one arm as a graph: ports `motor` (its shaft) and `tip` (velocity of its tip (3,) in the robot's frame).

    Parameters
    ----------
    parameters : parameters of the robot, which become the run-time parameters `mechanism.L1` ..., `tip place.L0`, `tip place.L3`
        and `damping.resistance`.
    rotation : (3, 3) from the arm's axes to the robot's; by default the identity.
    position, velocity : initial angles phi (3,) of Bortoff 2018 and their rates; at rest by default.
    form : "lagrangian" (states `mechanism.q` and `mechanism.v`) or "hamiltonian" (`mechanism.q` and `mechanism.p`).

    Signals: `theta`, `theta rate` (3,), the arm's coordinates and their rates, as in `kinematics.arm`; `phi`, `rate` (3,), the
    angles of Bortoff 2018 and their rates; `tip` (3,), the tip's position, m.

    Source: Bortoff 2018, eq. (1) to (8); (17) to (19) for the Hamiltonian form.
    """
    angles = np.asarray(position, dtype=float)
    rates = np.zeros(3) if velocity is None else theta_rate(angles, np.asarray(velocity, dtype=float))
    return _arm(name, parameters, rotation, theta_of(angles), rates, form)


def _arm(
    name: str, parameters: DeltaParameters, rotation: np.ndarray | None, position: np.ndarray, velocity: np.ndarray, form: str
) -> Graph:
    axes = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float)
    graph = Graph(name)
    energies: dict[str, Any] = {"inertia": _INERTIA, "potential": _POTENTIAL}
    if form == "lagrangian":
        energies["bias"] = _BIAS
    else:
        energies["potential"] = replace(_POTENTIAL, note=f"{formula_notes.GRAVITY}\n{formula_notes.MOMENTUM}")
    mechanism = IC(
        "mechanism",
        **energies,
        form=form,
        position=position,
        velocity=velocity,
        parameters={key: Parameter(getattr(parameters, key), UNITS[key]) for key in INERTIAL},
        domain=ROTATION,
        symbols={"q": r"\theta", **{key: LETTERS[key] for key in INERTIAL}},
    )
    rates = J1("rates", dimension=3, domain=ROTATION, symbols={"flow": r"\dot\theta"})
    shaft, tip = J1("shaft", dimension=1, domain=ROTATION), J1("tip", dimension=3, domain=TRANSLATION)
    lengths = ["mechanism.L1", "mechanism.L2"]
    first = TF("first angle", FIRST_COORDINATE, structural=True, domains=(ROTATION, ROTATION))
    to_tip = MTF(
        "dpsi",
        _tip_jacobian(axes),
        signals=["mechanism.q", *lengths],
        dimensions=(3, 3),
        domains=(ROTATION, TRANSLATION),
        symbols={"matrix": r"\partial\psi"},
    )
    graph.connect(shaft, first.port("2")).connect(first.port("1"), rates).connect(rates, mechanism)
    swing = MTF(
        "swing",
        arm.friction_rates,
        signals=["mechanism.q"],
        dimensions=(3, 4),
        domains=(ROTATION, ROTATION),
        symbols={"matrix": "S"},
    )
    letter = {"resistance": LETTERS["DAMPING"]}
    damping = R("damping", resistance=Parameter(parameters.DAMPING, UNITS["DAMPING"]), symbols=letter)
    graph.connect(rates, swing).connect(swing, damping)
    graph.connect(rates, to_tip).connect(to_tip, tip)
    graph.add(
        Block(
            "tip place",
            [("w", _tip_position(axes), ["theta", "L0", "L3", "L1", "L2"])],
            inputs={"theta": "mechanism.q", "L1": lengths[0], "L2": lengths[1]},
            parameters={key: Parameter(getattr(parameters, key), UNITS[key]) for key in RADII},
            units={"w": "m"},
            symbols={"w": r"\psi", **{key: LETTERS[key] for key in RADII}},
        )
    )
    graph.add(
        Block(
            "angles",
            [("phi", ANGLES, ["theta"]), ("rate", ANGLE_RATES, ["theta", "v"])],
            inputs={"theta": "mechanism.q", "v": "rates.flow"},
            units={"phi": "rad", "rate": "rad/s"},
            symbols={"phi": r"\varphi", "rate": r"\dot\varphi"},
        )
    )
    graph.expose("motor", shaft).expose("tip", tip)
    graph.export("theta", "mechanism.q").export("theta rate", "rates.flow").export("tip", "tip place.w")
    return graph.export("phi", "angles.phi").export("rate", "angles.rate")


def connect_arms(
    name: str,
    arms: Sequence[Graph],
    *,
    torques: Sequence[float] | np.ndarray | None = None,
    signals: str | Sequence[str] | None = None,
    alpha1: float = 10.0,
    alpha0: float = 25.0,
) -> Graph:
    """Return the graph of arms connected at their tips by an ideal constraint between the first tip and each further tip.

    Parameters
    ----------
    arms : graphs with the ports `motor` and `tip` and the signal `tip`, in a common frame.
    torques : motor torques, N m, as the run-time parameters `motor 1.torque` ...
    signals : paths of signals added to the torques: one for each motor, or a single signal (3,).
    alpha1, alpha0 : stabilisation, h'' + alpha1 h' + alpha0 h = 0, 1/s and 1/s^2.

    Signals: `tool` (3,), the tip of the first arm, m; `closure 2` ... (3,), displacement of the first tip from tip 2 ..., m.

    Source: Bortoff 2018, eq. (9) to (12).
    """
    graph = Graph(name)
    torque_values = np.zeros(len(arms)) if torques is None else np.asarray(torques, dtype=float)
    for i, part in enumerate(arms):
        graph.connect(_motor(i, float(torque_values[i]), signals), part.port("motor"))
    first = arms[0]
    for i, other in enumerate(arms[1:], start=2):
        difference = J0(f"tips 1 and {i}", dimension=3, domain=TRANSLATION)
        closure = Constraint(
            f"closure {i}",
            position=TIP_DIFFERENCE,
            signals=[f"{first.name}.tip", f"{other.name}.tip"],
            dimension=3,
            domain=TRANSLATION,
            alpha1=alpha1,
            alpha0=alpha0,
        )
        graph.connect(first.port("tip"), difference).connect(difference, other.port("tip")).connect(difference, closure)
        graph.export(f"closure {i}", f"closure {i}.h")
    graph.export("tool", f"{first.name}.tip")
    return graph


def delta_graph(
    parameters: DeltaParameters,
    y: Sequence[float] | np.ndarray = (0.25 * np.pi,) * 3,
    *,
    rates: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    torques: Sequence[float] | np.ndarray | None = None,
    signals: str | Sequence[str] | None = None,
    form: str = "lagrangian",
    mode: str = "below",
    alpha1: float = 10.0,
    alpha0: float = 25.0,
    name: str = "delta robot",
) -> Graph:
    """Return the robot with 18 states, started at motor angles y (3,), rad, with motor velocities `rates` (3,), rad/s.

    Parameters
    ----------
    torques, signals, alpha1, alpha0 : as for `connect_arms`.
    form : form of the arms, "lagrangian" or "hamiltonian".
    mode : initial assembly mode, "below" or "above".

    Signals: `y` (3,) motor angles, rad; `tool` (3,), m; `tool velocity` (3,), m/s; `arm 1.phi` ... (3,); and `closure 2`,
    `closure 3`.

    Raises `ModelError` E463 to E466 for motor angles at which the robot cannot be assembled.

    Source: Bortoff 2018, eq. (13) to (19).
    """
    start = DeltaKinematics(parameters).forward(y, mode=mode)
    v = start.dtheta_dy @ np.asarray(rates, dtype=float)
    arms = [
        _arm(f"arm {i + 1}", parameters, rotation, start.theta[3 * i : 3 * i + 3], v[3 * i : 3 * i + 3], form)
        for i, rotation in enumerate(ROTATIONS)
    ]
    graph = connect_arms(name, arms, torques=torques, signals=signals, alpha1=alpha1, alpha0=alpha0)
    angles = [f"theta {i + 1}" for i in range(3)]
    graph.add(
        Block(
            "motor angles",
            [("y", FIRST_ANGLES, angles)],
            inputs={angle: f"arm {i + 1}.theta" for i, angle in enumerate(angles)},
            units={"y": "rad"},
        )
    )
    graph.export("y", "motor angles.y").export("tool velocity", "arm 1.tip.flow")
    return graph


def _motor(i: int, torque: float, signals: str | Sequence[str] | None) -> Element:
    number, name = {"torque": Parameter(torque, "N m")}, f"motor {i + 1}"
    if signals is None:
        return Se(name, TORQUE, parameters=number, dimension=1)
    if isinstance(signals, str):
        indexed = Op("torque and signal", lambda torque, u: torque + u[i], f"#1 + #2_{{{i + 1}}}")
        return Se(name, indexed, parameters=number, signals=[signals], dimension=1)
    return Se(name, TORQUE_AND_SIGNAL, parameters=number, signals=[signals[i]], dimension=1)


TIP_DIFFERENCE = Op("apart", lambda a, b: a - b, "#1 - #2", "BO18 (10), corrected")
FIRST_ANGLES = Op("first angles", lambda *theta: array([angles[0] for angles in theta]), r"y(#1, #2, #3)")
TORQUE = Op("torque", lambda torque: torque, "#1")
TORQUE_AND_SIGNAL = Op("torque and signal", lambda torque, u: torque + u, "#1 + #2")
