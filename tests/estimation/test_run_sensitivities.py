"""Sensitivities of runs agree with complex steps through closed forms, or with differences of runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from screwbond.models.delta import DeltaParameters, DeltaRobot

from bondgraph import J0, J1, Automaton, C, Constraint, Diode, Friction, Graph, I, R, Se, Transition, compile_model, signals
from bondgraph.errors import ModelError, RunError
from bondgraph.estimation import run_sensitivities
from examples.bouncing_ball import with_restitution
from screws.scalars import sin
from tests.analysis.models import diode as diode_loop
from tests.analysis.models import motor
from tests.estimation.differences import differences
from tests.inner.estimation import SensitivityWeights
from tests.run.test_accumulation import ball, stop
from tests.run.test_breaks import pushed
from tests.run.test_ticks import proportional
from tests.run.test_ticks import pushed as clocked

STEP = 1e-30
"""Complex step, so small that the derivative has only rounding errors."""
EXACT = 1e-8
"""Tolerance, relative to the largest value of the derivative along the run."""
TIGHT = {"rtol": 1e-11, "progress": False}


def agree(found, wanted, within=EXACT):
    assert np.max(np.abs(found - wanted)) <= within * np.max(np.abs(wanted))


MOTOR = ("supply.value", "winding.resistance", "coil.inertia", "emf.ratio", "inertia.inertia", "friction.resistance")


def motor_at(times, numbers):
    """Return the momenta of coil and rotor from rest; parameters may be complex."""
    u, r, coil, k, inertia, friction = numbers
    A = np.array([[-r / coil, -k / inertia, u], [k / coil, -friction / inertia, 0.0], [0.0, 0.0, 0.0]])
    return np.array([(expm(A * t) @ np.array([0.0, 0.0, 1.0]))[:2] for t in times])


METHODS = [{"method": "dop853"}, {"method": "rodas5p"}]


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_a_motor_against_complex_steps(options):
    compiled = compile_model(motor())
    times = np.array([0.0, 2e-5, 1e-3, 0.02, 0.1])
    found = run_sensitivities(compiled, MOTOR, times[-1], samples=times, rtol=1e-10, progress=False, **options)
    numbers = np.array([float(compiled.parameters[name].value) for name in MOTOR])
    assert found.ok and found.labels == MOTOR and found.units[1] == "Ohm"
    for j, name in enumerate(MOTOR):
        moved = numbers.astype(complex)
        moved[j] += 1j * STEP * numbers[j]
        wanted = motor_at(times, moved).imag / (STEP * numbers[j])
        for i, state in enumerate(("coil.p", "inertia.p")):
            # each state relative to its whole column, since the current hardly changes when the rotor does
            agree(found[state, name], wanted[:, i], EXACT if np.max(np.abs(wanted[:, i])) * numbers[j] > 1e-12 else 1e-4)


@pytest.mark.parametrize("options", METHODS, ids=str)
@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_a_system_at_rest_has_sensitivities_to_its_start(options, unit):
    """All states stay zero, so the sensitivities S, with S' = f_x S, need scales of their own."""
    graph, v = Graph("oscillator"), J1("v")
    graph.connect(v, I("mass", 1.0 * unit, domain="translation")).connect(v, C("spring", stiffness=4.0 * unit))
    graph.add(signals.integrator("way", "mass.flow"), signals.integrator("path", "way.y"))
    compiled = compile_model(graph)
    times = np.array([0.0, 0.4, 1.0])
    found = run_sensitivities(compiled, ("mass.p", "spring.q"), 1.0, samples=times, rtol=1e-10, progress=False, **options)
    s, c = np.sin(2.0 * times), np.cos(2.0 * times)
    assert found.ok and not found.result.x.any()
    agree(found["mass.p"], np.stack([c, -2.0 * s * unit], axis=-1))
    agree(found["path.y", "mass.p"] * unit, (1.0 - c) / 4.0)
    agree(found["path.y", "spring.q"], s / 2.0 - times)


