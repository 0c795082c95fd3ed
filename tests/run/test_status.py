"""Each status has its own number and description."""

import re
from pathlib import Path

from tests.inner.run import Status

ROOT = Path(__file__).parents[2]


def test_no_number_and_no_text_is_used_twice() -> None:
    """`IntEnum` would turn a second name for a number into a hidden alias."""
    names = Status.__members__
    assert len(names) == len(set(names.values())) == len({member.text for member in Status})


def test_every_status_has_a_text_and_is_answered_somewhere() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "bondgraph").rglob("*.py")]
    uses = {name for text in texts for name in re.findall(r"\bStatus\.(\w+)", text)}
    assert all(member.text and member.name in uses for member in Status)


def test_failures_are_negative() -> None:
    assert [member for member in Status if member.failed] == [Status.STEP_TOO_SMALL, Status.NOT_FINITE]
