"""Grammar of MJCF: elements and attributes that are read, listed as ignored, or refused because they change the robot.

Source: the XML reference of MuJoCo's documentation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from screwbond.models.robots.grammar import (
    MASS,
    NAME,
    NOT_NEGATIVE,
    NUMBER,
    SMALL,
    TEXT,
    THREE,
    AttributeRule,
    ElementRule,
    Grammar,
    Refusal,
    numbers_of,
)


def _numbers(*counts: int) -> AttributeRule:
    listed = ", ".join(map(str, counts)) if len(counts) < 4 else f"{counts[0]} to {counts[-1]}"
    return AttributeRule(lambda text: numbers_of(text, *counts), f"{listed} finite number{'s' if counts != (1,) else ''}")


def _direction(count: int, words: str) -> AttributeRule:
    def accepts(text: str) -> bool:
        numbers = text.split()
        return numbers_of(text, len(words.split())) and any(abs(float(number)) > SMALL for number in numbers[:count])

    direction = " ".join(words.split()[:count])
    return AttributeRule(accepts, f"{words}, {'' if direction == words else f'with {direction} '}not all zero")


def _are_axes(text: str) -> bool:
    if not numbers_of(text, 6):
        return False
    x, y = np.array([float(word) for word in text.split()]).reshape(2, 3)
    return bool(np.linalg.norm(np.cross(x, y)) > SMALL)


def _are_ends(text: str) -> bool:
    if not numbers_of(text, 6):
        return False
    words = [float(word) for word in text.split()]
    return any(abs(a - b) > SMALL for a, b in zip(words[:3], words[3:], strict=True))


def _word(*choices: str) -> AttributeRule:
    return AttributeRule(lambda text: text in choices, " or ".join(choices))


def _many(
    attributes: Mapping[str, AttributeRule], elements: Mapping[str, ElementRule] | None = None, **others: Any
) -> ElementRule:
    return ElementRule(attributes, {} if elements is None else elements, most=math.inf, **others)


def _ignored(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


def _refused(why: str, names: str, neutral: tuple[str, ...] = ("0", "false", "none"), cure: str = "") -> dict[str, Refusal]:
    return dict.fromkeys(names.split(), Refusal(why, neutral, cure))


BOOLEAN, BOOLEAN_OR_AUTO = _word("true", "false"), _word("true", "false", "auto")

_TURN = {
    "quat": _direction(4, "w x y z"),
    "axisangle": _direction(3, "x y z angle"),
    "xyaxes": AttributeRule(_are_axes, "the six components of two axes that are not parallel"),
    "zaxis": _direction(3, "x y z"),
    "euler": THREE,
}

_POSE = {"pos": THREE, **_TURN}

_CONTACT = _ignored(
    "contacts are made in the graph around the robot",
    "condim adhesion priority friction solmix solref solimp margin gap solreffriction solimpfriction "
    "solreflimit solimplimit surfacevel",
)

_APPEARANCE = _ignored("it changes neither motion nor shape", "user group hfield fitscale texture texuniform texrepeat")

_FLUID = _ignored("it acts only in a fluid, and fluids are refused", "fluidshape fluidcoef")

_GEOM = _many(
    {
        "name": NAME,
        "class": NAME,
        "type": _word("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"),
        "contype": _numbers(1),
        "conaffinity": _numbers(1),
        "group": _numbers(1),
        "size": AttributeRule(lambda text: numbers_of(text, 1, 2, 3), "one to three numbers"),
        "material": TEXT,
        "rgba": _numbers(4),
        "fromto": AttributeRule(_are_ends, "the six coordinates of two points"),
        **_POSE,
        "mesh": NAME,
        "mass": MASS,
        "density": NOT_NEGATIVE,
    },
    ignored={**_CONTACT, **_APPEARANCE, **_FLUID},
    refused={
        **_refused("the inertia of a thin shell is not computed", "shellinertia", cure="<inertial> in the body"),
        **_refused("shapes of plugins are not read", "plugin", neutral=()),
    },
)

_JOINT = _many(
    {
        "name": NAME,
        "class": NAME,
        "type": _word("free", "ball", "slide", "hinge"),
        "pos": THREE,
        "axis": THREE,
        "limited": BOOLEAN_OR_AUTO,
        "range": _numbers(2),
        "actuatorfrcrange": _numbers(2),
        "actuatorfrclimited": BOOLEAN_OR_AUTO,
        "damping": NOT_NEGATIVE,
        "armature": NOT_NEGATIVE,
        "frictionloss": NOT_NEGATIVE,
        "stiffness": NOT_NEGATIVE,
        "springref": NUMBER,
        "ref": NUMBER,
    },
    ignored={**_CONTACT, **_APPEARANCE},
    refused={
        **_refused("it needs the inertia of the whole model", "springdamper", cure="stiffness and damping as numbers"),
        **_refused("gravity acts on all bodies alike", "actuatorgravcomp"),
        **_refused("plastic springs are not read", "springyield"),
    },
)

_INERTIAL = ElementRule({"pos": THREE, **_TURN, "mass": MASS.required, "diaginertia": THREE, "fullinertia": _numbers(6)})

_NOT_MOVING = _ignored("not a moving part of a robot", "site camera light attachment")

_MACROS = {
    **_refused(
        "macros are not expanded",
        "composite flexcomp replicate attach",
        neutral=(),
        cure="the file as MuJoCo's mj_saveLastXML writes it, with all macros expanded",
    ),
    **_refused("bodies of plugins are not read", "plugin", neutral=()),
}


def _frame(parts: Mapping[str, ElementRule]) -> ElementRule:
    return _many({"name": TEXT, "childclass": NAME, **_POSE}, parts, ignored=_NOT_MOVING, refused=_MACROS)


_BODY_PARTS: dict[str, ElementRule] = {
    "inertial": _INERTIAL,
    "joint": _JOINT,
    "freejoint": ElementRule({"name": NAME}, ignored=_ignored("MuJoCo's choice of axes", "align group")),
    "geom": _GEOM,
}
_BODY = _many(
    {"name": NAME, "childclass": NAME, **_POSE},
    _BODY_PARTS,
    ignored={
        **_NOT_MOVING,
        **_APPEARANCE,
        **_ignored("it does not move", "mocap"),
        **_ignored("a setting of the solver", "sleep fuse simple"),
    },
    refused={**_MACROS, **_refused("gravity acts on all bodies alike", "gravcomp")},
)
_WORLD_PARTS = {"geom": _GEOM, "body": _BODY}
_BODY_PARTS |= {"body": _BODY, "frame": _frame(_BODY_PARTS)}
_WORLD_PARTS |= {"frame": _frame(_WORLD_PARTS)}
_WORLD = _many({"name": TEXT}, _WORLD_PARTS, ignored=_NOT_MOVING, refused=_MACROS)

_ACTUATOR = {
    "name": NAME,
    "class": NAME,
    "joint": NAME,
    "jointinparent": NAME,
    "gear": _numbers(*range(1, 7)),
    "ctrllimited": BOOLEAN_OR_AUTO,
    "forcelimited": BOOLEAN_OR_AUTO,
    "ctrlrange": _numbers(2),
    "forcerange": _numbers(2),
    "kp": NUMBER,
    "kv": NUMBER,
    "armature": NOT_NEGATIVE,
    "damping": NOT_NEGATIVE,
    "gainprm": _numbers(*range(1, 11)),
    "biasprm": _numbers(*range(1, 11)),
    "dyntype": TEXT,
    "gaintype": TEXT,
    "biastype": TEXT,
}
TRANSMISSION = _refused(
    "only actuators of joints are read", "tendon cranksite slidersite site refsite body cranklength", neutral=()
)
_DRIVE = _many(
    _ACTUATOR,
    ignored=_ignored(
        "a tree has no actuators",
        "actlimited actrange lengthrange actearly actdim dynprm group user inheritrange ffrange velrange nsample interp delay",
    ),
    refused={
        **TRANSMISSION,
        **_refused("it needs the inertia of the whole model", "dampratio", cure="kv as a number"),
        **_refused("a servo with a filter is not read", "timeconst"),
        **_refused("only the usual input is read", "input"),
    },
)
_DRIVES = dict.fromkeys(("motor", "position", "velocity", "general"), _DRIVE)
_NO_DRIVES = _refused(
    "only motors and position or velocity servos are read",
    "intvelocity damper cylinder muscle adhesion plugin dcmotor orientation pid",
    neutral=(),
)

_MESH = _many(
    {"name": NAME, "class": NAME, "file": NAME, "scale": THREE, "inertia": TEXT},
    ignored=_ignored(
        "the mesh file determines it, or pictures do not depend on it",
        "smoothnormal maxhullvert vertex normal texcoord face content_type builtin params material octree_maxdepth",
    ),
    refused=_refused("a mesh keeps the origin and axes of its file", "refpos refquat"),
)
_MATERIAL = _many(
    {"name": NAME, "class": NAME, "rgba": _numbers(4)},
    ignored=_ignored(
        "pictures show plain colours",
        "texture texrepeat texuniform emission specular shininess reflectance metallic roughness layer",
    ),
)
_OTHER_DEFAULTS = _ignored(
    "defaults of elements that are not read",
    "site camera light pair tendon muscle intvelocity damper cylinder adhesion plugin dcmotor orientation pid flex skin",
)

_EQUALITY_DEFAULT = _many(
    {}, ignored=_CONTACT, refused=_refused("each equality must state whether it is active", "active", ("true",))
)
_DEFAULT_PARTS: dict[str, ElementRule] = {
    "equality": _EQUALITY_DEFAULT,
    "joint": _JOINT,
    "geom": _GEOM,
    "mesh": _MESH,
    "material": _MATERIAL,
    **_DRIVES,
}
_DEFAULT = _many({"class": NAME}, _DEFAULT_PARTS, ignored=_OTHER_DEFAULTS)
_DEFAULT_PARTS |= {"default": _DEFAULT}

_COMPILER = _many(
    {
        "angle": _word("degree", "radian"),
        "autolimits": BOOLEAN,
        "eulerseq": AttributeRule(lambda text: len(text) == 3 and set(text) <= set("xyzXYZ"), "three of x, y, z, X, Y, Z"),
        "inertiafromgeom": BOOLEAN_OR_AUTO,
        "inertiagrouprange": _numbers(2),
        "balanceinertia": BOOLEAN,
        "exactmeshinertia": BOOLEAN,
        "boundmass": NOT_NEGATIVE,
        "boundinertia": NOT_NEGATIVE,
        "settotalmass": NUMBER,
        "meshdir": TEXT,
        "assetdir": TEXT,
        "strippath": BOOLEAN,
    },
    ignored=_ignored(
        "it changes neither motion nor shape",
        "texturedir discardvisual usethread fusestatic convexhull alignfree passthrough "
        "savecanonical savecompiled saveinertial conflict fitaabb",
    ),
    elements={"lengthrange": ElementRule()},
    refused={"coordinate": Refusal("poses are relative to the parent", ("local",), "a file for MuJoCo 2.3.3 or later", False)},
)

_OPTION = _many(
    {},
    {
        "flag": _many(
            {},
            ignored={
                **_ignored("set by chain_graph(..., gravity=...)", "gravity"),
                **_ignored("chain_graph(..., limits=...) sets what happens at limits", "limit"),
                **_ignored("the graph does not model dry friction of joints", "frictionloss"),
                **_ignored("contacts are made in the graph around the robot", "contact filterparent midphase nativeccd multiccd"),
                **_ignored(
                    "a setting of the solver",
                    "warmstart refsafe sensor eulerdamp autoreset island override energy fwdinv invdiscrete sleep diagexact ipc "
                    "speculative",
                ),
            },
            refused={
                **_refused("the forces that it switches off would act", "passive spring damper", ("enable",)),
                **_refused("the couplings that it switches off would act", "equality constraint", ("enable",)),
                **_refused("the drives that it switches off would act", "actuation", ("enable",)),
                **_refused("the limits of controls that it switches off would act", "clampctrl", ("enable",)),
            },
        )
    },
    ignored={
        **_ignored("set by chain_graph(..., gravity=...)", "gravity"),
        **_ignored(
            "a setting of the solver",
            "timestep apirate impratio magnetic integrator cone jacobian solver iterations tolerance "
            "noslip_iterations noslip_tolerance mpr_iterations mpr_tolerance ls_iterations ls_tolerance "
            "ccd_iterations ccd_tolerance sdf_iterations sdf_initpoints o_margin o_solref o_solimp o_friction "
            "collision sleep_tolerance",
        ),
    },
    refused={
        **_refused("fluids are not supported", "density viscosity wind"),
        **_refused("the drives that it switches off would act", "actuatorgroupdisable", neutral=()),
    },
)

_EQUALITY = ElementRule(
    {},
    {
        "joint": _many(
            {
                "name": TEXT,
                "class": NAME,
                "active": BOOLEAN,
                "joint1": NAME.required,
                "joint2": NAME,
                "polycoef": _numbers(1, 2, 3, 4, 5),
            },
            ignored={**_CONTACT},
        )
    },
    most=math.inf,
    refused={
        **_refused(
            "a tree has no loops",
            "connect weld",
            neutral=(),
            cure="screwbond.models.joints.joint_graph, which closes loops in the graph around the tree",
        ),
        **_refused("a tree has no tendons", "tendon", neutral=()),
        **_refused("bodies are rigid", "flex flexvert flexstrain", neutral=()),
    },
)

_MUJOCO = ElementRule(
    {"model": TEXT},
    {
        "compiler": _COMPILER,
        "option": _OPTION,
        "default": _DEFAULT,
        "asset": ElementRule(
            {},
            {"mesh": _MESH, "material": _MATERIAL},
            most=math.inf,
            ignored=_ignored("pictures show plain colours", "texture hfield skin model"),
            refused=_refused("programs are not run", "plugin", neutral=()),
        ),
        "worldbody": _WORLD,
        "actuator": ElementRule({}, _DRIVES, most=math.inf, refused=_NO_DRIVES),
        "equality": _EQUALITY,
        "deformable": ElementRule(
            {}, {}, most=math.inf, ignored=_ignored("not drawn", "skin"), refused=_refused("bodies are rigid", "flex", neutral=())
        ),
    },
    ignored={
        **_ignored("contacts are made in the graph around the robot", "contact"),
        **_ignored("sensors are parts of the graph around the robot", "sensor"),
        **_ignored("chain_graph(..., position=...) sets where a run starts", "keyframe"),
        **_ignored("a setting of another program", "size visual statistic custom"),
        **_ignored("programs are not run", "extension"),
    },
    refused=_refused("a tree has no tendons", "tendon", neutral=()),
)

MJCF_GRAMMAR = Grammar("mujoco", _MUJOCO, {}, "", ("body", "worldbody", "default", "frame"))


def _names(rule: ElementRule, seen: set[int]) -> set[str]:
    if id(rule) in seen:
        return set()
    seen.add(id(rule))
    refused = {name for name, refusal in rule.refused.items() if refusal.may_be_omitted}
    return refused.union(*(_names(part, seen) for part in rule.elements.values()))


REFUSABLE = {"actuator", "equality", "damping", "armature", "stiffness", *_names(_MUJOCO, set())}
