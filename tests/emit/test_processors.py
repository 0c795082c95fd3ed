"""LLVM makes machine code for other processors, in a child process, because LLVM aborts on an internal inconsistency."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.release

ROOT = Path(__file__).parents[2]
UNKEPT = {**os.environ, "SCREWBOND_CACHE": "off"}
TARGETS = {"aarch64-unknown-linux-gnu": ("generic",), "arm64-apple-darwin": ("apple-m1",)}
SCRIPT = """
import sys
from benchmarks.chain import chain
from bondgraph import compile_model
from bondgraph.emit import llvm, machine
from bondgraph.emit.interpreter import code
from bondgraph.emit.kernel import LANES
from bondgraph.methods import METHODS
from bondgraph.run.batch.simd import lane_loop
from bondgraph.warming import PARTS

texts, object_code = [], machine.object_code

def collected(text, passes, level):
    texts.append((text, passes, level))
    return object_code(text, passes, level)

def written(writer, write, passes=2):
    texts.append((write(), passes, 2))
    return b"", ()

llvm.object_code = collected
compiled = compile_model(chain(200), progress=False)
compiled.program.rates.address
loops = sum(passes for _, passes, _ in texts)
llvm.written_code, llvm.linked = written, lambda *_: (None, {})
parts, others = [*PARTS.values()], len(METHODS) - 1
for make in parts[others:]:
    make()
usual = len(texts)  # with one method, and the lanes that a run takes here; the others are made for the first processor only
for make in parts[:others]:
    make()
for part in (code, lane_loop):
    for n in LANES:
        part.machine_code(n)
texts = [*dict.fromkeys(texts)]
print(loops, len(texts), flush=True)
binding = machine.binding()
binding.initialize_all_targets()
binding.initialize_all_asmprinters()
for target in sys.argv[1:]:
    triple, cpu = target.split(":")
    for text, passes, level in texts if target == sys.argv[1] else texts[:usual]:
        made = binding.Target.from_triple(triple).create_target_machine(
            cpu=cpu, features="", opt=level, reloc="pic", codemodel="small", jit=True)
        assert len(made.emit_object(machine.optimised(text, passes, made))) > 500
    print(target, flush=True)
"""


def test_code_can_be_made_for_other_processors():
    targets = [f"{triple}:{cpu}" for triple, cpus in TARGETS.items() for cpu in cpus]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *targets], env=UNKEPT, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr[-1000:]
    counts, *made = done.stdout.splitlines()
    assert made == targets, done.stderr[-1000:]
    loops, texts = map(int, counts.split())
    assert loops >= 2 and texts > 12
