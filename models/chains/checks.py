"""Checks of trees: links in; what is wrong with them, code by code, out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from screwbond.models.chains.inertias import BodyInertia
from screwbond.models.chains.links import BEFORE, Link, Mimic

from bondgraph.model.arguments import is_name
from screws.joints import Joint
from screws.numeric_arguments import floats, real
from screws.poses import is_pose


class Finding(NamedTuple):
    """A problem without its place."""

    code: str
    title: str
    detail: str
    cure: str


def findings(links: Sequence[Any], base: Any) -> list[Finding]:
    """E450 to E453, E535 and E537; what is no link, and names, before what refers to them."""
    refer = _coordinates(links), _parents(links), _mimics(links)
    for checks in ((_kinds(links),), (_names(links), _numbers(links, base)), refer):
        found = [finding for check in checks for finding in check]
        if found:
            return found
    return []


def forks(links: Sequence[Link], parents: Sequence[int]) -> Iterator[Finding]:
    """E536 where a link is not carried by the one before; `parents` by place."""
    names = [link.name for k, link in enumerate(links) if parents[k] != k - 1]
    if names:
        detail = f"not carried by the link before: {', '.join(names)}"
        yield Finding("E536", "it branches, and a chain does not", detail, "Tree(name, links)")


def closed_limits(coordinates: Sequence[str], limits: np.ndarray) -> Iterator[Finding]:
    """E537 where the limits (n, 2) of a coordinate, with those of the joints that it drives, leave no room to move."""
    for name, (lower, upper) in zip(coordinates, limits, strict=True):
        if not lower < upper:
            detail = f"with those of the joints that it drives they are {lower:g} and {upper:g}"
            yield Finding("E537", f'the limits of "{name}" leave no room', detail, "wider limits, or other factors and offsets")


def as_floats(given: Any) -> np.ndarray:
    """What is given as floats; not a number where it is none, which the checks then refuse."""
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        return np.array(np.nan)


def _kinds(links: Sequence[Any]) -> Iterator[Finding]:
    for link in links:
        if not isinstance(link, Link) or not isinstance(link.joint, Joint):
            what = f'the joint of "{link.name}" is {link.joint!r}' if isinstance(link, Link) else f"{link!r} is no link"
            yield Finding("E450", what, "nothing that a mechanism can be made of", "Link(name, revolute((0, 1, 0)), inertia)")


def _names(links: Sequence[Any]) -> Iterator[Finding]:
    names = [link.name for link in links]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        yield Finding(
            "E450", f"two links are called {', '.join(twice)}", f"links: {', '.join(names)}", "another name for one of them"
        )
    for name in names:
        if not (isinstance(name, str) and is_name(name)):
            detail = "a dot separates a part from what is inside it, a colon a bond from its variables"
            yield Finding("E450", f"{name!r} is no name for a link", detail, "letters, digits, spaces or underscores")
    if not any(link.joint.freedoms for link in links):
        yield Finding("E450", "nothing can move", f"{len(names)} links, no freedom", "links with joints, such as revolute(...)")


def _coordinates(links: Sequence[Any]) -> Iterator[Finding]:
    """Joints of several freedoms add numbers to their names, which may be those of others."""
    names = [name for link in links for name in coordinates_of(link)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        detail = "a joint of several freedoms has coordinates with the link's name and a number"
        yield Finding("E450", f'two coordinates are called "{name}"', detail, "another name for one of the links")


def coordinates_of(link: Link) -> list[str]:
    """Names of the coordinates of its joint: its own, with a number where there are several; none where it mimics another."""
    n = 0 if link.mimic is not None else link.joint.freedoms
    return [link.name] if n == 1 else [f"{link.name} {k}" for k in range(1, n + 1)]


def _parents(links: Sequence[Any]) -> Iterator[Finding]:
    """Every link is carried by one that stands before it, or by the base."""
    names = [link.name for link in links]
    every = f"links: {', '.join(map(str, names))}"
    carriers: dict[str, str | None] = {}
    for link, before in zip(links, [None, *names], strict=False):
        carriers[link.name] = before if link.parent == BEFORE else link.parent
        if link.parent not in (None, BEFORE, *names):
            title = f'"{link.name}" is carried by {link.parent!r}, which is no link'
            yield Finding("E535", title, every, "one of these names, or None: the base")
    rings = _rings(carriers)
    for ring in rings:
        detail = f"each is carried by the next: {', '.join([*ring, ring[0]])}"
        cure = "a tree of links, and a joint_graph(...) that closes the loop"
        yield Finding("E535", "its links carry each other in a circle", detail, cure)
    for k, link in enumerate(links):
        if not rings and carriers[link.name] in names[k:]:
            yield Finding(
                "E535", f'"{link.name}" stands before "{link.parent}", which carries it', every, "links from the base outward"
            )


def _mimics(links: Sequence[Any]) -> Iterator[Finding]:
    """Driven joints and those that drive them have one freedom each, and not in a circle."""
    named = {link.name: link for link in links}
    driven: dict[str, str] = {}
    for link in links:
        mimic = link.mimic
        if mimic is None:
            continue
        title = f'"{link.name}" cannot mimic {getattr(mimic, "link", mimic)!r}'
        if not isinstance(mimic, Mimic) or mimic.link not in named:
            yield Finding(
                "E537", title, f"links: {', '.join(map(str, named))}", 'Mimic("link", factor, offset), with one of these names'
            )
            continue
        counts = [named[name].joint.freedoms for name in (link.name, mimic.link)]
        if counts != [1, 1]:
            yield Finding(
                "E537", title, f"their joints have {counts[0]} and {counts[1]} freedoms", "joints with one freedom each"
            )
        if not abs(real(mimic.factor)) > 0.0 or floats([mimic.factor, mimic.offset], (2,)) is None:
            detail = f"factor {mimic.factor!r}, offset {mimic.offset!r}"
            yield Finding("E537", title, detail, "finite numbers, and a factor that is not zero")
        driven[link.name] = mimic.link
    for ring in _rings(driven):
        detail = f"each mimics the next: {', '.join([*ring, ring[0]])}"
        yield Finding("E537", f"nothing drives {', '.join(ring)}", detail, "one of these joints without `mimic`")


def _rings(successors: Mapping[str, str | None]) -> list[list[str]]:
    """Circles among things with one successor each."""
    found, seen = [], set()
    for start in successors:
        path: list[str] = []
        at: Any = start
        while at in successors and at not in seen:
            seen.add(at)
            path.append(at)
            at = successors[at]
        if at in path:
            found.append(path[path.index(at) :])
    return found


def _numbers(links: Sequence[Any], base: Any) -> Iterator[Finding]:
    homes: Sequence[tuple[str, Any]] = [(f'home of "{link.name}"', link.home) for link in links]
    for what, H in (("base", base), *homes):
        if not is_pose(H, 1e-9):
            yield Finding("E451", f"the {what} is no pose", f"its shape is {np.shape(H)}", "a (4, 4) matrix: screws.pose(R, p)")
    for link in links:
        for column in link.joint.screws.T:
            size = np.linalg.norm(column[:3]) or np.linalg.norm(column[3:])
            if abs(size - 1.0) > 1e-9:
                title = f'a screw of "{link.name}" has the length {size:.6g}'
                yield Finding("E452", title, f"{column.tolist()}", "a unit screw: |omega| = 1, or omega = 0 and |v| = 1")
        if not (link.inertia is None or isinstance(link.inertia, BodyInertia)):
            title = f'the inertia of "{link.name}" is a {type(link.inertia).__name__}'
            cure = "BodyInertia(mass, rotational, centre), cylinder_inertia(...), ball_inertia(...), or None"
            yield Finding("E453", title, "not the inertia of a body", cure)
        n = link.joint.freedoms
        damping = floats(link.damping, (), (n,))
        if damping is None or np.any(damping < 0.0):
            cure = "one number, or one for each freedom, none negative"
            yield Finding("E453", f'the damping of "{link.name}" is {link.damping!r}', f"its joint has {n} freedoms", cure)
        if link.limits is not None:
            given = as_floats(link.limits)
            if given.shape not in ((2,), (n, 2)) or not np.all(given[..., 0] < given[..., 1]):
                cure = "(lower, upper) with lower < upper, or such a pair for each freedom"
                yield Finding("E453", f'the limits of "{link.name}" are {link.limits!r}', f"its joint has {n} freedoms", cure)
