"""The dexterous hand in MuJoCo, from the same parameters: cost per simulated second, slip, forces, final position.

The springs from the poles are tendons of rest length zero; the virtual object is on three slides and a ball joint whose springs
pull it to the reference (`qpos_spring`, set before every step). Both are springs of the MuJoCo model, without a callback. Links
do not collide. MuJoCo's contact is soft in a different way from ours: `solref` is a time constant and a damping ratio, and with a
constant impedance d in `solimp` a contact with effective mass m has the normal stiffness m d / ((1 - d) (d constant)^2). Here d
= 0.95, damping is critical, and the time constant gives our normal stiffness with the effective mass that MuJoCo computes at the
start posture; elliptic cones with `impratio` 10 reduce slip. MuJoCo's friction has no springs along the surface: under a steady
tangential force a contact creeps.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from screwbond.models.hand import SCENARIOS, HandParameters, HandScenario, Posture, initial_posture, reference_motion
from screwbond.models.hand.grasping import in_last_link, virtual_points_in_object

from benchmarks import timing
from benchmarks.command import run_command

IMPEDANCE, STICKS = 0.95, 5.0
"""MuJoCo's impedance d, and a coefficient of friction at which nothing slips."""


def _words(values: Sequence[float] | np.ndarray) -> str:
    return " ".join(f"{value:.17g}" for value in np.atleast_1d(values))


def scene(given: HandParameters, pose: Posture, step: float, constant: float) -> str:
    if given.object_shape not in ("sphere", "ellipsoid"):
        raise ValueError(f'MuJoCo has no geom for the shape "{given.object_shape}"')
    virtual = virtual_points_in_object(given, pose)
    mu = STICKS if given.friction is None else given.friction
    fingers = "".join(_finger(given, pose, i) for i in range(given.fingers))
    sites = "".join(f'<site name="point {i}" pos="{_words(point)}"/>' for i, point in enumerate(virtual))
    tendons = "".join(
        f'<spatial stiffness="{given.finger_stiffness:.17g}" springlength="0"><site site="pole {i}"/>'
        f'<site site="point {i}"/></spatial>'
        for i in range(given.fingers)
    )
    slides = "".join(
        f'<joint type="slide" axis="{axis}" stiffness="{given.reference_stiffness:.17g}" damping="{given.virtual_damping:.17g}"/>'
        for axis in ("1 0 0", "0 1 0", "0 0 1")
    )
    kind = given.object_shape
    return f"""
<mujoco>
  <compiler angle="radian"/>
  <option timestep="{step}" gravity="0 0 0" integrator="implicitfast" jacobian="dense" cone="elliptic" impratio="10"
          tolerance="1e-12" iterations="200"/>
  <default>
    <geom contype="0" conaffinity="0" condim="4" friction="{mu} 1 0" solref="{constant:.17g} 1"
          solimp="{IMPEDANCE} {IMPEDANCE} 1e-3"/>
    <joint damping="{given.joint_damping:.17g}"/>
  </default>
  <worldbody>
    {fingers}
    <body name="object" pos="{_words(given.object_position)}" quat="{_words(given.object_quaternion)}">
      <freejoint/>
      <inertial pos="0 0 0" mass="{given.object_mass:.17g}" diaginertia="{_words(given.inertia)}"/>
      <geom name="object" type="{kind}" size="{_words(given.object_size)}" contype="2" conaffinity="1"/>
    </body>
    <body name="virtual object">
      {slides}
      <joint type="ball" stiffness="{given.reference_rotational_stiffness:.17g}"
             damping="{given.virtual_rotational_damping:.17g}"/>
      <inertial pos="0 0 0" mass="{given.virtual_mass:.17g}" diaginertia="{_words([given.virtual_inertia] * 3)}"/>
      {sites}
    </body>
  </worldbody>
  <tendon>{tendons}</tendon>
</mujoco>
"""


def _finger(given: HandParameters, pose: Posture, finger: int) -> str:
    """Return a finger as four nested links, whose frames are parallel to e_r, e_t, z at pitch zero."""
    pole = in_last_link(given, finger, pose.joints[finger], pose.poles[finger])
    last = given.link_lengths[3]
    text = (
        f'<geom name="tip {finger}" type="sphere" pos="0 0 {last:.17g}" size="{given.tip_radius:.17g}" '
        f'mass="{given.tip_mass:.17g}" contype="1" conaffinity="2"/>'
        f'<site name="pole {finger}" pos="{_words(pole + np.array([0.0, 0.0, last]))}"/>'
    )
    for link in (3, 2, 1, 0):
        length = given.link_lengths[link]
        axis = "0 -1 0" if link else "0 0 1"
        cylinder = (
            f'<geom type="cylinder" pos="0 0 {0.5 * length:.17g}" mass="{given.link_masses[link]:.17g}" '
            f'size="{given.link_radius:.17g} {0.5 * length:.17g}"/>'
        )
        if link:
            place = f'pos="0 0 {given.link_lengths[link - 1]:.17g}"'
        else:
            half = 0.5 * given.azimuths[finger]
            place = f'pos="{_words(given.bases[finger])}" quat="{_words([np.cos(half), 0.0, 0.0, np.sin(half)])}"'
        text = f'<body {place}><joint type="hinge" axis="{axis}"/>{cylinder}{text}</body>'
    return text


