"""Pages that simulate are run in node, without a browser."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bondgraph.export import LivePage
from tests.inner.export import page_part, script

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: WebAssembly cannot run")
DATA = '<script type="application/json" id="run">', "</script>"
RUNS = """
simulator(S).then(({ run }) => {
  for (const values of CHANGES) {
    const { wrong, t, columns, steps, events, jumps } = run(values);
    console.log(JSON.stringify({ wrong, t: [...t], columns: columns.map(column => [...column]), steps, events, jumps }));
  }
});
"""


def between(text: str, marks: tuple[str, str]) -> str:
    return text.partition(marks[0])[2].partition(marks[1])[0]


def facts_of(page: LivePage) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(between(page.text, DATA))
    return facts


def runs_in_node(page: LivePage, folder: Path, *changes: Mapping[str, float], flags: Sequence[str] = ()) -> list[dict[str, Any]]:
    facts, path = facts_of(page), folder / "runs.js"
    index = {slider["name"]: slider["index"] for slider in facts["live"]}
    values = [[[index[name], value] for name, value in change.items()] for change in ({}, *changes)]
    data = f"const S = {json.dumps(facts)}, CHANGES = {json.dumps(values)};\n"
    path.write_text(data + page_part("inflate.js") + script() + RUNS, encoding="utf-8")
    done = subprocess.run([str(NODE), *flags, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
