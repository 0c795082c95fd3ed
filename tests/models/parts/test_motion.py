"""Parts for motion agree with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from screwbond.models import parts

from bondgraph import J1, Element, Graph, I, Parameter, R, Se, Sf, compile_model, signals
from tests.models.parts.checks import checks, final

m = parts.motion


def pulled(part, velocity: float, domain: str = "translation") -> float:
    graph, v = Graph("pulled"), J1("v", domain=domain)
    return final(graph.connect(Sf("drive", velocity), v).between(None, v, part), "drive.effort", t_end=1e-3)[0]


def thrown(part: Element | Graph, domain: str, inertia: float, speed: float, t_end: float, **more) -> tuple[float, float]:
    graph, v = Graph("thrown"), J1("v", domain=domain)
    graph.connect(v, I("body", inertia, initial=inertia * speed)).between(None, v, part)
    run = compile_model(graph, progress=False).simulate(t_end, rtol=1e-9, progress=False, **more)
    assert run.ok
    return float(run["body.flow"][-1]), float(run["body.p"][-1])


def through(part, speed: float, load: float, first: str = "1", second: str = "2") -> tuple[float, float]:
    graph = Graph("driven").connect(Sf("drive", speed), part.port(first)).connect(part.port(second), R("load", load))
    torque, flow = final(graph, "drive.effort", "load.flow", t_end=1e-3)
    return torque, flow


@checks("motion.gear", "motion.rack_and_pinion", "motion.lead_screw")
@pytest.mark.parametrize(
    ("make", "ratio"),
    [
        (lambda: m.gear("g", 4.0), 0.25),
        (lambda: m.gear("g", -4.0), -0.25),
        (lambda: m.rack_and_pinion("g", Parameter(50, "mm")), 0.05),
        (lambda: m.lead_screw("g", 0.01), 0.01 / (2 * np.pi)),
    ],
)
def test_transmissions(make, ratio) -> None:
    assert through(make(), 8.0, 3.0) == pytest.approx((8.0 * ratio**2 * 3.0, 8.0 * ratio))


@checks("motion.lossy_gear")
@pytest.mark.parametrize(
    ("torque", "load", "factor"), [(10.0, -2.0, 0.5), (-10.0, 2.0, 0.5), (-1.0, 20.0, 2.0), (1.0, -20.0, 2.0), (4.0, -6.0, None)]
)
def test_lossy_gear(torque, load, factor) -> None:
    """Either shaft drives in both directions, or neither turns."""
    graph, gear = Graph("g"), m.lossy_gear("gear", 2.0, 0.5)
    graph.connect(graph.series(Se("drive", torque), I("first", 1.0)), gear.port("1"))
    graph.connect(gear.port("2"), graph.series(Se("load", load), I("second", 1.5)))
    speed, slow = final(graph, "first.flow", "second.flow")
    expected = 0.0 if factor is None else (2 * factor * torque + load) / (2 * factor + 0.75)
    assert speed == pytest.approx(expected, abs=1e-12) and slow == pytest.approx(expected / 2, abs=1e-12)


@checks("motion.worm_gear")
@pytest.mark.parametrize(
    ("torque", "load", "mu", "share"),
    [
        (2.0, -30.0, 0.05, "drive"),
        (-4.0, 60.0, 0.05, "drive"),
        (0.0, 60.0, 0.05, "driven"),
        (0.0, 60.0, 0.2, None),
        (1.0, -5.0, 0, ""),
    ],
)
def test_worm_gear(torque, load, mu, share) -> None:
    """`share` is "drive" if the worm drives, "driven" if the wheel drives, "" without losses, and None if the gear locks."""
    graph, worm = Graph("g"), m.worm_gear("worm", 30.0, np.arctan(0.1), mu)
    graph.connect(graph.series(Se("drive", torque), I("first", 0.1)), worm.port("1"))
    graph.connect(worm.port("2"), graph.series(Se("load", load), I("second", 20.0)))
    factors = {"drive": (1 + mu / 0.1) / (1 - mu * 0.1), "driven": (1 - mu / 0.1) / (1 + mu * 0.1), "": 1.0}
    expected = 0.0 if share is None else (torque + factors[share] * load / 30) / (0.1 + factors[share] * 20 / 900)
    assert final(graph, "first.flow", "second.flow") == pytest.approx([expected, expected / 30], abs=1e-9)


@checks("motion.belt")
@pytest.mark.parametrize(("torque", "ratio"), [(5.0, None), (60.0, np.exp(-0.9)), (-60.0, np.exp(0.9))])
def test_belt_grips_and_slips(torque, ratio) -> None:
    """A belt under 100 N transmits the pulley's force up to Euler's ratio."""
    graph, belt = Graph("g"), m.belt("belt", r=0.2, mu=0.3, wrap=3.0)
    graph.connect(graph.series(Se("drive", torque), I("wheel", 1.0)), belt.port("shaft"))
    graph.connect(graph.series(R("drag", damping=1e3), I("mass", 5.0)), belt.port("1"))
    graph.connect(belt.port("2"), Se("tension", 100.0))
    slip, grip = final(graph, "belt.grip.flow", "belt.grip.effort", t_end=0.5)
    if ratio is None:
        assert slip == pytest.approx(0.0, abs=1e-9) and abs(grip) < 50.0
    else:
        assert slip * torque < -1.0 and (100 + grip) / 100 == pytest.approx(ratio)


@checks("motion.torque_converter")
@pytest.mark.parametrize(
    ("pump", "turbine", "ratio"), [(300.0, 0.0, 2.0), (300.0, 153.0, 1.4), (-300.0, -153.0, 1.4), (300.0, 290.0, 1.0)]
)
def test_torque_converter(pump, turbine, ratio) -> None:
    part = m.torque_converter("c", k=2e-3)
    graph = Graph("g").connect(Sf("pump", pump), part.port("pump")).connect(part.port("turbine"), Sf("turbine", -turbine))
    taken, given = final(graph, "pump.effort", "turbine.effort", t_end=1e-3)
    assert taken == pytest.approx(2e-3 * abs(pump) * (pump - turbine)) and abs(given) == pytest.approx(ratio * abs(taken))


@checks("motion.engine_map")
def test_engine_map() -> None:
    graph = Graph("g").connect(Sf("speed", 200.0), J1("shaft", domain="rotation"))
    assert pulled(m.engine_map("e"), 200.0, "rotation") == pytest.approx(-165.0) and len(graph) == 2
    assert pulled(m.engine_map("e", throttle=0.0), 50.0, "rotation") == pytest.approx(5.0)


@checks("motion.torque_limiter")
def test_torque_limiter_slips_above_its_torque_and_engages_again() -> None:
    """At 7 N m the limiter slips at 2 N m, and the body accelerates by (7 - 2) / 1 rad/s^2."""
    for torque, speed in ((6.0, 0.0), (7.0, 5.0)):
        graph, shaft = Graph("g"), J1("shaft", domain="rotation")
        graph.connect(Se("drive", torque), shaft).connect(shaft, I("body", 1.0))
        graph.between(None, shaft, m.torque_limiter("limiter", M=6.5, slip=2.0))
        assert final(graph, "body.flow") == pytest.approx([speed])
    assert thrown(m.torque_limiter("limiter", M=6.5, slip=2.0), "rotation", 1.0, 2.0, 1.5)[0] == pytest.approx(0.0, abs=1e-9)


@checks("motion.planetary_gear")
def test_planetary_gear() -> None:
    """With the ring held, the carrier turns at 1 / (1 + k) of the sun's speed."""
    for ring, carrier in ((0.0, 2.0), (8.0, 8.0), (-4.0, -1.0)):
        graph, part = Graph("g"), m.planetary_gear("p", 3.0)
        graph.connect(Sf("sun", 8.0), part.port("sun")).connect(Sf("ring", ring), part.port("ring"))
        speed, a, b = final(graph.connect(part.port("carrier"), R("load", 2.0)), "load.flow", "sun.effort", "ring.effort")
        assert speed == pytest.approx(carrier) and b == pytest.approx(3 * a) and a + b == pytest.approx(2 * carrier)


