"""Contact kinematics as a signal block that computes the rates of the six contact coordinates from the relative twist, with
drift correction."""

from __future__ import annotations

from typing import Any

import numpy as np
from screwbond.models.bodies import latex_name
from screwbond.models.contacts.switches import TWIST_2, turning_equation

from bondgraph import Block, Element, Op, Parameter, StateSpec
from bondgraph.model.units import matrix
from screws.contact import contact_rates, drift, motion_rate, relative_curvature
from screws.poses import pose_from_state
from screws.scalars import absolute, array, minimum
from screws.surfaces import Geometry, Surface
from screws.surfaces.closed import Cylinder, Ellipsoid, Plane, Sphere, Torus
from screws.surfaces.surfaces_of_revolution import Egg


def contact_kinematics(surface1: Surface, surface2: Surface, transport: str | None = None) -> Element:
    """Return the signal block that computes the rates of the six contact coordinates from T_{O2}^{C2,O1}: Visser 2002, (18)
    to (21), corrected.

    States q1 = (u1, v1), q2 = (u2, v2), alpha, d; further outputs the Gauss frames H_O1_C1, H_O2_C2, H_0_C2
    and, with a transport, the rate `turning` of C2 about its normal.
    """
    inputs = {"T": "Ad.2.flow", "pose 1": "pose 1", "pose 2": "pose 2"}
    parameters: dict[str, Parameter] = {}
    geometries: list[Any] = []
    symbols = {"corrected": r"\hat T", "uniqueness": r"\Delta", "alpha'": r"\dot\alpha", "d'": r"\dot d", "turning": r"\omega_s"}
    units = {"corrected": "rad/s, m/s", "uniqueness": "1/m^2", "turning": "rad/s"}
    for i, surface in ((1, surface1), (2, surface2)):
        numbers = {f"surface {i} {key}": Parameter(value, _length(surface)) for key, value in surface.parameters.items()}
        charts = [f"chart {i}"] if surface.charts > 1 else []
        inputs |= {chart: f"{chart}.mode" for chart in charts}
        parameters |= numbers
        symbols |= {f"H_O{i}_C{i}": f"H_{{C_{i}}}^{{O_{i}}}", f"H_0_C{i}": f"H_{{C_{i}}}^0", f"q{i}'": rf"\dot q_{i}"}
        symbols |= {f"{letter}{i}": f"{letter}_{i}" for letter in "MKT"}
        symbols |= {f"surface {i} {key}": _letter(key, i) for key in surface.parameters}
        units |= {f"H_O{i}_C{i}": "1, m", f"H_0_C{i}": "1, m", f"K{i}": "1/m", f"T{i}": "rad/m"}
        units[f"M{i}"] = matrix("m", coordinates_unit(surface))
        geometries.append(((f"H_O{i}_C{i}", f"M{i}", f"K{i}", f"T{i}"), geometry_op(surface, i), [f"q{i}", *charts, *numbers]))
    size = min(surface1.size, surface2.size)
    turning = [] if transport is None else [turning_equation(transport)]
    if transport == "parallel":
        inputs[TWIST_2] = f"{TWIST_2}.flow"
    return Block(
        "kinematics",
        [
            *geometries,
            ("H_0_C1", CHAIN, ["pose 1", "H_O1_C1"]),
            ("H_0_C2", CHAIN, ["pose 2", "H_O2_C2"]),
            ("corrected", CORRECTED_TWIST, ["H_0_C1", "H_0_C2", "K1", "K2", "alpha", "d", "T"]),
            (("q1'", "q2'", "alpha'", "d'"), RATES, ["M1", "K1", "T1", "M2", "K2", "T2", "alpha", "d", "corrected"]),
            ("uniqueness", UNIQUENESS, ["K1", "K2", "alpha", "d"]),
            *turning,
        ],
        inputs=inputs,
        states={
            "q1": StateSpec(np.zeros(2), surface1.size if surface1.charts == 1 else 1.0, coordinates_unit(surface1), "q_1"),
            "q2": StateSpec(np.zeros(2), surface2.size if surface2.charts == 1 else 1.0, coordinates_unit(surface2), "q_2"),
            "alpha": StateSpec(0.0, 1.0, "rad", r"\alpha"),
            "d": StateSpec(0.0, 1e-2 * size, "m", "d"),
        },
        rates={"q1": "q1'", "q2": "q2'", "alpha": "alpha'", "d": "d'"},
        parameters=parameters,
        symbols=symbols,
        units=units,
    )


_COORDINATES = {Plane: "m", Cylinder: "rad, m", Torus: "rad", Sphere: "rad", Ellipsoid: "rad", Egg: "rad"}


def coordinates_unit(surface: Surface) -> str:
    return "rad" if surface.charts > 1 else _COORDINATES.get(type(surface.shape), "")


def _length(surface: Surface) -> str:
    return "m" if type(surface.shape) in _COORDINATES else ""


