"""Job scripts of the page on clusters are run in a shell as the page describes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bondgraph.sweeps import last, load_runs, sweep
from docs.pages import DOCS
from examples.tolerances import motor

ROOT = Path(__file__).parents[2]


@pytest.mark.release
@pytest.mark.skipif(shutil.which("sh") is None, reason="sh is not installed: job scripts cannot run")
def test_jobs_in_a_loop_of_the_shell_give_the_bytes_of_one_sweep(tmp_path):
    part, job, loop, gather = re.findall(
        r"^```(?:py|sh)\n(.*?)^```", (DOCS / "clusters.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    for name, text in (("part.py", part), ("job.sh", job), ("gather.py", gather)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    path = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    for script in (loop, "python gather.py"):
        told = subprocess.run(
            ["sh", "-c", script], cwd=tmp_path, env={**os.environ, **path}, capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, told.stderr
    assert told.stdout == "1000 runs, 0 failed\n"
    points = {"winding.resistance": np.linspace(0.3, 1.5, 1000)}
    whole = sweep(motor, points, 0.1, keep={"speed": last("rotor.flow")}, progress=False)
    for task in range(4):
        assert load_runs(tmp_path / f"part{task}.db")["speed"].tobytes() == whole["speed"][task::4].tobytes()
