"""A small sample of the campaign of mutated files, and the files that failed in large samples."""

import json

import pytest

from campaigns.files import FORMATS, campaign, mutant, read_trial, run_trial


def test_the_files_that_are_mutated_are_fine(tmp_path):
    for form in FORMATS.values():
        for seed in form.seeds:
            assert read_trial(form, seed.encode(), tmp_path)[0] == "read"


def test_a_mutant_is_a_function_of_its_number():
    assert mutant("contact", 1, 7) == mutant("contact", 1, 7)
    assert len({mutant(name, 1, k) for name in FORMATS for k in range(100)}) > 280


def test_mutated_files_are_read_or_refused_with_a_code():
    outcomes, wrong = campaign(300, 0, seed=1)
    assert not wrong and sum(outcomes.values()) == 300
    for name in FORMATS:
        kinds = {outcome.partition(" ")[2] for outcome in outcomes if outcome.startswith(f"{name}:")}
        assert "read" in kinds and len(kinds) > 5, outcomes


def changed(name, **changes):
    return json.dumps({**json.loads(FORMATS[name].seeds[0]), **changes}).encode()


FOUND = [
    ("delta", changed("delta", LC2=1e200)),
    ("delta", changed("delta", L2=1e200)),
    ("delta", changed("delta", LC1=10**400)),
    ("hand", changed("hand", t_end=1e300)),
    ("hand", changed("hand", t_end=1e6, sample_dt=1e-6)),
    ("contact", changed("contact", t_end=1e6, sample_dt=1e-6)),
]


@pytest.mark.parametrize(("name", "data"), FOUND)
def test_earlier_findings_stay_fixed(tmp_path, name, data):
    kind, what = run_trial(FORMATS[name], data, tmp_path)
    assert kind == "refused" and what[0] in "EG", what
