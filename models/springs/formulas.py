"""Spatial springs: energy and wrench as functions of the relative pose, stiffness matrices and centre; ports of springs.

A is the attachment frame on body a, B is the frame on body b; R, p belong to H_A_B, and y = R^T p is p in B. At rest H_A_B = I.
Near rest, with the small rotation vector theta, every form below is

    V = 1/2 theta^T K_r theta + theta^T K_c p + 1/2 p^T K_t p.

Stiffnesses may be scalars k (k I), diagonals (3,) or symmetric (3, 3). G(K) = 1/2 tr(K) I - K is the co-stiffness.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from screwbond.models.connections import AD_SOURCE, Touchable, connect_bodies, screw_transformer

from bondgraph import Element, Graph, Op, Parameter
from bondgraph.errors import ModelError, refusal
from bondgraph.model.arguments import in_units
from bondgraph.model.domains import Domain
from bondgraph.model.element import Port
from bondgraph.model.laws import Action, StateSpec, Storage
from screws.numeric_arguments import floats
from screws.poses import HALF_COT, Ad_of_inverse, is_pose, pose_from_state, pose_state
from screws.rotations import quaternion_product, rotation, series, tilde, untilde
from screws.scalars import array, atan2, less, sqrt, where
from screws.twists import transform_twist_back, transform_wrench
from screws.vectors import cross, dot, length

FORMS = ("trace", "rotation vector")


def relative_pose(pose_a: Any, pose_b: Any, frame_a: Any, frame_b: Any) -> Any:
    """Return the state (7,) of H_A_B from the poses of both bodies and of the frames fixed to them."""
    A, B = _chain(pose_a, frame_a), _chain(pose_b, frame_b)
    inverse = array([A[0], -A[1], -A[2], -A[3]])
    offset = rotation(A[:4]).T @ (array(list(B[4:])) - array(list(A[4:])))
    return array([*quaternion_product(inverse, B[:4]), *offset])


def _chain(outer: Any, inner: Any) -> Any:
    shifted = rotation(outer[:4]) @ array(list(inner[4:])) + array(list(outer[4:]))
    return array([*quaternion_product(outer[:4], inner[:4]), *shifted])


def frame_pose(pose: Any, frame: Any) -> Any:
    return pose_from_state(_chain(pose, frame))


def times(K: Any, x: Any) -> Any:
    if np.ndim(K) == 2:
        return K @ x
    return array([(K[i] if np.ndim(K) else K) * x[i] for i in range(3)])


def co_stiffness(K: Any) -> Any:
    full = K if np.ndim(K) == 2 else array(np.diag([K[i] if np.ndim(K) else K for i in range(3)]).tolist())
    return 0.5 * (full[0, 0] + full[1, 1] + full[2, 2]) * np.eye(3) - full


def rotation_vector(q: Any) -> tuple[Any, Any]:
    """Return the rotation vector theta (3,) and |q_w| / |q| of a quaternion of any length and sign; theta jumps at |theta| = pi,
    where q_w = 0."""
    flip = where(less(q[0], 0.0), -1.0, 1.0)
    w = flip * q[0]
    s = q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    small = less(s, 1e-4 * w * w)
    ratio = s / where(small, w * w, 1.0)
    series = (1.0 + ratio * (-1.0 / 3.0 + ratio * (1.0 / 5.0 + ratio * (-1.0 / 7.0 + ratio / 9.0)))) / where(small, w, 1.0)
    n = sqrt(where(small, 1.0, s))
    factor = 2.0 * flip * where(small, series, atan2(n, w) / n)
    return array([factor * q[1], factor * q[2], factor * q[3]]), w / sqrt(s + w * w)


def energy_latex(form: str, coupled: bool) -> tuple[str, ...]:
    rotational = {"trace": r"\operatorname{tr}\left(G(K_r)\,(I - R)\right)", "rotation vector": r"\tfrac12 \theta^T K_r\,\theta"}[
        form
    ]
    formula = rotational + r" + \tfrac14 p^T K_t\,p + \tfrac14 y^T K_t\,y"
    return formula + (r" + \operatorname{tr}\left(G(K_c)\,R^T \tilde p\right)" if coupled else ""), *_letters(form, coupled)


def wrench_latex(form: str, coupled: bool) -> tuple[str, ...]:
    rotational = {"trace": r"2 \operatorname{as}(G(K_r)\,R)", "rotation vector": r"J^{-T} K_r\,\theta"}[form]
    torque, force = rotational + r" + \tfrac12 (K_t\,y) \times y", r"\tfrac12 (R^T K_t\,p + K_t\,y)"
    if coupled:
        torque, force = torque + r" + 2 \operatorname{as}(R^T \tilde p\,G(K_c))", force + r" - 2 \operatorname{as}(R^T G(K_c))"
    remarks = list(_letters(form, coupled))
    if form == "rotation vector":
        remarks.append(r"\dot\theta = J^{-1} \omega")
    if form == "trace" or coupled:
        remarks.append(r"\widetilde{\operatorname{as}(X)} = \tfrac12 (X - X^T)")
    return rf"\begin{{bmatrix}} {torque} \\ {force} \end{{bmatrix}}", *remarks


def _letters(form: str, coupled: bool) -> tuple[str, ...]:
    vector = (r"\theta = \theta(R)",) if form == "rotation vector" else ()
    traces = (r"G(K) = \tfrac12 \operatorname{tr}(K)\,I - K",) if form == "trace" or coupled else ()
    return r"y = R^T p", *vector, *traces


def spring_energy(x: Any, K_r: Any, K_t: Any, K_c: Any = None, *, form: str = "trace") -> Any:
    """Return the energy V(H_A_B), J, zero at rest.

    V = V_r + 1/4 p^T K_t p + 1/4 y^T K_t y + tr(G(K_c) R^T tilde(p)), where V_r is tr(G(K_r) (I - R)) ("trace") or
    1/2 theta^T K_r theta ("rotation vector"). V is symmetric in A and B.

    Source: Fasse and Broenink 1997; Stramigioli 2001 (geometric springs).
    """
    R, p, y = _parts(x)
    total = 0.25 * (dot(p, times(K_t, p)) + dot(y, times(K_t, y)))
    if form == "trace":
        rotational = co_stiffness(K_r) @ (np.eye(3) - R)
        total = total + rotational[0, 0] + rotational[1, 1] + rotational[2, 2]
    else:
        theta = rotation_vector(x[:4])[0]
        total = total + 0.5 * dot(theta, times(K_r, theta))
    if K_c is not None:
        coupled = co_stiffness(K_c) @ R.T @ tilde(p)
        total = total + coupled[0, 0] + coupled[1, 1] + coupled[2, 2]
    return total


def spring_wrench(x: Any, K_r: Any, K_t: Any, K_c: Any = None, *, form: str = "trace") -> Any:
    """Return the wrench (6,) in B with dV/dt = wrench . T_B_A_B, which holds the deflected spring; its negative acts on b."""
    R, p, y = _parts(x)
    pull = times(K_t, y)
    force = 0.5 * (R.T @ times(K_t, p) + pull)
    torque = 0.5 * cross(pull, y)
    if form == "trace":
        torque = torque + _from_trace(K_r, R, x[:4])
    else:
        torque = torque + _from_rotation_vector(K_r, rotation_vector(x[:4]))
    if K_c is not None:
        G = co_stiffness(K_c)
        torque = torque + 2.0 * untilde(R.T @ tilde(p) @ G)
        force = force - 2.0 * untilde(R.T @ G)
    return array([*torque, *force])


def _parts(x: Any) -> tuple[Any, Any, Any]:
    R, p = rotation(x[:4]), array(list(x[4:]))
    return R, p, R.T @ p


def _from_trace(K_r: Any, R: Any, q: Any) -> Any:
    """Return the torque 2 untilde(G R), which is k sin(angle) along the axis for an isotropic spring."""
    if np.ndim(K_r):
        return 2.0 * untilde(co_stiffness(K_r) @ R)
    share = 2.0 * K_r * q[0] / (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return array([share * q[1], share * q[2], share * q[3]])


def _from_rotation_vector(K_r: Any, vector_and_cosine: tuple[Any, Any]) -> Any:
    """Return the torque J^-T K theta, with theta' = J^-1 omega, which is k theta for an isotropic spring."""
    theta, cosine = vector_and_cosine
    torque = times(K_r, theta)
    if not np.ndim(K_r):
        return torque
    s = dot(theta, theta)
    small = less(s, 0.01)
    safe = where(small, 1.0, s)
    # (1 - h cot h) / angle^2 with h = angle / 2; cos h / sin h from the quaternion's parts.
    far = (1.0 - 0.5 * sqrt(safe) * cosine / sqrt(where(small, 1.0, 1.0 - cosine * cosine))) / safe
    once = cross(theta, torque)
    return torque - 0.5 * once + where(small, series(s, HALF_COT[:5]), far) * cross(theta, once)


