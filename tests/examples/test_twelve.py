"""Each of the twelve models is short and matches its reference, and one page shows them all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from campaigns.twelve_models import CHECKED, main
from docs.twelve_models import PAGE, PLOTTED, SHOWN, code, lines, page
from examples import twelve

QUICK = ("kettle", "enzyme", "Wilberforce pendulum")
"""Models that `make test` runs; `make release` runs all of them."""


def test_there_are_twelve_of_at_most_25_lines_of_100_characters() -> None:
    modules = {checked.module.__name__.rpartition(".")[2]: checked.module for checked in CHECKED.values()}
    files = Path(str(twelve.__file__)).parent.glob("[!_]*.py")
    assert sorted(modules) == sorted(path.stem for path in files) and len(modules) == 12
    for name, module in modules.items():
        assert lines(module) <= 25 and max(map(len, code(module).splitlines())) <= 100, name


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.release) for name in CHECKED])
def test_a_model_agrees_with_its_reference(name: str) -> None:
    if name == "Furuta pendulum":
        pytest.importorskip("control")
    run = CHECKED[name].run()
    assert run.ok and not run.warnings
    assert CHECKED[name].deviates(run) < CHECKED[name].tolerance


def test_the_campaign_finds_a_deviation(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(CHECKED, "enzyme", replace(CHECKED["enzyme"], tolerance=0.0))
    assert main(["--only", "enzyme", "--count", "0"]) == 1 and "WRONG" in capsys.readouterr().out


def test_the_page_shows_each_with_a_picture() -> None:
    assert {*PLOTTED, *SHOWN} == {*CHECKED} and PAGE.read_text(encoding="utf-8") == page(), "python -m docs.twelve_models"