def _letter(parameter: str, surface: int) -> str:
    letter, *subscripts = LETTERS.get(parameter, (parameter if len(parameter) == 1 else latex_name(parameter),))
    return f"{letter}_{{{','.join((*subscripts, f'O_{surface}'))}}}"


LETTERS = {"radius": ("r",), "zB": ("z", "B")}


def geometry_op(surface: Surface, index: int) -> Op:
    def formula(q: Any, *rest: Any) -> tuple[Any, ...]:
        chart, parameters = (rest[0], rest[1:]) if surface.charts > 1 else (0.0, rest)
        geometry = surface.geometry(q, chart, parameters)
        return geometry.H, geometry.M, geometry.K, geometry.T

    return Op(
        f"Gauss {surface.name}",
        formula,
        rf"\mathrm{{Gauss}}_{{{index}}}(#1)",
        "VI02 (5), (6), (7), (8), (9)",
        f"{_point(surface)}{GAUSS_FRAME_NOTE}",
    )


def _point(surface: Surface) -> str:
    if not surface.latex:
        return r"$(u, v) = q$, and $c(u, v)$, the last column of $H$, is a point of the surface in the frame $O$ of its body. "
    (_, point), *further = (equation.split(" = ", 1) for equation in surface.latex[0])
    words = rf"$(u, v) = q$, and $c(u, v) = {point}$ is the point of the surface in the frame $O$ of its body"
    words += "".join(rf", ${letter} = {formula}$" for letter, formula in further)
    if surface.charts > 1:
        words += rf", in the chart of axis x ${surface.latex[1][-1]}$"
    named = ", ".join(f"${letter}$ ({name})" for name, letter in surface.letters.items())
    return f"{words}, with the parameters {named}. " if named else f"{words}. "


GAUSS_FRAME_NOTE = (
    r"Indices $u$, $v$ are derivatives. The axes $x = c_u/|c_u|$, $z = (c_u \times c_v)/|c_u \times c_v|$, which points out"
    r" of the material, and $y = z \times x$ make the Gauss frame $C$: $H = H_C^O = \begin{bmatrix} x & y & z & c \\ 0 & 0 &"
    r" 0 & 1 \end{bmatrix}$, VI02 (5), (6). $M = \begin{bmatrix} x & y \end{bmatrix}^{\top} \begin{bmatrix} c_u & c_v"
    r" \end{bmatrix}$, $K = \begin{bmatrix} x & y \end{bmatrix}^{\top} \begin{bmatrix} z_u & z_v \end{bmatrix} M^{-1}$, $T ="
    r" y^{\top} \begin{bmatrix} x_u & x_v \end{bmatrix} M^{-1}$ are VI02 (7), (8), (9), even where $c_u$ is not"
    r" perpendicular to $c_v$; where it is, $y = c_v/|c_v|$, and $M$ has $|c_u|$ and $|c_v|$ on its diagonal and 0"
    r" elsewhere. So the twist $T_C^{C,O} = (\omega, v)_C^{C,O}$ of $C$ relative to $O$ is, in $C$,"
    r" $(\omega_y, -\omega_x)_C^{C,O}"
    r" = K M \dot q$, $(\omega_z)_C^{C,O} = T M \dot q$, VI02 (10), $(v_x, v_y)_C^{C,O} = M \dot q$, $(v_z)_C^{C,O} = 0$,"
    r" VI02 (11)."
)

_EMPTY = np.zeros(0)


def _geometry(M: Any = _EMPTY, K: Any = _EMPTY, T: Any = _EMPTY) -> Geometry:
    return Geometry(_EMPTY, M, K, T)


def _rates(M1: Any, K1: Any, T1: Any, M2: Any, K2: Any, T2: Any, alpha: Any, d: Any, T: Any) -> tuple[Any, ...]:
    return contact_rates(_geometry(M1, K1, T1), _geometry(M2, K2, T2), alpha, d, T)


CHAIN = Op("chain", lambda pose, H: pose_from_state(pose) @ H, "#1\\,#2")


def _corrected_twist(H1: Any, H2: Any, K1: Any, K2: Any, alpha: Any, d: Any, T: Any) -> Any:
    rate = motion_rate(_geometry(K=K1), _geometry(K=K2), alpha, d, T)
    return array([v + rate * off for v, off in zip(T, drift(H1, H2, alpha, d), strict=True)])


