"""Values are varied, and draws depend only on seed, run and name."""

from __future__ import annotations

import hashlib
import itertools
import re

import numpy as np
import pandas
import pytest
from scipy import stats

from bondgraph import ModelError, compile_model
from bondgraph.sweeps import loguniform, normal, uniform
from examples.bouncing_ball import with_restitution
from tests.inner.sweeps import points_of, random_streams
from tests.sweeps.oscillators import oscillator, pendulum_in_space


@pytest.fixture(scope="module")
def compiled():
    return compile_model(oscillator(), backend="numpy")


@pytest.fixture(scope="module")
def space():
    return compile_model(pendulum_in_space(), backend="numpy")


@pytest.fixture(scope="module")
def ball():
    return compile_model(with_restitution(), backend="numpy")


def everything(points):
    return points.at(np.arange(len(points)))


def test_all_values_meet_all_others_the_last_name_first(compiled):
    given = {"spring.stiffness": range(20, 50, 10), "mass.inertia": 3, "spring.q": np.array([0.1, 0.2])}
    points = points_of(given, compiled, None, 0)
    assert [(axis.name, axis.count) for axis in points.axes] == [("spring.stiffness", 3), ("spring.q", 2)]
    found = everything(points)
    pairs = list(itertools.product((20.0, 30.0, 40.0), (0.1, 0.2)))
    assert list(zip(found["spring.stiffness"], found["spring.q"], strict=True)) == pairs
    assert found["mass.inertia"].tolist() == [3.0] * 6
    assert {one.name: one.role.argument for one in points.varied} == {
        "spring.stiffness": "parameters",
        "mass.inertia": "parameters",
        "spring.q": "initial",
    }


def test_a_list_and_a_table_are_the_same(compiled):
    rows = [{"spring.stiffness": 20.0, "spring.q": 0.1}, {"spring.stiffness": 30.0, "spring.q": 0.3}]
    listed, tabled = (points_of(given, compiled, None, 0) for given in (rows, pandas.DataFrame(rows, index=[7, 3])))
    assert len(listed) == len(tabled) == 2 and listed.digest() == tabled.digest()
    assert everything(listed)["spring.q"].tolist() == [0.1, 0.3]


def test_arrays_and_automata_are_varied_too(space, ball):
    k = np.arange(6.0).reshape(2, 3)
    points = points_of({"springs.k": k, "springs.q": (1.0, 0.0, 0.0)}, space, None, 0)
    found = everything(points)
    np.testing.assert_array_equal(found["springs.k"], k)
    np.testing.assert_array_equal(found["springs.q"], [[1.0, 0.0, 0.0]] * 2)
    rows = points_of([{"springs.k": row} for row in k], space, None, 0)
    np.testing.assert_array_equal(everything(rows)["springs.k"], k)
    states = everything(points_of({"contact": ["free", "resting"], "floor.h": 0.5}, ball, None, 0))
    assert states["contact"].tolist() == ["free", "resting"]


def test_a_draw_follows_from_seed_run_and_name_alone(compiled):
    one = {"spring.stiffness": normal(50.0, 2.0)}
    more = {"damper.resistance": uniform(1.0, 5.0), "spring.q": stats.norm(0.1, 0.01), **one}
    few = everything(points_of(one, compiled, 5, seed=3))["spring.stiffness"]
    points = points_of(more, compiled, 40, seed=3)
    many = everything(points)
    np.testing.assert_array_equal(many["spring.stiffness"][:5], few)
    np.testing.assert_array_equal(points.at(np.array([3]))["spring.q"], many["spring.q"][3:4])
    assert len({*many["spring.stiffness"]}) == 40
    other = everything(points_of(one, compiled, 5, seed=4))["spring.stiffness"]
    assert not np.any(other == few)


