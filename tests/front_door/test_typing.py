"""A type checker accepts the packages and the code of the pages, and finds mistakes."""

import configparser
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RIGHT, WRONG = HERE / "idioms" / "right.py", HERE / "idioms" / "wrong.py"


def packages() -> list[str]:
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    return [name.strip() for name in settings["mypy"]["files"].split(",")]


@pytest.mark.thorough
def test_packages_idioms_and_scripts_pass_and_slips_are_found():
    pytest.importorskip("mypy")
    assert {"bondgraph", "models", "screwbond", "screws"} == set(packages())
    users = [RIGHT, WRONG, *sorted((HERE / "scripts").glob("*.py"))]
    command = [sys.executable, "-m", "tests.typed", "--hide-error-context", "--no-error-summary", "--scripts-are-modules"]
    said = subprocess.run([*command, *packages(), *map(str, users)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not said.stderr
    told = re.findall(r"^(.*?):(\d+): error: .*\[([a-z-]+)\]$", said.stdout, flags=re.MULTILINE)
    # Untyped packages in scripts are not our errors: users who want their types install stubs.
    here = HERE.relative_to(ROOT).as_posix()
    found = [(name, line) for name, line, kind in told if kind != "no-untyped-def" or not Path(name).as_posix().startswith(here)]
    assert {name for name, _ in found} == {str(WRONG.relative_to(ROOT))}, said.stdout
    lines = WRONG.read_text(encoding="utf-8").splitlines()
    begin = lines.index("compiled = graph.compile()") + 2
    assert [int(line) for _, line in found] == list(range(begin, len(lines) + 1)), said.stdout


def test_the_idioms_run(tmp_path, monkeypatch, capsys):
    for package in ("control", "matplotlib", "pandas", "xarray"):
        pytest.importorskip(package)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        runpy.run_path(str(RIGHT))
    assert len(capsys.readouterr().out.splitlines()) > 50 and (tmp_path / "oscillator.svg").stat().st_size > 1000
