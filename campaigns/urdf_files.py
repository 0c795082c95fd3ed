"""Read the public URDF files of a folder, or list why they are refused, and compare poses and M(q) with Pinocchio, if installed.

`python -m campaigns.urdf_files FOLDER` prints files and reasons as tables; identical files count once. The exit status is 1 if a
file raises an error other than `ModelError`, or differs from Pinocchio.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from screwbond.models.chains import body_jacobian, link_pose, mass_matrix
from screwbond.models.robots import Robot, read_urdf

from bondgraph import ModelError
from campaigns.processes import Progress

TOLERANCE = 1e-9
"""Largest difference of a pose, relative to the robot's size, and of M(q), relative to its largest entry."""

SAMPLES = 3

REPEATS = re.compile(r'"[^"]*"|[-+\d.e]*\d[-+\d.e]*')
"""Pattern of the names and numbers in a message, which differ from file to file."""

SHAPES = re.compile(rb"<(visual|collision|gazebo|transmission)\b.*?</\1>", re.DOTALL)


class NotCompared(Exception): ...


def files_of(folder: Path) -> Iterator[Path]:
    seen: set[bytes] = set()
    for path in sorted(folder.rglob("*.urdf")):
        digest = hashlib.sha256(path.read_bytes()).digest()
        if digest not in seen:
            seen.add(digest)
            yield path


def reasons_of(error: ModelError) -> set[str]:
    """Return the reasons for a refusal, with names and numbers removed."""
    return {f"{problem.code} {REPEATS.sub('...', problem.title)[:90]}" for problem in error.problems}


def mended(text: bytes) -> bytes:
    """Return plain XML for a strict parser, reduced to links and joints, with all products of inertia, limits, and a
    declared world."""
    from lxml import etree

    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, remove_comments=True)
    root = etree.fromstring(SHAPES.sub(b"", text), parser)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2].replace(":", "_")
        for key, value in element.attrib.items():
            element.set(key, " ".join(value.split()))
        if element.tag == "inertia":
            for key in ("ixy", "ixz", "iyz"):
                element.set(key, element.get(key, "0"))
    root.set("name", root.get("name", "robot"))
    names: set[tuple[str, str]] = set()
    for element in list(root):
        key = element.tag, element.get("name")
        if element.tag not in ("link", "joint") or key in names:
            root.remove(element)
            continue
        names.add(key)
        for part in element.findall("axis")[1:] + element.findall("limit"):
            element.remove(part)
        if element.get("type") in ("revolute", "prismatic"):
            etree.SubElement(element, "limit", lower="-9", upper="9", effort="9", velocity="9")
    if ("link", "world") not in names and root.find("joint/parent[@link='world']") is not None:
        etree.SubElement(root, "link", name="world")
    return etree.tostring(root, encoding="utf-8")


class PinocchioTree:
    def __init__(self, pin: Any, robot: Robot, text: bytes):
        self.pin, self.robot = pin, robot
        self.base = robot.tree.links[0] if robot.tree.links[0].joint.freedoms else None
        root_joint = () if self.base is None else (pin.JointModelFreeFlyer(),)
        try:
            self.model = pin.buildModelFromXML(text.decode("utf-8", "replace"), *root_joint)
        except Exception as error:
            raise NotCompared("Pinocchio cannot read it") from error
        self.data = self.model.createData()
        self.frames = {plain(frame.name): k for k, frame in enumerate(self.model.frames) if frame.type == pin.FrameType.BODY}
        if self.model.nv != sum(robot.tree.links[robot.tree.index(j.link)].joint.freedoms for j in robot.joints):
            raise NotCompared("Pinocchio has a different number of joints")

    def update(self, q: np.ndarray) -> None:
        pin, tree = self.pin, self.robot.tree
        at, S = pin.neutral(self.model), np.zeros((self.model.nv, tree.freedoms))
        for joint in self.robot.joints:
            link = tree.index(joint.link)
            is_base = self.base is not None and link == 0
            other = self.model.joints[1 if is_base else self.model.getJointId(joint.name)]
            J = np.asarray(body_jacobian(tree, link, q), dtype=float)
            if other.nv == 1:
                x, row = self._position(joint, q, tree.freedoms)
                at[other.idx_q : other.idx_q + other.nq] = [x] if other.nq == 1 else [np.cos(x), np.sin(x)]
                S[other.idx_v] = row
            elif other.nv == 6:
                own = self.robot.coordinates[joint.name]
                H = np.asarray(link_pose(tree, link, q), dtype=float)
                if not is_base:
                    carrier = np.asarray(link_pose(tree, tree.parents[link], q), dtype=float) @ self._origin(joint.name)
                    H = np.linalg.solve(carrier, H)
                at[other.idx_q : other.idx_q + 7] = pin.SE3ToXYZQUAT(pin.SE3(H))
                S[np.ix_(range(other.idx_v, other.idx_v + 6), own)] = np.vstack([J[3:], J[:3]])[:, own]
            else:
                raise NotCompared(f"a {joint.kind} joint")
        pin.framesForwardKinematics(self.model, self.data, at)
        M = pin.crba(self.model, self.data, at)
        self.M = S.T @ (np.triu(M) + np.triu(M, 1).T) @ S

    def pose(self, link: str) -> np.ndarray:
        return np.asarray(self.data.oMf[self.frames[link]].homogeneous)

    def _origin(self, joint: str) -> np.ndarray:
        return np.asarray(self.model.jointPlacements[self.model.getJointId(joint)].homogeneous)

    def _position(self, joint: Any, q: np.ndarray, count: int) -> tuple[float, np.ndarray]:
        """Return the position of a joint and its derivatives (n,), through the joints that it follows."""
        joints = {each.name: each for each in self.robot.joints}
        links = {link.name: link for link in self.robot.tree.links}
        factor, offset = 1.0, 0.0
        while joint.leader:
            mimic = links[joint.link].mimic
            assert mimic is not None
            offset, factor, joint = offset + factor * mimic.offset, factor * mimic.factor, joints[joint.leader]
        (k,) = self.robot.coordinates[joint.name]
        return float(factor * q[k] + offset), factor * np.eye(count)[k]


