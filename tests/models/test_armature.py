"""Joint armature adds to the diagonal of the mass matrix, and springs agree with a closed-form oscillator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from screwbond.models.chains import (
    BodyInertia,
    Chain,
    Link,
    Mimic,
    Tree,
    chain_graph,
    forward_dynamics,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
)

from bondgraph import ModelError, compile_model
from screws.joints import prismatic, revolute

GRAVITY = (0.3, -0.5, -9.81)


def arm(**last: object) -> Chain:
    joints = (revolute((0, 0, 1)), revolute((1, 2, 0), (0.1, 0, 0.2)), prismatic((0, 1, 1)), revolute((1, 0, 3), (0, 0.3, 0.5)))
    body = BodyInertia(1.3, np.array([0.02, 0.03, 0.04]), np.array([0.1, 0.2, 0.3]))
    links = [Link(f"link {k}", joint, body) for k, joint in enumerate(joints)]
    return Chain("arm", [replace(link, **last) for link in links])  # type: ignore[arg-type]


def test_armature_adds_to_the_diagonal_of_the_mass_matrix_and_to_nothing_else() -> None:
    rng, plain, loaded = np.random.default_rng(1), arm(), arm(armature=0.7)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 4))
    more = np.asarray(mass_matrix(loaded, q) - mass_matrix(plain, q), dtype=float)
    assert np.allclose(more, 0.7 * np.eye(4), rtol=0, atol=1e-14)
    effort = np.asarray(inverse_dynamics(loaded, q, v, a, GRAVITY), dtype=float)
    assert np.allclose(effort, np.asarray(inverse_dynamics(plain, q, v, a, GRAVITY), dtype=float) + 0.7 * a, rtol=0, atol=1e-13)
    assert float(kinetic_energy(loaded, q, v)) == pytest.approx(0.5 * v @ np.asarray(mass_matrix(loaded, q), dtype=float) @ v)
    # Articulated bodies: the free direction of a joint with armature takes a wrench.
    assert np.allclose(np.asarray(forward_dynamics(loaded, q, v, effort, GRAVITY), dtype=float), a, rtol=0, atol=1e-12)


def test_armature_and_springs_of_a_driven_joint_belong_to_its_driver() -> None:
    body = BodyInertia(1.0, np.full(3, 0.1))
    first = Link("a", revolute((0, 0, 1)), body, armature=0.2, stiffness=5.0, rest=0.3)
    second = Link("b", revolute((0, 1, 0)), body, mimic=Mimic("a", 2.0, 0.5), armature=0.1, stiffness=3.0, rest=0.9)
    tree = Tree("pair", [first, second])
    plain = Tree("pair", [replace(link, armature=0.0) for link in (first, second)])
    assert float(mass_matrix(tree, [0.4])[0, 0] - mass_matrix(plain, [0.4])[0, 0]) == pytest.approx(0.2 + 4.0 * 0.1)
    stiffness, rest = tree.springs

    def energy(q: float) -> float:
        return 0.5 * 5.0 * (q - 0.3) ** 2 + 0.5 * 3.0 * (2.0 * q + 0.5 - 0.9) ** 2

    slope = (energy(1.001) - energy(0.999)) / 0.002
    assert stiffness[0] * (1.0 - rest[0]) == pytest.approx(slope, rel=1e-9)


def test_an_oscillator_with_armature_and_spring() -> None:
    """With J + a = 0.5 and k = 8, the joint oscillates at 4 rad/s about the rest position."""
    link = Link("wheel", revolute((0, 0, 1)), BodyInertia(1.0, np.full(3, 0.3)), armature=0.2, stiffness=8.0, rest=0.25)
    result = compile_model(chain_graph(Chain("rig", [link]), position=[0.75])).simulate(1.0, rtol=1e-9, samples=0.1)
    assert np.allclose(result["mechanism.q"], 0.25 + 0.5 * np.cos(4.0 * result.t), rtol=0, atol=1e-7)


def test_armature_alone_moves_a_massless_joint() -> None:
    link = Link("rotor", revolute((0, 0, 1)), None, armature=0.2)
    assert float(mass_matrix(Chain("rig", [link]), [0.0])[0, 0]) == 0.2


@pytest.mark.parametrize("fields", [{"armature": -1.0}, {"stiffness": (1.0, 2.0)}, {"rest": np.nan}])
def test_numbers_that_no_joint_has_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ModelError, match="E453 .*" + next(iter(fields))):
        arm(**fields)