CORRECTED_TWIST = Op(
    "corrected twist",
    _corrected_twist,
    r"#7 + \lambda\,\xi(#1, #2, #5, #6),\; \lambda = |\omega| + (g\,|v_t| + (1 - 1/e)\,|v_z|)\,|S|/e"
    + "\n"
    + r"e = \max(1, #6\,|S|/8),\; g = \max(1/8, \min(1, 1000/e))",
    note=(
        r"$O_1$ and $O_2$ are the frames of body 1 and body 2, those whose poses precede $H_{C_1}^{O_1}$ and"
        r" $H_{C_2}^{O_2}$; $C_1$ and $C_2$ are the Gauss frames of their closest points $p_1$ and $p_2$. $d = z_1 \cdot"
        r" (p_2 - p_1)$ is the gap, negative in contact, and $\alpha$ the angle from $x_1$ to $x_2$ about $z_2 = -z_1$:"
        r" $H_{C_2}^{C_1} = \begin{bmatrix} R & 0 & 0 \\ 0 & -1 & d \\ 0 & 0 & 1 \end{bmatrix}$, VI02 (12), (13), with $R ="
        r" \begin{bmatrix} \cos\alpha & -\sin\alpha \\ -\sin\alpha & -\cos\alpha \end{bmatrix}$, VI02 (14), corrected, and"
        r" $T_{C_2}^{C_2,C_1} = (0, 0, \dot\alpha, 0, 0, -\dot d)$, VI02 (15), corrected. The rates of the contact"
        r" coordinates are such that the twists from $O_1$ by $C_1$ and $C_2$ to $O_2$, all in $C_2$, make up the relative"
        r" twist, VI02 (16): $T_{O_2}^{C_2,O_1} = -T_{C_2}^{C_2,O_2} + T_{C_2}^{C_2,C_1} + \mathrm{Ad}_{H_{C_1}^{C_2}}"
        r" T_{C_1}^{C_1,O_1}$, VI02 (17), corrected. Integration errors are corrected: the rates are"
        r" computed from $T_{O_2}^{C_2,O_1} + \lambda\,\xi$, with $\xi$ the small displacement, rotation"
        r" and translation in $C_2$, of $H_{C_2}^0$ from $H_{C_1}^0 H_{C_2}^{C_1}$, which is 0 without error, and with"
        r" $\lambda = |\omega_x| + |\omega_y| + |\omega_z| + (g\,(|v_x| + |v_y|) + (1 - 1/e)\,|v_z|)\,|S|/e$, where $(\omega, v)"
        r" = T_{O_2}^{C_2,O_1}$, $S = K_2 (d\,R K_1 R + \mathbf{1}) + R K_1 R$ and $|S| = |S_{11}| + |S_{22}|$. Near contact $e ="
        r" \max(1, d\,|S|/8)$ and $g = \max(1/8, \min(1, 1000/e))$ are 1; where the bodies are far apart the gap limits the rate."
    ),
)

RATES = Op(
    "contact rates",
    _rates,
    "\n".join(
        (
            r"#1^{-1}\,a",
            r"#4^{-1}\,b",
            r"\omega_z + #3 \cdot a + #6 \cdot b",
            r"-v_z",
            r"a = R\,C\,(w + #5\,u),\; b = C^T\,(B\,w - A\,u),\; C = (#5\,B + A)^{-1},\; A = R\,#2\,R,\; B = #8\,A + \mathbf{1}",
            r"R = \begin{bmatrix} \cos #7 & -\sin #7 \\ -\sin #7 & -\cos #7 \end{bmatrix}",
            r"w = (-\omega_y, \omega_x),\; u = (v_x, v_y),\; (\omega, v) = #9",
        )
    ),
    "VI02 (18)\nVI02 (19), corrected\nVI02 (20)\nVI02 (21), corrected\nVI02 (14), corrected",
)

AMBIGUOUS = 1e-8
"""Uniqueness relative to the squared curvatures below which closest points count as ambiguous: a focal point is then about 1e-4
of the radii away."""


def _uniqueness(K1: Any, K2: Any, alpha: Any, d: Any) -> Any:
    """Return a measure, 1/m^2, that is positive as long as the closest points are unique.

    With the relative curvature S = K2 B + A it is the smaller of det S and tr S |tr S|, minus `AMBIGUOUS` times the squares of
    both curvatures. The determinant alone is not enough: for two spheres, whose curvatures vanish together, it touches zero and
    rises again.
    """
    s11, s12, s21, s22 = relative_curvature(_geometry(K=K1), _geometry(K=K2), alpha, d)[2]
    trace = s11 + s22
    squares = sum(K[i, j] * K[i, j] for K in (K1, K2) for i in (0, 1) for j in (0, 1))
    return minimum(s11 * s22 - s12 * s21, trace * absolute(trace)) - AMBIGUOUS * squares


UNIQUENESS = Op(
    "uniqueness",
    _uniqueness,
    r"\min(\det S, \mathrm{tr}(S)\,|\mathrm{tr}(S)|) - 10^{-8}\,(|#1|^2 + |#2|^2)"
    + "\n"
    + r"S = #2\,B + A,\; A = R\,#1\,R,\; B = #4\,A + \mathbf{1}"
    + "\n"
    + r"R = \begin{bmatrix} \cos #3 & -\sin #3 \\ -\sin #3 & -\cos #3 \end{bmatrix}",
)
