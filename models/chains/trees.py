"""Kinematic trees and serial chains: a `Tree` is a checked tuple of links, and a `Chain` is a tree without branches.

Each freedom is a section of the tree, along a coordinate axis of a frame on the joint's own axis. Such frames make most constants
of the tree 0 or 1, which cost nothing once they are traced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from screwbond.models.chains.links import BEFORE, BodyInertia, Link, Mimic

from bondgraph.errors import Place, Problem, Records, caller_place, raise_if_any, refusal
from bondgraph.model.arguments import is_name
from bondgraph.output.short_repr import short_repr
from screws.errors import plural
from screws.joints import Joint
from screws.names import answer_old_names, similar_names
from screws.numeric_arguments import fixed_floats, floats, holds_numbers, real, shown
from screws.poses import is_pose
from screws.rotations import tilde

SNAP = 1e-14
"""Size, relative to the tree, below which entries of constant poses count as rounding errors."""


@dataclass(frozen=True, eq=False)
class Section:
    """Freedom of a tree: its frame turns about, or slides along, axis number `axis`, relative to the preceding frame."""

    before: int
    """Index of the section that carries this section, from 1; 0 is the base."""
    R: np.ndarray
    """Rotation (3, 3) of the section's frame in the preceding frame at q = 0."""
    p: np.ndarray
    """Origin (3,) of the section's frame in the preceding frame at q = 0, m."""
    axis: int
    sign: float
    turns: bool
    pitch: float
    """Advance of a section that turns, m/rad."""

    @property
    def screw(self) -> tuple[np.ndarray, np.ndarray]:
        unit = self.sign * np.eye(3)[self.axis]
        return (unit, self.pitch * unit) if self.turns else (np.zeros(3), unit)


@dataclass(frozen=True)
class Drive:
    """Coordinate of a freedom: factor * q[coordinate] + offset."""

    coordinate: int
    factor: float
    offset: float
    direct: bool


@dataclass(frozen=True, eq=False)
class Sections:
    freedoms: tuple[Section, ...]
    drives: tuple[Drive, ...]
    carrier: tuple[int, ...]
    """Index of the section that carries each link, from 1; 0 is the base."""
    R: tuple[np.ndarray, ...]
    """Constant rotation (3, 3) of each link's frame in the frame of its carrier."""
    p: tuple[np.ndarray, ...]

    def path(self, number: int) -> list[int]:
        indices: list[int] = []
        while number:
            indices.append(number - 1)
            number = self.freedoms[number - 1].before
        return indices[::-1]

    def positions(self, q: Any) -> list[Any]:
        return [q[d.coordinate] if d.direct else d.factor * q[d.coordinate] + d.offset for d in self.drives]

    def rates(self, v: Any) -> list[Any]:
        return [v[d.coordinate] if d.direct else d.factor * v[d.coordinate] for d in self.drives]

    def gathered(self, values: Sequence[Any]) -> list[Any]:
        """Sum efforts, or columns of a Jacobian, of the sections for each coordinate: the transpose of `rates`."""
        sums: dict[int, Any] = {d.coordinate: value for d, value in zip(self.drives, values, strict=True) if d.direct}
        for d, value in zip(self.drives, values, strict=True):
            if not d.direct:
                sums[d.coordinate] = sums[d.coordinate] + d.factor * value
        return [sums[k] for k in range(len(sums))]