@checks("motion.clutch")
def test_clutch_brings_two_shafts_to_one_speed() -> None:
    """With 2 kg m^2 at 10 rad/s and 3 kg m^2 at rest, slip ends at 4 rad/s when M (1/2 + 1/3) t = 10."""
    for pressure in (1.0, 0.5, "grip.y"):
        graph, a, b = Graph("g"), J1("a", domain="rotation"), J1("b", domain="rotation")
        graph.connect(a, I("driver", 2.0, initial=20.0)).connect(b, I("driven", 3.0))
        graph.between(a, b, m.clutch("c", M=6.0, pressure=pressure))
        graph.add(signals.step("grip", start=0.0, after=1.0))
        run = compile_model(graph, progress=False).simulate(6.0, progress=False)
        assert run["driven.flow"][-1] == pytest.approx(4.0) and run.ok
        sticks = [event.time for event in run.events if "stick" in event.kind][-1]
        assert sticks == pytest.approx(2.0 / (0.5 if pressure == 0.5 else 1.0), rel=1e-6)


@checks("motion.one_way_clutch")
def test_one_way_clutch() -> None:
    for start, stop, after in ((1.0, 5.0, (1.0, 5.0)), (5.0, 1.0, (3.0, 3.0))):
        graph, a, b = Graph("g"), J1("a", domain="rotation"), J1("b", domain="rotation")
        graph.connect(a, I("start", 1.0, initial=start)).connect(b, I("end", 1.0, initial=stop))
        assert final(graph.between(a, b, m.one_way_clutch("c")), "start.flow", "end.flow") == pytest.approx(after)


