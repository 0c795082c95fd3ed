"""A small sample of the campaign of killed sweeps, and errors that its check detects."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from bondgraph.sweeps import load_runs
from campaigns import sweeps
from tests.inner.sweeps import Chunk, Store


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system, so no sweep can be killed")
def test_a_sweep_that_is_killed_has_each_run_once(tmp_path):
    places, wrong = sweeps.campaign(1000, 1, seed=1, executor="threads", folder=tmp_path)
    assert not wrong and len(places) == 1 and 0 < places[0] < 1000, (places, wrong)


def test_the_comparison_finds_wrong_runs(tmp_path):
    for name in ("a", "b"):
        sweeps.run(tmp_path / name, 30, "threads")
    assert sweeps.wrong(tmp_path / "a", tmp_path / "b", 30) == []
    columns, store = load_runs(tmp_path / "a").arrays(), Store(tmp_path / "c")
    store.begin(Store(tmp_path / "a", write=False).header(), dict)
    columns["speed"][7] *= 1 + 3e-16
    columns = {name: np.delete(values, 3, axis=0) for name, values in columns.items()}
    runs = columns.pop("run")
    store.add(Chunk(runs, {"speed": columns["speed"], "current": columns["current"]}, (), ()), {}, {})
    store.close()
    found = sweeps.wrong(tmp_path / "c", tmp_path / "b", 30)
    assert found[0] == "29 of 29 runs, not 30" and {"speed differs", "course differs", "failures differ"} <= set(found)
