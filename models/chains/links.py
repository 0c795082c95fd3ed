"""Links of a serial chain: joint screws, inertia, home pose, damping and limits; a chain is a checked tuple of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bondgraph.errors import Place, Problem, caller_place, raise_if_any
from models.chains.sections import Sections, sections_of
from screws.errors import GeometryError
from screws.given import fixed_floats, floats
from screws.inertia import check_inertia
from screws.joints import Joint
from screws.poses import is_pose
from screws.surfaces import Surface

Vector = Sequence[float] | np.ndarray


@dataclass(frozen=True, eq=False)
class BodyInertia:
    """Inertia of a rigid body in a frame of its own.

    Parameters
    ----------
    mass : kg.
    rotational : about the centre of mass in the axes of the frame, kg m^2: (3, 3), or (3,) principal.
    centre : centre of mass in the frame, m.

    Raises `GeometryError` G111 to G114 for what no rigid body can have.
    """

    mass: float
    rotational: np.ndarray
    centre: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        moment = np.asarray(self.rotational, dtype=float)
        moment = np.diag(moment) if moment.shape == (3,) else moment
        check_inertia(float(self.mass), moment)
        object.__setattr__(self, "mass", float(self.mass))
        object.__setattr__(self, "rotational", fixed_floats(0.5 * (moment + moment.T)))
        centre = floats(self.centre, (3,))
        if centre is None:
            raise GeometryError("G114", f"the centre of mass is {self.centre!r}", "three finite numbers, in m")
        object.__setattr__(self, "centre", fixed_floats(centre))


def cylinder_inertia(mass: float, radius: float, start: Vector, end: Vector) -> BodyInertia:
    """Solid cylinder of `mass` (kg) and `radius` (m) between the centres `start` and `end` (m) of its faces."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(b - a))
    axis = (b - a) / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    along, across = mass * radius**2 / 2.0, mass * (3.0 * radius**2 + length**2) / 12.0
    return BodyInertia(mass, across * np.eye(3) + (along - across) * np.outer(axis, axis), 0.5 * (a + b))


def ball_inertia(mass: float, radius: float, centre: Vector = (0.0, 0.0, 0.0)) -> BodyInertia:
    """Solid ball of `mass` (kg) and `radius` (m) about `centre` (m)."""
    return BodyInertia(mass, np.full(3, 0.4 * mass * radius**2), np.asarray(centre, dtype=float))


def welded(*parts: BodyInertia) -> BodyInertia:
    """Inertia of rigidly joined bodies that are all given in one frame."""
    mass = sum(part.mass for part in parts)
    centre = sum((part.mass * part.centre for part in parts), np.zeros(3)) / mass
    moment = np.zeros((3, 3))
    for part in parts:
        r = part.centre - centre
        moment = moment + part.rotational + part.mass * ((r @ r) * np.eye(3) - np.outer(r, r))
    return BodyInertia(mass, moment, centre)


@dataclass(frozen=True, eq=False)
class Link:
    """One body of a chain and the joint that carries it.

    Parameters
    ----------
    name : its name in the chain; also the name of its port.
    joint : its screws (6, n) in the frame of the chain's base, with all joints at zero, outermost last. A joint of several
        freedoms is the product of their exponentials in this order.
    inertia : in the frame of the link; None for a link without mass.
    home : (4, 4) pose of the link's frame in the base with all joints at zero.
    damping : viscous, N m s/rad or N s/m: a number, or one for each freedom.
    limits : (lower, upper) of the joint, or (n, 2); None or infinite: none.
    surface : its skin in the link's frame, for contacts.
    """

    name: str
    joint: Joint
    inertia: BodyInertia | None
    home: np.ndarray = field(default_factory=lambda: np.eye(4))
    damping: float | Vector = 0.0
    limits: Any = None
    surface: Surface | None = None