def point_energy(r: Any, stiffness: Any, rest: Any) -> Any:
    stretch = length(r) - rest
    return 0.5 * stiffness * stretch * stretch


def point_force(r: Any, stiffness: Any, rest: Any) -> Any:
    return stiffness * (1.0 - rest / length(r)) * r


NUMBERS = {
    "rotational": ("N m/rad", "K_r"),
    "translational": ("N/m", "K_t"),
    "coupling": ("N", "K_c"),
    "stiffness": ("N/m", "K"),
    "rest length": ("m", "L"),
}

AD_FRAME = Op("Ad", lambda frame, pose: Ad_of_inverse(frame_pose(pose, frame)), r"\mathrm{Ad}_{(#2\,#1)^{-1}}", AD_SOURCE)
TO_FRAME = Action(
    Op(
        "twist to B",
        lambda frame, pose, T: transform_twist_back(frame_pose(pose, frame), T),
        r"\mathrm{Ad}_{(#2\,#1)^{-1}}\,#3",
        AD_SOURCE,
    ),
    Op(
        "wrench to world",
        lambda frame, pose, W: transform_wrench(frame_pose(pose, frame), W),
        r"\mathrm{Ad}_{(#2\,#1)^{-1}}^T\,#3",
        AD_SOURCE,
    ),
)


