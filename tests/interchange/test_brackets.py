"""Readers count the nesting depth of brackets and stay within the recursion limit."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inner.interchange import nesting_depth

TEXTS = st.text(st.sampled_from('[]{}"\\/ aé\ud800\n'))
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)
READERS = """
import sys
sys.setrecursionlimit(1_000_000)  # as some programs do that recurse themselves
from pathlib import Path
from bondgraph import ScrewbondError, parse_model
from campaigns.files import FORMATS
from screwbond.models.studies.model_commands import _change
from bondgraph import C, Graph, J1, Se, compile_model

graph, j = Graph("g"), J1("j")
compiled = compile_model(graph.connect(Se("u", 1.0), j).connect(j, C("c", capacitance=1.0)), backend="numpy", progress=False)
deep = Path(sys.argv[1])
for begin, end in (("[", ""), ("[", "]"), ('{"a":', ""), ('{"a":', "}")):
    text = '{"a": ' + begin * 300_000 + "1" + end * 300_000 + "}"
    deep.write_text(text)
    readers = [parse_model, lambda text: _change(compiled, f"c.q={text}")]
    for reader in [*readers, *((lambda text, form=form: form.read(deep)) for form in FORMATS.values())]:
        try:
            reader(text)
        except ScrewbondError as error:
            print(error.problems[0].code)
"""


def counted(value: Any) -> int:
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(counted, value.values() if isinstance(value, dict) else value), default=0)


@settings(max_examples=40)
@given(VALUES, st.booleans())
def test_it_is_that_of_the_value(value: Any, ascii_only: bool) -> None:
    assert nesting_depth(json.dumps(value, ensure_ascii=ascii_only, indent=1)) == counted(value)


@given(st.text(st.sampled_from('[]{}"\\a')))
def test_a_text_within_which_brackets_do_not_count_is_never_deeper(text: str) -> None:
    letters = [letter for letter in text if letter in "[{"]
    assert (
        0 <= nesting_depth(text) <= len(letters)
        and nesting_depth(json.dumps(text)) == 0
        and nesting_depth("[" + json.dumps(text) + "]") == 1
    )


def test_readers_limit_nesting_below_a_raised_recursion_limit(tmp_path) -> None:
    """Without a limit of their own, readers would overflow the stack."""
    run = [sys.executable, "-c", READERS, str(tmp_path / "deep.json")]
    said = subprocess.run(run, capture_output=True, text=True, check=False)
    assert not said.returncode, said.stderr[-2000:]
    assert said.stdout.split() == 4 * ["E351", "E359", "E402", "E402", "E402"]