def sections_of(
    screws: Sequence[np.ndarray], homes: Sequence[np.ndarray], parents: Sequence[int], drives: Sequence[Drive]
) -> Sections:
    """Return the sections of a tree from the screws (6, n_k) of its joints and the home poses (4, 4) of its links, both in base
    axes. `parents` are indices of links (-1: the base), and `drives` has an entry for each freedom."""
    size = max([1e-3, *(float(np.linalg.norm(np.asarray(H)[:3, 3])) for H in homes)])
    base = (0, np.eye(3), np.zeros(3))
    freedoms: list[Section] = []
    ends: list[tuple[int, np.ndarray, np.ndarray]] = []
    R_links, p_links = [], []
    for columns, home, parent in zip(screws, homes, parents, strict=True):
        before, R, p = ends[parent] if parent >= 0 else base
        for screw in np.asarray(columns, dtype=float).T:
            section, R, p = _section(before, R, p, screw, size)
            freedoms.append(section)
            before = len(freedoms)
        H = np.asarray(home, dtype=float)
        ends.append((before, R, p))
        R_links.append(_snapped(R.T @ H[:3, :3], 1.0))
        p_links.append(_snapped(R.T @ (H[:3, 3] - p), size))
    return Sections(tuple(freedoms), tuple(drives), tuple(end[0] for end in ends), tuple(R_links), tuple(p_links))


def _section(before: int, R: np.ndarray, p: np.ndarray, screw: np.ndarray, size: float) -> tuple[Section, np.ndarray, np.ndarray]:
    """Return the section of a screw, and rotation and origin of its frame; R and p are those of the preceding frame, all in base
    axes."""
    omega, v = screw[:3], screw[3:]
    turns = bool(np.any(omega))
    direction = omega if turns else v
    local_axis = R.T @ direction
    axis = int(np.argmax(np.abs(local_axis)))
    sign = float(np.sign(local_axis[axis]))
    unit = sign * np.eye(3)[axis]
    turn = _snapped(_shortest(unit, local_axis), 1.0)
    point = p
    if turns:
        nearest = np.cross(omega, v)
        point = nearest + omega * (omega @ (p - nearest))
    start, pitch = _snapped(R.T @ (point - p), size), float(omega @ v) if turns else 0.0
    section = Section(before, turn, start, axis, sign, turns, pitch)
    return section, R @ turn, point


