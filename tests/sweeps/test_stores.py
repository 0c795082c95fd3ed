"""Stores of runs are resumed without repeating a run."""

from __future__ import annotations

import re
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pandas
import pytest

from bondgraph import J1, C, Graph, I, ModelError, R, RunError
from bondgraph.errors import FileError
from bondgraph.sweeps import last, load_runs, normal, peak, sweep
from tests.inner.sweeps import Chunk, Store, interface
from tests.inner.sweeps import store as store_module
from tests.sweeps.drawn import DRAWN, KEPT, content, drawn
from tests.sweeps.oscillators import extremes, oscillator


def test_a_store_is_gone_on_with_and_nothing_runs_twice(compiled, reference, tmp_path, monkeypatch):
    met = []
    counted = {**KEPT, "ends": lambda run: met.append(1) or extremes(run)}

    def go():
        return sweep(compiled, DRAWN, 1.0, keep=counted, runs=40, seed=2, samples=0.25, store=tmp_path / "a.db", progress=False)

    add, calls = Store.add, []

    def interrupted(self, *given):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        add(self, *given)

    monkeypatch.setattr(interface, "CHUNK_SECONDS", 0.0)  # each chunk is one run
    monkeypatch.setattr(Store, "add", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        go()
    part = load_runs(tmp_path / "a.db")
    assert 3 <= len(part) < 40 and not part.complete and f"{len(part)} of 40 runs" in repr(part)
    assert re.search(rf"{len(part)} of 40 runs are stored in .*a\.db: the same call resumes the sweep", caught.value.__notes__[0])
    monkeypatch.undo()
    before, done = len(met), set(part["run"])
    whole = go()
    assert len(met) - before == 40 - len(done) - sum(fault.run not in done for fault in whole.failures)
    assert content(whole) == content(reference)
    assert content(go()) == content(load_runs(tmp_path / "a.db")) == content(reference)
    assert len(met) - before <= 40


def test_an_interrupt_without_a_store_names_the_loss(compiled, monkeypatch):
    monkeypatch.setattr(Store, "add", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt) as caught:
        drawn(compiled)
    assert 'with store="runs.db"' in caught.value.__notes__[0]


def test_an_interrupt_before_there_are_tables_stays_one(compiled, tmp_path, monkeypatch):
    monkeypatch.setattr(Store, "_make", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        drawn(compiled, store=tmp_path / "runs.db")
    monkeypatch.undo()
    assert drawn(compiled, store=tmp_path / "runs.db").complete


def test_a_store_is_an_ordinary_database(compiled, reference, tmp_path):
    path = tmp_path / "runs.db"
    drawn(compiled, store=path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["runs.db"]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    names = ("run", "spring.stiffness", "q")
    blocks = {name: connection.execute("SELECT data FROM blocks WHERE name=? ORDER BY block", (name,)) for name in names}
    runs, stiffness, q = (
        np.frombuffer(b"".join(data for (data,) in blocks[name]), "<i8" if name == "run" else "<f8") for name in names
    )
    connection.close()
    np.testing.assert_array_equal(np.sort(runs), np.arange(40))
    np.testing.assert_array_equal(stiffness, reference["spring.stiffness"][runs])
    np.testing.assert_array_equal(q, reference["q"][runs])


CHANGES = {
    "another end": ({"t_end": 2.0}, r"t_end: 1\.0, not 2\.0"),
    "another setting": ({"rtol": 1e-6}, 'setting "rtol"'),
    "another seed": ({"seed": 1}, 'values of "spring.stiffness": different'),
    "fewer runs": ({"runs": 39}, "count of runs: 40, not 39"),
    "more runs of another seed": ({"runs": 41, "seed": 1}, "count of runs: 40, not 41"),
    "other values kept": ({"keep": {"q": peak("spring.q")}}, "kept as \"q\": last\\('spring.q'\\), not peak"),
    "another model": ({"model": lambda: oscillator().connect(J1("other"), I("more", 1.0)) and changed()}, "model: different"),
}


def changed():
    graph, velocity = Graph("oscillator"), J1("velocity", domain="translation")
    graph.connect(velocity, I("mass", inertia=2.0)).connect(velocity, R("damper", resistance=5.0))
    return graph.connect(
        velocity, C("spring", energy=lambda q, stiffness: 0.5 * stiffness * q**2 + q**4, parameters={"stiffness": 50.0})
    )


@pytest.fixture(scope="module")
def stored(compiled, tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "runs.db"
    drawn(compiled, store=path)
    return path


@pytest.mark.parametrize("change", CHANGES)
def test_a_store_of_another_plan_is_refused_and_stays_as_it_was(compiled, stored, reference, change):
    given, words = CHANGES[change]
    asked = {"model": compiled, "t_end": 1.0, "keep": KEPT, "runs": 40, "seed": 2, "samples": 0.25, **given}
    with pytest.raises(ModelError, match=f"(?s)E363.*{words}"):
        sweep(asked.pop("model"), DRAWN, asked.pop("t_end"), store=stored, progress=False, **asked)
    assert content(load_runs(stored)) == content(reference)


def test_the_order_of_names_does_not_change_the_plan(compiled, stored, reference):
    turned = [dict(reversed(each.items())) for each in (DRAWN, KEPT)]
    runs = sweep(compiled, turned[0], 1.0, keep=turned[1], runs=40, seed=2, samples=0.25, store=stored, progress=False)
    assert content(runs) == content(reference)


def listed(count: int) -> list[dict[str, float]]:
    return [{"spring.stiffness": 20.0 + k, "spring.q": 0.01 * k} for k in range(count)]


LONGER = {
    "draws": lambda n: (DRAWN, 3 * n),
    "a list": lambda n: (listed(3 * n), None),
    "a table": lambda n: (pandas.DataFrame(listed(3 * n)), None),
    "the first of several": lambda n: ({"spring.stiffness": 20.0 + np.arange(n), "damper.resistance": [1.0, 2.0, -1.0]}, None),
    "draws for each value": lambda n: ({"spring.stiffness": 20.0 + np.arange(n), "damper.resistance": normal(3.0, 2.0)}, 3),
}


@pytest.mark.parametrize("kind", LONGER)
def test_a_longer_plan_continues_the_store_of_a_shorter_one(compiled, tmp_path, kind):
    met = []
    keep = {"q": last("spring.q"), "ends": lambda run: met.append(1) or extremes(run)}

    def go(length, **more):
        points, runs = LONGER[kind](length)
        return sweep(compiled, points, 1.0, keep=keep, runs=runs, samples=0.25, progress=False, **more)

    go(2, store=tmp_path / "a.db")
    met.clear()
    longer = go(5, store=tmp_path / "a.db")
    assert longer.count == len(longer) == 15 and len(met) == 9 - sum(fault.run >= 6 for fault in longer.failures)
    assert content(longer) == content(go(5))
    assert longer.to_xarray().equals(go(5).to_xarray())
    with pytest.raises(ModelError, match="E363"):
        go(4, store=tmp_path / "a.db")


def test_values_that_would_change_the_numbers_of_runs_are_another_plan(compiled, tmp_path):
    def go(stiffnesses, resistances, runs=None):
        given = {"spring.stiffness": stiffnesses, "damper.resistance": resistances}
        return sweep(compiled, given, 1.0, keep={"q": "spring.q"}, runs=runs, store=tmp_path / "a.db", progress=False)

    known = content(go([20.0, 30.0], [1.0, 2.0]))
    for other in ([20.0, 30.0], [1.0, 2.0, 3.0]), ([20.0, 31.0, 40.0], [1.0, 2.0]), ([10.0, 20.0, 30.0], [1.0, 2.0]):
        with pytest.raises(ModelError, match="E363"):
            go(*other)
    assert content(load_runs(tmp_path / "a.db")) == known


def test_of_two_that_lengthen_a_store_one_has_it(compiled, tmp_path, monkeypatch):
    path, transaction = tmp_path / "a.db", Store._transaction

    def go(*values):
        return sweep(compiled, {"spring.stiffness": values}, 1.0, keep={"q": "spring.q"}, store=path, progress=False)

    def overtaken(self, kind="IMMEDIATE"):
        if kind == "IMMEDIATE":
            monkeypatch.undo()
            go(20.0, 30.0)
        return transaction(self, kind)

    go(20.0)
    monkeypatch.setattr(Store, "_transaction", overtaken)
    with pytest.raises(ModelError, match="E363"):
        go(20.0, 31.0, 40.0)
    assert load_runs(path)["spring.stiffness"].tolist() == [20.0, 30.0]


@pytest.mark.parametrize("kind", ["text", "another database", "folder", "newer"])
def test_files_that_are_not_stores_are_refused(compiled, tmp_path, kind):
    path = tmp_path / "runs.db"
    if kind == "text":
        path.write_text("this is not a database, and long enough to be seen as none" * 20)
    elif kind == "folder":
        path.mkdir()
    else:
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value)" if kind == "newer" else "CREATE TABLE birds (name)")
        if kind == "newer":
            connection.executemany("INSERT INTO meta VALUES (?, ?)", [("format", "screwbond-runs"), ("version", 99)])
        connection.commit()
        connection.close()
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(FileError, match="E364") as refused:
        drawn(compiled, store=path)
    assert ("writable" in str(refused.value)) == (kind == "folder")
    with pytest.raises(FileError, match="E364"):
        load_runs(path)
    assert (path.read_bytes() if path.is_file() else b"") == before


COPY = "(data, checksum)=(SELECT data, checksum FROM blocks"
DAMAGES = {
    "a header that is not JSON": "UPDATE meta SET value='{' WHERE key='header'",
    "a header that is none": "UPDATE meta SET value='[]' WHERE key='header'",
    "no header": "DELETE FROM meta WHERE key='header'",
    "no state": "DELETE FROM meta WHERE key='state'",
    "a name in bytes that are not text": "UPDATE meta SET key=CAST(x'ff' AS TEXT) WHERE key='version'",
    "another column": "UPDATE blocks SET name='p' WHERE name='q'",
    "no table of blocks": "DROP TABLE blocks",
    "part of a course": "UPDATE blocks SET data=substr(data, 9) WHERE name='course' AND block=0",
    "a word instead of a number": "UPDATE blocks SET data='abc' WHERE name='q' AND block=0",
    "a block instead of another": f"UPDATE blocks SET {COPY} WHERE name='q' AND block=0) WHERE name='q'",
    "a column instead of another": f"UPDATE blocks SET {COPY} WHERE name='top' AND block=0) WHERE name='q' AND block=0",
    "runs that are not numbers": "UPDATE blocks SET data=x'00' WHERE name='run' AND block=0",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_refused(compiled, stored, tmp_path, damage):
    path = Path(shutil.copy(stored, tmp_path / "runs.db"))
    connection = sqlite3.connect(path)
    connection.execute(DAMAGES[damage])
    connection.commit()
    connection.close()
    with pytest.raises(FileError, match=r"(?s)E364.*runs\.db"):
        drawn(compiled, store=path)
    for read in (lambda runs: [runs[name] for name in runs.names()], list, lambda runs: runs.table()):
        with pytest.raises(FileError, match=r"(?s)E364.*runs\.db"):
            read(load_runs(path))


def test_a_turned_bit_is_noticed(compiled, stored, tmp_path):
    """Each of 40 bit flips leaves the stored runs readable, or raises E364 in reading and E363 or E364 in resuming."""
    known, data, rng = content(load_runs(stored)), stored.read_bytes(), np.random.default_rng(3)
    header = data.find(b'"columns"')
    path, noticed = tmp_path / "runs.db", 0
    assert header > 0
    for place in [*rng.integers(0, len(data), 28), *rng.integers(header - 400, header + 400, 12)]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            assert content(load_runs(path)) == known
        except FileError as error:
            assert error.problem.code == "E364"
            noticed += 1
            with pytest.raises((FileError, ModelError), match=r"E36[34]"):
                drawn(compiled, store=path)
    assert noticed > 8


LOSSES = {
    "a number": "UPDATE blocks SET data=zeroblob(length(data)) WHERE name='q' AND block=0",
    "a block": "DELETE FROM blocks WHERE block=0",
    "a block of a column": "DELETE FROM blocks WHERE name='q' AND block=1",
    "a block under another number": "UPDATE blocks SET block=99 WHERE name='q' AND block=0",
    "a failure": "UPDATE blocks SET data=x'' WHERE name='failure' AND length(data)>0",
    "the state": """UPDATE meta SET value='{"blocks": 1, "runs": 1, "shapes": {}}' WHERE key='state'""",
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_changed_entry_is_noticed_in_a_file_that_is_already_open(compiled, stored, tmp_path, loss):
    path = Path(shutil.copy(stored, tmp_path / "runs.db"))
    opened = load_runs(path)
    opened["q"]
    with sqlite3.connect(path) as connection:
        connection.execute(LOSSES[loss])
    connection.close()
    for reading in (lambda: opened["q"] if loss != "a failure" else opened.failures, lambda: drawn(compiled, store=path)):
        with pytest.raises(FileError, match=r"(?s)E364.*runs\.db is damaged.*does not match its checksum.*an older copy"):
            reading()
    assert len(drawn(compiled, store=tmp_path / "other.db")) == 40  # the advised cure


def test_a_run_that_is_stored_twice_is_noticed():
    store = Store(None)
    chunk = Chunk(np.arange(3), {}, (), ())
    for _ in range(2):
        store.begin({"plan": {}, "columns": [], "axes": [["run", 3]]}, dict)
        with store._transaction():
            store._insert(chunk, {}, {})
    with pytest.raises(FileError, match=r"(?s)E364.*a run is stored twice"):
        store.runs()


def test_two_processes_that_fill_a_store_keep_each_run_once(compiled, reference, tmp_path, monkeypatch):
    add, path, met = Store.add, tmp_path / "runs.db", []

    def overtaken(self, *given):
        add(self, *given)
        if not met:
            met.append(1)
            drawn(compiled, store=path)

    monkeypatch.setattr(interface, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(Store, "add", overtaken)
    assert content(drawn(compiled, store=path)) == content(reference) and met
    state = Store(path, write=False)._state()
    assert state["runs"] == 40 and len(load_runs(path)) == 40


def test_a_store_that_another_program_holds_is_refused_in_time(compiled, tmp_path, monkeypatch):
    path = tmp_path / "runs.db"
    drawn(compiled, 5, store=path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(store_module, "_WAIT", 0.01)
    with pytest.raises(FileError, match=r"(?s)E553.*another program is writing to .*runs\.db.*try: the same call"):
        drawn(compiled, store=path)
    holder.execute("ROLLBACK")
    assert len(drawn(compiled, store=path)) == 40  # the advised cure
    holder.close()


def test_a_full_disk_keeps_stored_runs(compiled, reference, tmp_path, monkeypatch):
    add, calls, path = Store.add, [], tmp_path / "runs.db"

    def full(self, *given):
        calls.append(1)
        if len(calls) == 10:
            (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
            self._connection.execute(f"PRAGMA max_page_count={pages}")
        add(self, *given)

    monkeypatch.setattr(interface, "CHUNK_SECONDS", 0.0)
    monkeypatch.setattr(Store, "add", full)
    with pytest.raises(FileError, match=r"(?s)E552.*the disk of .*runs\.db is full.*try: free some space"):
        drawn(compiled, store=path)
    monkeypatch.undo()
    assert 9 <= len(load_runs(path)) < 40
    assert content(drawn(compiled, store=path)) == content(reference)


def test_large_columns_of_a_chunk_are_several_blocks(compiled, reference, tmp_path, monkeypatch):
    """SQLite limits the size of one value."""
    drawn(compiled, store=tmp_path / "few.db")
    monkeypatch.setattr(store_module, "_LARGEST", 100)
    runs = drawn(compiled, store=tmp_path / "many.db")
    few, many = (Store(tmp_path / name, write=False)._state()["blocks"] for name in ("few.db", "many.db"))
    assert content(runs) == content(reference) and many > few


@pytest.mark.parametrize("part", [0.3, 0.6, 0.99])
def test_a_truncated_store_is_refused(compiled, stored, tmp_path, part):
    path, data = tmp_path / "runs.db", stored.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    for reading in (lambda: content(load_runs(path)), lambda: drawn(compiled, store=path)):
        with pytest.raises(FileError, match="E364"):
            reading()


OLDER = Path(__file__).parents[1] / "written_before" / "rows.db"
"""Twenty of the runs of `drawn`, stored by a version that wrote a row for each run."""


def older(folder: Path, change: str = "") -> Path:
    path = Path(shutil.copy(OLDER, folder / "runs.db"))
    with sqlite3.connect(path) as connection:
        connection.executescript(change)
    connection.close()
    return path


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_store_is_read_and_resumed(compiled, tmp_path, version):
    """A store of version 1 has no checksums."""
    without = "DROP TABLE checksums; ALTER TABLE meta DROP COLUMN checksum; UPDATE meta SET value=1 WHERE key='version'"
    path = older(tmp_path, without if version == 1 else "")
    connection = sqlite3.connect(path)
    rows = connection.execute('SELECT q, course, "spring.stiffness" FROM runs ORDER BY run').fetchall()
    faults = connection.execute("SELECT * FROM failures ORDER BY run").fetchall()
    connection.close()
    before, read = path.read_bytes(), load_runs(path)
    assert len(read) == 20 and [tuple(vars(fault).values()) for fault in read.failures] == faults != []
    np.testing.assert_array_equal(read["q"], np.array([row[0] for row in rows], dtype=float))
    np.testing.assert_array_equal(read["spring.stiffness"], [row[2] for row in rows])
    courses = [np.full(5, np.nan) if row[1] is None else np.frombuffer(row[1], "<f8") for row in rows]
    np.testing.assert_array_equal(read["course"], courses)
    assert path.read_bytes() == before, "reading changes nothing"
    numbers, resumed = {name: read[name].tobytes() for name in read.names()}, drawn(compiled, store=path)
    assert len(resumed) == 40 and {name: resumed[name][:20].tobytes() for name in read.names()} == numbers
    assert {"meta", "blocks"} == Store(path, write=False)._tables()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE runs SET q = q * 1.0000001 WHERE run=3",
        "DELETE FROM runs WHERE run=3",
        "INSERT INTO doubts VALUES (3, 'doubt', 'none', 0.0, '')",
        "INSERT INTO failures VALUES (77, 'failed', 'none', 0.0, '')",
        "UPDATE meta SET value='{}' WHERE key='shapes'",
        "UPDATE meta SET value=1 WHERE key='version'",
        "UPDATE runs SET q='abc' WHERE run=3",
        "ALTER TABLE runs RENAME COLUMN q TO p",
        "DROP TABLE runs",
    ],
)
def test_a_damaged_older_store_is_refused_and_stays_as_it_was(compiled, tmp_path, change):
    path = older(tmp_path, change)
    with pytest.raises(FileError, match="E364"):
        load_runs(path)
    with pytest.raises(FileError, match="E364"):
        drawn(compiled, store=path)
    assert "blocks" not in Store(path, write=False)._tables()


def test_a_name_that_no_file_has_makes_no_file_of_another(compiled, tmp_path):
    with pytest.raises(FileError, match="E364"):
        drawn(compiled, store=tmp_path / "runs\0.db")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", [5, 2.5, True, b"runs.db", ["runs.db"], object()])
def test_invalid_paths_are_refused_as_stores(compiled, tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    for ask in (lambda: drawn(compiled, store=given), lambda: load_runs(given)):
        with pytest.raises(FileError, match=r"E364.*is not the path"):
            ask()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("setting", [{"rtol": -1.0}, {"atol": {"spring.q": 1e-9}}, {"samples": "often"}, {"method": "best"}])
def test_settings_that_no_run_can_have_leave_no_store(compiled, tmp_path, setting):
    with pytest.raises(RunError, match=r"E30\d|E31\d"):
        drawn(compiled, store=tmp_path / "runs.db", **setting)
    assert not list(tmp_path.iterdir())


def test_runs_are_found_wherever_the_process_has_gone(compiled, reference, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs, loaded = drawn(compiled, store="runs.db"), load_runs("runs.db")
    monkeypatch.chdir("/")
    assert content(runs) == content(loaded) == content(reference)


def test_a_store_that_is_not_there_is_not_made_by_reading(tmp_path):
    with pytest.raises(FileError, match=r"E364.*contains no readable runs.*there is no such file"):
        load_runs(tmp_path / "none.db")
    with pytest.raises(FileError, match=r"E364.*there is no folder"):
        load_runs(tmp_path / "none" / "none.db")
    assert not list(tmp_path.iterdir())