def test_draws_are_crossed_with_values(compiled):
    points = points_of({"spring.stiffness": [20.0, 30.0], "damper.resistance": uniform(1.0, 5.0)}, compiled, 3, 0)
    assert [(axis.name, axis.count) for axis in points.axes] == [("spring.stiffness", 2), ("run", 3)]
    found = everything(points)
    assert found["spring.stiffness"].tolist() == [20.0] * 3 + [30.0] * 3 and len({*found["damper.resistance"]}) == 6


@pytest.mark.parametrize(
    ("drawn", "known"),
    [
        (uniform(1.0, 5.0), stats.uniform(1.0, 4.0)),
        (loguniform(1.0, 100.0), stats.loguniform(1.0, 100.0)),
        (normal(50.0, 2.0), stats.norm(50.0, 2.0)),
        (stats.lognorm(0.3), stats.lognorm(0.3)),
    ],
    ids=["uniform", "loguniform", "normal", "scipy"],
)
def test_draws_have_their_distribution(compiled, drawn, known):
    """One seed in a million fails the Kolmogorov-Smirnov test at this level; with this seed, the draws never change."""
    values = everything(points_of({"spring.stiffness": drawn}, compiled, 400, seed=1))["spring.stiffness"]
    assert stats.kstest(values, known.cdf).pvalue > 1e-6
    assert stats.kstest(values, stats.norm(49.0, 2.0).cdf).pvalue < 1e-6


def test_components_are_drawn_independently_or_together(space):
    apart = everything(points_of({"springs.k": normal((4.0, 9.0, 16.0), 0.1)}, space, 300, seed=1))["springs.k"]
    assert apart.shape == (300, 3) and np.abs(np.corrcoef(apart.T) - np.eye(3)).max() < 0.3
    joint = stats.multivariate_normal([4.0, 9.0, 16.0], 0.01 * (np.eye(3) + 9.0 * np.ones((3, 3))))
    together = everything(points_of({"springs.k": joint}, space, 300, seed=1))["springs.k"]
    assert np.corrcoef(together.T).min() > 0.8


WRONG = [
    ("E360", 5.0, None, "values by name, not float"),
    ("E360", {}, None, "nothing to vary"),
    ("E360", {"spring.stiffness": []}, None, "nothing to vary"),
    ("E360", [], None, "nothing to vary"),
    ("E360", [{"spring.q": 1.0}, {"spring.q": 2.0, "mass.p": 1.0}], None, "run 1 and run 0 vary different names: mass.p"),
    ("E360", {"spring.stiffness": normal(50.0, 2.0)}, None, "the number of draws is missing"),
    ("E360", {"spring.stiffness": [1.0]}, 10, "there is no distribution"),
    ("E360", {"spring.stiffness": normal(50.0, 2.0)}, 0, r"runs cannot be 0\n.*\n.*a whole number from 1"),
    ("E361", {"spring.stifness": [1.0]}, None, 'did you mean "spring.stiffness"'),
    ("E361", {3: [1.0]}, None, "3 is not the name of one parameter, state or automaton"),
    ("E361", {"spring.stiffness": [1.0, np.nan]}, None, "must be finite; value 1 is nan"),
    ("E361", {"spring.stiffness": ["a"]}, None, "one number in N/m, or a list of them"),
    ("E361", {"spring.stiffness": [1.0, None]}, None, r"cannot be None \(value 1\)\n  try: one number in N/m"),
    ("E361", {"spring.stiffness": pandas.Series([2, None], dtype="Int64")}, None, r"cannot be <NA> \(value 1\)"),
    ("E361", {"spring.stiffness": [1.0, 10**400]}, None, "must be finite; value 1 is inf"),
    ("E360", pandas.DataFrame([[1.0, 2.0]], columns=["mass.p", "mass.p"]), None, 'two columns are called "mass.p"'),
    ("E361", pandas.DataFrame({"spring.q": [1.0], "failure": [""]}), None, "the columns of varied values"),
    ("E361", {"spring.stiffness": [[1.0, 2.0]]}, None, r"of shape \(1, 2\)"),
    (
        "E361",
        [{"spring.stiffness": [1.0]}, {"spring.stiffness": [2.0]}],
        None,
        r"of shape \(1,\)\n  try: one number in N/m in each run",
    ),
]


