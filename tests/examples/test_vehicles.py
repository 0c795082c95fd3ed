"""The example vehicles agree with hand calculations."""

from __future__ import annotations

from functools import cache
from math import atan, sin

import numpy as np
import pytest
from scipy.optimize import fsolve

from examples import drive_train as d
from examples import excavator as x
from examples import pacemaker

drive = cache(d.run)
dig = cache(x.run)


def test_the_account_of_the_drive_train_closes_in_every_domain():
    run = drive()
    domains = run.ledger.domains
    assert run.ok and not run.warnings and run.ledger.relative_residual < 1e-9
    passed = np.abs(domains["electrical"].received).max()
    assert set(domains) == {"electrical", "rotation", "translation", "hydraulic", "thermal"}
    assert np.abs(sum(each.received for each in domains.values())).max() < 1e-9 * passed
    for each in domains.values():
        gained = each.stored - each.stored[0] + each.dissipated - each.supplied - each.injected
        assert np.abs(gained - each.received).max() < 1e-9 * max(passed, abs(each.stored[0]))
    # The circuit is charged while the cart slows down, and the cart stops with all its energy dissipated.
    assert np.diff(domains["electrical"].received).max() > 0.0
    assert abs(run["cart.flow"][-1]) < 1e-12 and domains["translation"].stored[-1] < 1e-12


def test_heat_of_the_drive_train_is_its_losses():
    """The heat c dT plus the integral of G (T - Ta) equals the energy lost in the winding, R i^2, and in the brake."""
    run = drive()
    thermal = run.ledger.domains["thermal"].received[-1]
    kept = {}
    for hot, c, G in (("winding", 2e3, 5.0), ("brake", 4e3, 8.0)):
        above = run[f"{hot} body.effort"] - d.AMBIENT
        kept[hot] = c * above[-1] + G * np.trapezoid(above, run.t)
    assert sum(kept.values()) == pytest.approx(thermal, rel=1e-6)
    assert kept["brake"] == pytest.approx(np.trapezoid(np.abs(run["brake.effort"] * run["wheel.flow"]), run.t), rel=1e-4)
    assert kept["winding"] == pytest.approx(np.trapezoid(d.COPPER * run["winding.flow"] ** 2, run.t), rel=1e-3)


def test_brake_pressure_has_the_time_constant_of_the_hose():
    """The pressure has the time constant 128 mu L V0 / (pi d^4 B)."""
    run = drive()
    constant = 128 * 0.04 * 1.0 / (np.pi * 2e-3**4) * 2e-5 / 2e7
    pressed = run.t > 9.0
    rise = d.PRESSURE * (1.0 - np.exp(-(run.t[pressed] - 9.0) / constant))
    np.testing.assert_allclose(run["caliper.effort"][pressed], rise, rtol=1e-5, atol=1e-5 * d.PRESSURE)


def test_duty_decides_the_steady_speed():
    """Voltage, torque and force balance over a period, with a ripple of V D (1 - D) T / L."""
    names = ("winding.flow", "motor.rotor.flow", "cart.flow", "battery.cell.effort", "battery.C1.effort", "winding body.effort")
    h, count = d.PERIOD / 50, 5000
    run = d.drive_train(lambda t: d.DUTY).simulate(16.0, samples=h, keep=names, parameters={"pedal.after": 0.0})
    current, speed, cart, body = (run[name][-count - 1 :] for name in (*names[:3], names[5]))
    mean = {name: run[name][-count:].mean() for name in names}
    source = mean["battery.cell.effort"] + mean["battery.C1.effort"]
    alpha, a = (x[-1] - x[0] for x in (speed, cart))
    alpha, a = alpha / (count * h), a / (count * h)  # nearly steady: the remaining acceleration

    def balances(x: np.ndarray) -> list[float]:
        i, w, u = x * (100.0, 100.0, 10.0)
        force = d.LOAD / 2 * sin(1.9 * atan(10.0 * (d.RADIUS * w / d.RATIO - u) / u))
        load = (force * d.RADIUS + d.WHEEL * alpha / d.RATIO) / (d.RATIO * d.EFFICIENCY)
        voltage = d.DUTY * (source - d.BATTERY["R0"] * i) - (d.COPPER + 1e-3) * i - d.MAGNET * w
        torque = d.MAGNET * i - d.BEARING * w - d.ROTOR * alpha - load
        return [voltage / 50.0, torque / 10.0, (force - d.DRAG * u * u - d.ROLLING * d.LOAD - d.MASS * a) / 100.0]

    by_hand = fsolve(balances, [0.5, 2.0, 1.0], xtol=1e-12) * (100.0, 100.0, 10.0)
    np.testing.assert_allclose([mean[name] for name in names[:3]], by_hand, rtol=3e-4)
    ripple = source * d.DUTY * (1.0 - d.DUTY) * d.PERIOD / d.COIL
    assert np.ptp(current) == pytest.approx(ripple, rel=0.02)  # minus the part that the resistances take
    heat = 2e3 * (body[-1] - body[0]) / (count * h) + 5.0 * (body.mean() - d.AMBIENT)
    assert heat == pytest.approx(d.COPPER * (by_hand[0] ** 2 + ripple**2 / 12.0), rel=5e-3)


