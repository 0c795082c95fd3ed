"""States that nothing moves stay at zero, and guards and currents that are only rounding errors have no effect."""

import warnings

import numpy as np
import pytest
from screwbond.models import attach_force, force, rigid_body

from bondgraph import J0, J1, C, Diode, Friction, Graph, I, ModelError, R, Se, compile_model
from screws.scalars import sin

ELEMENTS = {
    "R": lambda name, value: R(name, value),
    "C": lambda name, value: C(name, capacitance=value),
    "L": lambda name, value: I(name, value),
    "D": lambda name, value: Diode(name),
    "V": lambda name, value: Se(name, value, signals=["time"]) if callable(value) else Se(name, value),
}

OHM = {"micro": 1e-6, "mega": 1e6}
VARIANTS = ("as drawn", *OHM, "backwards", "arrows")


def circuit(parts, variant="as drawn"):
    """Compile a circuit of parts (kind, name, from, to, value), in which node 0 is ground and diodes conduct along their
    arrow.

    A source drives a current from `to` to `from` through 0.05 ohm; a `variant` changes the unit of current, the order and
    names, or the arrows.
    """
    ohm = OHM.get(variant, 1.0)
    parts = [[kind, name, a, b, _in_unit(kind, value, ohm)] for kind, name, a, b, value in parts]
    if variant == "backwards":
        parts = [[kind, f"z{len(parts) - k}", a, b, value] for k, (kind, _, a, b, value) in enumerate(parts)][::-1]
    if variant == "arrows":
        parts = [[kind, name, *((b, a) if kind in "RCL" else (a, b)), value] for kind, name, a, b, value in parts]
    graph = Graph("circuit")
    used = sorted({node for part in parts for node in part[2:4]} - {0}, reverse=variant == "backwards")
    nodes = {k: J0(f"n{k}", domain="electrical") for k in used}
    for kind, name, tail, head, value in parts:
        arm = J1(f"arm {name}", domain="electrical")
        if tail:
            graph.connect(nodes[tail], arm)
        graph.connect(arm, ELEMENTS[kind](name, value))
        if kind == "V":
            graph.connect(arm, R(f"inside {name}", 0.05 * ohm))
        if head:
            graph.connect(arm, nodes[head])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile_model(graph)


def _in_unit(kind, value, ohm):
    return value * ohm if kind in "RL" else value / ohm if kind == "C" else value