def effective_mass(given: HandParameters, pose: Posture, step: float) -> float:
    """Return the smallest effective mass of MuJoCo's contacts between tip and object at the start posture, kg."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(scene(given, pose, step, 5e-3))
    data = mujoco.MjData(model)
    begin(model, data, given, pose)
    mujoco.mj_forward(model, data)
    rows = np.asarray(data.efc_J).reshape(data.nefc, -1)
    normals = np.array([rows[data.contact[i].efc_address] for i in range(data.ncon)])
    moved = np.zeros_like(normals)
    mujoco.mj_solveM(model, data, moved, normals)
    return 1.0 / float(np.max(np.sum(normals * moved, axis=1)))


def begin(model: Any, data: Any, given: HandParameters, pose: Posture) -> None:
    import mujoco

    mujoco.mj_resetData(model, data)
    hinges = 4 * given.fingers
    data.qpos[:hinges] = pose.joints.ravel()
    data.qpos[hinges + 7 : hinges + 10] = given.object_position
    data.qpos[hinges + 10 :] = given.object_quaternion


def run(scenario: HandScenario, step: float = 1e-3, constant: float | None = None, repeats: int = 3) -> dict[str, Any]:
    """Run a scenario in MuJoCo.

    Parameters
    ----------
    step : time step, s.
    constant : time constant of the contact, s; None for the value that gives our normal stiffness, but at least two steps.

    Returns
    -------
    wall : computing time per simulated second, including the loop that moves the reference (`reference's share`).
    slip : length of the tangential path at each contact, m. ball, virtual object : positions at the end, m.
    normal force : smallest and largest, N, after the first tenth of a second. lost : True if a contact was open at the end.
    """
    import mujoco

    given = scenario.parameters
    pose = initial_posture(given)
    if constant is None:
        mass = effective_mass(given, pose, step)
        stiffness = given.normal_stiffness
        constant = max(2.0 * step, float(np.sqrt(mass * IMPEDANCE / ((1.0 - IMPEDANCE) * stiffness))) / IMPEDANCE)
    model = mujoco.MjModel.from_xml_string(scene(given, pose, step, constant))
    data = mujoco.MjData(model)
    count, at = round(scenario.t_end / step), 4 * given.fingers + 7
    motion = reference_motion(scenario.steps, given.object_position, given.object_quaternion)
    places = motion.pose(step * np.arange(count + 1))[:, [4, 5, 6, 0, 1, 2, 3]]
    pulled, advance = model.qpos_spring[at:], mujoco.mj_step
    walls, shares = [], []
    for _ in range(repeats):
        begin(model, data, given, pose)
        clock = time.perf_counter()
        for k in range(count):
            pulled[:] = places[k]
            advance(model, data)
        walls.append(time.perf_counter() - clock)
        clock = time.perf_counter()
        for k in range(count):
            pulled[:] = places[k]
        shares.append(time.perf_counter() - clock)

    begin(model, data, given, pose)
    ball = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, "object")
    tips = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, f"tip {i}") for i in range(given.fingers)]
    slip, normal, open_at_end = np.zeros(given.fingers), [], True
    for k in range(count):
        pulled[:] = places[k]
        advance(model, data)
        wrench = np.zeros(6)
        touching = 0
        for i in range(data.ncon):
            touch = data.contact[i]
            finger = tips.index(int(touch.geom1) if int(touch.geom1) in tips else int(touch.geom2))
            relative = _velocity(model, data, ball, touch.pos) - _velocity(model, data, tips[finger], touch.pos)
            n = touch.frame[:3]
            slip[finger] += step * float(np.linalg.norm(relative - n * (n @ relative)))
            mujoco.mj_contactForce(model, data, i, wrench)
            touching += 1
            if k * step > 0.1:
                normal.append(float(wrench[0]))
        open_at_end = touching < given.fingers
    return {
        "wall": timing.median(walls) / scenario.t_end,
        "reference's share": timing.median(shares) / timing.median(walls),
        "steps": count,
        "constant": constant,
        "slip": slip.tolist(),
        "normal force": [min(normal), max(normal)] if normal else [0.0, 0.0],
        "ball": data.geom_xpos[ball].tolist(),
        "virtual object": data.qpos[at : at + 3].tolist(),
        "lost": open_at_end,
    }


def _velocity(model: Any, data: Any, geom: int, place: np.ndarray) -> np.ndarray:
    """Return the velocity of a geom's point that is now at `place` (3,), in world axes, m/s."""
    import mujoco

    twist = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_GEOM, geom, twist, 0)
    return twist[3:] + np.cross(twist[:3], np.asarray(place) - data.geom_xpos[geom])


STEPS = (2e-3, 1e-3, 2e-4)


def measure(repeats: int = 3, steps: Sequence[float] = STEPS) -> dict[str, Any]:
    import mujoco

    runs = {f"{1e3 * step:g} ms": run(SCENARIOS["main"], step, repeats=repeats) for step in steps}
    return {"mujoco": mujoco.__version__, "runs": runs}


def report(found: dict[str, Any]) -> str:
    rows = [
        [
            name,
            str(f["steps"]),
            f"{1e3 * f['wall']:.1f}",
            f"{1e3 * f['constant']:.2f}",
            " ".join(f"{1e3 * s:.2f}" for s in f["slip"]),
            "-".join(f"{n:.2f}" for n in f["normal force"]),
            " ".join(f"{1e3 * c:.3f}" for c in f["ball"]),
            " ".join(f"{1e3 * c:.3f}" for c in f["virtual object"]),
        ]
        for name, f in found["runs"].items()
    ]
    head = ["step", "steps", "ms per s", "solref ms", "slip mm", "normal N", "ball mm", "virtual object mm"]
    return timing.table(f"The hand, main, in MuJoCo {found['mujoco']}", head, rows)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__.splitlines()[0] if __doc__ else None, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    found = measure(1, STEPS[:1]) if quick else measure(5)
    print(report(found))
    return found


if __name__ == "__main__":
    main()
