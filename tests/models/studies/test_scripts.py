"""The commands `screwbond examples` and `screwbond --version` work, and an installation contains the files outside the
packages."""

from __future__ import annotations

import configparser
import shutil
from pathlib import Path

import pytest
from screwbond.models.cli import main

from bondgraph.errors import FileError
from tests.inner.models_studies import PACKAGE, copy_scripts, example_files

ROOT = Path(__file__).parents[3]
HERE = sorted(path for path in (ROOT / "examples").iterdir() if path.is_file())


def test_a_checkout_has_its_own_examples() -> None:
    assert example_files() == HERE and {path.suffix for path in HERE} >= {".py", ".urdf"}


def test_an_installation_contains_the_scripts(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "models" / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    assert [path.name for path in example_files(tmp_path / "models")] == [path.name for path in HERE]
    assert example_files(tmp_path / "models")[0].parent == tmp_path / "models" / "examples"


def test_the_command_copies_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["examples"]) == 0
    assert capsys.readouterr().out.startswith(f"{len(HERE)} files in examples; for instance: python examples")
    for path in HERE:
        assert (tmp_path / "examples" / path.name).read_bytes() == path.read_bytes()
    assert main(["examples"]) == 0  # overwriting an identical file loses nothing


def test_changed_files_are_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    main(["examples", str(tmp_path / "mine")])
    changed = tmp_path / "mine" / "pushing.py"
    changed.write_text("print('mine')\n", encoding="utf-8")
    assert main(["examples", str(tmp_path / "mine")]) == 2
    assert "E596" in capsys.readouterr().err and changed.read_text(encoding="utf-8") == "print('mine')\n"
    assert main(["examples", str(tmp_path / "fresh")]) == 0


def test_an_installation_without_examples_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="E595 this installation has no examples"):
        copy_scripts(tmp_path / "out", package=tmp_path / "models")
    assert not (tmp_path / "out").exists() and (PACKAGE / "cli.py").is_file()


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture) -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out == f"screwbond {parser['metadata']['version']}\n"
