"""Commands run, show and export hand-written model files, and run a file again when it changes."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from screwbond.models.cli import main

from bondgraph import load_model, save_model
from tests.inner.models_graph_files import READERS, follow, load_any
from tests.models.sbml.networks import NETWORKS

SHORT = {
    "graph": "loop",
    "elements": {"l": "J1", "c": {"C": {"capacitance": 1.0, "initial": 1.0}}, "d": {"varistor": {"alpha": 1.0}}},
    "bonds": ["l -> c", "l -> d"],
}
CIRCUIT = "discharge\nR1 a 0 1k\nC1 a 0 1m IC=2\n.tran 1m 1 uic\n"
YAML = "graph: loop\nelements: {l: J1, c: {C: {capacitance: 1.0, initial: 1.0}}, r: {R: 2.0}}\nbonds: [l -> c, l -> r]\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {"short": tmp_path / "short.json", "circuit": tmp_path / "circuit.CIR", "saved": tmp_path / "saved.json"}
    paths["short"].write_text(json.dumps(SHORT))
    paths["circuit"].write_text(CIRCUIT)
    save_model(load_any(paths["circuit"]), paths["saved"])
    return paths


def test_every_form_is_run(files: dict[str, Path], tmp_path: Path) -> None:
    runs = {}
    for name, path in files.items():
        assert main(["run", str(path), "--t-end", "1", "--out", str(tmp_path / name), "--only", "trajectory.npz"]) == 0
        runs[name] = np.load(tmp_path / name / "trajectory.npz")
    assert runs["circuit"]["c1.q"][-1] == pytest.approx(2e-3 * np.exp(-1.0), rel=1e-6)
    assert np.array_equal(runs["circuit"]["c1.q"], runs["saved"]["c1.q"])
    assert "d.flow" in runs["short"]  # a part is a kind
    assert set(READERS) >= {".json", ".yaml", ".yml", ".cir"}


def test_a_file_is_shown_again_when_it_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, contents, seen = tmp_path / "circuit.cir", [None, "wrong\nR1 a\n", None, CIRCUIT], []
    path.write_text(CIRCUIT)

    def redraw() -> None:
        seen.append(sorted(load_any(path).freeze().elements)[:1])  # type: ignore[union-attr]

    def go_on() -> bool:
        if not contents:
            return False
        if (content := contents.pop(0)) is not None:
            path.write_text(content)
        return True

    assert follow(path, redraw, go_on) == 3  # the initial file, the wrong one, the right one, but not an unchanged file
    assert len(seen) == 2
    assert "E640" in capsys.readouterr().out


def broken(content: bytes) -> list[bytes | None]:
    """Return contents of a file as an editor may briefly leave them, then the whole content; None stands for a missing file."""
    return [b"", content[: len(content) // 2], b"\xff\xfe\x00", None, content]


@pytest.mark.parametrize("form", ["short", "circuit", "saved", "yaml", "network"])
def test_show_survives_every_broken_file(
    form: str, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip({"yaml": "yaml", "network": "libsbml"}.get(form, "numpy"))
    files["yaml"], files["network"] = tmp_path / "loop.yml", tmp_path / "network.sbml"
    files["yaml"].write_text(YAML)
    if form == "network":
        files["network"].write_text(NETWORKS["michaelis"].text())
    path, said = files[form], list[str]()
    contents = iter(broken(path.read_bytes()))

    def go_on() -> bool:
        said.append(capsys.readouterr().out)
        content = next(contents, b"end")
        if content is None:
            path.unlink()
        elif content != b"end":
            path.write_bytes(content)
        return content != b"end"

    monkeypatch.setattr("screwbond.models.graph_files._wait", go_on)
    assert main(["show", "--watch", str(path), "--out", str(tmp_path / "out")]) == 0
    assert "strokes" in said[0] and said[0] == said[-1]
    assert all(re.search(r"^E\d{3} ", text, re.MULTILINE) for text in said[1:-1]) and len(said) == 6


def test_export(files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    for form in ("json", "c", "matlab", "numpy"):
        assert main(["export", str(files["circuit"]), "--to", form, "--out", str(out)]) == 0
    names = {path.relative_to(out).as_posix() for path in out.rglob("*")}
    assert {"circuit.json", "circuit.c", "circuit.h", "circuit.py", "+circuit"} <= names
    assert sorted(load_model(out / "circuit.json").elements) == sorted(load_any(files["circuit"]).freeze().elements)  # type: ignore[union-attr]
    assert main(["export", str(files["circuit"]), "--to", "modelica", "--out", str(out)]) == 0
    assert "end circuit;" in (out / "circuit.mo").read_text()
    capsys.readouterr()
    assert main(["export", str(tmp_path / "circuit.asc"), "--to", "c", "--out", str(out)]) == 2
    assert "E357" in capsys.readouterr().err
    assert main(["export", str(files["circuit"]), "--to", "casadi", "--out", str(files["short"])]) == 2
    assert "E413" in capsys.readouterr().err


def test_export_of_a_unit(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command, names = ["export", str(files["circuit"]), "--to", "fmu", "--out", str(tmp_path)], ["--input", "r1.resistance"]
    assert main(command) == 2
    assert "E613 a functional mock-up unit needs the end time of its run" in capsys.readouterr().err
    assert main(["export", str(files["circuit"]), "--to", "c", "--out", str(tmp_path / "c"), *names]) == 2
    assert "E613 --input: only for a functional mock-up unit" in capsys.readouterr().err and not (tmp_path / "c").exists()
    assert main([*command, "--t-end", "1", "--output", "c1.p"]) == 2
    assert 'E601 the output "c1.p" is not a quantity that the model computes' in capsys.readouterr().err
    monkeypatch.setenv("CC", "/nowhere/cc")
    assert main([*command, "--t-end", "2", *names, "--output", "c1.q", "--fmi-version", "2"]) == 0
    printed = capsys.readouterr()
    assert "E606 no C compiler was found: the FMU has no library for this machine" in printed.err
    assert printed.out.strip() == str(tmp_path / "circuit.fmu")
    described = zipfile.ZipFile(tmp_path / "circuit.fmu").read("modelDescription.xml").decode()
    assert all(text in described for text in ('fmiVersion="2.0"', 'stopTime="2.0"', 'causality="input"', 'causality="output"'))


def test_export_of_casadi(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["export", str(files["circuit"]), "--to", "casadi", "--out", str(tmp_path)]
    monkeypatch.setitem(sys.modules, "casadi", None)
    assert main(command) == 2
    assert "E416" in capsys.readouterr().err
    monkeypatch.undo()
    casadi = pytest.importorskip("casadi")
    assert main(command) == 0
    rates = casadi.Function.load(str(tmp_path / "circuit.casadi"))
    assert float(rates([0.0], [2e-3], [1e3, 1e-3, 0.0][: rates.size1_in("p")], [])) == pytest.approx(-2e-3, rel=1e-9)
