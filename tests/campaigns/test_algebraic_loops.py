"""A few seeds of the campaign of algebraic loops."""

from __future__ import annotations

import pytest

from campaigns.algebraic_loops import drawn, faults, main


@pytest.mark.parametrize("seed", [2, 5, 12, 13])
def test_the_known_solutions_are_found_however_the_loop_is_written(seed: int) -> None:
    assert faults(seed) == []


def test_the_seeds_cover_one_and_several_solutions_of_one_and_two_unknowns() -> None:
    kinds = {(len(case.scale), min(len(case.solutions), 2)) for case in map(drawn, (2, 5, 12, 13))}
    assert kinds == {(1, 1), (1, 2), (2, 2)}


def test_a_wrong_loop_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("campaigns.algebraic_loops.AGREES", -1.0)
    assert main(["--count", "1", "--seed", "2", "--processes", "0"]) == 1
    assert "1 of 1 loops are wrong" in capsys.readouterr().out