@pytest.mark.parametrize(("code", "given", "runs", "words"), WRONG, ids=[f"{code}-{k}" for k, (code, *_) in enumerate(WRONG)])
def test_mismatched_values_are_refused_in_the_users_words(compiled, code, given, runs, words):
    with pytest.raises(ModelError, match=words) as caught:
        points_of(given, compiled, runs, 0)
    assert caught.value.problems[0].code == code


NO_STATES = [3.0, None, True, [1], [b"free"], [["free"]], np.array([[1]]), ["free", np.nan], pandas.array(["free", None]), {}]


@pytest.mark.parametrize("given", NO_STATES, ids=repr)
def test_unknown_automaton_states_are_refused(ball, given):
    with pytest.raises(ModelError, match=r'E361 "contact" has no state|E360 there is nothing to vary'):
        points_of({"contact": given}, ball, None, 0)
    with pytest.raises(ModelError, match='E361 "contact" has no state'):
        points_of([{"contact": given}], ball, None, 0)


def test_words_for_an_automaton_come_in_any_list(ball):
    for given in (np.array("free"), np.array(["free"]), pandas.Series(["free"], dtype="category"), ("free",), "free"):
        assert everything(points_of({"contact": given}, ball, None, 0))["contact"].tolist() == ["free"]


@pytest.mark.parametrize("seed", [-1, 1.5, None, True, "a"])
def test_a_seed_by_which_no_draw_can_be_repeated_is_refused(compiled, seed):
    with pytest.raises(ModelError, match=r"E360 seed cannot be "):
        points_of({"spring.stiffness": normal(50.0, 2.0)}, compiled, 3, seed)


def test_all_problems_are_reported_together(ball):
    given = {"ball.mass": [1.0], "contact": ["flying"], "floor.h": [np.inf], "ball.inertia": None}
    with pytest.raises(ModelError) as caught:
        points_of(given, ball, None, 0)
    assert [problem.code for problem in caught.value.problems] == ["E361"] * 4
    assert re.search("\"contact\" has no state 'flying'\n  try: free or resting", str(caught.value))


def test_a_distribution_with_invalid_draws_is_refused(compiled):
    points = points_of({"spring.stiffness": stats.multivariate_normal([1.0, 2.0])}, compiled, 3, 0)
    with pytest.raises(ModelError, match=r"E361.*\n.*drawn for run 0"):
        everything(points)


def test_a_distribution_that_cannot_be_drawn_from_is_refused(compiled):
    class Broken:
        def rvs(self):
            return 1.0

    with pytest.raises(ModelError, match=r"E361.*\n.*the draw for run 0 raises TypeError: .*random_state"):
        everything(points_of({"spring.stiffness": Broken()}, compiled, 3, 0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: uniform(2.0, 1.0),
        lambda: loguniform(0.0, 1.0),
        lambda: normal(1.0, -1.0),
        lambda: uniform([1.0, 2.0], [3.0, 4.0, 5.0]),
        lambda: uniform(-1e308, 1e308),
    ],
)
def test_a_distribution_that_is_none_is_refused(make):
    with pytest.raises(ModelError, match="E368"):
        make()


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**64 + 5, 2**200 + 77])
def test_streams_of_many_runs_are_those_of_numpy(seed):
    runs = np.array([0, 1, 99, 2**32 - 1, 2**32, 2**40 + 3])
    word = int.from_bytes(hashlib.sha256(b"spring.stiffness").digest()[:4], "little")
    for run, stream in zip(runs.tolist(), random_streams(seed, "spring.stiffness", runs), strict=True):
        known = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run, word)))
        assert stream.bit_generator.state == known.bit_generator.state
        assert stream.integers(5) == known.integers(5) and stream.normal() == known.normal()
