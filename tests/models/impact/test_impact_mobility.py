"""Inverse inertia matrices agree with published values, second derivations, and graphs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from screwbond.models.chains import BodyInertia, Chain, Link, body_twists, chain_graph, link_pose, mass_matrix
from screwbond.models.impact import KINDS, default_striker, effective_mass, graph_effective_mass, inverse_inertia, study_poses

from bondgraph import ModelError
from screws.inertia import spatial_inertia
from screws.joints import free, prismatic, revolute
from screws.poses import Ad, inverse
from tests.inner.models_impact import GRAPH_BUILDERS, locked_ratio, striking_point
from tests.models.impact.panda import FLANGE, Q, panda

Z = (0.0, 0.0, 1.0)
SKEW = (0.3, -0.5, 0.8)


def own() -> tuple[Any, ...]:
    return default_striker().arguments


def arm(name: str) -> tuple[Any, ...]:
    return own() if name == "own" else (panda(), Q, FLANGE, Z)


@pytest.mark.parametrize(
    ("kind", "mass"), [("projection", 4.316), ("composite", 8.696), ("momentum", 2.966), ("flexibility", 2.994)]
)
def test_the_panda(kind: str, mass: float) -> None:
    assert effective_mass(panda(), Q, FLANGE, Z, kind=kind) == pytest.approx(mass, abs=5e-4)


# --- second derivations ----------------------------------------------------------------------------------------------


def point_velocity_map(chain: Chain, q: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return the Jacobian (6, n) of the tip's twist at the point, in the tip's axes."""
    columns, h = [], 1e-6
    for k in range(chain.freedoms):
        step = h * np.eye(chain.freedoms)[k]
        here = link_pose(chain, len(chain.links) - 1, q)
        rate = (link_pose(chain, len(chain.links) - 1, q + step) - link_pose(chain, len(chain.links) - 1, q - step)) / (2.0 * h)
        turn = here[:3, :3].T @ rate[:3, :3]
        omega = np.array([turn[2, 1], turn[0, 2], turn[1, 0]])
        columns.append(np.concatenate([omega, here[:3, :3].T @ rate[:3, 3] + np.cross(omega, point)]))
    return np.array(columns).T


@pytest.mark.parametrize("kind", ["momentum", "projection"])
def test_free_joints_by_differences_of_the_pose(kind: str) -> None:
    chain, q, point, _ = own()
    point = np.array([0.02, -0.03, 0.05])
    J = point_velocity_map(chain, np.asarray(q), point)
    A = J @ np.linalg.inv(np.asarray(mass_matrix(chain, q), dtype=float)) @ J.T
    wanted = A[3:, 3:] if kind == "momentum" else np.linalg.inv(np.linalg.inv(A)[3:, 3:])
    assert inverse_inertia(chain, q, point, kind=kind) == pytest.approx(wanted, rel=1e-7, abs=1e-8)
    n = np.array(SKEW) / np.linalg.norm(SKEW)
    mass = 1.0 / (n @ wanted @ n) if kind == "momentum" else n @ np.linalg.inv(A)[3:, 3:] @ n
    assert effective_mass(chain, q, point, SKEW, kind=kind) == pytest.approx(mass, rel=1e-7)


def link_inertias(chain: Chain, q: np.ndarray, seen: np.ndarray) -> list[np.ndarray]:
    found = []
    for k, link in enumerate(chain.links):
        to_link = Ad(inverse(np.asarray(link_pose(chain, k, q), dtype=float)) @ seen)
        M = spatial_inertia(link.inertia.mass, link.inertia.rotational, link.inertia.centre)
        found.append(np.asarray(to_link.T @ M @ to_link, dtype=float))
    return found


