"""Kinematic trees and serial chains: a `Tree` is a checked tuple of links, a `Chain` one without branches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from screwbond.models.chains.checks import Finding, branches, contradictory_limits, coordinates_of, findings
from screwbond.models.chains.links import BEFORE, Link
from screwbond.models.chains.sections import Drive, Sections, sections_of

from bondgraph.errors import Place, Problem, caller_place, raise_if_any, refusal
from bondgraph.output.short_repr import short_repr
from screws.numeric_arguments import fixed_floats
from screws.renamed import answer_old_names
from screws.similar_names import similar_names


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class Tree:
    """Mechanism without loops: links on a base that does not move.

    Parameters
    ----------
    name : of the mechanism.
    links : from the base outward: every link after the one that carries it. Without `parent` each is carried by the one before.
    base : (4, 4) pose of the base in the world.

    A joint that mimics another has no coordinate of its own; the n others are in the order of the links. The first link of a
    floating mechanism has a free joint, `joints.free()`.

    Raises `ModelError` E450 without links or freedoms, for objects that are no links or joints, for two links of one name; E451
    for an invalid pose; E452 for a screw that is no unit screw; E453 for damping or limits that do not fit the joint, or an
    invalid inertia; E535 for a parent, E537 for a mimic that is unknown or cyclic.
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
        object.__setattr__(self, "links", links)
        self._refuse(findings(links, self.base, self.moves))
        self._refuse(contradictory_limits(self.coordinates, self.limits))
        object.__setattr__(self, "base", fixed_floats(self.base))

    @property
    def freedoms(self) -> int:
        """Number n of joint coordinates."""
        return len(self.coordinates)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the joint coordinates: the link's name, with a number where its joint has several."""
        return tuple(name for link in self.links for name in coordinates_of(link))

    @cached_property
    def is_angle(self) -> tuple[bool, ...]:
        """True for each coordinate that is an angle."""
        sections = self.sections
        return tuple(s.turns for s, drive in zip(sections.freedoms, sections.drives, strict=True) if drive.direct)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of the link that carries each link; -1 for the base."""
        indices = {link.name: k for k, link in enumerate(self.links)}
        return tuple(
            k - 1 if link.parent == BEFORE else -1 if link.parent is None else indices[link.parent]
            for k, link in enumerate(self.links)
        )

    @cached_property
    def sections(self) -> Sections:
        """Freedoms along coordinate axes of frames of their own, for the recursions."""
        screws, homes = [link.joint.screws for link in self.links], [link.home for link in self.links]
        return sections_of(screws, homes, self.parents, self._drives())

    @cached_property
    def damping(self) -> np.ndarray:
        """Viscous damping (n,) of the joint coordinates, with that of the joints that they drive."""
        values = np.concatenate([np.broadcast_to(np.asarray(x.damping, float), x.joint.freedoms) for x in self.links])
        out = np.zeros(self.freedoms)
        for value, drive in zip(values, self.sections.drives, strict=True):
            out[drive.coordinate] += drive.factor**2 * value
        return fixed_floats(out)

    @cached_property
    def limits(self) -> np.ndarray:
        """Lower and upper limit (n, 2) of each joint coordinate, infinite without one; limits of driven joints count."""
        pairs = np.concatenate([_limits(link) for link in self.links])
        out = np.tile([-np.inf, np.inf], (self.freedoms, 1))
        for pair, drive in zip(pairs, self.sections.drives, strict=True):
            lower, upper = sorted((pair - drive.offset) / drive.factor)
            k = drive.coordinate
            out[k] = max(out[k, 0], lower), min(out[k, 1], upper)
        return fixed_floats(out)

    def index(self, name: str) -> int:
        """Return the index of a link by its name; raise E454 for an unknown one."""
        names = [link.name for link in self.links]
        if name not in names:
            cure = f"one of: {', '.join(similar_names(name, names, most=3) or names[:12])}"
            raise refusal("E454", f'{type(self).__name__.lower()} "{self.name}" has no link {name!r}', cure, about=self.name)
        return names.index(name)

    def _refuse(self, results: Iterable[Finding]) -> None:
        about = f'{type(self).__name__.lower()} "{self.name}"'
        problems = [Problem(x.code, f"{about}: {x.title}", (x.detail,), (self.place,), (x.cure,)) for x in results]
        raise_if_any(self.name, problems)

    def _drives(self) -> list[Drive]:
        """Return the drive of each freedom, in the order of the links."""
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
    """Serial chain: a tree in which each link is carried by the one before.

    Raises what `Tree` raises, and `ModelError` E536 where it branches.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse(branches(self.links, self.parents))


@short_repr
@dataclass(frozen=True, eq=False)
class FixedTree(Tree):
    """Tree whose links may all be fixed to the base, for their poses alone."""

    moves: ClassVar[bool] = False


def _limits(link: Link) -> np.ndarray:
    limits = (-np.inf, np.inf) if link.limits is None else link.limits
    return np.broadcast_to(np.asarray(limits, dtype=float), (link.joint.freedoms, 2))