def bounces(times, numbers):
    """Return the height and momentum of a bouncing ball of mass 1; parameters may be complex."""
    g, p, h, e = numbers
    rows, t, at = [], 0.0 * g, list(times)
    while at:
        hit = (p + np.sqrt(p * p + 2.0 * g * h)) / g
        while at and at[0] <= (t + hit).real:
            s = at.pop(0) - t
            rows.append([h + p * s - g * s * s / 2.0, p - g * s])
        t, h, p = t + hit, 0.0 * g, -e * (p - g * hit)
    return np.array(rows)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_interrupts_during_callbacks_are_raised(error, monkeypatch):
    graph, v = Graph("driven"), J1("v")
    graph.connect(v, I("mass", mass=1.0, domain="translation")).connect(v, C("spring", stiffness=4.0, initial=0.1))
    compiled = compile_model(graph, progress=False)

    def interrupted(*_):
        raise error

    expected = run_sensitivities(compiled, ["spring.stiffness"], 2.0, progress=False)
    monkeypatch.setattr(SensitivityWeights, "refresh", interrupted)
    with pytest.raises(error):
        run_sensitivities(compiled, ["spring.stiffness"], 2.0, progress=False)
    monkeypatch.undo()
    again = run_sensitivities(compiled, ["spring.stiffness"], 2.0, progress=False)
    np.testing.assert_array_equal(again["spring.q"], expected["spring.q"])


def test_bounces_against_complex_steps():
    graph, v = Graph("ball"), J1("v")
    floor = Constraint("floor", initial=1.0, automaton="contact", active=["resting"], restitution=0.8)
    weight = Se("weight", lambda g: -g, parameters={"g": 9.81})
    graph.connect(weight, v).connect(v, I("ball", 1.0, initial=0.3)).connect(v, floor)
    bounce = Transition("free", "free", lambda h: -h, ("floor.h",), impact=("floor",), accumulates="resting")
    compiled = compile_model(graph.add_automaton(Automaton("contact", ("free", "resting"), "free", (bounce,))))
    names, numbers = ("weight.g", "ball.p", "floor.h", "floor.restitution"), np.array([9.81, 0.3, 1.0, 0.8])
    times = np.linspace(0.0, 3.1, 40)
    found = run_sensitivities(compiled, names, 3.1, samples=times, **TIGHT)
    plain = compiled.simulate(3.1, samples=times, **TIGHT)
    assert found.ok and len(found.result.events) == 6
    assert np.array_equal(plain.x, found.result.x) and plain.statistics.steps == found.result.statistics.steps
    for j, name in enumerate(names):
        moved = numbers.astype(complex)
        moved[j] += 1j * STEP
        wanted = bounces(times, moved).imag / STEP
        agree(found["floor.h", name], wanted[:, 0])
        agree(found["ball.p", name], wanted[:, 1])


def test_where_bounces_accumulate():
    compiled = compile_model(ball(0.6, [stop()]))
    found = run_sensitivities(compiled, ["weight.g", "height.x"], 3.0, samples=[1.5, 1.8, 2.5, 3.0], **TIGHT)
    assert found.ok and found.result["floor.mode"].tolist() == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert np.abs(found.S[3:]).max() < EXACT * np.abs(found.S).max()


def clutch():
    graph, a, b, slip = Graph("clutch"), J1("a"), J1("b"), J0("slip")
    graph.connect(a, I("drive", 1.0, initial=10.0)).connect(a, slip).connect(slip, b).connect(b, I("load", 2.0))
    return graph.connect(slip, Friction("plates", 5.0, initial="forward"))


def locked(times, numbers):
    """Return the momenta of both sides of the clutch, on which the torque T acts until the speeds are equal."""
    first, second, torque, start = numbers
    until = start / first / (torque / first + torque / second)
    rows = []
    for t in times:
        s = t if t < until.real else until
        one, two = start - torque * s, torque * s
        common = (one + two) / (first + second)
        rows.append([one, two] if t < until.real else [first * common, second * common])
    return np.array(rows)


def test_a_clutch_that_locks_against_complex_steps():
    names, numbers = ("drive.inertia", "load.inertia", "plates.limit", "drive.p"), np.array([1.0, 2.0, 5.0, 10.0])
    times = np.array([0.0, 0.5, 1.3, 1.4, 3.0])
    # the stick limit is at least the slip limit, so it varies with it
    found = run_sensitivities(compile_model(clutch()), names, 3.0, samples=times, **TIGHT)
    for j, name in enumerate(names):
        moved = numbers.astype(complex)
        moved[j] += 1j * STEP
        wanted = locked(times, moved).imag / STEP
        agree(found["drive.p", name], wanted[:, 0])
        agree(found["load.p", name], wanted[:, 1])


def test_a_source_that_jumps_at_a_time_that_is_varied():
    compiled = compile_model(pushed(signals.pulse("p", start=0.3, width=0.4, after=2.0)))
    found = run_sensitivities(compiled, ["p.start", "p.width", "p.after"], 1.0, samples=[0.2, 0.5, 1.0], **TIGHT)
    wanted = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-2.0, 0.0, 0.2], [0.0, 2.0, 0.4]]
    assert found["m.p"] == pytest.approx(np.array(wanted), abs=1e-12)


