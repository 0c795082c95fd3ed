"""Spatial inertia M (6, 6) of a rigid body: momentum P = M T = [angular; linear], change of frame, checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from screws.arrays import Matrix6, Pose, Twist, Vector3
from screws.errors import GeometryError
from screws.numeric_arguments import real, reals, shown
from screws.poses import Ad
from screws.rotations import tilde
from screws.scalars import Scalar, array


def spatial_inertia(mass: Scalar, rotational: Sequence[Scalar] | np.ndarray, centre: Vector3 = (0.0, 0.0, 0.0)) -> Matrix6:
    """Return the spatial inertia (6, 6) in a frame in which the centre of mass has coordinates `centre`.

    Parameters
    ----------
    mass : kg.
    rotational : inertia about the centre of mass in the axes of the frame, kg m^2: (3, 3), or (3,) principal.
    centre : centre of mass (3,), m.

    Raises `GeometryError` for numbers that no rigid body can have (see `check_inertia`); symbols are not checked.
    """
    try:
        J = np.asarray(rotational)
    except ValueError:  # rows of different lengths
        check_inertia(mass, rotational)
    if J.shape == (3,):
        J = array([[J[0], 0.0, 0.0], [0.0, J[1], 0.0], [0.0, 0.0, J[2]]])
    if J.dtype != object and (np.isscalar(mass) or np.ndim(mass) or mass is None):
        check_inertia(mass, J)
    c = tilde(centre)
    first = mass * c
    upper = J - first @ c
    return array(
        [[*upper[i], *first[i]] for i in range(3)]
        + [[*(-first[i]), *[mass if i == k else 0.0 for k in range(3)]] for i in range(3)]
    )


def check_inertia(mass: Any, rotational: Any, name: str = "the body") -> None:
    """Refuse a mass or rotational inertia (about the centre of mass) that no rigid body can have.

    Raises `GeometryError` G111 for the mass, G112 for a matrix that is not symmetric positive definite, G113 if it violates the
    triangle inequality, G114 for anything but numbers of the right shape.
    """
    matrix = not isinstance(rotational, str) and np.iterable(rotational) and all(map(np.iterable, rotational))
    rows = [reals(row, 3) for row in (rotational if matrix else [rotational])]
    J = np.array([row for row in rows if row is not None], dtype=float)
    if len(J) != len(rows) or len(J) != (3 if matrix else 1):
        title = f"the rotational inertia of {name} is {shown(rotational)}: not of shape (3,) or "
        title += "(3, 3), or not finite"
        raise GeometryError("G114", title, "three principal moments or a finite symmetric 3 x 3 matrix, in kg m^2")
    J = np.diag(J[0]) if len(J) == 1 else J
    if not (np.isfinite(real(mass)) and real(mass) > 0.0):
        raise GeometryError(
            "G111",
            f"the mass of {name} is {shown(mass)} kg",
            "a positive, finite mass in kg; a massless link of a chain has inertia=None",
        )
    scale = float(np.max(np.abs(J)))
    if not np.allclose(J, J.T, rtol=0.0, atol=1e-9 * scale):
        title = f"the rotational inertia of {name} is not symmetric: J - J^T reaches {np.max(np.abs(J - J.T)):g} kg m^2"
        raise GeometryError("G112", title, "the symmetric matrix with products of inertia -int x y dm off the diagonal")
    a, b, c = (float(value) for value in np.linalg.eigvalsh(0.5 * (J + J.T)))
    if not a > 1e-14 * scale:
        title = f"the rotational inertia of {name} is not positive definite: principal moments {a:g}, {b:g}, {c:g} kg m^2"
        raise GeometryError("G112", title, "moments about the centre of mass, all positive")
    if c > (a + b) * (1.0 + 1e-9):
        title = f"the principal moments of {name}, {a:g}, {b:g} and {c:g} kg m^2, violate the triangle inequality"
        cure = "moments about the centre of mass of a real mass distribution; check units and the point of reference"
        raise GeometryError("G113", f"{title}: the largest exceeds the sum of the other two", cure)


def inertia_in(H_b_a: Pose, M_b: Matrix6) -> Matrix6:
    """Transform a spatial inertia (6, 6) from frame b to frame a: M_a = Ad(H_b_a).T @ M_b @ Ad(H_b_a)."""
    adjoint = Ad(H_b_a)
    return adjoint.T @ M_b @ adjoint


def momentum(M: Matrix6, T: Twist) -> np.ndarray:
    """Return the momentum (6,) [angular; linear] of a body with inertia M and twist T in one frame, N m s and N s."""
    return M @ array([*T])


def kinetic_energy(M: Matrix6, T: Twist) -> Scalar:
    """Return the kinetic energy T . M T / 2, J."""
    return 0.5 * (array([*T]) @ momentum(M, T))
