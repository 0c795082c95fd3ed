"""Wrong shapes of arrays, which every function of screw theory refuses."""

import inspect

import numpy as np
import pytest

from screws import inertia, poses, rotations, twists
from tests.inner.screws import explanation, resolved, shape_of

FUNCTIONS = [
    function
    for module in (inertia, poses, rotations, twists)
    for name, function in vars(module).items()
    if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
]
ANY_SHAPE = {"spatial_inertia rotational", "series coefficients"}
"""Arguments with two shapes or any length."""


def hints(function):
    return {name: resolved(each.annotation, function) for name, each in inspect.signature(function).parameters.items()}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_a_wrong_shape_is_named_with_the_right_one(function):
    arrays = {name: shape_of(hint) for name, hint in hints(function).items() if "ndarray" in str(hint) or name == "coefficients"}
    assert {f"{function.__name__} {name}" for name, shape in arrays.items() if not shape} <= ANY_SHAPE
    right = dict.fromkeys(hints(function), 1.0) | {name: np.ones(shape or 3) for name, shape in arrays.items()}
    right |= {"name": "arm"} if "name" in right else {}
    for name, shape in arrays.items():
        if shape:
            error = explanation(function, (), right | {name: np.ones((*shape, 2))})
            assert error.code == "E150" and f"`{name}` cannot be of shape {(*shape, 2)}" in str(error)
            assert f"{name}=<an array {shape}>" in str(error)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (poses.Ad, [np.eye(4).tolist()], "`H` cannot be a list\n  try: H=np.array(H)"),
        (poses.pose, [np.eye(3).tolist(), np.ones(2)], "`p` cannot be of shape (2,)\n"),
        (poses.tilde, ["abc"], "`v` cannot be 'abc'\n"),
        (poses.tilde, [[[1.0, 2.0], [3.0], 4.0]], "`v` cannot be [[1.0, 2.0], [3.0], 4.0]\n"),
    ],
)
def test_values_without_a_shape_are_shown_as_they_are(function, arguments, message):
    assert f"{function.__name__}(): {message}" in str(explanation(function, arguments, {}))


def test_a_call_with_free_keywords_lacks_an_argument() -> None:
    def run(graph: str, t_end: float, *names: str, step: float, **settings: float) -> None: ...

    assert "run() lacks `t_end`" in str(explanation(run, ("graph",), {"step": 0.1, "rtol": 1e-3}))
    assert "run() lacks `step`" in str(explanation(run, ("graph", 1.0, "a", "b"), {}))