def test_clocks_whose_period_and_offset_are_varied():
    """With x' = u and u = -k x at each tick, x falls by the factor 1 - k T and is linear between ticks."""
    compiled = compile_model(clocked(proportional(0.1, offset=0.013), start=1.0))
    names = ("control.k", "control.period", "control.offset", "m.p")
    times = np.array([0.0, 0.05, 0.31, 0.77])
    found = run_sensitivities(compiled, names, 0.77, samples=times, **TIGHT)

    def course(k, period, offset, x):
        rows = []
        for t in times:
            n = int((t - offset.real) / period.real) if t >= offset.real else -1
            rows.append(x if n < 0 else x * (1.0 - k * period) ** n * (1.0 - k * (t - offset - n * period)))
        return np.array(rows)

    for j, name in enumerate(names):
        moved = np.array([5.0, 0.1, 0.013, 1.0], dtype=complex)
        moved[j] += 1j * STEP
        assert found["m.p", name] == pytest.approx(course(*moved).imag / STEP, abs=1e-9)


def rectifier():
    graph, loop, out = Graph("rectifier"), J1("loop"), J0("out")
    graph.connect(Se("mains", lambda a, t: a * sin(314.0 * t), parameters={"a": 10.0}, signals=["time"]), loop)
    graph.connect(loop, Diode("diode", initial="closed")).connect(loop, out)
    return graph.connect(out, C("c", capacitance=200e-6, nominal=1e-3)).connect(out, R("load", 100.0))


def stick_slip():
    graph, shafts, slip = Graph("clutch"), [J1(f"w{i}") for i in range(2)], J0("slip")
    for i, shaft in enumerate(shafts):
        wave = {"a": 2.0 + i, "w": 1.5 + 0.8 * i}
        drive = Se(f"t{i}", effort=lambda a, w, t: a * sin(w * t), parameters=wave, signals=["time"])
        graph.connect(drive, shaft).connect(shaft, I(f"J{i}", 1.0)).connect(shaft, R(f"b{i}", 0.05))
    return graph.connect(shafts[0], slip).connect(slip, shafts[1]).connect(slip, Friction("c", 1.0))


def controlled():
    graph, shaft = Graph("servo"), J1("shaft")
    graph.connect(Se("motor", lambda u: u, signals=["control.y"]), shaft)
    graph.connect(shaft, I("rotor", 0.02)).connect(shaft, R("bearing", 0.01))
    graph.add(
        signals.ramp("goal", slope=2.0, start=0.0537, end=0.2),
        signals.integrator("angle", "rotor.flow"),
        signals.summation("error", {"goal.y": 1, "angle.y": -1}),
        signals.sampled_pid("control", "error.y", 0.4, 0.2, 0.05, period=0.01, time_constant=2e-3, limits=(-5.5, 5.5)),
    )
    return graph


def resting_on_a_constraint():
    from examples.bouncing_ball import on_constraint

    return on_constraint(10.0)


CASES = {
    "rectifier": (rectifier, 0.05, ("mains.a", "c.capacitance"), ["c.effort"], {}),
    "stick and slip": (stick_slip, 8.0, ("t0.a", "J0.inertia", "b0.resistance"), ["w0.flow", "w1.flow"], {}),
    "servo": (controlled, 0.3, ("control.kp", "control.kd", "rotor.inertia", "goal.start"), ["angle.y"], {}),
    "nonlinear loop": (diode_loop, 1e-3, ("diode.s", "diode.v", "wire.resistance"), ["capacitor.q", "series.flow"], {}),
    "bounces": (with_restitution, 2.0, ("weight.value", "floor.restitution", "floor.h"), ["floor.h"], {}),
    "clutch": (clutch, 3.0, ("drive.inertia", "load.inertia", "drive.p"), ["drive.p", "load.p"], {}),
    "contact by a constraint": (resting_on_a_constraint, 2.0, ("weight.value", "floor.alpha0", "floor.h"), ["floor.h"], {}),
}


@pytest.mark.parametrize("case", CASES)
def test_against_differences_of_runs(case):
    make, t_end, names, outputs, more = CASES[case]
    compiled = compile_model(make())
    settings = {"rtol": 1e-12, "progress": False, "samples": t_end * np.array([0.123, 0.27, 0.4137, 0.61, 0.83, 1.0]), **more}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # rounding error, at this tolerance
        found = run_sensitivities(compiled, names, t_end, **settings)
        assert not found.warnings
        for name in names:
            wanted = differences(compiled, name, t_end, outputs, 1e-2, **settings)
            for k, output in enumerate(outputs):
                agree(found[output, name], wanted[:, k])


