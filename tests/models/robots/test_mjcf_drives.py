"""Motors and servos of MJCF files have the laws, gains and ranges that MuJoCo 4.0 gives them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.robots import Robot, read_mjcf

DEFAULTS = (
    "",
    '<motor gear="3"/>',
    '<position kp="500" kv="4"/>',
    '<position kv="4"/>',
    '<velocity kv="7"/>',
    '<position kp="5"/><velocity kv="7"/>',
    '<general gainprm="9"/>',
    '<general gainprm="9" biastype="affine" biasprm="0 -9 -2"/>',
    '<default class="outer"><position kp="5"/><default class="a"><position kv="3"/></default></default>',
)

DRIVES = (
    "<motor/>",
    "<position/>",
    '<position kp="3"/>',
    '<position kv="3"/>',
    "<velocity/>",
    '<velocity kv="2"/>',
    "<general/>",
)

RANGES = (
    ('ctrlrange="-1 1" forcerange="-100 100"', 1.0),
    ('ctrlrange="-90 90" forcerange="-2 3"', 3.0),
    ('ctrlrange="0 0"', np.inf),
    ('ctrlrange="-3 3" ctrllimited="false"', np.inf),
)


def text_of(defaults: str, drive: str, joint: str = "") -> str:
    named = drive.replace("/>", ' joint="j" class="a"/>' if 'class="a"' in defaults else ' joint="j"/>')
    return f"""<mujoco><default>{defaults}</default><worldbody><body name="b"><joint name="j" {joint}/>
      <geom size="0.1" pos="0.3 0 0"/></body></worldbody><actuator>{named}</actuator></mujoco>"""


def read(folder: Path, text: str) -> Robot:
    (folder / "a.xml").write_text(text)
    return read_mjcf(folder / "a.xml", meshes=False)


def law(robot: Robot) -> tuple[float, ...]:
    """Return a, b, c and the gear of the force a u - gear (b q + c q') of the only drive."""
    (drive,) = robot.drives
    b, c = {"motor": (0.0, 0.0), "position": (drive.gain, drive.damping), "velocity": (0.0, drive.gain)}[drive.kind]
    return drive.gain, b, c, drive.gear


def test_a_drive_takes_over_the_gains_of_defaults_of_its_kind(tmp_path: Path) -> None:
    stored = {
        (2, 1): (500, 500, 4, 1),
        (2, 4): (1, 0, 1, 1),
        (2, 6): (500, 500, 4, 1),
        (4, 1): (1, 1, 0, 1),
        (7, 0): (1, 0, 0, 1),
        (7, 2): (3, 3, 2, 1),
        (8, 1): (5, 5, 3, 1),
    }
    for (default, drive), expected in stored.items():
        assert law(read(tmp_path, text_of(DEFAULTS[default], DRIVES[drive]))) == expected, (default, drive)


def test_drives_are_those_of_mujoco(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco", reason="NOT COMPARED WITH MUJOCO: it is not installed (pip install mujoco)")
    for defaults, drive in product(DEFAULTS, DRIVES):
        text = text_of(defaults, drive)
        model = mujoco.MjModel.from_xml_string(text)
        bias = -model.actuator_biasprm[0, 1:3]
        expected = (model.actuator_gainprm[0, 0], *bias, model.actuator_gear[0, 0])
        assert law(read(tmp_path, text)) == pytest.approx(expected, abs=0.0), text


@pytest.mark.parametrize(("ranges", "effort"), RANGES)
def test_the_narrower_range_limits_a_motor(tmp_path: Path, ranges: str, effort: float) -> None:
    assert read(tmp_path, text_of("", f"<motor {ranges}/>")).effort_limits[0] == effort


def test_a_range_of_a_joint_that_does_not_apply_limits_no_effort(tmp_path: Path) -> None:
    joint = 'actuatorfrcrange="-5 4"'
    for more, effort in (("", 5.0), (' actuatorfrclimited="false"', np.inf)):
        assert read(tmp_path, text_of("", "<motor/>", joint + more)).effort_limits[0] == effort


@pytest.mark.parametrize(
    ("motors", "effort"),
    [
        ({"j": 5.0}, 5.0),
        ({"j": 5.0, "k": 3.0}, 5.0 + 2.0 * 3.0),
        ({"k": 3.0}, 2.0 * 3.0),
        ({"l": 7.0}, 2.0 * 0.5 * 7.0),
        ({"j": 5.0, "k": None}, np.inf),
        ({}, 4.0),
    ],
)
def test_motors_of_mimic_joints_add_their_power_to_that_of_the_leader(
    tmp_path: Path, motors: dict[str, float | None], effort: float
) -> None:
    body = '<body><joint name="{}" {}/><geom size="0.1"/>{}</body>'
    range_of_j = "" if motors else 'actuatorfrcrange="-4 4"'
    bodies = body.format("j", range_of_j, body.format("k", "", body.format("l", "", "")))
    ranges = {joint: "" if bound is None else f'forcerange="-{bound} {bound}"' for joint, bound in motors.items()}
    drives = "".join(f'<motor joint="{joint}" {bounds}/>' for joint, bounds in ranges.items())
    pairs = '<joint joint1="k" joint2="j" polycoef="0.1 -2"/><joint joint1="l" joint2="k" polycoef="0 0.5"/>'
    text = f"<mujoco><worldbody>{bodies}</worldbody><actuator>{drives}</actuator><equality>{pairs}</equality></mujoco>"
    assert read(tmp_path, text).effort_limits.tolist() == [effort]
