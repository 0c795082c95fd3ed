"""Limits of a campaign's trial, in a process that already uses much memory."""

import ast
import subprocess
import sys
from types import SimpleNamespace

import pytest

from campaigns.__main__ import main
from campaigns.processes import Progress
from tests.syntax import ROOT, tree_of


def test_every_campaign_returns_its_exit_status():
    trees = [tree_of(path).body for path in (ROOT / "campaigns").glob("*.py")]
    mains = [node for body in trees for node in body if isinstance(node, ast.FunctionDef) and node.name == "main"]
    assert mains and {ast.unparse(node.returns) for node in mains} == {"int"}


def test_a_campaign_whose_program_is_not_installed_does_not_end_the_others(monkeypatch, capsys):
    runs = iter([lambda: pytest.skip("no program"), lambda: 1, *[lambda: 0] * 99])
    monkeypatch.setattr("campaigns.__main__.import_module", lambda _: SimpleNamespace(main=next(runs)))
    assert main() == 1 and "no program" in capsys.readouterr().out


HELD = """
import json, mmap, resource, sys
from campaigns.processes import Progress, limit_addresses
held = mmap.mmap(-1, 7 << 30)  # as by many libraries
limit_addresses(256 << 20)
try:
    json.loads("[" * 100_000)  # its stack grows by more than there is
except RecursionError:
    print("refused")
try:
    bytearray(512 << 20)
except MemoryError:
    print("too much")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="addresses are counted on Linux only")
def test_the_limit_is_besides_what_a_process_has():
    said = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout.split("\n")) == (0, ["refused", "too much", ""]), said.stderr


def test_progress_can_be_read_while_a_campaign_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Progress(3, "files")
    watched.add()
    assert capsys.readouterr().err == ""  # less than ten seconds have passed
    monkeypatch.setattr("campaigns.processes._PAUSE", -1.0)
    for failure, lines in (("", "2/3 files, 0 wrong\n"), ("a.json: it hangs", "a.json: it hangs\n3/3 files, 1 wrong\n")):
        watched.add(failure)
        assert capsys.readouterr().err == lines
