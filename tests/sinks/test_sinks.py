"""Samples sent to files, arrays and functions during a run equal the samples of its result."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bondgraph import J1, C, Compiled, Graph, I, R, RunEndedWarning, RunError, Se, compile_model
from bondgraph.errors import ExtraError, FileError
from bondgraph.run_arguments import KeptQuantity, Sink
from bondgraph.sinks import CsvSink, NpzSink, sink_for
from screws import scalars as s
from tests.inner.run import run as kept_runs
from tests.inner.sinks import SINKS, file_sinks
from tests.run.test_trust import loop, loop_of_poles

KEEP = ["spring.q", "mass.flow", "frame.q"]


def model() -> Graph:
    graph, v, w = Graph("driven"), J1("v"), J1("w", dimension=3)
    graph.connect(Se("push", lambda t: s.sin(3.0 * t), signals=["time"]), v).connect(v, I("mass", mass=1.0, domain="translation"))
    graph.connect(v, C("spring", stiffness=4.0, initial=0.1, domain="translation"))
    graph.connect(w, C("frame", stiffness=np.diag([1.0, 2.0, 3.0]), initial=[1.0, 2.0, 3.0]))
    return graph.connect(w, R("damper", resistance=np.eye(3)))


@pytest.fixture(scope="module")
def compiled():
    return compile_model(model(), progress=False)


@pytest.fixture
def small_pages(monkeypatch):
    monkeypatch.setattr(kept_runs, "PAGE", 60)
    monkeypatch.setattr(file_sinks, "BUFFER_SIZE", 100)


def run(compiled, **given):
    return compiled.simulate(2.0, samples=0.02, progress=False, **given)


def read_csv(path: Path) -> tuple[dict[str, np.ndarray], dict]:
    lines = path.read_text(encoding="utf-8").splitlines()
    said = [json.loads(line[2:]) for line in lines if line.startswith("# ")]
    names, *rows = csv.reader(line for line in lines if not line.startswith("# "))
    numbers = np.array(rows, dtype=float)
    return {name: numbers[:, k] for k, name in enumerate(names)}, {key: value for words in said for key, value in words.items()}


def read_npz(path: Path) -> tuple[dict[str, np.ndarray], dict]:
    with np.load(path) as archive:
        return {name: archive[name] for name in archive if name != "screwbond"}, json.loads(str(archive["screwbond"]))


def read_parquet(path: Path) -> tuple[dict[str, np.ndarray], dict]:
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    table, words = file.read(), {}
    for key in (b"screwbond", b"screwbond end"):
        words |= json.loads(file.metadata.metadata.get(key, b"{}"))
    fields = {field.name: field.metadata[b"unit"].decode() for field in file.schema_arrow}
    assert {name: unit for name, unit in fields.items() if "[" not in name}.items() <= words["units"].items()
    return {name: table[name].to_numpy() for name in table.column_names}, words


def read_zarr(path: Path) -> tuple[dict[str, np.ndarray], dict]:
    import xarray

    data = xarray.open_zarr(path, consolidated=False)
    units = {str(name): data[name].attrs["units"] for name in data.variables}
    assert all(data[name].dims[0] == "t" for name in data.variables)
    return {str(name): data[name].to_numpy() for name in data.variables}, {**data.attrs, "units": units}


READ = {".csv": read_csv, ".npz": read_npz, ".parquet": read_parquet, ".zarr": read_zarr}
FLAT = (".csv", ".parquet")


def test_every_ending_is_read_here():
    assert set(READ) == set(SINKS)


@pytest.mark.parametrize("ending", SINKS)
def test_sinks_read_back_the_kept_values(compiled, ending, small_pages, tmp_path):
    path, plain = tmp_path / f"run{ending}", run(compiled)
    path_before = sorted(os.listdir(tmp_path))
    result = run(compiled, keep=KEEP, sink=path)
    assert path_before == [] and os.listdir(tmp_path) == [path.name]
    found, words = READ[ending](path)
    np.testing.assert_array_equal(found.pop("t"), plain.t)
    for name in KEEP:
        parts = [found.pop(f"{name}[{k}]") for k in range(3)] if ending in FLAT and plain[name].ndim == 2 else None
        values = np.stack(parts, axis=1) if parts else found.pop(name)
        np.testing.assert_array_equal(values, plain[name], err_msg=name)
    assert not found
    assert words["model"] == "driven" and "not ok" not in words
    assert words["units"] == {"t": "s", **{name: compiled.program.layout.unit(name) for name in KEEP}}
    assert result.ok and result.ledger.summary() == plain.ledger.summary() and result.final.keys() == plain.final.keys()
    with pytest.raises(RunError, match=r'(?s)E347.*"spring\.q" was not kept.*in its sink: "spring\.q", "mass\.flow"'):
        result["spring.q"]
    again = run(compiled, keep="spring.q", sink=str(path), parameters={"spring.stiffness": 9.0})
    assert again.ok and "mass.flow" not in READ[ending](path)[0] and os.listdir(tmp_path) == [path.name]


@pytest.mark.filterwarnings("ignore::bondgraph.RunEndedWarning")
@pytest.mark.parametrize("ending", SINKS)
def test_an_early_end_keeps_the_written_samples(ending, small_pages, tmp_path):
    path, compiled = tmp_path / f"run{ending}", loop_of_poles()
    plain = compiled.simulate(2.0, samples=0.05, progress=False)
    result = compiled.simulate(2.0, samples=0.05, progress=False, keep="m.p", sink=path)
    found, words = READ[ending](path)
    assert words["not ok"] == str(result.failure) == str(plain.failure)
    assert words["valid samples"] == len(plain.t) <= len(found["t"])
    np.testing.assert_array_equal(found["m.p"][: len(plain.t)], plain["m.p"])


@pytest.mark.parametrize("ending", SINKS)
def test_an_interrupted_sink_leaves_no_file(compiled, ending, small_pages, tmp_path, monkeypatch):
    path = tmp_path / f"run{ending}"
    sink, count = sink_for(path), 0
    take = sink.take

    def interrupted(t, values):
        nonlocal count
        take(t, values)
        count += 1
        if count == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(sink, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(compiled, keep=KEEP, sink=sink)
    assert count == 3 and os.listdir(tmp_path) == []


def test_a_killed_process_leaves_no_file_under_the_name(tmp_path):
    script = (
        "import os\n"
        "from bondgraph.run.streaming import run as kept_runs\n"
        "from bondgraph.sinks import CsvSink\n"
        "from tests.sinks.test_sinks import KEEP, model, run\n"
        "from bondgraph import compile_model\n"
        "kept_runs.PAGE = 60\n"
        "class Killed(CsvSink):\n"
        "    def take(self, t, values):\n"
        "        super().take(t, values)\n"
        "        self._text.flush()\n"
        "        if t[-1] > 1.0:\n"
        "            os._exit(9)\n"
        f"run(compile_model(model(), progress=False), keep=KEEP, sink=Killed({str(tmp_path / 'run.csv')!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 9, done.stderr
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".unfinished-")
    CsvSink(tmp_path / "run.csv").abandon()
    compiled = compile_model(model(), progress=False)
    assert run(compiled, keep=KEEP, sink=tmp_path / "run.csv").ok
    assert "run.csv" in os.listdir(tmp_path) and (os.name == "nt" or len(os.listdir(tmp_path)) == 1)


def test_functions_observe(compiled, small_pages):
    seen: list[tuple[np.ndarray, dict]] = []
    result = run(compiled, keep=KEEP, sink=lambda t, values: seen.append((t, values)))
    plain = run(compiled)
    assert len(seen) > 5 and result.ok
    np.testing.assert_array_equal(np.concatenate([t for t, _ in seen]), plain.t)
    for name in KEEP:
        np.testing.assert_array_equal(np.concatenate([values[name] for _, values in seen]), plain[name])
    seen[0][0][:] = seen[0][1]["spring.q"][:] = np.nan
    assert np.isfinite(result.t).all() and run(compiled, keep=KEEP)["spring.q"].tobytes() == plain["spring.q"].tobytes()


class Told(Sink):
    def __init__(self, fails_at: str = ""):
        self.said: list[object] = []
        self.fails_at = fails_at

    def _say(self, what: str, *more: object) -> None:
        self.said.append((what, *more))
        if what == self.fails_at:
            raise OSError("no space left")

    def begin(self, model, kept):
        self._say("begin", model, kept)

    def take(self, t, values):
        self._say("take", len(t), list(values))

    def end(self, wrong, valid):
        self._say("end", wrong, valid)

    def abandon(self):
        self.said.append(("abandon",))


def test_a_sink_receives_the_layout_and_the_outcome(compiled, small_pages):
    told = Told()
    run(compiled, keep=["spring.q", "frame.q[1]"], sink=told)
    first, *taken, last = told.said
    assert first[:2] == ("begin", "driven")
    assert tuple(first[2]) == (KeptQuantity("spring.q", "m", ()), KeptQuantity("frame.q[1]", "", ()))
    assert sum(count for _, count, _ in taken) == 101 and last == ("end", "", 101)
    assert {tuple(names) for *_, names in taken} == {("spring.q", "frame.q[1]")}


@pytest.mark.parametrize("fails_at", ["begin", "take", "end"])
def test_exceptions_of_a_sink_are_raised_and_abort_it(compiled, small_pages, fails_at):
    told = Told(fails_at)
    with pytest.raises(OSError, match="no space left"):
        run(compiled, keep="spring.q", sink=told)
    assert [what for what, *_ in told.said][-2:] == [fails_at, "abandon"]


@pytest.mark.filterwarnings("ignore::bondgraph.RunEndedWarning")
def test_nonfinite_values_are_not_sent(small_pages):
    """Energies overflow long before the state does, so the run continues, but later samples are not sent."""
    told, sent = Told(), list[np.ndarray]()
    compiled = compile_model(loop(I("m", 1.0, initial=1.0), R("negative", effort=lambda f: -f)), progress=False)
    given = {"samples": 40.0, "keep": "m.p", "progress": False}
    result = compiled.simulate(2000.0, sink=told, **given)
    assert (
        "not finite" in str(result.failure)
        and not compiled.simulate(2000.0, sink=lambda t, values: sent.append(values["m.p"]), **given).ok
    )
    assert np.isfinite(np.concatenate(sent)).all()
    assert told.said[-1] == ("end", str(result.failure), len(result.t)) and len(np.concatenate(sent)) == len(result.t)


# --- refusals -----------------------------------------------------------------------------------------------------------------


def test_places_and_endings_that_cannot_be(compiled, tmp_path):
    with pytest.raises(FileError, match=r"(?s)E415.*\.csv or \.npz or \.parquet or \.zarr"):
        run(compiled, keep=KEEP, sink="run.mat")
    (tmp_path / "precious.zarr").mkdir()
    (tmp_path / "precious.zarr" / "letter").write_text("mine")
    with pytest.raises(FileError, match=r"(?s)E414.*something else.*zarr\.json"):
        run(compiled, keep=KEEP, sink=tmp_path / "precious.zarr")
    assert (tmp_path / "precious.zarr" / "letter").read_text() == "mine" and len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize("part", ["a/b", r"a\b"])
def test_names_that_no_folder_can_have(tmp_path, part):
    compiled = emptied(part)
    with pytest.raises(RunError, match=rf'(?s)E348.*"{re.escape(part)}\.q" has a slash.*\.parquet'):
        run(compiled, keep=f"{part}.q", sink=tmp_path / "run.zarr")
    assert os.listdir(tmp_path) == []
    assert run(compiled, keep=f"{part}.q", sink=tmp_path / "run.npz").ok
    np.testing.assert_array_equal(np.load(tmp_path / "run.npz")[f"{part}.q"], run(compiled)[f"{part}.q"])


def emptied(part: str) -> Compiled:
    graph, v = Graph("m"), J1("v")
    return compile_model(graph.connect(v, C(part, capacitance=1.0, initial=1.0)).connect(v, R("r", 1.0)), progress=False)


@pytest.mark.parametrize("part", ["#1", "a # b", 'a, "b"', "größe"])
def test_a_name_begins_no_comment(tmp_path, part):
    pandas = pytest.importorskip("pandas")
    compiled = emptied(part)
    run(compiled, keep=[f"{part}.q", f"{part}.effort"], sink=tmp_path / "run.csv")
    found = pandas.read_csv(tmp_path / "run.csv", comment="#")
    assert list(found) == ["t", f"{part}.q", f"{part}.effort"]
    np.testing.assert_array_equal(found[f"{part}.q"], run(compiled)[f"{part}.q"])


@pytest.mark.parametrize("ending", SINKS)
def test_a_full_disk_is_reported_with_the_path(compiled, ending, tmp_path):
    resource = pytest.importorskip("resource")
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    path = tmp_path / f"run{ending}"
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, kept[1]))
    try:
        with pytest.raises(FileError, match=rf"(?s)E414.*cannot write .*run\{ending}.*too large"):
            compiled.simulate(2.0, samples=2e-4, progress=False, keep="spring.q", sink=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("ending", "package"), [(".parquet", "pyarrow"), (".zarr", "zarr")])
def test_extras_that_are_not_there(compiled, monkeypatch, ending, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ExtraError, match=rf"(?s)E416.*{package} is not installed.*screwbond\[sinks\]"):
        run(compiled, keep=KEEP, sink=f"run{ending}")


def test_a_sink_serves_one_run_after_the_other(compiled, tmp_path):
    sink = NpzSink(tmp_path / "run.npz")
    for stiffness in (4.0, 9.0):
        run(compiled, keep="spring.q", sink=sink, parameters={"spring.stiffness": stiffness})
        plain = run(compiled, parameters={"spring.stiffness": stiffness})
        np.testing.assert_array_equal(np.load(tmp_path / "run.npz")["spring.q"], plain["spring.q"])


def test_a_warning_of_a_run_comes_after_its_file(tmp_path):
    with pytest.warns(RunEndedWarning):
        loop_of_poles().simulate(2.0, samples=0.05, progress=False, keep="m.p", sink=tmp_path / "run.csv")
    assert "not ok" in read_csv(tmp_path / "run.csv")[1]
