"""The hand as one bond graph agrees with published values and with the independent hand."""

from __future__ import annotations

import numpy as np
import pytest
from screwbond.models.hand import SCENARIOS, Hand, HandParameters, HandRun, ReferenceStep, equilibrium, run_hand, study
from screwbond.models.motion import Motion, pose_motion

from benchmarks.front_end import calls
from bondgraph import Compiled, ModelError, compile_model
from tests.inner.models_hand import rotation_vectors
from tests.models.hand.hand_independent import Hand as Independent
from tests.models.hand.hand_independent import Numbers
from tests.models.hand.hand_runs import again, main_run

OBLIQUE = {
    "fingers": 4,
    "object_shape": "ellipsoid",
    "object_size": (0.03, 0.027, 0.034),
    "object_quaternion": (np.cos(0.1), 0.0, 0.0, np.sin(0.1)),
}


@pytest.fixture(scope="module")
def main() -> HandRun:
    return main_run()


@pytest.fixture(scope="module")
def resting() -> Compiled:
    return compile_model(Hand().graph())


def test_main_ends_where_it_is_known_to(main: HandRun) -> None:
    arrays = main.trajectory
    assert main.result.ok and not main.events()
    assert np.max(np.abs(arrays["object"][-1, 4:] - (0.009488, 0.0, 0.135844))) < 2e-6
    assert np.max(np.abs(arrays["virtual"][-1, 4:] - (0.010432, 0.0, 0.139804))) < 2e-6
    assert rotation_vectors(arrays["object"])[-1, 1] == pytest.approx(-0.093, abs=5e-4)
    assert arrays["normal"].min() > 2.91 and arrays["normal"].max() < 3.16
    assert 0.27 < np.max(arrays["tangential"] / arrays["normal"]) < 0.28
    assert main.result.ledger.relative_residual < 1e-9


def test_agrees_with_the_independent_hand(main: HandRun) -> None:
    """The angles of the independent hand scatter by 3e-12 to 3e-11 rad at tolerances from 1e-10 to 3e-9."""
    independent, arrays = Independent(Numbers(home=tuple(main.hand.posture.joints[0]))), main.trajectory
    _, x = independent.run("main", arrays["t"][::10], rtol=1e-9)
    assert np.max(np.abs(arrays["object"][::10, 4:] - x[:, -22:-19])) < 1e-12
    assert np.max(np.abs(arrays["virtual"][::10, 4:] - x[:, -9:-6])) < 1e-12
    assert np.max(np.abs(arrays["joints"][::10].reshape(-1, 12) - x[:, :12])) < 5e-11
    normal, tangential = independent.loads(x[::10])
    assert np.max(np.abs(arrays["normal"][::100] - normal)) < 1e-8
    assert np.max(np.abs(arrays["tangential"][::100] - tangential)) < 1e-8


def test_order_of_figure_7_and_the_end_of_the_reach(main: HandRun) -> None:
    arrays = main.trajectory
    t = arrays["t"]
    for axis, moving in ((4, (t > 0.6) & (t < 2.5)), (6, t > 2.6)):
        reference, virtual, held = (arrays[name][moving, axis] for name in ("reference", "virtual", "object"))
        assert np.all(reference > virtual) and np.all(virtual > held)
    z = arrays["object"][:, 6]
    rise = np.interp([3.0, 5.0, 6.5, 7.5, 9.0], t, z)
    # It rises 33 mm while the reference rises to .1408, and less than 9 mm on its further 9 mm; then it rests.
    assert rise[2] - rise[1] > 0.01 and abs(rise[4] - rise[3]) < 2e-4
    assert np.all(study(main, 31).extension[-1] > 0.99)
    assert arrays["reference"][-1, 6] - z[-1] > 0.014


def test_far_is_not_dropped_and_rotate_turns() -> None:
    far = run_hand(SCENARIOS["far"].changed(sample_dt=0.05), progress=False)
    assert far.trajectory["object"][-1, 6] == pytest.approx(0.1384, abs=5e-5) and far.time_of_loss() is None
    assert np.all(far.trajectory["normal"] > 2.0)
    rotate = run_hand(SCENARIOS["rotate"].changed(sample_dt=0.05), progress=False)
    turns = rotation_vectors(rotate.trajectory["object"])
    assert turns[50, 2] == pytest.approx(0.25382, abs=1e-5)
    assert turns[-1] == pytest.approx([0.09571, -0.03091, 0.25575], abs=1e-5)


def test_halved_tolerance_changes_nothing(main: HandRun) -> None:
    halved = again(main, rtol=0.5 * main.rtol)
    assert np.max(np.abs(halved.trajectory["object"] - main.trajectory["object"])) < 1e-7


@pytest.mark.usefixtures("one_loop", "few_objects")
def test_a_second_run_compiles_nothing(main: HandRun) -> None:
    """Compiling the graph takes 1.2 million Python calls."""
    assert calls(lambda: again(main, rtol=0.5 * main.rtol)) < 20_000


def test_controller_is_made_of_elements_and_only_the_reference_gives_power(main: HandRun) -> None:
    model, result = main.compiled.model, main.result
    kinds = [e.kind for path, e in model.elements.items() if path.startswith("controller.")]
    assert {"I", "C", "R", "Sf"} <= set(kinds) and kinds.count("R") == 1 and kinds.count("Sf") == 1
    sources = [path for path, e in model.elements.items() if e.kind in ("Se", "Sf", "MSe", "MSf")]
    assert sorted(sources) == sorted(["controller.reference.drive", *(f"contact {i}.no wrench" for i in range(3))])
    for i in range(3):
        assert np.all(result[f"contact {i}.no wrench.power"] == 0.0)
    # The reference supplies the work of its spring: power = wrench . twist.
    work = np.trapezoid(result["controller.reference.drive.power"], result.t)
    assert work == pytest.approx(result.ledger.supplied[-1], rel=1e-4) and work > 0.05


