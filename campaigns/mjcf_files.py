"""Compare MJCF files of a folder and random MJCF files with MuJoCo: poses, mass matrix, bias and passive forces.

`python -m campaigns.mjcf_files [FOLDER] [--random N]` prints files, and tables of reasons and results. The exit status is 1 if a
file differs from MuJoCo by more than the tolerance.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from screwbond.models.chains import bias, body_jacobian, gravity_forces, link_pose, mass_matrix
from screwbond.models.robots import Robot, read_mjcf

from bondgraph import ModelError
from campaigns.processes import Progress
from campaigns.urdf_files import plain, reasons_of
from screws import quaternion
from screws.errors import plural

SAMPLES = 3


class MujocoModel:
    def __init__(self, robot: Robot, path: Path):
        import mujoco

        self.mujoco, self.robot = mujoco, robot
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.data = mujoco.MjData(self.model)
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
        if self.model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY:
            self.model.opt.gravity[:] = 0.0
        self.bodies = self._names()
        self.joints = self._joints()

    def _names(self) -> dict[str, int]:
        """Return the indices of the bodies of links; bodies without a name get the reader's names."""
        names = [self.model.body(b).name for b in range(self.model.nbody)]
        taken, links = {plain(name) for name in names if name}, dict[str, int]()
        for b, name in enumerate(names):
            k, link = 1, plain(name) or "body"
            while not name and link in taken:
                k += 1
                link = f"body_{k}"
            taken.add(link)
            links[link] = b
        return links

    def _joints(self) -> dict[str, int]:
        joints: dict[str, int] = {}
        for link, b in self.bodies.items():
            first, count = int(self.model.body_jntadr[b]), int(self.model.body_jntnum[b])
            for k in range(count):
                name = self.model.joint(first + k).name or (link if count == 1 else f"{link}_joint_{k + 1}")
                joints[name] = first + k
        return joints

    def rates(self, q: np.ndarray) -> np.ndarray:
        """Return S (m, n), which maps our joint velocities to MuJoCo's."""
        tree, model = self.robot.tree, self.model
        S = np.zeros((model.nv, tree.freedoms))
        for joint in self.robot.joints:
            link = tree.index(joint.link)
            j = self.joints[joint.name]
            row, own = int(model.jnt_dofadr[j]), self.robot.coordinates.get(joint.name)
            if own is None:
                factor, leader = 1.0, tree.links[link]
                while leader.mimic is not None:
                    factor, leader = factor * leader.mimic.factor, tree.links[tree.index(leader.mimic.link)]
                S[row, tree.coordinates.index(leader.name)] = factor
            elif len(own) == 1:
                S[row, own[0]] = 1.0
            else:
                J = np.asarray(body_jacobian(tree, link, q), dtype=float)[:, own]
                if len(own) == 6:
                    S[row : row + 3, own] = np.asarray(link_pose(tree, link, q), dtype=float)[:3, :3] @ J[3:]
                    row += 3
                S[row : row + 3, own] = J[:3]
        return S

    def positions(self, q: np.ndarray) -> np.ndarray:
        tree, model, out = self.robot.tree, self.model, np.array(self.model.qpos0)
        of_sections = iter(tree.sections.positions(q))
        values = {link.name: [float(next(of_sections)) for _ in range(link.joint.freedoms)] for link in tree.links}
        for joint in self.robot.joints:
            k, j = tree.index(joint.link), self.joints[joint.name]
            start = int(model.jnt_qposadr[j])
            if len(values[joint.link]) == 1:
                out[start] = values[joint.link][0]
                continue
            H = np.asarray(link_pose(tree, k, q), dtype=float)
            if len(values[joint.link]) == 6:
                out[start : start + 3] = H[:3, 3]
                start += 3
            else:
                before, home = tree.parents[k], tree.links[k].home
                carrier = np.asarray(link_pose(tree, before, q), dtype=float)
                H = np.linalg.solve(carrier @ np.linalg.solve(tree.links[before].home, home), H)
            out[start : start + 4] = quaternion(H[:3, :3])
        return out

    def differences(self, q: np.ndarray, v: np.ndarray) -> dict[str, float]:
        """Return the relative differences of poses, M(q), bias forces (with weight), and passive forces."""
        tree, data = self.robot.tree, self.data
        S, step = self.rates(q), 1e-3
        ahead = [self.rates(q + k * step * v) for k in (-2, -1, 1, 2)]
        turning = (ahead[0] - 8.0 * ahead[1] + 8.0 * ahead[2] - ahead[3]) / (12.0 * step) @ v
        data.qpos[:], data.qvel[:] = self.positions(q), S @ v
        self.mujoco.mj_forward(self.model, data)
        M = np.zeros((self.model.nv, self.model.nv))
        self.mujoco.mj_fullM(self.model, data, M)
        forces = S.T @ (data.qfrc_bias + M @ turning)
        own = np.asarray(bias(tree, q, v), float) + np.asarray(gravity_forces(tree, self.model.opt.gravity, q), float)
        stiffness, rest = tree.springs
        passive = -tree.damping * v - stiffness * (q - rest)
        poses = [(np.asarray(link_pose(tree, tree.index(name), q), float), b) for name, b in self.bodies.items()]
        reach = max(1.0, float(np.abs(data.xpos).max()))
        other_M = S.T @ M @ S
        return {
            "pose": max(float(np.abs(H[:3, 3] - data.xpos[b]).max()) / reach for H, b in poses),
            "turn": max(float(np.abs(H[:3, :3] - data.xmat[b].reshape(3, 3)).max()) for H, b in poses),
            "M": _relative(np.asarray(mass_matrix(tree, q), float), other_M),
            "bias": _relative(own, forces),
            "passive": _relative(passive, S.T @ data.qfrc_passive),
        }