def run_of(made, t_end, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made.simulate(
            t_end, samples=np.linspace(0.0, t_end, 41), progress=False, max_events=100, max_steps=2000, **options
        )


DEAD_RECTIFIER = [
    ("R", "R", 4, 3, 1.0),
    ("V", "V", 1, 3, lambda t: 1e-3 * sin(2.0 * t + 3.660036490369529)),
    ("D", "D30", 3, 0, 0),
    ("D", "D32", 3, 2, 0),
    ("D", "D01", 0, 1, 0),
    ("D", "D41", 4, 1, 0),
    ("C", "C", 2, 1, 0.1292993058493961),
]
"""Circuit in which the diodes 3 -> 0 -> 1 keep v3 <= v1, so that 3 -> 2 -> C -> 1 never conducts."""

NOTHING_MOVES = [
    ("R", "R1", 2, 1, 0.4),
    ("R", "R2", 4, 3, 0.1),
    ("D", "D03", 0, 3, 0),
    ("V", "V", 0, 3, lambda t: sin(0.1 * t + 1.2)),
    ("C", "C", 2, 0, 1.0),
    ("L", "L", 1, 0, 1.0),
    ("D", "D24", 2, 4, 0),
]
"""Circuit in which the diode D03 shorts the source throughout."""

START_BY_ROUNDING = [
    ("R", "R1", 1, 0, 14.795869032047563),
    ("R", "R2", 2, 0, 7.73110286742732),
    ("R", "R3", 4, 1, 0.055805542007024526),
    ("D", "D25", 2, 5, 0),
    ("V", "V", 1, 3, lambda t: 1e-3 * sin(2.0420138453780106 * t + 3.2740318963284882)),
    ("D", "D43", 4, 3, 0),
    ("R", "R4", 1, 5, 0.2804850374553603),
    ("D", "D13", 1, 3, 0),
]
"""Circuit in which all diodes block, and D25 has neither voltage nor current."""

BALANCED_BRIDGE = [
    ("V", "V", 1, 0, lambda t: sin(3.0 * t + 0.3)),
    ("R", "R1", 1, 2, 0.3),
    ("R", "R2", 2, 0, 0.1),
    ("R", "R3", 1, 3, 0.9),
    ("R", "R4", 3, 0, 0.3),
    ("L", "L", 2, 3, 0.7),
]

BEHIND_DIODES = [
    ("V", "V", 1, 0, lambda t: -1.0 - 0.5 * sin(7.0 * t)),
    ("R", "R", 1, 2, 0.3),
    ("D", "D0", 0, 2, 0),
    ("D", "D1", 2, 3, 0),
    ("C", "C", 3, 0, 0.2),
    ("R", "leak", 3, 0, 1.7),
]

BACK_TO_BACK = [
    ("D", "D1", 2, 1, 0),
    ("C", "C", 3, 1, 0.19),
    ("D", "D3", 0, 3, 0),
    ("R", "R", 1, 0, 1.5),
    ("V", "V", 2, 0, lambda t: sin(2.1 * t + 1.3)),
    ("D", "D8", 0, 3, 0),
    ("D", "D9", 1, 2, 0),
]
"""Circuit in which D1 and D9 together pass current in both directions, so that neither has a voltage."""

SHORTED = [
    ("R", "R2", 2, 3, 1.9),
    ("C", "C", 0, 4, 2.0),
    ("R", "R4", 0, 1, 0.48),
    ("D", "D5", 2, 1, 0),
    ("R", "R6", 3, 4, 0.6),
    ("V", "V", 3, 2, lambda t: sin(3.2 * t + 5.1)),
    ("D", "D8", 0, 4, 0),
]
"""Circuit in which the diode D8 shorts the capacitor, whose rate is a sum that often cancels exactly."""

COILS_AT_REST = [
    ("D", "D0", 1, 0, 0),
    ("D", "D1", 1, 2, 0),
    ("V", "V", 3, 2, -0.3),
    ("C", "C3", 4, 1, 0.37),
    ("L", "L4", 2, 4, 1.7),
    ("C", "C5", 3, 2, 2.7),
    ("C", "C6", 2, 3, 2.3),
    ("D", "D7", 0, 1, 0),
    ("R", "R8", 0, 1, 0.26),
    ("L", "L9", 4, 2, 0.26),
    ("R", "R10", 4, 2, 0.19),
]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("parts", [DEAD_RECTIFIER, NOTHING_MOVES, BALANCED_BRIDGE, BEHIND_DIODES], ids=range(4))
def test_states_that_nothing_moves_stay_zero_and_cost_nothing(parts, variant):
    made = circuit(parts, variant)
    run = run_of(made, 4.0)
    assert run.ok, run.failure
    assert run.statistics.steps < 300 and len(run.events) < 20
    for state in made.program.layout.names("x"):
        kind = "flow" if state.endswith(".q") else "effort"
        assert np.abs(run[state]).max() < 1e-12 * max(np.abs(run[f"{name}.{kind}"]).max() for name in made.program.power_names)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_voltage_of_rounding_across_another_diode_fires_nothing(variant):
    run = run_of(circuit(BACK_TO_BACK, variant), 4.0)
    assert run.ok, run.failure
    assert len(run.events) == 9


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("parts", [SHORTED, COILS_AT_REST], ids=range(2))
def test_a_rate_that_cancels_exactly_at_most_times_ends_no_run(parts, variant):
    run = run_of(circuit(parts, variant), 4.0)
    assert run.ok, run.failure
    assert run.statistics.steps < 500


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_current_of_rounding_does_not_refuse_a_start(variant):
    made = circuit(START_BY_ROUNDING, variant)
    run = run_of(made, 0.01)
    assert run.ok
    short = 1e-3 / 0.05 / OHM.get(variant, 1.0)
    assert max(np.abs(run[f"{name}.flow"]).max() for name in made.program.power_names) < 1e-12 * short


def test_a_small_current_through_an_open_diode_still_refuses_a_start():
    made = circuit([("V", "V", 1, 0, -1.0), ("R", "R", 1, 2, 1.0), ("D", "D", 2, 3, 0), ("L", "L", 3, 0, 1.0)])
    for current in (1.0, 1e-6, 1e-12):
        with pytest.raises(ModelError, match="E214"):
            run_of(made, 0.01, initial={"L.p": current})


@pytest.mark.parametrize("blocked", [1, 2])
def test_branches_that_block_do_not_close_when_another_one_does(blocked):
    """One arm conducts, one closes at 1.8 s, and all other arms block at -5 V."""
    graph, node, load = Graph("star"), J0("node", domain="electrical"), J1("load")
    for k, source in enumerate((1.0, lambda t: t - 1.0, *[-5.0] * blocked)):
        branch = J1(f"branch {k}")
        graph.connect(ELEMENTS["V"](f"V{k}", source), branch).connect(branch, Diode(f"D{k}"))
        graph.connect(branch, I(f"L{k}", 1.0)).connect(branch, node)
    graph.connect(node, load).connect(load, R("R", 1.0)).connect(load, I("L", 1.0))
    run = run_of(compile_model(graph), 2.5)
    assert run.ok and [event.kind for event in run.events] == ["D0 closes", "D1 closes"]
    assert max(np.abs(run[f"L{k}.p"]).max() for k in range(2, blocked + 2)) < 1e-13


def test_no_diode_answers_an_impulse_of_rounding():
    """D8 and D3 in series short the capacitor C2."""
    parts = [
        ("L", "L0", 1, 0, 2.162871316379487),
        ("D", "D1", 2, 0, 0),
        ("C", "C2", 3, 2, 0.14518757683055314),
        ("D", "D3", 4, 2, 0),
        ("V", "V4", 1, 2, lambda t: 0.567083331178664 * sin(4.134872906078799 * t + 2.8494848561276824)),
        ("C", "C5", 0, 1, 1.009845546663234),
        ("R", "R6", 2, 3, 0.5011792450542082),
        ("L", "L7", 0, 3, 2.2242650928702523),
        ("D", "D8", 3, 4, 0),
    ]
    run = run_of(circuit(parts), 2.0)
    assert run.ok and len(run.events) < 12 and np.abs(run["C2.q"]).max() < 1e-12


def test_steps_do_not_follow_powers_of_rounding():
    """No current flows, because D2 and D6 both lead away from node 3."""
    parts = [
        ("D", "D0", 1, 0, 0),
        ("V", "V1", 2, 1, lambda t: 0.01580693116829211 * sin(4.235947557871251 * t + 3.692310668887523)),
        ("D", "D2", 3, 1, 0),
        ("C", "C3", 4, 1, 1.0673650466576827),
        ("R", "R4", 4, 0, 0.3831617392721169),
        ("D", "D5", 0, 4, 0),
        ("D", "D6", 3, 2, 0),
    ]
    run = run_of(circuit(parts), 2.0)
    assert run.ok and run.statistics.steps < 400 and np.abs(run.x).max() < 1e-15


def test_masses_at_rest_under_forces_that_cancel_stay_there():
    """Forces of 0.1 N and 0.2 N opposed by 0.3 N leave a rounding error of 5.6e-17 N."""
    graph = Graph("masses")
    for name, forces in {"held": (0.1, 0.2, -0.3), "free": (0.1, 0.2, -0.3), "slips": (1.5,)}.items():
        mass = J1(name, domain="translation")
        graph.connect(mass, I(f"{name} m", 2.0))
        for k, push in enumerate(forces):
            graph.connect(Se(f"{name} F{k}", push), mass)
        if name != "free":
            graph.connect(mass, Friction(f"{name} f", 1.0))
    run = run_of(compile_model(graph), 10.0)
    assert run.ok and run.statistics.steps < 300
    assert np.abs(run["held m.p"]).max() < 1e-15 and np.abs(run["free m.p"]).max() < 1e-14
    assert run["slips m.p"][-1] == pytest.approx(5.0, rel=1e-9)


def test_a_body_that_a_symmetry_keeps_level_is_not_slowed_by_rounding():
    """Equal forces at four rotors lift a level body; the tilt, and the coupling of the height to it, are rounding errors."""
    graph, mass = Graph("quadrotor"), 0.8
    body = rigid_body("body", mass=mass, inertia=(6e-3, 6e-3, 1e-2), gravity=(0, 0, -9.81))
    for k, place in enumerate(((0.2, 0, 0), (0, 0.2, 0), (-0.2, 0, 0), (0, -0.2, 0))):
        lift = lambda pose, twist: [0.0, 0.0, mass * 9.81 / 4 + 2.0 * (1.0 - pose[6]) - 1.5 * twist[5]]  # noqa: E731
        attach_force(graph, force(f"rotor {k}", lift, at=place, axes="body", signals=["body.pose", "body.twist"]), body)
    run = run_of(compile_model(graph), 3.0)
    assert run.ok and run.statistics.steps < 300 and run.statistics.rounding.steps == 0
    slow, fast = np.roots([mass, 6.0, 8.0])[::-1]
    height = 1.0 + (fast * np.exp(slow * run.t) - slow * np.exp(fast * run.t)) / (slow - fast)
    assert run["body.pose"][:, 6] == pytest.approx(height, abs=1e-7)
    assert np.abs(run["body.pose"][:, [1, 2, 3, 4, 5]]).max() < 1e-13


def test_a_run_in_which_nothing_happens_is_not_in_doubt():
    parts = [
        ("V", "V", 1, 0, lambda t: 0.01109847526449765 * sin(3.3703807693457986 * t + 1.1382258101936322)),
        ("L", "L1", 2, 1, 0.31036338182457907),
        ("R", "R2", 3, 1, 0.7045489791079418),
        ("R", "R3", 4, 2, 1.7096129689961472),
        ("C", "C", 2, 1, 0.3350002711106253),
        ("D", "D", 1, 3, 0),
        ("L", "L6", 3, 1, 0.1361625065265704),
        ("L", "L7", 4, 3, 0.10874140735312156),
    ]
    run = run_of(circuit(parts), 2.0)
    assert run.ok
