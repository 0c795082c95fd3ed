"""Gradients of a step agree with central differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bondgraph import ModelError
from bondgraph.stepping import Stepper, StepResult, stepper
from examples.parallel_gripper import gripper
from tests.stepping.test_units import pulled

H = 0.01


@pytest.fixture(scope="module", params=["coulomb", "convex"])
def made(request: pytest.FixtureRequest) -> Stepper:
    return stepper(gripper(), friction=request.param)


def after(made: Stepper, count: int) -> StepResult:
    step = made.step(h=H)
    for _ in range(count):
        step = made.step(step, h=H)
    return step


def central(of: Callable[[float], np.ndarray], e: float) -> np.ndarray:
    return (of(e) - of(-e)) / (2.0 * e)


@pytest.mark.parametrize("count, mode", [(3, "stick"), (11, "slip")])
def test_by_states(made: Stepper, count: int, mode: str) -> None:
    step = after(made, count)
    assert step.mode[:2] == (mode, mode)
    A, _ = made.gradients(step)
    for k in range(len(step.before)):

        def moved(e: float, k: int = k) -> np.ndarray:
            x = step.before.copy()
            x[k] += e
            return made.step(x, h=H, t=step.t).state

        np.testing.assert_allclose(A[:, k], central(moved, 1e-4), atol=1e-8)


def test_by_parameters(made: Stepper) -> None:
    step = after(made, 11)
    names = ["left command.value", "right command.value", "left finger.place.friction", "y spring.stiffness"]
    _, B = made.gradients(step, names)
    for k, name in enumerate(names):
        base = float(made.steps.compiled.system.parameters[name])
        size = 1e-4 * max(1.0, abs(base))

        def moved(e: float, name: str = name, base: float = base) -> np.ndarray:
            return made.step(step.before, h=H, t=step.t, parameters={name: base + e}).state

        np.testing.assert_allclose(B[:, k], central(moved, size), atol=2e-8)
    _, commands = made.gradients(step)
    np.testing.assert_allclose(commands, B[:, :2])


def test_gradients_are_with_respect_to_commands_by_default(made: Stepper) -> None:
    step = after(made, 3)
    _, B = made.gradients(step)
    labels = [made.steps.compiled.program.layout.label("x", k) for k in range(len(step.before))]
    assert B[labels.index("left spring.q"), 0] == pytest.approx(H, rel=0.6)  # the disc yields half of it
    assert np.abs(B[labels.index("left finger.place.gap")]).max() < 1e-9


def test_the_barrier_tends_to_the_gradients() -> None:
    made = stepper(gripper(), friction="convex")
    step = after(made, 11)
    exact, _ = made.gradients(step)
    off = [np.abs(made.gradients(step, smoothing=kappa)[0] - exact).max() for kappa in (1e-5, 1e-7, 1e-9)]
    assert off[2] < 0.1 * off[1] < 0.1 * off[0] and off[2] < 1e-3


def test_models_without_gradients_are_refused(made: Stepper) -> None:
    step = after(made, 1)
    with pytest.raises(ModelError, match="E250"):
        made.gradients(step, ["nobody.value"])
    coulomb = stepper(gripper(), friction="coulomb")
    with pytest.raises(ModelError, match="E505"):
        coulomb.gradients(coulomb.step(h=H), smoothing=1e-3)


def test_a_step_reports_its_contacts(made: Stepper) -> None:
    step = after(made, 11)
    run = made.simulate(0.12, step=H)
    np.testing.assert_allclose(step.state[:5], run.x[-1][:5], atol=1e-9)
    assert step.normal[:2] == pytest.approx([run[f"{side} finger.normal force"][-1] for side in ("left", "right")])
    assert "5 unknowns" in made.report() and "left finger" in made.report() and "disc x mass: 1, free" in made.report()


def test_a_step_without_an_answer_raises() -> None:
    made = stepper(gripper())
    with pytest.raises(ModelError, match="E252"):
        made.step(np.zeros(3), h=H)
    with pytest.raises(ModelError, match="E501"):
        made.step(h=-1.0)


@pytest.mark.parametrize("friction", ["coulomb", "convex"])
@pytest.mark.parametrize("inertia", ["damped", "full"])
def test_a_ball_that_slides_on_an_exact_cone(inertia: str, friction: str) -> None:
    made = stepper(pulled(1.0, 1.0), inertia=inertia, friction=friction, facets="cone")
    step = made.step(h=0.02)
    for _ in range(13):
        step = made.step(step, h=0.02)
    assert step.mode == ("slip",)
    A, _ = made.gradients(step)
    labels = [made.steps.compiled.program.layout.label("x", k) for k in range(len(step.state))]
    for name in ("spring.q[3]", "spring.q[4]"):
        k = labels.index(name)

        def moved(e: float, k: int = k) -> np.ndarray:
            state = step.before.copy()
            state[k] += e
            return made.step(state, h=step.h, t=step.t).state

        np.testing.assert_allclose(A[:, k], central(moved, 2e-4), atol=1e-4)
