"""A small sample of the campaign of graphs rewritten in another form or in other units."""

from __future__ import annotations

from collections import Counter

import pytest

from campaigns.laws import campaign, lines

PARTS, SAMPLE = 3, 6


@pytest.mark.parametrize("part", range(PARTS))
def test_a_graph_written_in_another_way_is_the_same(part: int) -> None:
    found = campaign(SAMPLE, SAMPLE * part)
    assert not any(one.differs for one in found), list(lines(found))
    assert Counter(one.kind for one in found)["runs"] > SAMPLE // 3
