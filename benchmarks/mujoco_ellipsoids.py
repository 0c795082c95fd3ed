"""S2a (an egg rolls round a fixed egg) with ellipsoids of the eggs' size, in screwbond and in MuJoCo: cost per
simulated second, slip, and energy error.

MuJoCo has no force of constant magnitude towards a body: the loop sets `xfrc_applied` before every step, and the
time that this takes is stated separately. A force that is constant over a step suits the semi-implicit integrator
`implicitfast`; with RK4 it would add energy.

MuJoCo's contact is soft in a different way from ours: `solref` is a time constant T and a damping ratio, and with a
constant impedance d in `solimp` it amounts to the normal stiffness m d / ((1 - d) (d T)^2). Here d = 0.95,
damping is critical, and T is 7.95 ms, which gives our normal stiffness of 20 kN/m, or 2 ms, the
minimum that MuJoCo's manual allows for a time step of 1 ms. Elliptic friction cones with `impratio` 10 reduce slip,
torsional friction (`condim` 4) constrains omega_z, and the coefficients of friction are so large that no contact
slips, since our contact sticks.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from screwbond.models import attach_central_gravity, central_gravity
from screwbond.models.bodies import ground, rigid_body
from screwbond.models.contacts import attach_contact, contact

from benchmarks import timing
from benchmarks.command import run_command
from bondgraph import Compiled, Graph, compile_model
from screws import Ad, pose_state
from screws.contact import relative_pose
from screws.surfaces import ellipsoid

AXES = (0.02296, 0.02296, 0.028)
"""Semi-axes, m: half the eggs' width and length."""
MASS, STIFFNESS, PULL, END = 0.06, 2e4, 0.06 * 9.81, 2.0  # kg, N/m, N, s
INERTIA = tuple(MASS / 5.0 * (sum(a * a for a in AXES) - AXES[i] ** 2) for i in range(3))
FORCE = 0.277  # N, between the bodies at the start
IMPEDANCE, SOFT, HARD = 0.95, 7.95e-3, 2e-3  # MuJoCo's contact: d, and time constants in s
OMEGA = (-17.5, 7.4)  # rad/s, in C2

CASES = ((2e-3, SOFT), (1e-3, SOFT), (1e-3, HARD), (1e-4, SOFT), (1e-4, HARD))
"""MuJoCo's runs: time step and time constant of the contact, s."""

SCENE = """
<mujoco>
  <option timestep="{step}" gravity="0 0 0" integrator="implicitfast" cone="elliptic" impratio="10"
          tolerance="1e-12" iterations="200" ccd_tolerance="1e-10" ccd_iterations="100"/>
  <default><geom type="ellipsoid" size="{size}" condim="4" friction="5 1 0" solref="{constant} 1"
                 solimp="{impedance} {impedance} 1e-3"/></default>
  <worldbody>
    <geom name="1"/>
    <body name="2" pos="{position}" quat="{quaternion}">
      <freejoint/><inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia}"/><geom name="2"/>
    </body>
  </worldbody>
</mujoco>
"""


@dataclass(frozen=True)
class Start:
    """Pose (position, quaternion) and velocity (linear at its centre, angular) of body 2 at the start."""

    position: np.ndarray
    quaternion: np.ndarray
    velocity: np.ndarray
    omega: np.ndarray


def start(stiffness: float = STIFFNESS) -> Start:
    """Return the pose and velocity at the contact (u, v) = (1.28, 0), (0.96, 0) with angle 0.61, rolling without slip or
    spin."""
    skin = ellipsoid(AXES)
    g1, g2 = skin.geometry((1.28, 0.0)), skin.geometry((0.96, 0.0))
    H = relative_pose(g1, g2, alpha=0.61, d=-FORCE / stiffness)
    T = Ad(H @ g2.H) @ np.array([*OMEGA, 0.0, 0.0, 0.0, 0.0])
    position = np.asarray(H[:3, 3], dtype=float)
    return Start(position, np.asarray(pose_state(H)[:4], float), T[3:] + np.cross(T[:3], position), T[:3])


