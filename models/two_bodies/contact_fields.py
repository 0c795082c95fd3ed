"""Contact of a scenario file: a checked `ContactSpec` from its section."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from screwbond.models.contacts import COMPONENTS
from screwbond.models.contacts.transport import TRANSPORTS
from screwbond.models.studies.fields import number, word, words
from screwbond.models.studies.reading import JsonSection

STIFFNESS = {"v_z": "k_n", "v_x": "k_t", "v_y": "k_t", "omega_x": "k_w", "omega_y": "k_w", "omega_z": "k_w"}
"""Constrained component of the twist T_{O2}^{C2,O1} -> the stiffness that it needs."""


def _needed(key: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda before: any(STIFFNESS[component] == key for component in before["constrained"])


@dataclass(frozen=True)
class ContactSpec:
    """Contact law of a scenario: constrained components of T_{O2}^{C2,O1}, springs and dampers, limits of friction, transport."""

    constrained: tuple[str, ...] = words(COMPONENTS, "components of the relative twist that are constrained")
    k_n: float = number("N/m", "stiffness of v_z", 0.0, least=0.0, needed=_needed("k_n"))
    c_n: float = number("N s/m", "damping of v_z", 0.0, least=0.0)
    k_t: float = number("N/m", "stiffness of v_x and v_y", 0.0, least=0.0, needed=_needed("k_t"))
    r_t: float = number("N s/m", "damping of v_x and v_y", 0.0, least=0.0)
    k_w: float = number("N m/rad", "stiffness of omega_x, omega_y and omega_z", 0.0, least=0.0, needed=_needed("k_w"))
    r_w: float = number("N m s/rad", "damping of omega_x, omega_y and omega_z", 0.0, least=0.0)
    friction: float | None = number("", "coefficient of the cone beyond which v_x and v_y slip; needs r_t", None, least=0.0)
    torsional_friction: float | None = number(
        "m", "limit of the torque of omega_z over the normal force; needs r_w", None, least=0.0
    )
    transport: str = word(TRANSPORTS, "how the springs' vectors are carried along", TRANSPORTS[0])
    label: str = ""


_LIMITS = {"friction": (("v_x", "v_y", "v_z"), "r_t"), "torsional_friction": (("omega_z", "v_z"), "r_w")}
"""Friction limit -> the constrained components that it needs, and the damping that its slider needs."""


def contact_fields(section: JsonSection | None, notes: list[str]) -> ContactSpec | None:
    """Read the section "contact" of a scenario, None without it; invalid if the document has problems.

    Likely mistakes go into `notes`.
    """
    if section is None:
        return None
    values = section.read(ContactSpec)
    constrained = values["constrained"]
    for key in dict.fromkeys(STIFFNESS[component] for component in constrained):
        if values[key] == 0.0:
            section.report("E407", key, "0 where more than 0 is needed")
    for key, (needs, damping) in _LIMITS.items():
        missing = [component for component in needs if component not in constrained]
        if values[key] is None:
            continue
        if missing:
            what = f"{', '.join(missing)} is not constrained, so there is no force that it could limit"
            section.report("E412", key, what, f"constrain {', '.join(needs)}, or leave {key} out")
        elif values[damping] == 0.0:
            what = f"{damping} is zero: a slider needs a damper in parallel with its spring"
            section.report("E412", key, what, f'"{damping}": a positive number')
    if "v_z" not in constrained:
        notes.append("contact.constrained: without v_z nothing keeps the bodies apart; they pass through each other")
    label = section.label("paper_name", section.label("mode", ""))
    section.finish()
    return ContactSpec(**values, label=label)