def test_torques_of_the_delta_robot_against_differences_of_runs():
    compiled = compile_model(DeltaRobot(DeltaParameters.fit()).graph())
    settings = {"rtol": 1e-10, "progress": False, "samples": [0.1, 0.2]}
    found = run_sensitivities(compiled, ["motor 1.torque"], 0.2, **settings)
    states = [compiled.program.layout.label("x", k) for k in range(6)]
    wanted = differences(compiled, "motor 1.torque", 0.2, states, 1e-2, **settings)
    agree(np.stack([found[name, "motor 1.torque"] for name in states], axis=-1), wanted)


def test_two_balls_that_touch_at_the_same_time_by_chance():
    def balls(count):
        graph = Graph("balls")
        for k in range(count):
            floor = Constraint(f"floor{k}", initial=1.0, automaton=f"contact{k}", active=["on"], restitution=0.8)
            v = J1(f"v{k}")
            graph.connect(Se(f"weight{k}", -9.81), v).connect(v, I(f"ball{k}", 1.0)).connect(v, floor)
            bounce = Transition("off", "off", lambda h: -h, (f"floor{k}.h",), impact=(f"floor{k}",), accumulates="on")
            graph.add_automaton(Automaton(f"contact{k}", ("off", "on"), "off", (bounce,)))
        return compile_model(graph)

    samples = [0.3, 0.6, 1.0]
    two = run_sensitivities(balls(2), ["weight0.value", "weight1.value"], 1.0, samples=samples, **TIGHT)
    one = run_sensitivities(balls(1), ["weight0.value"], 1.0, samples=samples, **TIGHT)
    assert any(event.simultaneous for event in two.result.events)
    for k in range(2):
        assert two[f"ball{k}.p", f"weight{k}.value"] == pytest.approx(one["ball0.p", "weight0.value"], rel=EXACT)
        assert np.abs(two[f"ball{k}.p", f"weight{1 - k}.value"]).max() < EXACT


def test_units_do_not_matter():
    def circuit(unit):
        graph, loop = Graph("rc"), J1("loop")
        graph.connect(Se("u", 2.0), loop).connect(loop, R("r", 3.0 / unit))
        return compile_model(graph.connect(loop, C("c", capacitance=0.5 * unit, initial=0.2 * unit)))

    runs = [
        run_sensitivities(circuit(unit), ["r.resistance", "c.capacitance", "c.q"], 2.0, rtol=1e-9, progress=False)
        for unit in (1.0, 1e-12)
    ]
    assert runs[0].relative("c.effort") == pytest.approx(runs[1].relative("c.effort"), rel=1e-9, abs=1e-12)


def test_an_event_that_only_touches_has_no_derivative():
    """The ball rises to 5 m, only 1e-12 m above the guard."""
    graph, v = Graph("ball"), J1("v")
    graph.connect(Se("weight", -10.0), v).connect(v, I("ball", 1.0, initial=10.0)).add(signals.integrator("height", "ball.flow"))
    touch = Transition("below", "touched", lambda h: h - 5.0 + 1e-12, ("height.y",))
    compiled = compile_model(graph.add_automaton(Automaton("ceiling", ("below", "touched"), "below", (touch,))))
    with pytest.raises(RunError, match="E373"):
        run_sensitivities(compiled, "ball.p", 2.0, progress=False)


@pytest.mark.parametrize(
    ("names", "code"), [("winding.resistence", "E370"), ("armature.flow", "E370"), (["coil.p", "coil.p"], "E370"), ([], "E370")]
)
def test_names_that_cannot_be_varied(names, code):
    with pytest.raises(ModelError, match=code):
        run_sensitivities(compile_model(motor()), names, 0.1)


def test_a_model_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("bondgraph.estimation.variational.MAX_STEPS", 10)
    with pytest.raises(ModelError, match=r"E372.*steps"):
        run_sensitivities(compile_model(motor()), "coil.p", 0.1)


def test_kernels_are_kept_for_the_same_names_only():
    compiled = compile_model(motor())
    first, again, other = (
        run_sensitivities(compiled, names, 0.01, progress=False) for names in (MOTOR[:2], MOTOR[:2], MOTOR[1:3])
    )
    assert again.variational is first.variational and other.variational is not first.variational
    assert np.array_equal(again[again.result.program.layout.names("x")[0]], first[first.result.program.layout.names("x")[0]])