def _relative(own: np.ndarray, other: np.ndarray) -> float:
    size = float(np.abs(other).max())
    return float(np.abs(own - other).max()) / (size if size > 1e-9 else 1.0)


def compare(robot: Robot, path: Path, rng: np.random.Generator) -> dict[str, float]:
    reference, worst = MujocoModel(robot, path), dict[str, float]()
    for _ in range(SAMPLES):
        q, v = rng.uniform(-1.0, 1.0, (2, robot.tree.freedoms))
        for what, value in reference.differences(q, v).items():
            worst[what] = max(worst.get(what, 0.0), value)
    return worst


def random_file(rng: np.random.Generator) -> str:
    """Return a random MJCF file: two trees with default classes, frames, several joints per body, and all solids."""
    radian = rng.random() < 0.5
    angle = 1.0 if radian else 180.0 / np.pi

    def numbers(count: int, low: float = -1.0, high: float = 1.0) -> str:
        return " ".join(f"{x:.6g}" for x in rng.uniform(low, high, count))

    def turn() -> str:
        x, y = rng.normal(size=(2, 3))
        return str(
            rng.choice(
                [
                    "",
                    f'quat="{numbers(4)}"',
                    f'euler="{numbers(3, -angle, angle)}"',
                    f'axisangle="{numbers(3)} {rng.uniform(-angle, angle):.6g}"',
                    f'xyaxes="{" ".join(f"{c:.6g}" for c in (*x, *y))}"',
                    f'zaxis="{numbers(3)}"',
                ]
            )
        )

    def class_of() -> str:
        return str(rng.choice(["", 'class="a"', 'class="b"']))

    def geom() -> str:
        kind = str(rng.choice(["sphere", "capsule", "cylinder", "ellipsoid", "box"]))
        mass = str(rng.choice(["", f'mass="{rng.uniform(0.1, 2):.4g}"', f'density="{rng.uniform(100, 3000):.4g}"']))
        if kind != "sphere" and rng.random() < 0.3:
            count = 2 if kind in ("box", "ellipsoid") else 1
            return f'<geom type="{kind}" fromto="{numbers(6)}" size="{numbers(count, 0.02, 0.2)}" {mass} {class_of()}/>'
        where = f'pos="{numbers(3)}" {turn()}'
        group = f'group="{rng.integers(6)}"'
        return f'<geom type="{kind}" size="{numbers(3, 0.02, 0.3)}" {where} {mass} {group} {class_of()}/>'

    def joint(kinds: list[str]) -> str:
        kind = str(rng.choice(kinds))
        if kind == "ball":
            return f'<joint type="ball" pos="{numbers(3)}" limited="false" damping="0" armature="0" stiffness="0"/>'
        unit = angle if kind == "hinge" else 1.0
        low, high = sorted(rng.uniform(-unit, unit, 2))
        extras = rng.permutation(
            [
                f'ref="{rng.uniform(-unit, unit):.5g}"',
                f'range="{low:.5g} {high:.5g}"',
                f'damping="{rng.uniform(0, 1):.4g}"',
                f'stiffness="{rng.uniform(0, 9):.4g}" springref="{rng.uniform(-unit, unit):.4g}"',
                f'armature="{rng.uniform(0, 0.5):.4g}"',
            ]
        )[: rng.integers(6)]
        return f'<joint type="{kind}" axis="{numbers(3)}" pos="{numbers(3)}" {" ".join(extras)} {class_of()}/>'

    def body(depth: int) -> str:
        name = f'name="b{rng.integers(10**9)}"' if rng.random() < 0.8 else ""
        child = str(rng.choice(["", 'childclass="a"', 'childclass="b"']))
        joints = [joint(["hinge", "slide", "hinge"]) for _ in range(rng.integers(3))]
        joints = [joint(["ball"])] if rng.random() < 0.15 else joints
        if depth == 0 and rng.random() < 0.3:
            joints = ["<freejoint/>"]
        inertial = f'<inertial pos="{numbers(3)}" {turn()} mass="{rng.uniform(0.1, 3):.4g}" diaginertia="0.2 0.3 0.4"/>'
        full = f'<inertial pos="{numbers(3)}" mass="2" fullinertia="0.3 0.4 0.5 0.01 -0.02 0.03"/>'
        own = str(rng.choice(["", inertial, full]))
        if rng.random() < 0.3:
            joints = [f'<frame pos="{numbers(3)}" {turn()} {child}>{each}</frame>' for each in joints]
            own = own and f'<frame pos="{numbers(3)}"><frame {turn()}>{own}</frame></frame>'
        geoms = "".join(geom() for _ in range(1 + rng.integers(3)))
        if rng.random() < 0.3:
            geoms += f'<frame pos="{numbers(3)}" {turn()} {child}>{geom()}</frame>'
        below = "".join(body(depth + 1) for _ in range(rng.integers(3) if depth < 3 else 0))
        if below and rng.random() < 0.3:
            below = f'<frame pos="{numbers(3)}" {turn()}>{below}</frame>'
        return f'<body {name} pos="{numbers(3)}" {turn()} {child}>{own}{"".join(joints)}{geoms}{below}</body>'

    sequence = "".join(rng.choice(list("xyz"), 3)) if rng.random() < 0.5 else "".join(rng.choice(list("XYZ"), 3))
    extra = str(rng.choice(["", 'settotalmass="7"', 'balanceinertia="true"', 'boundmass="0.5" boundinertia="0.05"']))
    source = str(rng.choice(["auto", "true", "auto"]))
    return f"""<mujoco model="random">
  <compiler angle="{"radian" if radian else "degree"}" eulerseq="{sequence}" inertiafromgeom="{source}" {extra}/>
  <default><geom density="{rng.uniform(300, 2000):.4g}"/>
    <default class="a"><joint damping="0.3" armature="0.02"/><geom density="700"/>
      <default class="b"><joint stiffness="2" axis="1 0 0"/><geom quat="1 0.2 0 0"/></default></default></default>
  <worldbody><geom type="plane" size="1 1 1"/>{body(0)}{body(0)}</worldbody>
</mujoco>
"""


