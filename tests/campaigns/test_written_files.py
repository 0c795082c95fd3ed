"""A piece of the campaign of mutated files that people write; `python -m campaigns.written_files` does 10,000 of each form."""

from __future__ import annotations

import random

import pytest

from campaigns.written_files import READ, TEXTS, WORDS, campaign, mutant, outcome


@pytest.mark.parametrize("form", READ)
def test_mutated_files_are_refused_with_a_code_or_are_graphs(form: str) -> None:
    pytest.importorskip({"short": "yaml", "netlist": "bondgraph", "sbml": "libsbml"}[form])
    outcomes, wrong = campaign(form, 100, 1)
    assert wrong == []
    assert outcomes["graph"] > 1 and len(outcomes) > 2


def test_what_ends_in_a_traceback_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXTS["netlist"]()[0]
    assert outcome("netlist", text) == ("graph", "")
    assert mutant(text, WORDS["netlist"], random.Random(1)) != text
    monkeypatch.setattr("campaigns.written_files.READ", {"netlist": lambda text: 1 / 0})
    kind, what = outcome("netlist", text)
    assert kind == "wrong" and "ZeroDivisionError" in what