def add_frame_transformer(graph: Graph, relative: Element, frame_b: np.ndarray) -> Element:
    fixed, symbols = {"frame b": Parameter(frame_b, "1, m")}, {"matrix": r"\mathrm{Ad}_{H_0^B}", "frame b": "H_B^b"}
    to_B = screw_transformer(AD_FRAME, TO_FRAME, "pose b", ("0", "B"), parameters=fixed, symbols=symbols)
    graph.connect(relative, to_B)
    return to_B


def attach_between(graph: Graph, part: Graph, a: Touchable, b: Touchable) -> Graph:
    """Connect a spring, damper or line force to its bodies: half arrows b -> part -> a, and the poses as signals. Return the
    graph.

    Raises `ModelError` E458 for anything but a body, E488 for a part that is attached already, E591 if both bodies are the same.
    """
    return connect_bodies(graph, part, {"a": a, "b": b})


def spring_of_signal(
    effort: Op, energy: Op, parameters: dict[str, Any], signal: str, dimension: int, domain: Domain, frame: str
) -> Element:
    """Return a C "spring" without a state of its own, whose energy is a function of a signal.

    The poses of the bodies are states already. A relative pose as a further state would drift from them within the tolerance, and
    would count as a degree of freedom in linearisation and equilibrium search.
    """
    law = Storage(
        "effort", "own", StateSpec(np.zeros(0), 1.0, "1"), _with_state_argument(effort), _with_state_argument(energy), _NO_RATE
    )
    values = {key: Parameter(value, NUMBERS[key][0]) for key, value in parameters.items()}
    letters = {key: NUMBERS[key][1] for key in parameters}
    return Element("C", "spring", law, (Port("1", dimension, domain, frame),), values, (signal,), letters, domain, frame)


_NO_RATE = Op("no rate", lambda *_: np.zeros(0), r"\emptyset")


@cache
def _with_state_argument(op: Op) -> Op:
    latex = op.latex
    for index in range(9, 0, -1):
        latex = latex.replace(f"#{index}", f"#{index + 1}")
    return Op(op.name, lambda _, *arguments: op(*arguments), latex, op.source)


