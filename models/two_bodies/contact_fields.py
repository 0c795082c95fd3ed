"""The contact of a scenario file: its section in, a checked `ContactSpec` out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from models.contacts.transport import TRANSPORTS
from models.studies.fields import Fields

COMPONENTS = ("omega_x", "omega_y", "omega_z", "v_x", "v_y", "v_z")
"""Components of the twist T_{O2}^{C2,O1} that a contact can constrain."""


@dataclass(frozen=True)
class ContactSpec:
    """The contact law: constrained components of T_{O2}^{C2,O1}, stiffnesses and dampings (SI; 0 where not given), limits of
    friction (None: nothing slips), and how the springs' vectors are carried along."""

    constrained: tuple[str, ...]
    k_n: float
    c_n: float
    k_t: float
    r_t: float
    k_w: float
    r_w: float
    label: str = ""
    friction: float | None = None
    torsional_friction: float | None = None
    transport: str = TRANSPORTS[0]


def contact_fields(fields: Fields | None, notes: list[str], comments: Iterable[str]) -> ContactSpec:
    """The section "contact" of a scenario; meaningless where the document holds problems.

    What was put right or is likely a mistake goes into `notes`; `comments` are keys that mean nothing.
    """
    if fields is None:
        return ContactSpec((), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    constrained = fields.choices("constrained", COMPONENTS)
    stiffness_of = {"v_z": "k_n", "v_x": "k_t", "v_y": "k_t", "omega_x": "k_w", "omega_y": "k_w", "omega_z": "k_w"}
    needed = {stiffness_of[component] for component in constrained}
    units = {"k_n": "N/m", "k_t": "N/m", "k_w": "N m/rad", "c_n": "N s/m", "r_t": "N s/m", "r_w": "N m s/rad"}
    laws = {}
    for key in ("k_n", "k_t", "k_w"):
        given = key in needed or fields.has(key)
        laws[key] = fields.number(key, units[key], default=None if given else 0.0, above=0.0 if key in needed else None)
    for key in ("c_n", "r_t", "r_w"):
        laws[key] = fields.number(key, units[key], default=0.0, least=0.0)
    sliding, damped = ("v_x", "v_y", "v_z"), ("r_t", laws["r_t"])
    friction = _friction(fields, "friction", "", sliding, constrained, damped)
    spinning, damped = ("omega_z", "v_z"), ("r_w", laws["r_w"])
    torsional = _friction(fields, "torsional_friction", "m", spinning, constrained, damped)
    if "v_z" not in constrained:
        notes.append("contact.constrained: without v_z nothing keeps the bodies apart; they pass through each other")
    transport = fields.choice("transport", TRANSPORTS, default=TRANSPORTS[0])
    label = fields.label("paper_name", fields.label("mode", ""))
    fields.finish(comments)
    return ContactSpec(constrained, **laws, label=label, friction=friction, torsional_friction=torsional, transport=transport)


def _friction(
    fields: Fields, key: str, unit: str, needs: tuple[str, ...], constrained: tuple[str, ...], damping: tuple[str, float]
) -> float | None:
    """A limit of friction, or None where it is not given."""
    limit = fields.number(key, unit, default=0.0, least=0.0)
    if not fields.has(key):
        return None
    missing = [component for component in needs if component not in constrained]
    if missing:
        what = f"{', '.join(missing)} is not constrained, so there is no force that it could limit"
        fields.report("E412", key, what, f"constrain {', '.join(needs)}, or leave {key} out")
    elif damping[1] == 0.0:
        what = f"{damping[0]} is zero: a slider needs a damper in parallel with its spring"
        fields.report("E412", key, what, f'"{damping[0]}": a positive number')
    return limit
