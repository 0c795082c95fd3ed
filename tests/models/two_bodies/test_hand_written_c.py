"""Hand-written C code of the hand agrees with the independent equations at random states in all charts."""

from __future__ import annotations

import itertools
import shutil

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from screwbond.models.hand import SCENARIOS, HandParameters, initial_posture

from benchmarks import hand as written
from tests.models.hand.hand_independent import MOTIONS, Hand, Numbers, cross, turned

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None and shutil.which("cc") is None, reason="no C compiler")


def exact_hand() -> Hand:
    """Return the independent hand with all digits of the home joints, since at a stiffness of 2e4 N/m the tenth digit affects
    the forces."""
    return Hand(Numbers(home=tuple(initial_posture(HandParameters()).joints[0])))


def polar(n: np.ndarray, chart: int) -> tuple[float, float, np.ndarray, np.ndarray]:
    """Return (u, v) of a unit vector, and the tangents e_u, e_v; the polar axis is z (chart 0) or x (chart 1)."""
    a = n if chart == 0 else np.roll(n, -1)
    u, v = np.arctan2(np.hypot(a[0], a[1]), a[2]), np.arctan2(a[1], a[0])
    e = np.array([np.cos(u) * np.cos(v), np.cos(u) * np.sin(v), -np.sin(u)])
    g = np.array([-np.sin(v), np.cos(v), 0.0])
    return (u, v, e, g) if chart == 0 else (u, v, np.roll(e, 1), np.roll(g, 1))


def in_states_of_c(hand: Hand, x: np.ndarray, charts: tuple[int, int]) -> np.ndarray:
    """Return the 80 states of the C function from the 59 states of the independent hand."""
    q, w, springs, ball, virtual = hand.unpack(x)
    f, R = hand.tips(q, w), turned(ball[:4])
    touch = hand.contacts(f, springs, ball)
    out = [np.concatenate([q, w], axis=1).ravel()]
    across = cross(np.array([0.0, 0.0, 1.0]), f.e_r)
    for i in range(3):
        tip = np.stack([f.a[i], across[i], f.u[i]], axis=1)
        u1, v1, e1, g1 = polar(tip.T @ touch["n"][i], charts[0])
        u2, v2, e2, g2 = polar(-R.T @ touch["n"][i], charts[1])
        x1, x2, y2 = tip @ e1, R @ e2, R @ g2
        del g1
        # x1 in axes of C1 is R_C1_C2 (cos, -sin): x1 = cos x2 - sin y2.
        alpha = np.arctan2(-(x1 @ y2), x1 @ x2)
        tangential = springs[i, 1] * touch["x"][i] + springs[i, 2] * touch["y"][i]
        d = touch["d"][i]
        out.append(np.array([u1, v1, u2, v2, alpha, d, springs[i, 0], tangential @ x2, tangential @ y2, -d]))
    n = hand.n
    for body, mass, inertia in ((ball, n.ball_mass, hand.ball_inertia), (virtual, n.virtual_mass, n.virtual_inertia)):
        A = turned(body[:4])
        out += [inertia * A.T @ body[7:10], mass * A.T @ body[10:], body[:7]]
    return np.concatenate(out)


def random_state(hand: Hand, random: np.random.Generator, ball_turned: float) -> np.ndarray:
    x = hand.start()
    x[:12] += 1e-3 * random.normal(size=12)
    x[12:24] = 0.3 * random.normal(size=12)
    x[24:33] = [0.01, 1e-5, 2e-5] * 3 * random.normal(size=9)
    for at, turn in ((33, ball_turned), (46, 0.3)):
        axis = random.normal(size=3)
        axis /= np.linalg.norm(axis)
        x[at : at + 4] = np.concatenate([[np.cos(turn / 2)], np.sin(turn / 2) * axis])
        x[at + 4 : at + 7] += 1e-3 * random.normal(size=3)
        x[at + 7 : at + 13] = 0.1 * random.normal(size=6)
    return x


