"""A type checker has nothing to say of what the pages show, and finds slips of the pen."""

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


def test_idioms_and_scripts_pass_and_slips_are_found():
    """With the settings of the repository, whose cache then serves, so that a file costs little more than itself."""
    pytest.importorskip("mypy")
    # What has no types in scripts is no error of ours: whoever asks for types writes them.
    files = [RIGHT, WRONG, *sorted((HERE / "scripts").glob("*.py"))]
    told = [sys.executable, "-m", "mypy", "--hide-error-context", "--no-error-summary", "--scripts-are-modules", *map(str, files)]
    said = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not said.stderr
    found = re.findall(r"^(.*?):(\d+): error: .*\[(?!no-untyped-def\])[a-z-]+\]$", said.stdout, flags=re.MULTILINE)
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