def plain(name: str) -> str:
    return re.sub(r"->|[.:']|^-", "_", name)


def compare(pin: Any, robot: Robot, text: bytes) -> str:
    """Return the comparison with Pinocchio, which reads the original file or, if that fails, a repaired copy."""
    as_it_is = compare_text(pin, robot, text)
    if as_it_is.startswith("poses agree"):
        return as_it_is
    result = compare_text(pin, robot, mended(text))
    return f"{result}; repaired for Pinocchio" if result.startswith("poses agree") else result


def compare_text(pin: Any, robot: Robot, text: bytes) -> str:
    """Return a description of what agrees or differs, or why the results were not compared."""
    tree, rng, mass = robot.tree, np.random.default_rng(1), "M agrees" if robot.joints else "nothing moves"
    try:
        reference = PinocchioTree(pin, robot, text)
        for _ in range(SAMPLES):
            q = rng.uniform(-1.0, 1.0, tree.freedoms)
            reference.update(q)
            poses = [(link.name, np.asarray(link_pose(tree, k, q), dtype=float)) for k, link in enumerate(tree.links)]
            others = [reference.pose(name) for name, _ in poses]
            size = max(1.0, *(float(np.abs(other).max()) for other in others))
            for (name, own), other in zip(poses, others, strict=True):
                if not np.abs(own - other).max() < TOLERANCE * size:
                    return f"DIFFERENT pose of {name}"
            try:
                M = np.asarray(mass_matrix(tree, q), dtype=float)
            except ModelError as error:
                codes = {problem.code for problem in error.problems}
                mass = f"M refused ({', '.join(sorted(codes))})"
                if "E538" in codes and np.all(np.any(np.abs(reference.M) > 0.0, axis=1)):
                    return "DIFFERENT M(q): Pinocchio's has no row of zeros"
            else:
                if M.size and not np.abs(M - reference.M).max() <= TOLERANCE * np.abs(reference.M).max():
                    return "DIFFERENT M(q)"
    except NotCompared as error:
        return f"not compared: {error}"
    return f"poses agree, {mass}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--names", action="store_true", help="print the file of every refusal and difference")
    parser.add_argument("--floating", action="store_true", help="bases that move freely")
    arguments = parser.parse_args()
    if arguments.folder is None:
        print("no folder given, so no files are read")
        return 0
    try:
        import pinocchio as pin
    except ImportError:
        pin = None
    sources, reasons, results = Counter[str](), Counter[str](), Counter[str]()
    wrong, paths = 0, list(files_of(arguments.folder))
    watched = Progress(len(paths), "files")
    for path in paths:
        watched.add()
        name = path.relative_to(arguments.folder)
        sources[f"{name.parts[0]} files"] += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                robot = read_urdf(path, meshes=False, floating=arguments.floating)
        except ModelError as error:
            reasons.update(found := reasons_of(error))
            if arguments.names:
                print(f"{name}: {'; '.join(sorted(found))}")
            continue
        except Exception as error:
            wrong += 1
            print(f"{name}: {type(error).__name__} {error}")
            continue
        sources[f"{name.parts[0]} read"] += 1
        result = compare(pin, robot, path.read_bytes()) if pin else "read"
        results[result.partition(" of ")[0]] += 1
        wrong += result.startswith("DIFFERENT")
        if result.startswith("DIFFERENT") or (arguments.names and result.startswith("not")):
            print(f"{name}: {result}")
    for title, counter in (("sources", sources), ("refused, by reason", reasons), ("read", results)):
        print(f"\n{title}")
        for what, count in sorted(counter.items()) if counter is sources else counter.most_common():
            print(f"{count:6d}  {what}")
    total = sum(count for what, count in sources.items() if what.endswith("files"))
    print(f"\n{sum(results.values())} of {total} files read")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
