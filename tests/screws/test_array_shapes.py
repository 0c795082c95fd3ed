"""Every function of screw theory refuses arrays of wrong shape."""

import inspect

import numpy as np
import pandas as pd
import pytest
import sympy

import screws
from screws import GeometryError, closed_surface, inertia, joints, parametric, poses, revolution, rotations, twists
from screws.errors import CallError
from tests.inner.screws import explanation, resolved, shapes_of

FUNCTIONS = [
    function
    for module in (inertia, poses, rotations, twists)
    for name, function in vars(module).items()
    if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
]
ANY_SHAPE = {"spatial_inertia rotational", "series coefficients"}
"""Arguments that may have either of two shapes, or any length."""


def hints(function):
    return {name: resolved(each.annotation, function) for name, each in inspect.signature(function).parameters.items()}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_a_wrong_shape_is_named_with_the_right_one(function):
    arrays = {name: shapes_of(hint) for name, hint in hints(function).items() if "ndarray" in str(hint) or name == "coefficients"}
    assert {f"{function.__name__} {name}" for name, shape in arrays.items() if not shape} <= ANY_SHAPE
    right = dict.fromkeys(hints(function), 1.0) | {name: np.ones(shapes[0] if shapes else 3) for name, shapes in arrays.items()}
    right |= {"name": "arm"} if "name" in right else {}
    for name, shapes in arrays.items():
        for shape in shapes:
            error = explanation(function, (), right | {name: np.ones((*shape, 2))})
            assert error.code == "E150" and f"`{name}` cannot be of shape {(*shape, 2)}" in str(error)
            assert f"{name}=<an array {shape}" in str(error) or f" or an array {shape}>" in str(error)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (poses.Ad, [np.eye(4).tolist()], "`H` cannot be a list\n  try: H=np.array(H)"),
        (poses.pose, [np.eye(3).tolist(), np.ones(2)], "`p` cannot be of shape (2,)\n"),
        (poses.inverse, [sympy.eye(4)], "`H` cannot be a MutableDenseMatrix\n  try: H=np.array(H)"),
        (poses.tilde, ["abc"], "`v` cannot be 'abc'\n"),
        (poses.tilde, [[[1.0, 2.0], [3.0], 4.0]], "`v` cannot be [[1.0, 2.0], [3.0], 4.0]\n"),
    ],
)
def test_values_without_a_shape_are_shown_as_they_are(function, arguments, message):
    assert f"{function.__name__}(): {message}" in str(explanation(function, arguments, {}))


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (poses.pose_rate, [np.ones(6), np.ones(6)], "`x` cannot be of shape (6,)"),
        (poses.exp, [np.ones(3)], "`T` cannot be of shape (3,)"),
        (poses.pose_from_state, [np.ones((7, 1))], "`x` cannot be of shape (7, 1)\n  try: x=<an array (7,) or an array (4, 4)>"),
        (rotations.exp, [np.ones(6)], "`w` cannot be of shape (6,)"),
        (rotations.log, [np.eye(4)], "`R` cannot be of shape (4, 4)"),
        (screws.quaternion, [np.eye(4)], "`R` cannot be of shape (4, 4)"),
        (screws.rotation, [np.eye(4)], "`q` cannot be of shape (4, 4)"),
        (screws.rotation, [[1.0, 0.0, 0.0, 0.0, 0.0]], "`q` cannot be of shape (5,)"),
        (screws.rotation_of, [np.eye(3)], "`H` cannot be of shape (3, 3)"),
        (screws.pose, [np.eye(3), np.zeros((3, 1))], "`p` cannot be of shape (3, 1)"),
        (screws.rotation, [pd.DataFrame(np.eye(4))], "`q` cannot be of shape (4, 4)"),
        (screws.helical, [(0, 0, 1), (0, 0, 0), "2 mm"], "`pitch` cannot be '2 mm'\n  try: pitch=<a number>"),
        (screws.tilde, [np.ones((5, 3))], "`v` cannot be of shape (5, 3)"),
        (screws.point_velocity, [np.ones(6), np.ones((3, 1))], "`point` cannot be of shape (3, 1)"),
        (joints.revolute((0, 0, 1)).seen_from, [np.eye(3)], "`H_a_j` cannot be of shape (3, 3)"),
    ],
)
def test_a_call_with_a_wrong_shape_is_refused_although_the_formula_accepts_it(function, arguments, message):
    with pytest.raises(CallError) as error:
        function(*arguments)
    assert message in str(error.value)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_numpy_matrix_is_not_an_array():
    with pytest.raises(CallError, match=r"`H` cannot be a matrix\n  try: H=np.array\(H\)"):
        screws.inverse(np.matrix(np.eye(4)))


def test_lists_symbols_and_poses_are_accepted():
    x, H = sympy.Matrix(sympy.symbols("x y z")), np.array(sympy.eye(4))
    assert screws.tilde(x)[2, 1] == x[0] and (screws.inverse(H).astype(float) == np.eye(4)).all()
    assert (screws.pose(np.eye(3).tolist(), [0, 0, 0]) == np.eye(4)).all()
    assert (poses.pose_from_state(np.eye(4)) == np.eye(4)).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: screws.rotation((0, 0, 0, 0)), ("G117", "the quaternion is zero")),
        (lambda: screws.rotation(np.zeros(4)), ("G117",)),
        (lambda: screws.spatial_inertia("1 kg", (1, 1, 1)), ("G111", "'1 kg'")),
        (lambda: screws.spatial_inertia([1.0], (1, 1, 1)), ("G111", "[1.0]")),
        (lambda: screws.spatial_inertia(1.0, [[1, 2], [3]]), ("G114", "[[1, 2], [3]]")),
        (lambda: joints.revolute([[0], [0], [1]]), ("G132", "not three finite numbers")),
        (lambda: joints.Joint("own", [[1, 2], [3]]), ("G131", '"own" are [[1, 2], [3]]')),
        (lambda: joints.reciprocal(np.eye(3)), ("G131", "screws are array")),
        (lambda: closed_surface(lambda n: n, {"a": 1.0}, "egg"), ("G107", "egg fails: TypeError", "a formula of n, a with")),
        (lambda: closed_surface(lambda n: np.exp(n), name="egg"), ("G107", "functions of screws.scalars")),
        (lambda: parametric(lambda u: (u, u, 0), (0, 1), (0, 1)), ("G107", "a formula of u, v with")),
        (lambda: revolution(lambda w: 1.0, lambda w, a: w), ("G107", "a formula of w with")),
    ],
)
def test_a_value_that_is_no_geometry_is_named(call, words):
    with pytest.raises(GeometryError) as error:
        call()
    assert all(word in str(error.value) for word in words)


def test_a_call_with_free_keywords_lacks_an_argument() -> None:
    def run(graph: str, t_end: float, *names: str, step: float, **settings: float) -> None: ...

    assert "run() lacks `t_end`" in str(explanation(run, ("graph",), {"step": 0.1, "rtol": 1e-3}))
    assert "run() lacks `step`" in str(explanation(run, ("graph", 1.0, "a", "b"), {}))