# Anions (S), period (s), lowest and highest voltage (V) by SciPy's LSODA at rtol 1e-10, from equations in mV and ms.
BEATS = (
    (0.0, 0.8395070673, -0.08466944078, 0.02809569232),
    (7.5e-5, 0.5641642082, -0.08157914274, 0.02336703884),
    (1.8e-4, 0.3243306835, -0.07182616235, -0.00092395384),
)


@pytest.mark.parametrize(("anions", "period", "lowest", "highest"), BEATS)
def test_the_pacemaker_beats_as_another_program_says(anions, period, lowest, highest):
    run = pacemaker.run(anions)
    assert run.ok and not run.warnings and run.ledger.relative_residual < 1e-9
    found = pacemaker.beat(run)
    assert found[0] == pytest.approx(period, rel=1e-4)
    assert found[1:] == pytest.approx((lowest, highest), abs=5e-5)


def test_a_beat_of_the_pacemaker_leaves_no_charge_and_no_energy_behind():
    run = pacemaker.run(7.5e-5)
    v, channels = run["membrane.effort"], ("sodium", "potassium", "anions")
    start, stop = np.flatnonzero((v[:-1] < -0.08) & (v[1:] >= -0.08))[-2:]
    charge = {name: np.trapezoid(run[f"{name}.flow"][start:stop], run.t[start:stop]) for name in channels}
    assert abs(sum(charge.values())) < 2e-3 * charge["sodium"]
    ledger = run.ledger
    lost = ledger.dissipated[stop] - ledger.dissipated[start]
    # Energy of the ions: charge times the voltage of each battery.
    given = sum(charge[name] * pacemaker.RESTS[name] for name in channels)
    assert lost == pytest.approx(ledger.supplied[stop] - ledger.supplied[start], rel=1e-4)
    assert lost == pytest.approx(given, rel=2e-3)
    lowest = start + int(np.argmin(v[start:stop]))
    balance = {name: run[f"{name}.flow"][lowest] for name in channels}
    assert abs(sum(balance.values())) < 5e-3 * balance["sodium"]


