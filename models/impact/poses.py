"""Effective masses over random configurations of an arm: the order of the kinds of WA22, and its exceptions.

The paper says projection > composite > generalised momentum. The first is at least the last, by a theorem: reversing all six
components of the twist meets no less inertia than reversing one. The place of the composite body in this order varies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from screwbond.models.chains import Tree
from screwbond.models.impact.mobility import KINDS, mass_at, striking_point

from bondgraph.errors import refusal
from bondgraph.output.progress import track
from bondgraph.output.short_repr import short_repr
from screws.renamed import answer_old_names

Vector = Sequence[float] | np.ndarray


@answer_old_names
@short_repr
@dataclass(frozen=True, eq=False)
class PoseStudy:
    """Effective masses of one point along one normal.

    Parameters
    ----------
    q : configurations (k, n).
    masses : kind -> (k,), kg.
    """

    q: np.ndarray
    masses: dict[str, np.ndarray]

    @property
    def ordered(self) -> np.ndarray:
        """True for projection > composite > momentum (k,)."""
        return self.composite_below_projection & (self.masses["composite"] > self.masses["momentum"])

    @property
    def composite_below_projection(self) -> np.ndarray:
        """True for projection > composite (k,)."""
        return np.asarray(self.masses["projection"] > self.masses["composite"])

    @property
    def theorem(self) -> bool:
        """True if projection >= momentum everywhere, to rounding."""
        return bool(np.all(self.masses["projection"] >= self.masses["momentum"] * (1.0 - 1e-9)))

    def shares(self) -> dict[str, float]:
        """Return the share of the configurations with each relation."""
        m = self.masses
        return {
            "projection >= momentum": float(np.mean(m["projection"] >= m["momentum"] * (1.0 - 1e-9))),
            "projection > composite": float(np.mean(self.composite_below_projection)),
            "composite > momentum": float(np.mean(m["composite"] > m["momentum"])),
            "projection > composite > momentum": float(np.mean(self.ordered)),
        }


def study_poses(
    chain: Tree,
    point: Vector = (0.0, 0.0, 0.0),
    normal: Vector = (0.0, 0.0, 1.0),
    *,
    count: int = 200,
    seed: int = 0,
    link: str | None = None,
    progress: bool = True,
) -> PoseStudy:
    """Return effective masses in `count` configurations, uniform between the joint limits (default: a full turn, or a metre).

    Raises `ModelError` as `effective_mass`; E540 for a count or a seed that is no whole number; E542 for an arm of fewer than six
    freedoms, which has no projection.
    """
    if not (isinstance(count, (int, np.integer)) and count > 0):
        raise refusal("E540", f"the count of configurations is {count!r}", "a whole number above 0", about=chain.name)
    if not (seed is None or (isinstance(seed, (int, np.integer)) and seed >= 0)):
        raise refusal("E540", f"the seed of configurations is {seed!r}", "a whole number, not negative", about=chain.name)
    lower, upper = _bounds(chain)
    q = np.random.default_rng(seed).uniform(lower, upper, size=(count, chain.freedoms))
    masses: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for at in track(q, "effective masses", progress=progress):
        where = striking_point(chain, at, point, link)
        for kind, column in masses.items():
            column.append(mass_at(where, normal, kind))
    return PoseStudy(q, {kind: np.array(column) for kind, column in masses.items()})


def _bounds(chain: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return finite limits (n,) of the joints."""
    reach = np.array([np.pi if turns else 0.5 for turns in chain.is_angle])
    lower, upper = chain.limits.T
    return np.where(np.isfinite(lower), lower, -reach), np.where(np.isfinite(upper), upper, reach)
