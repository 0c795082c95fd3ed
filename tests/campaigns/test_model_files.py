"""A small sample of the campaign of mutated model files."""

from __future__ import annotations

import pytest

from campaigns.model_files import campaign, mutant, outcome, seed_text
from campaigns.small_models import SMALL


def test_the_files_that_are_mutated_are_fine() -> None:
    for name in SMALL:
        assert outcome(seed_text(name).encode(), name) == ("the same", "")


def test_a_mutant_is_a_function_of_its_number() -> None:
    assert mutant("drive", 1, 7) == mutant("drive", 1, 7)
    assert len({mutant("drive", 1, k) for k in range(50)}) > 45


@pytest.mark.thorough
def test_mutated_files_are_refused_with_a_code_or_are_models() -> None:
    outcomes, wrong = campaign(200, seed=1)
    assert not wrong and sum(outcomes.values()) == 200
    assert len(outcomes) > 6 and outcomes["run"] > 10, outcomes
