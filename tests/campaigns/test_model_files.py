"""A small sample of the campaign of mutated files of models."""

from __future__ import annotations

import pytest

from campaigns.model_files import campaign, mutant, outcome, seed_text, trial
from campaigns.small_models import SMALL


def test_the_files_that_are_mutated_are_fine() -> None:
    for name in SMALL:
        assert outcome(seed_text(name).encode(), name) == ("the same", "")


def test_a_mutant_is_a_function_of_its_number() -> None:
    assert mutant("drive", 1, 7) == mutant("drive", 1, 7)
    assert len({mutant("drive", 1, k) for k in range(50)}) > 45


def test_mutated_files_are_refused_with_a_code_or_are_models() -> None:
    outcomes, wrong = campaign(300, seed=1)
    assert not wrong and sum(outcomes.values()) == 300
    assert len(outcomes) > 6 and outcomes["compiled"] > 10, outcomes


@pytest.mark.parametrize(
    ("job", "code"),
    [
        (("lever", 2, 6193), "E355"),  # a linear storage by the coefficient "free"
        (("rod", 2, 7620), "E125"),  # a matrix with entries that are no numbers
        (("rod", 2, 9265), "E170"),  # states of a model whose loops have unknowns of their own
    ],
)
def test_what_was_found_before(job: tuple[str, int, int], code: str) -> None:
    assert trial(job)[1] == code