@checks(
    *(f"motion.{part}" for part in ("stribeck_friction", "bearing_friction", "drag", "rolling_resistance", "eddy_current_brake"))
)
@pytest.mark.parametrize("v", [-2.0, 0.05, 3.0])
def test_resistances(v) -> None:
    curve = (6 + 4 * np.exp(-abs(v) / 0.1)) * np.tanh(v / 1e-3) + v
    assert pulled(m.stribeck_friction("f"), v) == pytest.approx(curve)
    table = np.interp(abs(v), [0.0, 1.0, 10.0], [1.0, 0.6, 0.7]) * np.tanh(v / 1e-3)
    assert pulled(m.bearing_friction("b"), v, "rotation") == pytest.approx(table)
    assert pulled(m.drag("d", 0.5), v) == pytest.approx(0.5 * v * abs(v))
    assert pulled(m.rolling_resistance("r", N=1000.0), v) == pytest.approx(15.0 * np.tanh(v / 0.01))
    assert pulled(m.eddy_current_brake("e", w0=3.0), v, "rotation") == pytest.approx(20 * v * 3 / (v * v + 9))


@checks("motion.lugre_friction")
def test_lugre_friction_creeps_and_slides() -> None:
    """In steady sliding, friction follows the Stribeck curve."""
    assert pulled(m.lugre_friction("l"), 0.0) == 0.0
    for v in (1e-3, 0.1):
        steady = np.sign(v) * (1 + 0.5 * np.exp(-((v / 1e-3) ** 2))) + 0.4 * v
        graph, junction = Graph("pulled"), J1("v", domain="translation")
        graph.connect(Sf("drive", v), junction).between(None, junction, m.lugre_friction("l"))
        assert final(graph, "drive.effort", t_end=0.2) == pytest.approx([steady], rel=1e-6)


def test_lugre_friction_damps_its_bristles() -> None:
    """Without sliding, z' = v, and the pre-sliding damping is the published 316 N s/m."""
    part = m.lugre_friction("l", Fs=1e9, Fc=1e9)
    assert pulled(part, 1e-3) == pytest.approx(1e5 * 1e-6 + (316 + 0.4) * 1e-3, rel=1e-6)


@checks("motion.hardening_spring", "motion.gas_spring")
@pytest.mark.parametrize(
    ("make", "force"),
    [
        (lambda: m.hardening_spring("s", k=4.0, h=-0.5), lambda x: 4 * x - 0.5 * x**3),
        (lambda: m.gas_spring("s", F0=100.0, length=2.0, n=1.4), lambda x: 100 * (1 - (1 + x / 2) ** -1.4)),
    ],
)
@pytest.mark.parametrize("x", [-0.8, 0.6])
def test_springs(make, force, x) -> None:
    graph, v = Graph("g"), J1("v", domain="translation")
    graph.connect(Sf("drive", x), v).between(None, v, make())
    run = compile_model(graph, progress=False).simulate(1.0, rtol=1e-10, progress=False)
    assert run["s.effort"][-1] == pytest.approx(force(x)) and run["s.energy"][-1] == pytest.approx(quad(force, 0, x)[0], rel=1e-6)


@checks("motion.strut")
def test_strut() -> None:
    """The motion m x'' + c x' + k x = 0 is critically damped."""
    speed, _ = thrown(m.strut("s", k=100.0, c=20.0), "translation", 1.0, 1.0, 0.3)
    assert speed == pytest.approx((1 - 10 * 0.3) * np.exp(-3.0), rel=1e-6)


