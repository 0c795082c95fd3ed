"""Misspelt names lead to suggestions of similar names."""

from __future__ import annotations

import importlib

import pytest

import bondgraph
from bondgraph import J1, C, Graph, I, ModelError, R, Se, signals, sweeps
from tests.inner.screws import similar_names

NAMES = [
    "push.value",
    "mass.mass",
    "spring.stiffness",
    "damper.damping",
    "left.damper.damping",
    "pid",
    "sampled_pid",
    "rigid_body",
]
MEANT = {
    "damper.resistance": "damper.damping",
    "left.damper.R": "left.damper.damping",
    "Damper.Damping": "damper.damping",
    "spring.stifness": "spring.stiffness",
    "sprng.stiffness": "spring.stiffness",
    "PID": "pid",
    "SampledPID": "sampled_pid",
    "RigidBody": "rigid_body",
    "rigid body": "rigid_body",
    "locomotive.mass": "mass.mass",
    "excavator.value": "push.value",
}


@pytest.mark.parametrize("name", MEANT)
def test_the_name_that_was_meant_comes_first(name):
    assert similar_names(name, NAMES)[0] == MEANT[name] == similar_names(name, NAMES[::-1])[0]


@pytest.mark.parametrize("name", ["q", "", 3, "zzzzzzzz", "p.q"])
def test_nothing_is_like_anything(name):
    assert similar_names(name, NAMES) == []


@pytest.mark.parametrize("names", [NAMES, bondgraph.__all__, signals.__all__])
def test_one_slip_in_a_name_is_understood(names):
    for name in (each for each in names if len(each) > 5):
        k = len(name) // 2
        for slip in (name.upper(), name[:k] + name[k + 1 :], name[:k] + name[k + 1] + name[k] + name[k + 2 :]):
            assert name in similar_names(slip, names)[:2], slip


@pytest.fixture(scope="module")
def compiled():
    graph, v = Graph("oscillator"), J1("v", domain="translation")
    graph.connect(Se("push", 1.0), v).connect(v, I("mass", mass=2.0)).connect(v, C("spring", stiffness=50.0))
    return graph.connect(v, R("damper", damping=5.0)).compile()


def test_a_parameter_by_another_word_is_answered_and_the_advice_runs(compiled):
    for name, meant in {"damper.resistance": "damper.damping", "mass.m": "mass.mass", "spring.k": "spring.stiffness"}.items():
        with pytest.raises(ModelError, match=f'E121 "{name}" is not a parameter') as refused:
            compiled.simulate(1.0, parameters={name: 3.0})
        assert refused.value.problems[0].cures[0] == f'did you mean "{meant}"?'
        assert compiled.simulate(1.0, parameters={meant: 3.0}, progress=False).ok


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [(signals, "PID", "pid"), (signals, "lowPass", "lowpass"), (bondgraph, "simulat", "simulate"), (sweeps, "Normal", "normal")],
)
def test_a_package_answers_a_name_of_another_spelling(module, name, meant):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; did you mean {meant}") as refused:
        getattr(module, name)
    assert refused.value.name == name
    with pytest.raises(ImportError, match=f"did you mean {meant}"):
        importlib.import_module(f"{module.__name__}.{name}")
    assert callable(getattr(module, meant))


def test_of_names_that_differ_in_case_alone_the_likest_comes_first() -> None:
    """Unit symbols can differ in case alone, such as mF (millifarad) and MF (megafarad)."""
    assert similar_names("mFF", ["MF", "fF", "mF"])[0] == "mF"
    assert similar_names("MFF", ["mF", "fF", "MF"])[0] == "MF"