def _shortest(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the rotation (3, 3) that takes the unit vector a to b without turning about either; b is not -a."""
    skew = np.asarray(tilde(np.cross(a, b)), dtype=float)
    return np.asarray(np.eye(3) + skew + skew @ skew / (1.0 + a @ b), dtype=float)


def _snapped(values: np.ndarray, size: float) -> np.ndarray:
    out = np.array(values, dtype=float)
    out[np.abs(out) < SNAP * size] = 0.0
    for unit in (1.0, -1.0):
        out[np.abs(out - unit) < SNAP] = unit
    out.setflags(write=False)
    return out


class Finding(NamedTuple):
    code: str
    title: str
    detail: str
    cure: str


def findings(links: Sequence[Any], base: Any, moves: bool) -> list[Finding]:
    """Return the problems E450 to E453, E535 and E537 of links."""
    references = _coordinates(links), _parents(links), _mimics(links)
    for checks in ((_kinds(links),), (_names(links, moves), _numbers(links, base)), references):
        results = [finding for check in checks for finding in check]
        if results:
            return results
    return []


def branches(links: Sequence[Link], parents: Sequence[int]) -> Iterator[Finding]:
    names = [link.name for k, link in enumerate(links) if parents[k] != k - 1]
    if names:
        detail = f"not carried by the preceding link: {', '.join(names)}"
        yield Finding("E536", "it branches; a chain must not branch", detail, "Tree(name, links)")


def contradictory_limits(coordinates: Sequence[str], limits: np.ndarray) -> Iterator[Finding]:
    for name, (lower, upper) in zip(coordinates, limits, strict=True):
        if not lower < upper:
            detail = f"with the limits of the joints that it drives, its limits are {lower:g} and {upper:g}"
            title, cure = f'the limits of "{name}" leave no range of motion', "wider limits, or other factors and offsets"
            yield Finding("E537", title, detail, cure)


def as_floats(value: Any) -> np.ndarray:
    try:
        return np.asarray(value if holds_numbers(np.asarray(value)) else np.nan, dtype=float)
    except (TypeError, ValueError):
        return np.array(np.nan)


def _kinds(links: Sequence[Any]) -> Iterator[Finding]:
    for link in links:
        if not isinstance(link, Link) or not isinstance(link.joint, Joint):
            title = f'the joint of "{link.name}" is {link.joint!r}' if isinstance(link, Link) else f"{link!r} is not a link"
            yield Finding("E450", title, "a mechanism needs links with joints", "Link(name, revolute((0, 1, 0)), inertia)")


def _names(links: Sequence[Any], moves: bool) -> Iterator[Finding]:
    names = [link.name for link in links]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        yield Finding(
            "E450", f"two links are called {', '.join(twice)}", f"links: {', '.join(names)}", "another name for one of the links"
        )
    for name in names:
        if not (isinstance(name, str) and is_name(name)):
            detail = "a dot separates a part from its contents, and a colon separates a bond from its variables"
            yield Finding("E450", f"{name!r} is not a name for a link", detail, "letters, digits, spaces or underscores")
    if not links or (moves and not any(link.joint.freedoms for link in links)):
        why = f"{plural(len(names), 'link')}, no degrees of freedom"
        yield Finding("E450", "nothing can move", why, "links with joints, such as revolute(...)")


def _coordinates(links: Sequence[Any]) -> Iterator[Finding]:
    names = [name for link in links for name in coordinates_of(link)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        detail = "a joint of several freedoms has coordinates with the link's name and a number"
        yield Finding("E450", f'two coordinates are called "{name}"', detail, "another name for one of the links")


def coordinates_of(link: Link) -> list[str]:
    n = 0 if link.mimic is not None else link.joint.freedoms
    return [link.name] if n == 1 else [f"{link.name} {k}" for k in range(1, n + 1)]


def _parents(links: Sequence[Any]) -> Iterator[Finding]:
    names = [link.name for link in links]
    link_list = f"links: {', '.join(map(str, names))}"
    carriers: dict[str, str | None] = {}
    for link, before in zip(links, [None, *names], strict=False):
        carriers[link.name] = before if link.parent == BEFORE else link.parent
        if link.parent not in (None, BEFORE, *names):
            title = f'"{link.name}" is carried by {link.parent!r}, which is not a link'
            yield Finding("E535", title, link_list, "one of these names, or None: the base")
    circles = cycles(carriers)
    for cycle in circles:
        detail = f"each is carried by the next: {', '.join([*cycle, cycle[0]])}"
        cure = "a tree of links, and a joint_graph(...) that closes the loop"
        yield Finding("E535", "its links form a cycle", detail, cure)
    for k, link in enumerate(links):
        if not circles and carriers[link.name] in names[k:]:
            yield Finding("E535", f'"{link.name}" precedes its parent "{link.parent}"', link_list, "links from the base outward")


def _mimics(links: Sequence[Any]) -> Iterator[Finding]:
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
    for cycle in cycles(driven):
        detail = f"each mimics the next: {', '.join([*cycle, cycle[0]])}"
        yield Finding("E537", f"nothing drives {', '.join(cycle)}", detail, "one of these joints without `mimic`")


def cycles(successors: Mapping[str, str | None]) -> list[list[str]]:
    loops, seen = [], set()
    for start in successors:
        path: list[str] = []
        node: Any = start
        while node in successors and node not in seen:
            seen.add(node)
            path.append(node)
            node = successors[node]
        if node in path:
            loops.append(path[path.index(node) :])
    return loops


def _numbers(links: Sequence[Any], base: Any) -> Iterator[Finding]:
    homes: Sequence[tuple[str, Any]] = [(f'home of "{link.name}"', link.home) for link in links]
    for what, H in (("base", base), *homes):
        if not is_pose(H, 1e-9):
            why = "a pose is a matrix (4, 4) whose rotation is orthonormal to within 1e-9"
            yield Finding(
                "E451", f"the {what} is not a pose", why, "screws.pose(R, p) with a rotation R, such as exp(twist)[:3, :3]"
            )
    for link in links:
        for column in link.joint.screws.T:
            size = np.linalg.norm(column[:3]) or np.linalg.norm(column[3:])
            if abs(size - 1.0) > 1e-9:
                title = f'a screw of "{link.name}" has the length {size:.6g}'
                yield Finding("E452", title, f"{column.tolist()}", "a unit screw: |omega| = 1, or omega = 0 and |v| = 1")
        if not (link.inertia is None or isinstance(link.inertia, BodyInertia)):
            title = f'the inertia of "{link.name}" is {shown(link.inertia)}'
            cure = "BodyInertia(mass, rotational, centre), cylinder_inertia(...), ball_inertia(...), or None"
            yield Finding("E453", title, "not the inertia of a body", cure)
        n = link.joint.freedoms
        for what, least in (("damping", 0.0), ("armature", 0.0), ("stiffness", 0.0), ("rest", -np.inf)):
            entered = getattr(link, what)
            values = floats(entered, (), (n,))
            if values is None or np.any(values < least):
                cure = f"one number, or one for each freedom{'' if least else ', none negative'}"
                yield Finding(
                    "E453", f'the {what} of "{link.name}" is {entered!r}', f"its joint has {plural(n, 'freedom')}", cure
                )
        if link.limits is not None:
            limits = as_floats(link.limits)
            if limits.shape not in ((2,), (n, 2)) or not np.all(limits[..., 0] < limits[..., 1]):
                cure = "(lower, upper) with lower < upper, or such a pair for each freedom"
                yield Finding(
                    "E453", f'the limits of "{link.name}" are {link.limits!r}', f"its joint has {plural(n, 'freedom')}", cure
                )


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class Tree:
    """Mechanism without loops: links on a base that does not move.

    Parameters
    ----------
    name : name of the mechanism.
    links : links from the base outward, every link after its carrier; without `parent`, each is carried by the preceding link.
    base : (4, 4) pose of the base in the world.

    A joint that mimics another has no coordinate of its own; the n coordinates of the other joints are in the order of the links.
    The first link of a floating mechanism has a free joint, `joints.free()`.

    Raises `ModelError` E450 without links or freedoms, for objects that are not links or joints, for two links of the same name;
    E451 for an invalid pose; E452 for a screw that is not a unit screw; E453 for damping or limits that do not match the joint,
    or an invalid inertia; E535 for a parent that is unknown, later or in a cycle; E537 for an invalid mimic, a mimic of an
    unknown link or in a cycle, or limits that leave no motion.
    """

    name: str
    links: Sequence[Link]
    base: np.ndarray = field(default_factory=lambda: np.eye(4))
    place: Place | None = field(default_factory=caller_place)

    moves: ClassVar[bool] = True
    """True if at least one joint must have a freedom."""

    def __post_init__(self) -> None:
        argument: Any = self.links
        links = (argument,) if isinstance(argument, Link) or not isinstance(argument, Iterable) else tuple(argument)
        object.__setattr__(self, "links", Records(links))
        self._refuse(findings(links, self.base, self.moves))
        self._refuse(contradictory_limits(self.coordinates, self.limits))
        object.__setattr__(self, "base", fixed_floats(self.base))

    @property
    def freedoms(self) -> int:
        """Number n of joint coordinates."""
        return len(self.coordinates)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the joint coordinates: the link's name, with a number if its joint has several."""
        return tuple(name for link in self.links for name in coordinates_of(link))

    @cached_property
    def is_angle(self) -> tuple[bool, ...]:
        """True for each coordinate that is an angle."""
        sections = self.sections
        return tuple(s.turns for s, drive in zip(sections.freedoms, sections.drives, strict=True) if drive.direct)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of the link that carries each link, or -1 for the base."""
        indices = {link.name: k for k, link in enumerate(self.links)}
        return tuple(
            k - 1 if link.parent == BEFORE else -1 if link.parent is None else indices[link.parent]
            for k, link in enumerate(self.links)
        )

    @cached_property
    def sections(self) -> Sections:
        """Freedoms, each along a coordinate axis of its own frame, for the recursive algorithms."""
        screws, homes = [link.joint.screws for link in self.links], [link.home for link in self.links]
        return sections_of(screws, homes, self.parents, self._drives())

    @cached_property
    def damping(self) -> np.ndarray:
        """Viscous damping (n,) of the joint coordinates, including the joints that they drive."""
        return self._on_coordinates(2, self.freedom_values("damping"))

    @cached_property
    def springs(self) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness (n,) of the joint springs, and rest positions (n,), including driven joints."""
        stiffness = self.freedom_values("stiffness")
        offsets = np.array([drive.offset for drive in self.sections.drives])
        total = self._on_coordinates(2, stiffness)
        moments = self._on_coordinates(1, stiffness * (self.freedom_values("rest") - offsets))
        return total, fixed_floats(moments / np.where(total > 0.0, total, 1.0))

    def freedom_values(self, name: str) -> np.ndarray:
        """Return the values of the links' field `name`, such as "damping", for every freedom in the order of the links."""
        values = [np.broadcast_to(np.asarray(getattr(x, name), float), x.joint.freedoms) for x in self.links]
        return np.concatenate(values)

    def _on_coordinates(self, power: int, values: np.ndarray) -> np.ndarray:
        out = np.zeros(self.freedoms)
        for value, drive in zip(values, self.sections.drives, strict=True):
            out[drive.coordinate] += drive.factor**power * value
        return fixed_floats(out)

    @cached_property
    def limits(self) -> np.ndarray:
        """Lower and upper limits (n, 2) of each joint coordinate, infinite if unlimited; driven joints are included."""
        pairs = np.concatenate([_limits(link) for link in self.links])
        out = np.tile([-np.inf, np.inf], (self.freedoms, 1))
        for pair, drive in zip(pairs, self.sections.drives, strict=True):
            lower, upper = sorted((pair - drive.offset) / drive.factor)
            k = drive.coordinate
            out[k] = max(out[k, 0], lower), min(out[k, 1], upper)
        return fixed_floats(out)

    def index(self, name: str | int) -> int:
        """Return the index of a link, given by its name or its index; raise E454 for an unknown link."""
        names = [link.name for link in self.links]
        if isinstance(name, (int, np.integer)) and 0 <= name < len(names):
            return int(name)
        if name not in names:
            cure = f"one of: {', '.join(similar_names(str(name), names, most=3) or names[:12])}"
            raise refusal("E454", f'{type(self).__name__.lower()} "{self.name}" has no link {name!r}', cure, about=self.name)
        return names.index(str(name))

    def _refuse(self, results: Iterable[Finding]) -> None:
        about = f'{type(self).__name__.lower()} "{self.name}"'
        problems = [Problem(x.code, f"{about}: {x.title}", (x.detail,), (self.place,), (x.cure,)) for x in results]
        raise_if_any(self.name, problems)

    def _drives(self) -> list[Drive]:
        named = {link.name: link for link in self.links}
        driving = [link for link in self.links if link.mimic is None]
        first = dict(
            zip((link.name for link in driving), np.cumsum([0, *(link.joint.freedoms for link in driving)]), strict=False)
        )
        drives: list[Drive] = []
        for link in self.links:
            factor, offset, source = 1.0, 0.0, link
            while source.mimic is not None:
                offset, factor, source = (
                    offset + factor * source.mimic.offset,
                    factor * source.mimic.factor,
                    named[source.mimic.link],
                )
            start = int(first[source.name])
            drives += [Drive(start + k, factor, offset, link.mimic is None) for k in range(link.joint.freedoms)]
        return drives


@short_repr
@dataclass(frozen=True, eq=False)
class Chain(Tree):
    """Serial chain: a tree in which each link is carried by the preceding link.

    Raises the errors of `Tree`, and `ModelError` E536 if it branches.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse(branches(self.links, self.parents))


@short_repr
@dataclass(frozen=True, eq=False)
class FixedTree(Tree):
    """Tree whose links may all be fixed to the base, used only for their poses."""

    moves: ClassVar[bool] = False


def _limits(link: Link) -> np.ndarray:
    limits = (-np.inf, np.inf) if link.limits is None else link.limits
    return np.broadcast_to(np.asarray(limits, dtype=float), (link.joint.freedoms, 2))
