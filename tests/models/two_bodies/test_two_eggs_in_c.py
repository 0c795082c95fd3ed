"""Hand-written C code of two eggs computes the same function as the contact, so their run times are comparable."""

from __future__ import annotations

import shutil

import pytest

from benchmarks.graphs import GRAPHS
from benchmarks.hand_written import FLAGS, ensure_same, hand_written
from bondgraph import compile_model

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None and shutil.which("cc") is None, reason="no C compiler")


@pytest.mark.parametrize("name", GRAPHS)
def test_rates_agree_at_random_states_in_all_modes(name: str) -> None:
    with hand_written(FLAGS["gcc -O2"]) as library:
        assert ensure_same(name, compile_model(GRAPHS[name]()), library) < 1e-13