@in_units(stiffness="N m/rad, N; N/rad, N/m")
def centre_of_stiffness(stiffness: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the centre r (3,) of a spring, m, and its stiffness matrix (6, 6) there; K_c is symmetric only there.

    Parameters
    ----------
    stiffness : (6, 6) symmetric, [[K_r, K_c], [K_c^T, K_t]] in twist order, about the origin in which r is measured.

    With T = [theta; p] at the origin and [theta; p + theta x r] at r: (tr(K_t) I - K_t) r is the axial vector of K_c - K_c^T.

    Raises `ModelError` E493 unless the matrix is symmetric (6, 6), and if tr(K_t) I - K_t is singular, which leaves the centre
    undefined.

    Source: Loncaric 1987, normal forms of stiffness matrices.
    """
    K = _matrix(stiffness, "stiffness")
    coupling, translation = K[:3, 3:], K[3:, 3:]
    moment = np.trace(translation) * np.eye(3) - translation
    if np.linalg.cond(moment) > 1e12:
        title = "this stiffness has no centre"
        cure = "place the frames where the spring acts, and give a symmetric coupling"
        raise refusal("E493", title, cure, about="stiffness", why="it must resist translation in at least two directions")
    r = np.linalg.solve(moment, np.asarray(untilde(coupling - coupling.T), dtype=float))
    to_origin = np.eye(6)
    to_origin[3:, :3] = tilde(r)
    return r, to_origin.T @ K @ to_origin


def stiffness_blocks(name: str, stiffness: Any, rotational: Any, translational: Any, coupling: Any) -> dict[str, Any]:
    """Return the parameters `rotational`, `translational` and, if not zero, `coupling`, from a matrix or from its blocks.

    Raises `ModelError` E493 for a matrix that is not symmetric positive semidefinite, E494 for a coupling that is not
    symmetric: the frames are not at the centre of stiffness.
    """
    if stiffness is not None:
        if rotational is not None or translational is not None or coupling is not None:
            raise spring_error("E493", name, "two stiffnesses", "stiffness (6, 6), or its blocks, not both")
        K = _matrix(stiffness, name)
        rotational, coupling, translational = K[:3, :3], K[:3, 3:], K[3:, 3:]
        coupling = coupling if np.any(coupling) else None
    values = {"rotational": _block(rotational, name), "translational": _block(translational, name)}
    if coupling is not None:
        cross = _block(coupling, name, symmetric=False)
        if not _is_symmetric(as_matrix(cross)):
            cure = "shift the frames by r of centre_of_stiffness(K), and use the matrix that it returns"
            raise spring_error("E494", name, "its coupling is not symmetric: the frames are not at the centre of stiffness", cure)
        values["coupling"] = cross
    K_r, K_t, K_c = as_matrix(values["rotational"]), as_matrix(values["translational"]), as_matrix(values.get("coupling", 0.0))
    if not is_semidefinite(np.block([[K_r, K_c], [K_c, K_t]])):
        raise spring_error("E493", name, "its stiffness is not positive semidefinite", "a stiffness without negative eigenvalues")
    return values


def damping_matrix(name: str, damping: Any, rotational: Any, translational: Any) -> np.ndarray:
    if damping is None:
        D = np.zeros((6, 6))
        D[:3, :3], D[3:, 3:] = (as_matrix(_block(block, name, "damping")) for block in (rotational, translational))
    elif rotational is not None or translational is not None:
        raise spring_error("E493", name, "two dampings", "damping (6, 6), or its blocks, not both")
    else:
        D = _matrix(damping, name)
    if not is_semidefinite(D):
        raise spring_error("E493", name, "its damping is not positive semidefinite", "a damping without negative eigenvalues")
    return D


def as_matrix(K: Any) -> np.ndarray:
    numbers = np.asarray(K, dtype=float)
    return numbers if numbers.ndim == 2 else np.diag(np.broadcast_to(numbers, 3))


def is_semidefinite(K: np.ndarray) -> bool:
    """Return True if a symmetric matrix has no negative eigenvalue beyond rounding error; the units of its blocks do not
    matter."""
    scale = np.sqrt(np.where(np.diag(K) > 0.0, np.diag(K), 1.0))
    return bool(np.all(np.diag(K) >= 0.0) and np.linalg.eigvalsh(K / np.outer(scale, scale)).min() > -1e-9)


def frame(name: str, what: str, value: Any) -> np.ndarray:
    identity = np.array([1.0, 0, 0, 0, 0, 0, 0])
    if value is None:
        return identity
    numbers = floats(value, (3,), (7,))
    if numbers is not None and len(numbers) == 3:
        return np.concatenate([identity[:4], numbers])
    if numbers is not None and abs(np.linalg.norm(numbers[:4]) - 1.0) < 1e-3:
        return np.concatenate([numbers[:4] / np.linalg.norm(numbers[:4]), numbers[4:]])
    if is_pose(value):
        return np.asarray(pose_state(np.asarray(value, dtype=float)), dtype=float)
    raise spring_error("E495", name, f"{what} = {value!r} is not a frame", "a position (3,) in m, a pose (7,) or (4, 4)")


def _block(value: Any, name: str, what: str = "stiffness", symmetric: bool = True) -> Any:
    numbers = floats(0.0 if value is None else value, (), (3,), (3, 3))
    if numbers is None:
        raise spring_error("E493", name, f"its {what} is {value!r}", "a number, three numbers, or a symmetric (3, 3) matrix")
    if symmetric and not _is_symmetric(as_matrix(numbers)):
        raise spring_error("E493", name, f"its {what} is not symmetric", "a symmetric matrix")
    return float(numbers) if numbers.ndim == 0 else numbers


def _matrix(value: Any, name: str) -> np.ndarray:
    numbers = floats(value, (6, 6))
    if numbers is None or not _is_symmetric(numbers):
        raise spring_error(
            "E493", name, f"{value!r} is not a symmetric (6, 6) matrix", "[[rotational, coupling], [coupling^T, translational]]"
        )
    return numbers


def _is_symmetric(K: np.ndarray) -> bool:
    return bool(np.abs(K - K.T).max() <= 1e-9 * np.abs(K).max())


def spring_error(code: str, name: str, title: str, cure: str, *details: str) -> ModelError:
    return refusal(code, f'"{name}": {title}', cure, about=name, why=details)