def test_energy_never_rises_while_the_reference_rests(resting: Compiled) -> None:
    compiled = resting
    random = np.random.default_rng(3)
    start = {f"finger {i}.mechanism.v": 0.5 * random.normal(size=4) for i in range(3)}
    start["object.inertia.p"] = np.array([1e-5, -2e-5, 1e-5, 0.01, 0.005, 0.01])
    result = compiled.simulate(1.0, samples=1e-3, initial=start, progress=False)
    stored = result.ledger.stored
    assert result.ok and stored[0] > 0.045 and stored[0] - stored[-1] > 1e-3
    assert np.all(np.diff(stored) <= 1e-13) and np.all(result.ledger.supplied == 0.0)
    assert result.ledger.relative_residual < 1e-9


@pytest.mark.parametrize("changes", [OBLIQUE, {"fingers": 2, "object_shape": "egg", "object_size": (0.02, 0.045)}])
def test_other_hands_start_in_equilibrium_and_hold(changes: dict) -> None:
    steps = (ReferenceStep(0.1, 0.8, (0.006, 0.0, 0.0)), ReferenceStep(0.5, 1.5, (0.0, 0.0, 0.02)))
    compiled = compile_model(Hand(HandParameters(**changes), steps).graph())
    x, m = compiled.initial()
    assert np.max(np.abs(compiled.program.rates(0.0, x, compiled.parameters(), m))) < 1e-7
    if changes is OBLIQUE:
        # Forces off the normals: the springs of the contacts start deflected along v_x and v_y.
        springs = [x[compiled.program.layout[f"contact {i}.spring.q"].start :][:4] for i in range(4)]
        assert max(np.hypot(s[1], s[2]) for s in springs) > 1e-7
    result = compiled.simulate(2.0, samples=0.1, progress=False)
    assert result.ok and result.ledger.relative_residual < 1e-9
    assert not [event for event in result.events if not event.internal]
    assert np.linalg.norm(result["object.pose"][-1, 4:] - (0.006, 0.0, 0.11)) < 1.5e-3
    assert result["grasp.mode"][-1] == 0.0


def test_equilibrium_of_other_parameters_from_the_graph(resting: Compiled) -> None:
    """With the springs in series, the penetration is 300 * .01 / (1e4 + 300)."""
    compiled = resting
    softer = {f"contact {i}.spring.stiffness": np.array([1.0, 1e4, 1e4, 1e4]) for i in range(3)}
    start = equilibrium(compiled, softer)
    assert start["contact 1.kinematics.d"] == pytest.approx(-3.0 / 10300.0, rel=1e-5)
    result = compiled.simulate(0.5, parameters=softer, initial=start, progress=False)
    assert np.max(np.abs(result["object.pose"] - result["object.pose"][0])) < 1e-10
    with pytest.raises(ModelError) as caught:
        equilibrium(compiled, {f"controller.grip spring {i}.spring.stiffness": 0.0 for i in range(3)})
    assert caught.value.problems[0].code == "E430"


def test_joint_limits_are_events_that_do_not_end_the_run() -> None:
    given = HandParameters(joint_upper=(1.5, 1.5, 1.6, 2.0))
    run = run_hand(SCENARIOS["main"].changed(parameters=given, sample_dt=0.05), progress=False)
    events = [(event["kind"], event["where"]) for event in run.events() if not event["internal"]]
    assert events == [("upper limit of link 3 reached", "finger 0"), ("upper limit of link 3 left", "finger 0")]
    assert run.result.ok and np.max(run.trajectory["joints"][:, 0, 2]) > 1.6


def test_refusals() -> None:
    with pytest.raises(ModelError) as caught:
        Hand(
            HandParameters(
                fingers=2,
                object_shape="ellipsoid",
                object_size=(0.03, 0.02, 0.03),
                friction=0.1,
                object_quaternion=(np.cos(0.3), 0.0, 0.0, np.sin(0.3)),
            )
        ).graph()
    assert caught.value.problems[0].code == "E482"
    with pytest.raises(ModelError) as caught:
        HandParameters(object_size=(0.3,))
    assert caught.value.problems[0].code == "E481"
    with pytest.raises(ModelError, match="E480 sample_dt of the scenario, 10 s, is longer than its t_end, 9 s"):
        SCENARIOS["main"].changed(sample_dt=10.0)
    with pytest.raises(ModelError) as caught:
        run_hand(SCENARIOS["main"].changed(steps=(ReferenceStep(1.0, 1.0, (0.01, 0.0, 0.0)),)), progress=False)
    assert caught.value.problems[0].code == "E483"
    with pytest.raises(ModelError) as caught:
        jump = np.zeros((2, 2, 3))
        jump[1, 0, 2] = 0.02
        Hand(motion=pose_motion(Motion([0.0, 1.0, 2.0], jump))).graph()
    assert caught.value.problems[0].code == "E472"
    with pytest.raises(ModelError) as caught:
        away = Motion([0.0, 1.0], np.array([[[0.0, 0.0, 0.1]]]))
        Hand(motion=pose_motion(away)).graph()
    assert caught.value.problems[0].code == "E431"