def random_files(folder: Path, count: int, seed: int) -> Iterator[Path]:
    for k in range(count):
        path = folder / f"random_{seed + k}.xml"
        path.write_text(random_file(np.random.default_rng(seed + k)))
        yield path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--random", type=int, default=0, help="number of random files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--omit", nargs="*", default=(), help="elements and attributes to leave out")
    parser.add_argument("--tolerance", type=float, default=1e-11)
    arguments = parser.parse_args()
    try:
        import mujoco  # noqa: F401
    except ImportError:
        print("mujoco is not installed, so no files are compared")
        return 0
    reasons, results, worst, wrong = Counter[str](), Counter[str](), dict[str, float](), 0
    with tempfile.TemporaryDirectory() as place:
        files = [] if arguments.folder is None else sorted(arguments.folder.rglob("*.xml"))
        files = [path for path in files if b"<mujoco" in path.read_bytes()[:4000]]
        files += random_files(Path(place), arguments.random, arguments.seed)
        watched = Progress(len(files), "files")
        for path in files:
            watched.add()
            try:
                robot = read_mjcf(path, meshes=False, omit=arguments.omit)
            except ModelError as error:
                reasons.update(found := reasons_of(error))
                print(f"{path.name}: {'; '.join(sorted(found))}")
                continue
            try:
                found = compare(robot, path, np.random.default_rng(1)) if robot.joints else {}
            except (ValueError, ModelError) as error:
                results["not compared"] += 1
                print(f"{path.name}: not compared, {' '.join(str(error).split())[:160]}")
                continue
            different = {what: value for what, value in found.items() if not value < arguments.tolerance}
            results["DIFFERENT" if different else "agrees"] += 1
            wrong += bool(different)
            coordinates = plural(robot.tree.freedoms, "coordinate")
            print(f"{path.name}: {coordinates}, {different or f'{max(found.values(), default=0.0):.1e}'}")
            for what, value in found.items():
                worst[what] = max(worst.get(what, 0.0), value)
    for title, counter in (("refused, by reason", reasons), ("read", results)):
        print(f"\n{title}")
        for what, count in counter.most_common():
            print(f"{count:6d}  {what}")
    print("largest differences: " + ", ".join(f"{what} {value:.1e}" for what, value in worst.items()))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
