"""The command `screwbond sweep` writes a store and a table from files, and keeps finished runs after an error."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
from screwbond.models.cli import main

from bondgraph import save_model, sweep
from bondgraph.errors import Problem, RunError
from bondgraph.sweeps import last, load_runs, normal
from examples.tolerances import motor
from tests.inner.devices import choose
from tests.inner.sweeps import Store

PLAN = {
    "t_end": 0.1,
    "vary": {"winding.resistance": {"normal": [0.5, 0.6]}, "supply.value": [6.0, 12.0]},
    "runs": 20,
    "seed": 5,
    "keep": {"speed": {"last": "rotor.flow"}, "course": "rotor.flow"},
    "settings": {"samples": 0.05},
}


@pytest.fixture
def files(tmp_path):
    save_model(motor(), tmp_path / "motor.json")
    (tmp_path / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
    return tmp_path


def command(files, *more):
    return main(["sweep", str(files / "motor.json"), str(files / "plan.json"), "--store", str(files / "runs.db"), *more])


def test_a_sweep_from_files_is_that_of_a_script(files, capsys):
    assert command(files, "--out", str(files / "table.csv")) == 0
    told = capsys.readouterr().out
    points = {"winding.resistance": normal(0.5, 0.6), "supply.value": [6.0, 12.0]}
    keep = {"speed": last("rotor.flow"), "course": "rotor.flow"}
    known = sweep(motor(), points, 0.1, keep=keep, runs=20, seed=5, samples=0.05, progress=False)
    np.testing.assert_array_equal(load_runs(files / "runs.db")["course"], known["course"])
    assert known.failures and f"40 runs in {files / 'runs.db'}, {len(known.failures)} failed" in told and "x E119: R" in told
    with open(files / "table.csv", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["run", "winding.resistance", "supply.value", "speed", "course[0]", "course[1]", "course[2]", "failure"]
    np.testing.assert_array_equal([float(row[3]) for row in rows], known["speed"])
    assert [row[-1] != "" for row in rows] == np.isnan(known["speed"]).tolist()


def test_kept_quantities_are_plotted(files, capsys):
    pytest.importorskip("matplotlib")
    assert command(files, "--plot", str(files / "runs.gif")) == 2 and "E415" in capsys.readouterr().err
    assert not (files / "runs.db").exists()
    assert command(files, "--plot", str(files / "runs.svg")) == 0
    drawn = (files / "runs.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {told} -->" in drawn for told in ("speed", "supply.value (V)", "time (s)"))


def test_an_interrupt_says_how_to_go_on(files, capsys, monkeypatch):
    add, calls = Store.add, []

    def interrupted(self, *given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        add(self, *given)

    monkeypatch.setattr(Store, "add", interrupted)
    assert command(files) == 130
    said = capsys.readouterr().err
    assert "interrupted" in said and "of 40 runs are stored in" in said and "nothing is written" not in said
    monkeypatch.undo()
    assert command(files) == 0 and load_runs(files / "runs.db").complete


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"vary": {"winding.resistence": [1.0]}, "runs": None}, "E361"),
        ({"keep": {"speed": {"last": "rotor.flw"}}}, "E362"),
        ({"runs": None}, "E360"),
        ({"t_end": -1.0}, "E301"),
        ({"t_end": "x"}, "E405"),
    ],
)
def test_an_invalid_plan_gives_one_message_and_no_run(files, capsys, change, code):
    (files / "plan.json").write_text(json.dumps({**PLAN, **change}), encoding="utf-8")
    assert command(files) == 2
    said = capsys.readouterr().err
    assert code in said and not re.search(r"created at (?!plan\.json)", said)
    assert not (files / "runs.db").exists()


def test_the_table_has_an_ending_that_is_known(files, capsys):
    assert command(files, "--out", "table.xls") == 2 and "E415" in capsys.readouterr().err
    assert not (files / "runs.db").exists()


def test_a_device_is_that_of_a_script(files, capsys, monkeypatch):
    opened = []

    def no_gpu(number):
        opened.append(number)
        raise RunError(Problem("E287", "there is no such GPU"))

    monkeypatch.setattr(choose, "MAKERS", {"cuda": no_gpu})
    assert command(files, "--device", "gpu") == 2 and "E286" in capsys.readouterr().err
    assert command(files, "--device", "cuda:1") == 2 and "E287" in capsys.readouterr().err
    assert opened == [1] and not (files / "runs.db").exists()
    assert command(files, "--device", "auto") == 0 and set(load_runs(files / "runs.db").device) == {"cpu"}


@pytest.mark.parametrize("count", ["0", "-1", "two"])
def test_a_count_of_processes_that_is_none_is_refused(files, capsys, count):
    with pytest.raises(SystemExit):
        command(files, "--processes", count)
    assert f"'{count}' is not a number of processes" in capsys.readouterr().err and not (files / "runs.db").exists()
