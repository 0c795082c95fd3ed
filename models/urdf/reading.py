"""Reading: the path of a URDF file in; the robot that it describes out, or everything that is wrong with it."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from bondgraph.errors import ModelError, Problem, raise_if_any, refusal
from bondgraph.output.extras import required
from models.chains import Chain
from models.urdf.document import place, read_document
from models.urdf.grammar import Checked, Ignored, check
from models.urdf.links import links_of
from models.urdf.robot import Robot
from models.urdf.skeleton import Kept, Skeleton, between, mimic_problems, skeleton_of, tree_problems
from models.urdf.skins import Packages, skins_of

KINDS = ("collision", "visual", False)


def read_urdf(
    path: str | os.PathLike[str],
    base: str | None = None,
    tip: str | None = None,
    *,
    meshes: str | bool = "collision",
    packages: Packages | None = None,
    limits: bool = True,
) -> Robot:
    """Read a robot from a URDF file: a chain with its inertias, joints, limits and damping, meshes for pictures, what is ignored.

    Parameters
    ----------
    path : of a URDF file (xacro is expanded by its own program).
    base : link that stands still, its frame that of the world; the one that no joint carries, where None.
    tip : last link; what lies between, with all that is fixed to it, becomes the chain, and nothing beyond. Where None, all that
        hangs on the base.
    meshes : the shapes for pictures: "collision" (simple ones), "visual", or False for none.
    packages : name -> folder, for meshes at package://name/...; without it they are looked for around the file.
    limits : whether position limits are read.

    Inertias are those of whole bodies: of a link with all that is fixed to it. All links stay as frames under their names.

    Raises `ModelError` with everything that is wrong, and its line: E520 no URDF, or too large; E521 entities; E522 an element or
    a number that cannot be read; E523 links and joints that are no tree; E524 base or tip; E525 a joint that no chain can hold;
    E526 a mass or an inertia that no body has; E527 meshes; E528 mimic. `ExtraError` (E416) without yourdfpy.
    """
    file = Path(path)
    _check_options(file, meshes, packages)
    required("a robot from URDF", "yourdfpy")
    checked = check(file, read_document(file))
    problems = list(checked.problems)
    if checked.whole:
        bones = skeleton_of(file, checked.root)
        broken = tree_problems(bones)
        problems += [*broken, *mimic_problems(bones)]
        if not broken:
            kept, wrong = between(bones, base, tip)
            problems += wrong
            if kept is not None:
                return _made(file, checked, bones, kept, problems, meshes, packages or {}, limits)
    raise ModelError(file.name, problems)


def _made(
    file: Path,
    checked: Checked,
    bones: Skeleton,
    kept: Kept,
    problems: list[Problem],
    meshes: str | bool,
    packages: Packages,
    limits: bool,
) -> Robot:
    parsed = _parsed(checked.root)
    made = links_of(bones, kept, parsed, checked.unweighed, limits)
    problems += made.problems
    lines = {link: bones.links[link] for link in (kept.base, *(joint.child for joint in kept.joints))}
    skins, wrong = skins_of(file, parsed, str(meshes), lines, packages) if meshes else ([], [])
    problems += wrong
    if not made.joints and not problems:
        cure = f"another base or tip; links: {', '.join(list(bones.links)[:12])}"
        title = f'nothing moves on "{kept.base}"' + ("" if len(lines) == 1 else f" up to {list(lines)[-1]}")
        problems.append(Problem("E524", title, (), (place(file, lines[kept.base]),), (cure,)))
    raise_if_any(file.name, problems)
    ignored = (*_left(bones, kept), *made.ignored, *_undrawn(parsed, meshes), *checked.ignored)
    return Robot(Chain(parsed.name or file.stem, made.links), made.joints, tuple(skins), ignored)


def _parsed(root: Any) -> Any:
    """The record of yourdfpy of a checked tree; it gets the text of that tree, so that it meets nothing that was not checked."""
    from lxml import etree
    from yourdfpy import URDF

    text = io.BytesIO(etree.tostring(root))
    return URDF.load(text, build_scene_graph=False, build_collision_scene_graph=False, load_meshes=False).robot


def _left(bones: Skeleton, kept: Kept) -> list[Ignored]:
    """Links that are not part of the chain."""
    if not kept.left:
        return []
    named = ", ".join(kept.left[:8]) + (" ..." if len(kept.left) > 8 else "")
    lines = tuple(bones.links[link] for link in kept.left)
    return [Ignored(f"{len(kept.left)} links: {named}", "not between base and tip, with all their mass", lines)]


def _undrawn(parsed: Any, meshes: str | bool) -> list[Ignored]:
    """Shapes of the kind that was not asked for."""
    kinds = {"collision": sum(len(x.collisions) for x in parsed.links), "visual": sum(len(x.visuals) for x in parsed.links)}
    return [
        Ignored(f"{count} shapes <{kind}>", f'not drawn; meshes="{kind}" takes them')
        for kind, count in kinds.items()
        if count and kind != meshes
    ]


def _check_options(file: Path, meshes: Any, packages: Any) -> None:
    if not any(meshes is kind or meshes == kind for kind in KINDS):
        cure = 'meshes="collision", "visual" or False'
        raise refusal("E527", f"meshes={meshes!r} is no kind of shape", cure, about=file.name)
    for name, folder in (packages or {}).items():
        if not Path(folder).is_dir():
            why = f"{folder} is no folder"
            raise refusal("E527", f'the package "{name}" cannot be found', "a folder that exists", about=file.name, why=why)
