"""The Panda arm of the package `example-robot-data`, where installed, read without this package's reader."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from screwbond.models.chains import BodyInertia, Chain, Link

from screws.joints import revolute

Q = np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])
FLANGE = np.array([0.0, 0.0, 0.107])
"""Position of the contact point in the frame of the last link, m; the normal is the frame's z axis."""


def urdf() -> Path | None:
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if str(file).endswith("panda_description/urdf/panda.urdf")), None)


def numbers(element: ElementTree.Element | None, key: str) -> np.ndarray:
    return np.array([float(x) for x in (element.get(key) if element is not None else "0 0 0").split()])


def pose_of(origin: ElementTree.Element | None) -> np.ndarray:
    roll, pitch, yaw = numbers(origin, "rpy") if origin is not None and origin.get("rpy") else np.zeros(3)
    H = np.eye(4)
    for axis, angle in ((2, yaw), (1, pitch), (0, roll)):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        turn = np.eye(4)
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
        H = H @ turn
    H[:3, 3] = numbers(origin, "xyz") if origin is not None and origin.get("xyz") else np.zeros(3)
    return H


@cache
def panda() -> Chain:
    path = urdf()
    if path is None:
        pytest.skip("NOT TESTED: the Panda's numbers; pip install example-robot-data")
    root = ElementTree.parse(path).getroot()
    joints = {joint.find("child").get("link"): joint for joint in root.findall("joint")}
    H, links = np.eye(4), []
    for number in range(1, 8):
        name = f"panda_link{number}"
        joint = joints[name]
        H = H @ pose_of(joint.find("origin"))
        axis = H[:3, :3] @ numbers(joint.find("axis"), "xyz")
        inertial = next(link for link in root.findall("link") if link.get("name") == name).find("inertial")
        own = pose_of(inertial.find("origin"))
        xx, xy, xz, yy, yz, zz = (float(inertial.find("inertia").get(key)) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        moment = own[:3, :3] @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ own[:3, :3].T
        inertia = BodyInertia(float(inertial.find("mass").get("value")), moment, own[:3, 3])
        links.append(Link(f"link {number}", revolute(axis, H[:3, 3]), inertia, home=H))
    return Chain("panda", tuple(links))
