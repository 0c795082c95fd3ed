"""The independent hand agrees with published values and with statics, and its energy balance closes."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models.hand import HandParameters, finger_extension, initial_posture

from tests.models.hand.hand_independent import MOTIONS, Hand, Numbers, main_motion, rotation_vector, turned


@pytest.fixture(scope="module")
def main() -> tuple[Hand, np.ndarray, np.ndarray]:
    hand = Hand()
    return hand, *hand.run("main")


def test_main_ends_where_it_is_known_to(main) -> None:
    hand, _, x = main
    ball, virtual = x[-1, -26:-13], x[-1, -13:]
    assert np.allclose(ball[4:7], (0.009488, 0.0, 0.135844), atol=1e-6)
    assert np.allclose(virtual[4:7], (0.010432, 0.0, 0.139804), atol=1e-6)
    assert rotation_vector(turned(ball[:4]))[1] == pytest.approx(-0.093, abs=5e-4)
    normal, tangential = hand.loads(x[::5])
    assert 2.91 < normal.min() < 2.93 and 3.14 < normal.max() < 3.16
    assert 0.274 < np.max(tangential / normal) < 0.276


def test_reference_leads_virtual_object_leads_object(main) -> None:
    _, t, x = main
    z_ref = np.array([main_motion(s)[0][2] for s in t])
    lifting = (t > 3.0) & (t < 7.5)
    assert np.all(z_ref[lifting] > x[lifting, -7]) and np.all(x[lifting, -7] > x[lifting, -20])


def test_compiled_formulas_are_those_of_numpy_and_energy_closes(main) -> None:
    hand, t, x = main
    rates = np.array([hand.rates(s, row, main_motion) for s, row in zip(t, x, strict=True)])
    middle = slice(60, 120)
    slope = np.array([(x[i + 1] - x[i - 1]) / (t[i + 1] - t[i - 1]) for i in range(60, 120)])
    assert np.max(np.abs(slope - rates[middle])[:, :12]) < 1e-4
    late = np.flatnonzero(t > 7.5)
    energy = np.array([hand.energy(t[i], x[i], main_motion) for i in late])
    lost = np.array([hand.dissipation(t[i], x[i]) for i in late])
    assert np.all(lost >= 0.0) and np.all(np.diff(energy) <= 1e-12)
    balance = energy[0] - energy[-1] - np.trapezoid(lost, t[late])
    assert abs(balance) < 5e-3 * (energy[0] - energy[-1])


def test_power_is_balanced_in_a_random_state() -> None:
    hand, random = Hand(), np.random.default_rng(5)
    x = hand.start() + 1e-2 * random.normal(size=59)
    x[24:33] *= 1e-2
    for at in (33, 46):
        x[at : at + 4] /= np.linalg.norm(x[at : at + 4])
    x[37:40] = np.array([0.0, 0.0, 0.09])
    x[:12] = np.tile(hand.n.home, 3) + 1e-4 * random.normal(size=12)
    hold = lambda t: (np.array([0.001, 0.0, 0.09]), np.eye(3))  # noqa: E731
    rates, h = hand.rates(0.0, x, hold), 1e-6
    power = (hand.energy(0.0, x + h * rates, hold) - hand.energy(0.0, x - h * rates, hold)) / (2.0 * h)
    lost = hand.dissipation(0.0, x)
    assert lost > 1e-4 and power == pytest.approx(-lost, rel=1e-7)


def test_other_motions() -> None:
    _, far = Hand().run("far", np.array([0.0, 12.0]), rtol=1e-8)
    assert far[-1, -20] == pytest.approx(0.1384, abs=5e-5)
    reach = finger_extension(HandParameters(), far[:, :12].reshape(2, 3, 4))
    assert np.all(reach[0] < 0.8) and np.all(reach[1] > 0.9995) and np.all(reach <= 1.0)
    _, turned_ball = Hand().run("rotate", np.array([0.0, 2.5, 6.0]), rtol=1e-8)
    assert rotation_vector(turned(turned_ball[1, -26:-22]))[2] == pytest.approx(0.25, abs=5e-3)
    assert set(MOTIONS) == {"main", "far", "rotate"}


def test_transport_of_the_spring_does_not_matter(main) -> None:
    _, other = Hand(Numbers(transport="parallel")).run("main", np.array([0.0, 9.0]), rtol=1e-8)
    assert np.max(np.abs(other[-1, -22:-19] - main[2][-1, -22:-19])) < 1e-6


def test_contact_stiffness_moves_the_ball_little(main) -> None:
    k = 4e4
    pose = initial_posture(HandParameters(normal_stiffness=k, tangential_stiffness=k))
    stiff = Hand(Numbers(contact_stiffness=k, home=tuple(pose.joints[0])))
    _, other = stiff.run("main", np.array([0.0, 9.0]), rtol=1e-8)
    assert 1e-6 < np.max(np.abs(other[-1, -22:-19] - main[2][-1, -22:-19])) < 1.5e-4


@pytest.mark.parametrize("fingers", [2, 3, 4])
def test_posture_is_an_equilibrium_of_the_independent_hand(fingers: int) -> None:
    pose = initial_posture(HandParameters(fingers=fingers))
    hand = Hand(Numbers(fingers=fingers, home=tuple(pose.joints[0])))
    assert np.max(np.abs(hand.rates(0.0, hand.start(), main_motion))) < 1e-8