@pytest.mark.parametrize("name", ["main", "rotate"])
def test_rates_are_those_of_the_independent_hand(name: str) -> None:
    hand, random, motion = exact_hand(), np.random.default_rng(7), MOTIONS[name][0]
    p, t = written.packed(SCENARIOS[name]), 3.1
    tested = {(charts, bool(on)): 0 for charts in itertools.product((0, 1), (0, 1)) for on in (0, 1)}
    with written.library() as loaded:
        for charts in itertools.product((0, 1), (0, 1)):
            for _ in range(6):
                x = random_state(hand, random, 1.0)
                q, w, springs, ball, virtual = hand.unpack(x)
                x[24:33] *= np.repeat(hand.contacts(hand.tips(q, w), springs, ball)["d"] < 0.0, 3)
                rates = hand.rates(t, x, motion)
                start = in_states_of_c(hand, x, charts)
                on = start[[29, 39, 49]] < 0.0
                m = np.stack([on, np.full(3, charts[0]), np.full(3, charts[1])], axis=1).astype(float).ravel()
                found = written.rates(loaded, t, start, p, m)[0]
                for flag in on:
                    tested[charts, bool(flag)] += 1
                mine = hand.unpack(rates)
                fingers = found[:24].reshape(3, 8)
                assert np.allclose(fingers[:, :4], mine[0], rtol=0, atol=1e-14)
                assert np.max(np.abs(fingers[:, 4:] - mine[1])) < 1e-10 * np.max(np.abs(mine[1]))
                # Momenta in body axes: P' = d/dt (R^T p).
                n = hand.n
                for at, body, rate, mass, inertia in (
                    (54, ball, mine[3], n.ball_mass, hand.ball_inertia),
                    (67, virtual, mine[4], n.virtual_mass, n.virtual_inertia),
                ):
                    A, omega = turned(body[:4]), body[7:10]
                    spin = inertia * A.T @ rate[7:10]
                    push = mass * A.T @ (rate[10:] - np.cross(omega, body[10:]))
                    assert np.max(np.abs(found[at : at + 3] - spin)) < 1e-10 * np.max(np.abs(spin))
                    assert np.max(np.abs(found[at + 3 : at + 6] - push)) < 1e-10 * np.max(np.abs(push))
                    assert np.allclose(found[at + 6 : at + 13], rate[:7], rtol=0, atol=1e-13)
                h = 1e-6
                ends = [in_states_of_c(hand, x + s * h * rates, charts) for s in (1.0, -1.0)]
                slope = (ends[0] - ends[1]) / (2 * h)
                contacts, sloped = found[24:54].reshape(3, 10), slope[24:54].reshape(3, 10)
                assert np.allclose(contacts[:, :6], sloped[:, :6], rtol=1e-6, atol=1e-6)
                if charts[1] == 0:
                    assert np.allclose(contacts[:, 6:9], mine[2], rtol=1e-10, atol=1e-12)
                assert np.allclose(contacts[on, 9], -contacts[on, 5], rtol=0, atol=1e-13)
    assert all(tested.values())


def test_the_start_is_an_equilibrium() -> None:
    hand = exact_hand()
    with written.library() as loaded:
        start = in_states_of_c(hand, hand.start(), (0, 0))
        m = np.array([1.0, 0.0, 0.0] * 3)
        assert np.max(np.abs(written.rates(loaded, 0.0, start, written.packed(SCENARIOS["main"]), m))) < 1e-8


def test_main_runs_in_c() -> None:
    """The tips touch near the pole of their z axis, so the graph and this run start in the other chart."""
    hand, p, m = exact_hand(), written.packed(SCENARIOS["main"]), np.array([1.0, 1.0, 0.0] * 3)
    start = in_states_of_c(hand, hand.start(), (1, 0))
    with written.library() as loaded:
        found = solve_ivp(
            lambda t, x: written.rates(loaded, t, x, p, m)[0], (0.0, 9.0), start, method="LSODA", rtol=1e-6, atol=1e-10
        )
    x = found.y[:, -1]
    assert found.success and np.allclose(x[64:67], (0.009488, 0.0, 0.135844), atol=1e-6)
    assert np.allclose(x[77:80], (0.010432, 0.0, 0.139804), atol=1e-6)
    sines = np.sin(found.y[[24, 26, 34, 36, 44, 46]])
    assert np.all(sines > 0.3) and np.all(found.y[[29, 39, 49]] < 0.0)