@dataclass(frozen=True, eq=False)
class Chain:
    """Serial chain of links on a base that does not move.

    Parameters
    ----------
    name : of the mechanism.
    links : from the base outward.
    base : (4, 4) pose of the base in the world.

    Raises `ModelError` E450 without links or freedoms, with what is no link or no joint, or with two links of one name; E451 for
    a pose that is none; E452 for a screw that is no unit screw; E453 for damping or limits that do not fit the joint, or an
    inertia that is none.
    """

    name: str
    links: tuple[Link, ...]
    base: np.ndarray = field(default_factory=lambda: np.eye(4))
    place: Place | None = field(default_factory=caller_place)

    def __post_init__(self) -> None:
        given: Any = self.links
        links = (given,) if isinstance(given, Link) or not isinstance(given, Iterable) else tuple(given)
        object.__setattr__(self, "links", links)
        raise_if_any(self.name, _problems(self))
        object.__setattr__(self, "base", fixed_floats(self.base))

    @property
    def freedoms(self) -> int:
        """Number n of joint coordinates."""
        return sum(link.joint.freedoms for link in self.links)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the joint coordinates: the link's name, with a number where its joint has several."""
        return tuple(
            link.name if link.joint.freedoms == 1 else f"{link.name} {k}"
            for link in self.links
            for k in range(1, link.joint.freedoms + 1)
        )

    @cached_property
    def sections(self) -> Sections:
        """The chain as freedoms along coordinate axes of frames of their own: what the recursions run over."""
        return sections_of([link.joint.screws for link in self.links], [link.home for link in self.links])

    @property
    def damping(self) -> np.ndarray:
        """Viscous damping (n,) of the joint coordinates."""
        return np.concatenate([np.broadcast_to(np.asarray(x.damping, float), x.joint.freedoms) for x in self.links])

    @property
    def limits(self) -> np.ndarray:
        """Lower and upper limit (n, 2) of each joint coordinate, infinite where there is none."""
        return np.concatenate([_limits(link) for link in self.links])

    def index(self, name: str) -> int:
        """Place of a link by its name."""
        return [link.name for link in self.links].index(name)


def as_floats(given: Any) -> np.ndarray:
    """What is given as floats; not a number where it is none, which the checks then refuse."""
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        return np.array(np.nan)


def _limits(link: Link) -> np.ndarray:
    given = (-np.inf, np.inf) if link.limits is None else link.limits
    return np.broadcast_to(np.asarray(given, dtype=float), (link.joint.freedoms, 2))


def _problems(chain: Chain) -> list[Problem]:
    found: list[Problem] = []

    def problem(code: str, title: str, detail: str, cure: str) -> None:
        found.append(Problem(code, f'chain "{chain.name}": {title}', (detail,), (chain.place,), (cure,)))

    for link in chain.links:
        if not isinstance(link, Link) or not isinstance(link.joint, Joint):
            what = f'the joint of "{link.name}" is {link.joint!r}' if isinstance(link, Link) else f"{link!r} is no link"
            problem("E450", what, "nothing that a chain can be made of", "Link(name, revolute((0, 1, 0)), inertia)")
    if found:
        return found
    names = [link.name for link in chain.links]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        problem("E450", f"two links are called {', '.join(twice)}", f"links: {', '.join(names)}", "another name for one of them")
    if not chain.freedoms:
        problem("E450", "nothing can move", f"{len(names)} links, no freedom", "links with joints, such as revolute(...)")
    for what, H in (("base", chain.base), *((f'home of "{link.name}"', link.home) for link in chain.links)):
        if not is_pose(H, 1e-9):
            problem("E451", f"the {what} is no pose", f"its shape is {np.shape(H)}", "a (4, 4) matrix: screws.pose(R, p)")
    for link in chain.links:
        for column in link.joint.screws.T:
            size = np.linalg.norm(column[:3]) or np.linalg.norm(column[3:])
            if abs(size - 1.0) > 1e-9:
                title = f'a screw of "{link.name}" has the length {size:.6g}'
                problem("E452", title, f"{column.tolist()}", "a unit screw: |omega| = 1, or omega = 0 and |v| = 1")
        if not (link.inertia is None or isinstance(link.inertia, BodyInertia)):
            title = f'the inertia of "{link.name}" is a {type(link.inertia).__name__}'
            cure = "BodyInertia(mass, rotational, centre), cylinder_inertia(...), ball_inertia(...), or None"
            problem("E453", title, "not the inertia of a body", cure)
        n = link.joint.freedoms
        damping = floats(link.damping, (), (n,))
        if damping is None or np.any(damping < 0.0):
            cure = "one number, or one for each freedom, none negative"
            problem("E453", f'the damping of "{link.name}" is {link.damping!r}', f"its joint has {n} freedoms", cure)
        if link.limits is not None:
            given = as_floats(link.limits)
            if given.shape not in ((2,), (n, 2)) or not np.all(given[..., 0] < given[..., 1]):
                cure = "(lower, upper) with lower < upper, or such a pair for each freedom"
                problem("E453", f'the limits of "{link.name}" are {link.limits!r}', f"its joint has {n} freedoms", cure)
    return found
