"""A sample of the campaign of mutated hand-written files."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("yaml")

from bondgraph.interchange import parse_graph
from campaigns.written_files import READ, TEXTS, WORDS, campaign, mutant, outcome
from tests.interchange.short.twins import OSCILLATOR


@pytest.mark.parametrize("form", READ)
def test_mutated_files_are_refused_with_a_code_or_run_as_a_second_reader_says(form: str) -> None:
    pytest.importorskip({"short": "yaml", "netlist": "yaml", "sbml": "libsbml", "fmu": "fmpy"}[form])
    outcomes, wrong = campaign(form, 8, 5)
    assert wrong == []
    assert outcomes["the same"] > 0 and len(outcomes) > 1


def test_tracebacks_and_other_models_than_the_script_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXTS["netlist"]()[0]
    assert outcome("netlist", text) == ("the same", "")
    assert mutant(text, WORDS["netlist"], random.Random(1)) != text
    monkeypatch.setattr("campaigns.written_files.script_of", lambda text: parse_graph(text.replace("2.0", "2.5")))
    assert outcome("short", OSCILLATOR) == ("wrong", "not the same: the model of the script")
    monkeypatch.setattr("campaigns.written_files.READ", {"netlist": lambda text: 1 / 0})
    kind, what = outcome("netlist", text)
    assert kind == "wrong" and "ZeroDivisionError" in what