def bounce(stiffness: float, damping: float) -> float:
    """Return the rebound speed of 1 kg that arrives at 1 m/s, where damping never exceeds the spring force."""

    def rate(t, y):
        spring = max(-stiffness * y[0], 0.0)
        return [y[1], spring + np.clip(-damping * y[1], -spring, spring)]

    def leaves(t, y):
        return y[0] - 1e-9

    leaves.terminal, leaves.direction = True, 1.0  # type: ignore[attr-defined]
    solved = solve_ivp(rate, (0, 1), [0.0, -1.0], rtol=1e-10, atol=1e-13, events=leaves, max_step=1e-4)
    return float(solved.y[1, -1])


@checks("motion.stop", "motion.elasto_gap", "motion.backlash")
def test_gaps_push_and_never_pull() -> None:
    """A mass of 1 kg leaves at the speed that SciPy finds or, without damping, at its initial speed."""
    back = bounce(1e4, 40.0)
    stop = {"k": 1e4, "c": 40.0}
    assert thrown(m.elasto_gap("s", **stop, x0=0.03), "translation", 1.0, -1.0, 0.1)[0] == pytest.approx(back, rel=1e-5)
    speed, _ = thrown(m.stop("s", low=-0.05, high=0.5, **stop, x0=-0.03), "translation", 1.0, -1.0, 0.2)
    assert speed == pytest.approx(back, rel=1e-5)
    speed, _ = thrown(m.backlash("s", angle=0.04, **stop, x0=0.015), "rotation", 1.0, 1.0, 0.06)
    assert speed == pytest.approx(-back, rel=1e-5)
    assert thrown(m.stop("s", c=0.0, k=1e4), "translation", 1.0, 1.0, 0.05)[0] == pytest.approx(-1.0, rel=1e-5)
    for part in (m.elasto_gap("s", x0=0.02), m.stop("s", x0=-0.005)):
        assert thrown(part, "translation", 1.0, -1.0, 0.004)[0] == pytest.approx(-1.0, rel=1e-9)
    assert thrown(m.backlash("s", angle=0.02, x0=0.009), "rotation", 1.0, -1.0, 0.015)[0] == pytest.approx(-1.0, rel=1e-9)


@checks("motion.tyre", "motion.tyre_sideways")
@pytest.mark.parametrize("slip", [-3.0, 0.4])
def test_tyres(slip) -> None:
    s = slip / 25.0
    assert pulled(m.tyre("t", speed=-25.0), slip) == pytest.approx(4000 * np.sin(1.9 * np.arctan(10 * s)))
    across = pulled(m.tyre_sideways("t", speed=25.0), slip)
    assert across == pytest.approx(4000 * np.sin(1.9 * np.arctan(10 * np.arctan(s))))


@checks("motion.relaxing_tyre")
def test_tyre_relaxes_over_a_length() -> None:
    """After a step in the slip velocity, s = v / u (1 - exp(-u t / sigma))."""
    graph, junction = Graph("pulled"), J1("v", domain="translation")
    graph.connect(Sf("drive", 0.4), junction).between(None, junction, m.relaxing_tyre("t", speed=-25.0, sigma=0.5))
    slip = 0.4 / 25 * (1 - np.exp(-1.0))
    assert final(graph, "drive.effort", t_end=0.02) == pytest.approx([4000 * np.sin(1.9 * np.arctan(10 * slip))])


@checks("motion.slider_crank", "motion.cam")
@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: m.slider_crank("l", r=0.1, length=0.3), lambda a: 0.1 * np.cos(a) + np.sqrt(0.09 - (0.1 * np.sin(a)) ** 2)),
        (lambda: m.cam("l", lift=0.1), lambda a: 0.05 * (1 - np.cos(a))),
    ],
)
def test_linkages(make, place) -> None:
    part = make()
    graph = Graph("driven").connect(Sf("drive", 2.0), part.port("crank")).connect(part.port("slide"), R("load", 3.0))
    run = compile_model(graph, progress=False).simulate(4.0, rtol=1e-9, progress=False)
    phi = run["l.angle.phi"]
    velocity = 2.0 * (place(phi + 1e-6) - place(phi - 1e-6)) / 2e-6
    assert run["load.flow"] == pytest.approx(velocity, abs=1e-8)
    assert run["drive.effort"] * 2.0 == pytest.approx(3.0 * velocity**2, abs=1e-8)
