"""Sweep plans are read from files, and all their errors are reported with path and line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bondgraph import ModelError
from bondgraph.sweeps import events, last, loguniform, normal, uniform
from tests.inner.models_sweeping import DISTRIBUTIONS, read_plan

GOOD = {
    "_why": "a comment",
    "t_end": 5.0,
    "vary": {
        "a.x": [3.0, 4.0],
        "a.y": {"from": 6, "to": 12, "count": 4},
        "a.z": {"normal": [1e-3, 1e-4]},
        "a.w": 2.0,
        "switch": ["on", "off"],
    },
    "runs": 100,
    "seed": 3,
    "keep": {"speed": {"last": "rotor.flow"}, "course": "rotor.flow", "count": {"events": "bounces"}},
    "settings": {"samples": 0.01, "method": "bdf"},
}


def read(tmp_path, given):
    path = tmp_path / "plan.json"
    path.write_text(given if isinstance(given, str) else json.dumps(given, indent=1), encoding="utf-8")
    return read_plan(path)


def test_a_plan_gives_the_described_points(tmp_path):
    plan = read(tmp_path, GOOD)
    assert (plan.t_end, plan.runs, plan.seed) == (5.0, 100, 3)
    assert plan.points["a.x"] == [3.0, 4.0] and plan.points["a.w"] == 2.0 and plan.points["switch"] == ["on", "off"]
    np.testing.assert_array_equal(plan.points["a.y"], [6.0, 8.0, 10.0, 12.0])
    assert plan.points["a.z"] == normal(1e-3, 1e-4)
    assert plan.keep == {"speed": last("rotor.flow"), "course": "rotor.flow", "count": events("bounces")}
    assert plan.settings == {"samples": 0.01, "method": "rodas5p"}  # replaces a method of earlier versions


def test_points_are_a_list_and_the_rest_may_be_left_out(tmp_path):
    plan = read(tmp_path, {"t_end": 1, "points": [{"a.x": 1.0}, {"a.x": 2.0}], "keep": {"x": "a.x"}})
    assert plan.points == [{"a.x": 1.0}, {"a.x": 2.0}] and plan.runs is None and plan.seed == 0 and plan.settings == {}


def test_every_distribution_has_its_word(tmp_path):
    vary = {name: {kind: [1.0, 2.0]} for name, kind in zip("abc", DISTRIBUTIONS, strict=True)}
    assert list(read(tmp_path, {**GOOD, "vary": vary}).points.values()) == [
        uniform(1.0, 2.0),
        loguniform(1.0, 2.0),
        normal(1.0, 2.0),
    ]


WRONG = [
    ("E402", "{", "not JSON"),
    ("E403", {"t_end": ...}, "t_end: missing"),
    ("E403", {"vary": ...}, "vary: missing"),
    ("E403", {"keep": ...}, "keep: missing"),
    ("E404", {"store": "runs.db"}, "store: unknown key"),
    ("E404", {"points": []}, 'vary: "points" already lists what varies'),
    ("E404", {"settings": {"progress": False}}, "settings.progress: unknown key"),
    ("E405", {"t_end": "long"}, "t_end: text where a number"),
    ("E405", {"points": [1.0], "vary": ...}, r"points\[0\]: a number where an object"),
    ("E405", {"vary": {"a.x": {"normal": [1.0]}}}, "vary.a.x.normal: a list where two numbers"),
    ("E405", {"keep": {"x": 1.0}}, "keep.x: a number where the name of a quantity"),
    ("E405", {"keep": {"x": {"last": 1.0}}}, "keep.x.last: a number where the name"),
    ("E405", {"keep": {"x": {"least": "a.x"}}}, "keep.x: an object where the name of a quantity"),
    ("E405", {"vary": {"a.x": {"from": "a", "to": 1, "count": 2}}}, "vary.a.x.from: text where a number"),
    ("E404", {"vary": {"a.x": {"from": 0, "to": 1, "count": 2, "by": 1}}}, "vary.a.x.by: unknown key"),
    ("E407", {"vary": {"a.x": {"from": 0, "to": 1, "count": 0}}}, "vary.a.x.count: 0 where a whole number"),
    ("E407", {"vary": {"a.x": {"uniform": [2.0, 1.0]}}}, "vary.a.x.uniform: .*low <= high"),
    ("E407", {"runs": 0}, "runs: 0 where a whole number"),
    ("E407", {"seed": -1}, "seed: -1 where a whole number"),
    ("E408", {"vary": {"a.x": {"gamma": [1.0, 2.0]}}}, "vary.a.x: an object that names gamma"),
]


@pytest.mark.parametrize(("code", "change", "words"), WRONG, ids=[f"{code}-{k}" for k, (code, *_) in enumerate(WRONG)])
def test_problems_of_a_plan_name_their_path(tmp_path, code, change, words):
    given = change if isinstance(change, str) else {key: value for key, value in {**GOOD, **change}.items() if value is not ...}
    with pytest.raises(ModelError, match=f"(?s){code} .*{words}"):
        read(tmp_path, given)


def test_all_problems_of_a_plan_are_reported_together(tmp_path):
    with pytest.raises(ModelError) as caught:
        read(tmp_path, {"t_end": "x", "vary": {"a": {"gamma": 1}}, "keep": {"x": 1}, "more": 1})
    assert sorted(problem.code for problem in caught.value.problems) == ["E404", "E405", "E405", "E408"]