def heights_and_lengths(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    boom, stick, bucket = np.cumsum(q)
    heights = np.array([1.5 * sin(boom), 3 * sin(boom) + 0.7 * sin(stick), 3 * sin(boom) + 1.6 * sin(stick) + 0.5 * sin(bucket)])
    pins = ((0.6, 1.4, 1.0 + q[0]), (0.5, 1.0, 0.2 - q[1]), (0.4, 0.4, 0.2 - q[2]))
    return heights, np.array([abs(a - b * np.exp(1j * angle)) for a, b, angle in pins])


def forces_by_hand(q: np.ndarray, rates: np.ndarray | float = 0.0) -> np.ndarray:
    """Return the cylinder forces (N) by virtual work, as the power of the weights and pins over the cylinder rates."""
    forces, small = [], 1e-5
    for joint in np.eye(3):
        (high, longer), (low, shorter) = (heights_and_lengths(q + side * small * joint) for side in (1.0, -1.0))
        moment = 9.81 * np.array([500.0, 250.0, 300.0]) @ (high - low) / (2 * small) + 4e3 * (joint * rates).sum()
        forces.append(moment / (joint @ (longer - shorter) / (2 * small)))
    return np.array(forces)


AREAS = {"boom": (6.4e-3, 3.5e-3), "stick": (5e-3, 2.5e-3), "bucket": (5e-3, 2.5e-3)}


def test_the_account_of_the_excavator_closes_in_every_domain():
    run = dig()
    domains = run.ledger.domains
    assert run.ok and not run.warnings and run.ledger.relative_residual < 1e-9
    assert set(domains) == {"rotation", "translation", "hydraulic", "thermal"}
    passed = np.abs(domains["rotation"].received).max()
    assert np.abs(sum(each.received for each in domains.values())).max() < 1e-9 * passed


def test_pressures_that_hold_the_excavator():
    run = dig()
    shut = run.t < 0.5
    forces = forces_by_hand(x.START)
    assert forces[0] > 0.0 > forces[1]
    for (name, (head, rod)), force in zip(AREAS.items(), forces, strict=True):
        carried = head * run[f"{name} head.effort"][shut] - rod * run[f"{name} rod.effort"][shut]
        np.testing.assert_allclose(carried, force, rtol=1e-6)
        assert min(run[f"{name} head.effort"].min(), run[f"{name} rod.effort"].min()) > 0.0  # the oil does not cavitate
    np.testing.assert_allclose(run["angles.q"][shut], np.tile(x.START, (shut.sum(), 1)), rtol=0, atol=1e-8)


def test_heat_of_the_excavator_is_the_loss_of_its_valves():
    """The heat of the oil, c dT plus the integral of G (T - Ta), equals the energy lost in the relief valve and the lands."""
    run = dig()
    above = run["oil.effort"] - x.AMBIENT
    kept = 2e4 * above[-1] + 60.0 * np.trapezoid(above, run.t)
    lands = [f"{name} valve.{land}" for name in AREAS for land in ("PA", "BT", "PB", "AT")]
    lost = sum(np.trapezoid(run[f"{name}.effort"] * run[f"{name}.flow"], run.t) for name in ("relief", *lands))
    assert kept == pytest.approx(lost, rel=1e-4)
    assert run.ledger.domains["thermal"].received[-1] == pytest.approx(kept, rel=1e-4)


@pytest.mark.parametrize(("name", "when"), [("boom", 3.0), ("bucket", 6.2)])
def test_cylinders_of_the_excavator_move_by_flow_over_area(name, when):
    run, place = dig(), list(AREAS).index(name)
    around = np.abs(run.t - when) < 0.4
    q, rates = run["angles.q"][around].mean(0), run["joints.flow"][around].mean(0)
    force, (head, rod) = forces_by_hand(q, rates)[place], AREAS[name]

    def balances(unknown: np.ndarray) -> list[float]:
        speed, supply = unknown * (0.1, 1e7)
        piston = head * (supply - (speed * head / 2e-7) ** 2) - rod * (speed * rod / 2e-7) ** 2
        relief = 1e-6 * (supply - 1.8e7) / 2e6 * np.sqrt(supply)
        leaves = 8e-4 - 1e-13 * supply - relief
        return [(piston - force) / 1e5, (leaves - speed * head) / 1e-3]

    speed, supply = fsolve(balances, [0.5, 1.8], xtol=1e-12) * (0.1, 1e7)
    assert run[f"{name} cylinder.piston.flow"][around].mean() == pytest.approx(speed, rel=1e-2)
    assert run["supply.effort"][around].mean() == pytest.approx(supply, rel=1e-3)
    # Over the whole cycle, the inflow equals the piston's swept volume plus compression.
    grown = heights_and_lengths(run["angles.q"][-1])[1][place] - heights_and_lengths(x.START)[1][place]
    pressed = (run[f"{name} head.effort"][-1] - run[f"{name} head.effort"][0]) * 2e-3 / 1.6e9
    assert np.trapezoid(run[f"{name} valve.PA.flow"], run.t) == pytest.approx(head * grown + pressed, rel=1e-5)