@pytest.mark.parametrize("name", ["own", "panda"])
def test_locked_joints_by_spatial_inertias(name: str) -> None:
    """The reference inverts the (6, 6) inertia of the composite, without its centre of mass."""
    chain, q, point, _ = arm(name)
    seen = striking_point(chain, q, point).frame
    W = np.linalg.inv(sum(link_inertias(chain, q, seen)))[3:, 3:]
    assert inverse_inertia(chain, q, point, kind="composite") == pytest.approx(W, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("name", ["own", "panda"])
def test_flexibility_by_the_momenta_of_the_links(name: str) -> None:
    """Equation (12) follows from the motion of each link after unit impulses, in the point's frame."""
    chain, q, point, _ = arm(name)
    where = striking_point(chain, q, point)
    inertias = link_inertias(chain, q, where.frame)
    W = np.zeros((3, 3))
    for k in range(3):
        v = np.linalg.solve(where.mass_matrix, where.jacobian[3:].T @ np.eye(3)[k])
        momentum = np.zeros(6)
        for index, (twist, M) in enumerate(zip(body_twists(chain, q, v), inertias, strict=True)):
            here = Ad(inverse(where.frame) @ np.asarray(link_pose(chain, index, q), dtype=float))
            momentum += M @ np.asarray(here @ twist, dtype=float)
        composite = np.linalg.inv(sum(inertias))
        relative = where.jacobian @ v - composite @ momentum
        W[:, k] = (composite @ np.concatenate([np.zeros(3), np.eye(3)[k]]) + relative)[3:]
    found = inverse_inertia(chain, q, point, kind="flexibility")
    assert found == pytest.approx(W, rel=1e-10, abs=1e-12)
    assert np.abs(found - found.T).max() > 1e-3 * np.abs(found).max()


def test_a_point_mass_on_a_slide_meets_the_wall_with_its_mass() -> None:
    body = BodyInertia(3.0, (1.0, 1.0, 1.0))
    chain = Chain("slide", (Link("carriage", prismatic((1.0, 0.0, 0.0)), body),))
    for kind in ("momentum", "composite", "flexibility"):
        assert effective_mass(chain, [0.2], normal=(-2.0, 0.0, 0.0), kind=kind) == pytest.approx(3.0, rel=1e-14)


def test_massless_and_fixed_links_do_not_count() -> None:
    """A base with mass is not part of the composite, and a massless flange only locates the point."""
    chain, q, _, _ = own()
    flange = np.array(chain.links[-1].home)
    flange[:3, 3] += flange[:3, :3] @ [0.0, 0.0, 0.1]
    fixed = type(chain.links[0].joint)("fixed", np.zeros((6, 0)))
    longer = Chain(
        "longer", (Link("base", fixed, BodyInertia(50.0, (1.0, 1.0, 1.0))), *chain.links, Link("flange", fixed, None, flange))
    )
    for kind in KINDS:
        wanted = effective_mass(chain, q, (0.0, 0.0, 0.1), SKEW, kind=kind)
        assert effective_mass(longer, q, (0.0, 0.0, 0.0), SKEW, kind=kind) == pytest.approx(wanted, rel=1e-12)
        assert effective_mass(longer, q, (0.0, 0.0, 0.1), SKEW, kind=kind, link="link 7") == pytest.approx(wanted, rel=1e-12)


def test_nothing_depends_on_the_world_or_on_units() -> None:
    chain, q, point, _ = own()
    turned = np.eye(4)
    turned[:3, :3] = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    turned[:3, 3] = (1.0, -2.0, 3.0)
    elsewhere = Chain("elsewhere", chain.links, base=turned)
    small = Chain("in mm and g", tuple(in_small_units(link) for link in chain.links))
    for kind in KINDS:
        wanted = inverse_inertia(chain, q, point, kind=kind)
        assert inverse_inertia(elsewhere, q, point, kind=kind) == pytest.approx(wanted, rel=1e-11, abs=1e-13)
        assert 1e3 * inverse_inertia(small, q, 1e3 * np.array(point), kind=kind) == pytest.approx(wanted, rel=1e-11, abs=1e-13)


def in_small_units(link: Link) -> Link:
    home, screws = np.array(link.home), np.array(link.joint.screws)
    home[:3, 3] *= 1e3
    screws[3:] *= 1e3
    inertia = BodyInertia(1e3 * link.inertia.mass, 1e9 * link.inertia.rotational, 1e3 * link.inertia.centre)
    return Link(link.name, type(link.joint)("own", screws), inertia, home)


def test_the_ratio_of_table_1() -> None:
    body = Chain("body", (Link("ball", free(), BodyInertia(2.0, (0.1, 0.1, 0.1))),))
    assert locked_ratio(striking_point(body, np.zeros(6), (0.1, 0.0, 0.2)), Z) == pytest.approx(1.0, rel=1e-12)
    where = striking_point(*own()[:3])
    v = np.linalg.pinv(where.jacobian) @ [0.0, 0.0, 0.0, *(-np.array(own()[3]))]
    momentum = np.zeros(6)
    for k, (twist, M) in enumerate(
        zip(body_twists(where.chain, where.q, v), link_inertias(where.chain, where.q, where.frame), strict=True)
    ):
        here = Ad(inverse(where.frame) @ np.asarray(link_pose(where.chain, k, where.q), dtype=float))
        momentum += M @ np.asarray(here @ twist, dtype=float)
    whole = sum(link_inertias(where.chain, where.q, where.frame))
    ratio = -np.array(own()[3]) @ np.linalg.solve(whole, momentum)[3:]
    found = locked_ratio(where, own()[3])
    assert found == pytest.approx(ratio, rel=1e-10) and 0.0 < found < 1.0


# --- graphs ----------------------------------------------------------------------------------------------------------


@cache
def blow(name: str, kind: str, e: float) -> Any:
    return graph_effective_mass(*arm(name), kind=kind, speed=0.3, restitution=e)


@pytest.mark.parametrize(("name", "e"), [("own", 0.5), ("panda", 0.0)])
@pytest.mark.parametrize("kind", GRAPH_BUILDERS)
def test_the_compiled_graph_measures_the_mass_of_the_formula(name: str, kind: str, e: float) -> None:
    formula, found = effective_mass(*arm(name), kind=kind), blow(name, kind, e)
    assert found.mass == pytest.approx(formula, rel=1e-12)
    # The energy loss (1 - e^2) m v^2 / 2 is independent of impulses.
    assert found.lost == pytest.approx(0.5 * formula * 0.3**2 * (1.0 - e * e), rel=1e-11)


@pytest.mark.parametrize("kind", ["momentum", "projection"])
def test_the_impulse_of_the_graph_as_a_vector(kind: str) -> None:
    """With six constrained components, the impulse is (J M^-1 J^T)^-1 times the velocity jump."""
    found, where = blow("own", kind, 0.5), striking_point(*own()[:3])
    n = -np.array(own()[3])
    if kind == "projection":
        assert found.impulse == pytest.approx(np.linalg.inv(where.mobility) @ found.jump, rel=1e-10, abs=1e-10)
        assert np.abs(found.impulse[[0, 1, 2, 3, 4]]).max() > 0.01
    else:
        assert found.impulse[:3] == pytest.approx(0.0, abs=1e-15)
        assert found.impulse[3:] == pytest.approx(-0.3 * 1.5 * effective_mass(*own(), kind=kind) * n, rel=1e-12)


def test_an_elastic_impact_loses_nothing() -> None:
    found = blow("own", "momentum", 1.0)
    assert found.mass == pytest.approx(effective_mass(*own(), kind="momentum"), rel=1e-12)
    assert found.lost == pytest.approx(0.0, abs=1e-13)


# --- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["own", "panda"])
def test_projection_is_never_below_momentum(name: str) -> None:
    chain, _, point, _ = arm(name)
    study = study_poses(chain, point, SKEW, count=60, seed=3)
    assert study.theorem and study.shares()["projection >= momentum"] == 1.0
    assert study.q.shape == (60, 7) and all(masses.shape == (60,) for masses in study.masses.values())


def test_the_order_of_the_paper_holds_in_some_poses_and_fails_in_others() -> None:
    chain, _, point, _ = arm("panda")
    study = study_poses(chain, point, Z, count=150)
    assert 0.3 < study.shares()["projection > composite > momentum"] < 0.8
    worst = int(np.argmin(study.masses["projection"] / study.masses["composite"]))
    again = [effective_mass(chain, study.q[worst], point, Z, kind=kind) for kind in ("projection", "composite")]
    assert again[0] < 0.9 * again[1]


# --- refusals -----------------------------------------------------------------------------------------------------------


def refused(code: str, *words: str, chain: Any = None, q: Any = None, point: Any = (0.0, 0.0, 0.0), **more: Any) -> None:
    given = own()
    with pytest.raises(ModelError) as found:
        effective_mass(given[0] if chain is None else chain, given[1] if q is None else q, point, **more)
    assert all(word in str(found.value) for word in (code, *words)), found.value


def test_arguments_that_do_not_fit() -> None:
    refused("E541", "is not a chain", chain="arm")
    refused("E541", "7 finite numbers", "link 1, link 2", q=[0.0, 0.0])
    refused("E541", "7 finite numbers", q=[np.nan] * 7)
    refused("E541", "the point is", point=(0.0, 1.0))
    refused("E541", "the normal is", normal=(0.0, 0.0, 0.0))
    refused("E541", "the normal is", normal=(0.0, np.nan, 0.0))
    refused("E541", "the normal is", normal="z")
    refused("E541", "no link 'thumb'", "link 7", link="thumb")
    refused("E541", "'reduced'", "projection, composite, momentum, flexibility", kind="reduced")
    refused("E541", kind=None)


def test_directions_in_which_the_arm_cannot_move_are_named() -> None:
    straight = [0.0] * 7
    refused("E542", "along the normal (0, 0, 1)", q=straight, kind="momentum")
    refused("E542", "all six directions", "omega_x, v_y, v_z", q=straight, kind="projection")
    assert effective_mass(own()[0], straight, normal=Z, kind="composite") > 0.0
    body = BodyInertia(1.0, (0.1, 0.1, 0.1), (0.5, 0.0, 0.0))
    crank = Chain("crank", (Link("arm", revolute((0.0, 0.0, 1.0)), body),))
    refused("E542", 'kind="momentum"', chain=crank, q=[0.1], kind="projection")
    assert effective_mass(crank, [0.1], (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), kind="momentum") == pytest.approx(0.1 + 0.25)
    with pytest.raises(ModelError, match="E542"):
        graph_effective_mass(crank, [0.1], kind="projection")
    with pytest.raises(ModelError, match="E542"):
        graph_effective_mass(crank, [0.1], (1.0, 0.0, 0.0), (1.0, 0.0, 0.0), kind="momentum")


def test_a_chain_without_mass_at_its_end_is_refused() -> None:
    chain = Chain("light", (Link("arm", revolute((0.0, 0.0, 1.0)), None),))
    refused("E542", "mass matrix", chain=chain, q=[0.0])
    with pytest.raises(ModelError, match="E538"):  # like its graph
        chain_graph(chain)


def test_the_matrix_with_flexibility_has_no_graph() -> None:
    with pytest.raises(ModelError, match=r"E543 .* has no graph"):
        graph_effective_mass(*own(), kind="flexibility")
    assert set(KINDS) - set(GRAPH_BUILDERS) == {"flexibility"}


def test_graphs_refuse_speeds_and_restitutions_that_cannot_be() -> None:
    with pytest.raises(ModelError, match=r"E540 speed .*\n.*\n.*a positive number in m/s"):
        graph_effective_mass(*own(), kind="composite", speed=0.0)
    with pytest.raises(ModelError, match="restitution"):
        graph_effective_mass(*own(), kind="composite", restitution=1.5)


@pytest.mark.parametrize("given", [{"count": 0}, {"count": -1}, {"count": 2.5}, {"seed": -1}, {"seed": 0.5}], ids=repr)
def test_a_study_over_poses_needs_whole_numbers(given: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=rf"E540 the {next(iter(given))} of configurations is"):
        study_poses(default_striker().chain, **given)
