"""A small sample of the campaign of killed sweeps, and what its judge sees when something is wrong."""

from __future__ import annotations

import signal
import sqlite3

import pytest

from campaigns import sweeps


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system knows no SIGKILL: sweeps that are killed")
def test_a_sweep_that_is_killed_has_each_run_once(tmp_path):
    places, wrong = sweeps.campaign(1000, 1, seed=1, executor="threads", folder=tmp_path)
    assert not wrong and len(places) == 1 and 0 < places[0] < 1000, (places, wrong)


def test_the_judge_sees_what_is_wrong(tmp_path):
    for name in ("a", "b"):
        sweeps.run(tmp_path / name, 30, "threads")
    assert sweeps.wrong(tmp_path / "a", tmp_path / "b", 30) == []
    with sqlite3.connect(tmp_path / "a") as connection:
        connection.execute("UPDATE runs SET speed = speed * (1 + 3e-16) WHERE run = 7")
        connection.execute("DELETE FROM runs WHERE run = 3")
        connection.execute("DELETE FROM failures")
    connection.close()
    assert sweeps.wrong(tmp_path / "a", tmp_path / "b", 30) == ["29 rows of 29 runs, not 30", "runs differ", "failures differ"]