def graph() -> Graph:
    skin, at = ellipsoid(AXES), start()
    fixed = ground("ellipsoid 1", surface=skin)
    rolling = rigid_body(
        "ellipsoid 2",
        mass=MASS,
        inertia=INERTIA,
        surface=skin,
        position=at.position.tolist(),
        quaternion=at.quaternion.tolist(),
        velocity=at.velocity.tolist(),
        angular_velocity=at.omega.tolist(),
    )
    touching = contact(
        "contact",
        fixed,
        rolling,
        constrained="rolling",
        normal_stiffness=STIFFNESS,
        normal_damping=10.0,
        tangential_stiffness=STIFFNESS,
        tangential_damping=10.0,
        rotational_stiffness=2.0,
        rotational_damping=2e-3,
    )
    whole = Graph("rolling ellipsoids")
    attach_contact(whole, touching, fixed, rolling)
    attach_central_gravity(whole, central_gravity("gravity", rolling, fixed, PULL), rolling, fixed)
    return whole


def ours(compiled: Compiled, rtol: float, repeats: int) -> dict[str, Any]:
    samples = np.linspace(0.0, END, 4001)
    walls = []
    for _ in range(repeats):
        run = compiled.simulate(END, samples=samples, rtol=rtol, progress=False)
        walls.append(run.statistics.wall_time)
    slip = np.linalg.norm(run["contact.Ad.2.flow"][:, 3:5], axis=1)
    twist = run["ellipsoid 2.twist"]
    kinetic = 0.5 * (twist[:, :3] ** 2 @ np.array(INERTIA) + MASS * np.sum(twist[:, 3:] ** 2, axis=1))
    mechanical = kinetic + PULL * np.linalg.norm(run["ellipsoid 2.pose"][:, 4:], axis=1)
    return {
        "wall": timing.median(walls) / END,
        "steps": run.statistics.steps,
        "in contact": float(np.mean(run["contact.gap"] < 0.0)),
        "residual": run.ledger.relative_residual,
        **_quality(samples, slip, mechanical, kinetic[0], run["ellipsoid 2.pose"][-1, 4:]),
    }


def theirs(step: float, constant: float, repeats: int) -> dict[str, Any]:
    import mujoco

    stiffness = MASS * IMPEDANCE / ((1.0 - IMPEDANCE) * (IMPEDANCE * constant) ** 2)
    at = start(stiffness)

    def words(values: Sequence[float] | np.ndarray) -> str:
        return " ".join(f"{value:.17g}" for value in values)

    model = mujoco.MjModel.from_xml_string(
        SCENE.format(
            step=step,
            size=words(AXES),
            constant=constant,
            mass=MASS,
            position=words(at.position),
            quaternion=words(at.quaternion),
            inertia=words(INERTIA),
            impedance=IMPEDANCE,
        )
    )
    data = mujoco.MjData(model)
    count = round(END / step)
    force, position, advance = data.xfrc_applied[1], data.qpos, mujoco.mj_step

    def begin() -> None:
        mujoco.mj_resetData(model, data)
        data.qvel[:3], data.qvel[3:] = at.velocity, _rotation(data.qpos[3:7]).T @ at.omega

    def pull() -> None:
        x, y, z = position[0], position[1], position[2]
        factor = -PULL / (x * x + y * y + z * z) ** 0.5
        force[0], force[1], force[2] = factor * x, factor * y, factor * z

    walls, forces = [], []
    for _ in range(repeats):
        begin()
        clock = time.perf_counter()
        for _ in range(count):
            pull()
            advance(model, data)
        walls.append(time.perf_counter() - clock)
        clock = time.perf_counter()
        for _ in range(count):
            pull()
        forces.append(time.perf_counter() - clock)

    # A run of the same steps that examines each of them.
    begin()
    slip, mechanical, kinetic = np.empty(count + 1), np.empty(count + 1), np.empty(count + 1)
    pair, loaded = np.empty(6), 0
    for k in range(count + 1):
        pull()
        mujoco.mj_forward(model, data)
        kinetic[k] = 0.5 * float(np.dot(INERTIA, np.square(data.qvel[3:])) + MASS * np.dot(data.qvel[:3], data.qvel[:3]))
        mechanical[k] = kinetic[k] + PULL * float(np.linalg.norm(data.qpos[:3]))
        loaded += data.ncon > 0
        mujoco.mj_geomDistance(model, data, 0, 1, 0.01, pair)
        point = 0.5 * (pair[:3] + pair[3:])
        normal = point / np.square(AXES)
        normal /= np.linalg.norm(normal)
        velocity = data.qvel[:3] + np.cross(_rotation(data.qpos[3:7]) @ data.qvel[3:], point - data.qpos[:3])
        slip[k] = np.linalg.norm(velocity - normal * (normal @ velocity))
        last = data.qpos[:3].copy()
        if k < count:
            advance(model, data)
    return {
        "wall": timing.median(walls) / END,
        "force's share": timing.median(forces) / timing.median(walls),
        "wall without force": (timing.median(walls) - timing.median(forces)) / END,
        "steps": count,
        "in contact": loaded / (count + 1),
        "normal stiffness": stiffness,
        **_quality(np.linspace(0.0, END, count + 1), slip, mechanical, kinetic[0], last),
    }


