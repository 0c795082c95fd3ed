"""Stiffness and damping matrices: checks of the arguments of springs and dampers, and the centre of stiffness."""

from __future__ import annotations

from typing import Any

import numpy as np

from bondgraph.errors import ModelError, refusal
from bondgraph.model.arguments import in_units
from screws.numeric_arguments import floats
from screws.poses import is_pose, pose_state
from screws.rotations import tilde, untilde


@in_units(stiffness="N m/rad, N; N/rad, N/m")
def centre_of_stiffness(stiffness: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the centre r (3,) of a spring, m, and its stiffness matrix (6, 6) there: only there its coupling is symmetric.

    Parameters
    ----------
    stiffness : (6, 6) symmetric, [[K_r, K_c], [K_c^T, K_t]] in twist order, about the origin in which r is measured.

    With T = [theta; p] at the origin and [theta; p + theta x r] at r: (tr(K_t) I - K_t) r is the axial vector of K_c - K_c^T.

    Raises `ModelError` E493 without a symmetric (6, 6) matrix, and where tr(K_t) I - K_t is singular: then no centre is
    defined.

    Source: Loncaric 1987, normal forms of stiffness matrices.
    """
    K = _matrix(stiffness, "stiffness")
    coupling, translation = K[:3, 3:], K[3:, 3:]
    moment = np.trace(translation) * np.eye(3) - translation
    if np.linalg.cond(moment) > 1e12:
        title = "this stiffness has no centre"
        cure = "name the frames in which it acts, and give a symmetric coupling"
        raise refusal("E493", title, cure, about="stiffness", why="it does not resist translation in two directions at least")
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
            cure = "shift the frames by the r of centre_of_stiffness(K), and give the matrix that it returns"
            raise spring_error("E494", name, "its coupling is not symmetric: the frames are not at the centre of stiffness", cure)
        values["coupling"] = cross
    K_r, K_t, K_c = as_matrix(values["rotational"]), as_matrix(values["translational"]), as_matrix(values.get("coupling", 0.0))
    if not is_semidefinite(np.block([[K_r, K_c], [K_c, K_t]])):
        raise spring_error("E493", name, "its stiffness is not positive semidefinite", "a spring that resists every displacement")
    return values


def damping_matrix(name: str, damping: Any, rotational: Any, translational: Any) -> np.ndarray:
    """Return D (6, 6) of a damper, from a matrix or from its blocks.

    Raises `ModelError` E493 for a matrix that is not symmetric positive semidefinite.
    """
    if damping is None:
        D = np.zeros((6, 6))
        D[:3, :3], D[3:, 3:] = (as_matrix(_block(block, name, "damping")) for block in (rotational, translational))
    elif rotational is not None or translational is not None:
        raise spring_error("E493", name, "two dampings", "damping (6, 6), or its blocks, not both")
    else:
        D = _matrix(damping, name)
    if not is_semidefinite(D):
        raise spring_error("E493", name, "its damping is not positive semidefinite", "a damper that takes power from every twist")
    return D


def as_matrix(K: Any) -> np.ndarray:
    """Return a scalar, a diagonal (3,) or a matrix as (3, 3)."""
    numbers = np.asarray(K, dtype=float)
    return numbers if numbers.ndim == 2 else np.diag(np.broadcast_to(numbers, 3))


def is_semidefinite(K: np.ndarray) -> bool:
    """Return True if a symmetric matrix has no negative eigenvalue beyond rounding; the units of its blocks do not matter."""
    scale = np.sqrt(np.where(np.diag(K) > 0.0, np.diag(K), 1.0))
    return bool(np.all(np.diag(K) >= 0.0) and np.linalg.eigvalsh(K / np.outer(scale, scale)).min() > -1e-9)


def frame(name: str, what: str, value: Any) -> np.ndarray:
    """Return the pose state (7,) of a frame: a place (3,), a pose (7,) or (4, 4), or None for the body's own frame.

    Raises `ModelError` E495 for another value.
    """
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
    raise spring_error("E495", name, f"{what} = {value!r} is no frame", "a place (3,) in m, a pose (7,) or (4, 4)")


def _block(value: Any, name: str, what: str = "stiffness", symmetric: bool = True) -> Any:
    numbers = floats(0.0 if value is None else value, (), (3,), (3, 3))
    if numbers is None:
        raise spring_error("E493", name, f"{value!r} is no {what}", "a number, three, or a symmetric (3, 3) matrix")
    if symmetric and not _is_symmetric(as_matrix(numbers)):
        raise spring_error("E493", name, f"its {what} is not symmetric", "a symmetric matrix")
    return float(numbers) if numbers.ndim == 0 else numbers


def _matrix(value: Any, name: str) -> np.ndarray:
    numbers = floats(value, (6, 6))
    if numbers is None or not _is_symmetric(numbers):
        raise spring_error("E493", name, f"{value!r} is no symmetric (6, 6) matrix", "[[K_r, K_c], [K_c^T, K_t]]")
    return numbers


def _is_symmetric(K: np.ndarray) -> bool:
    return bool(np.abs(K - K.T).max() <= 1e-9 * np.abs(K).max())


def spring_error(code: str, name: str, title: str, cure: str, *details: str) -> ModelError:
    """Return the error of one problem of a spring or damper."""
    return refusal(code, f'"{name}": {title}', cure, about=name, why=details)
