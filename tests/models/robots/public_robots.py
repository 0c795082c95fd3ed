"""URDF files of the package `example-robot-data`, where installed, and reference values for them."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def public_urdf(ending: str) -> Path:
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("NOT COMPARED WITH PUBLIC ROBOTS: example-robot-data is not installed (pip install example-robot-data)")
    found = [Path(str(file.locate())) for file in files if str(file).endswith(ending)]
    assert len(found) == 1, found
    return found[0]


def pinocchio() -> Any:
    return pytest.importorskip("pinocchio", reason="NOT COMPARED WITH PINOCCHIO: it is not installed (pip install pin)")


class PinocchioRobot:
    """Pinocchio's model of a file, with joints in this package's order."""

    def __init__(self, text: str, joints: list[str]):
        self.pin = pinocchio()
        self.model = self.pin.buildModelFromXML(text)
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in joints]
        # Dots have a meaning in paths of a graph, so a link "a.0" is named "a_0".
        self.frames = {
            frame.name.replace(".", "_"): k for k, frame in enumerate(self.model.frames) if frame.type == self.pin.FrameType.BODY
        }
        self.order = np.array([joint.idx_v for joint in self.joints])
        assert self.model.nv == len(joints)

    def _coordinates(self, q: np.ndarray) -> np.ndarray:
        """Convert coordinates to Pinocchio's, which replace the angle of a continuous joint by its cosine and sine."""
        out = self.pin.neutral(self.model)
        for joint, x in zip(self.joints, q, strict=True):
            out[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
        return out

    def mass(self, q: np.ndarray) -> np.ndarray:
        M = self.pin.crba(self.model, self.data, self._coordinates(q))
        return (np.triu(M) + np.triu(M, 1).T)[np.ix_(self.order, self.order)]

    def weight(self, q: np.ndarray) -> np.ndarray:
        """Return the gravity forces at 9.81 m/s^2 along -z."""
        return self.pin.computeGeneralizedGravity(self.model, self.data, self._coordinates(q))[self.order]

    def coriolis(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        own = np.zeros(self.model.nv)
        own[self.order] = v
        return self.pin.nonLinearEffects(self.model, self.data, self._coordinates(q), own)[self.order] - self.weight(q)

    def jacobian(self, link: str, q: np.ndarray) -> np.ndarray:
        """Return the Jacobian in the link's frame, with the angular rows first."""
        at = self._coordinates(q)
        J = self.pin.computeFrameJacobian(self.model, self.data, at, self.frames[link], self.pin.LOCAL)[:, self.order]
        return np.vstack([J[3:], J[:3]])

    def efforts(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the efforts of inverse dynamics, with a gravity of 9.81 m/s^2 along -z."""
        own = np.zeros((2, self.model.nv))
        own[:, self.order] = v, a
        return self.pin.rnea(self.model, self.data, self._coordinates(q), *own)[self.order]

    def world_jacobian(self, link: str, q: np.ndarray) -> np.ndarray:
        """Return the Jacobian of the link's origin in world axes, with the angular rows first."""
        reference, at = self.pin.LOCAL_WORLD_ALIGNED, self._coordinates(q)
        J = self.pin.computeFrameJacobian(self.model, self.data, at, self.frames[link], reference)[:, self.order]
        return np.vstack([J[3:], J[:3]])

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the centroidal momentum of all moving bodies, with the angular part first."""
        own = np.zeros(self.model.nv)
        own[self.order] = v
        momentum = self.pin.computeCentroidalMomentum(self.model, self.data, self._coordinates(q), own)
        return np.array([*momentum.angular, *momentum.linear])