def _rotation(q: np.ndarray) -> np.ndarray:
    from screws import rotation

    return np.asarray(rotation(q), dtype=float)


def _quality(t: np.ndarray, slip: np.ndarray, energy: np.ndarray, kinetic: float, last: np.ndarray) -> dict[str, Any]:
    return {
        "slip": float(np.trapezoid(slip, t)),
        "slip velocity": float(np.max(slip)),
        "energy change": float((energy[-1] - energy[0]) / kinetic),
        "energy error": float(np.max(np.abs(energy - energy[0])) / kinetic),
        "position": [float(value) for value in last],
    }


def measure(repeats: int = 7, cases: Sequence[tuple[float, float]] = CASES) -> dict[str, Any]:
    import mujoco

    compiled = compile_model(graph())
    found: dict[str, Any] = {"mujoco": mujoco.__version__, "runs": {}}
    for rtol in (1e-4, 1e-8):
        found["runs"][f"screwbond, rtol {rtol:g}"] = ours(compiled, rtol, repeats)
    reference = np.array(ours(compiled, 1e-11, 1)["position"])
    for step, constant in cases:
        label = f"MuJoCo, {1e3 * step:g} ms, solref {1e3 * constant:g} ms"
        found["runs"][label] = theirs(step, constant, repeats if step > 5e-4 else min(repeats, 3))
    for run in found["runs"].values():
        run["distance"] = float(np.linalg.norm(np.array(run["position"]) - reference))
    return found


def report(found: Mapping[str, Any]) -> str:
    base = found["runs"]["screwbond, rtol 1e-08"]
    rows = []
    for name, run in found["runs"].items():
        own = f"{1e3 * run['wall without force']:.1f}" if "wall without force" in run else "-"
        rows.append(
            [
                name,
                str(run["steps"]),
                f"{1e3 * run['wall']:.1f}",
                own,
                f"{run['wall'] / base['wall']:.2f}",
                f"{1e3 * run['slip']:.3f}",
                f"{run['slip'] / base['slip']:.1f}",
                f"{1e3 * run['slip velocity']:.2f}",
                f"{run['energy change']:+.1e}",
                f"{run['energy error']:.1e}",
                f"{run['in contact']:.2f}",
                f"{1e3 * run['distance']:.2g}",
            ]
        )
    head = ["", "steps", "ms per s", "own", "ratio", "slip mm", "ratio", "max mm/s", "energy", "max", "contact", "off mm"]
    notes = (
        f"Ellipsoid rolling round an ellipsoid, {END:g} s, compared with MuJoCo {found['mujoco']}",
        "  ms per simulated second (own: without the loop that sets the force); ratios to our run at rtol 1e-8",
        "  energy: mechanical, change over the run and largest change, relative to the kinetic energy at the start",
        "  contact: fraction of steps with contact; off: distance of the final position from our run at rtol 1e-11",
    )
    return timing.table("\n".join(notes), head, rows)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__.splitlines()[0] if __doc__ else None, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    found = measure(1, CASES[:1]) if quick else measure()
    print(report(found))
    return found


if __name__ == "__main__":
    main()
