"""Handwritten source code is compiled, and messages name missing parts."""

import ctypes
import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.emit.test_cache import squares
from tests.inner.emit import compile_ir, compile_routines, machine, routines_text
from tests.inner.emit import llvm_CompileError as CompileError

ROOT = Path(__file__).parents[2]

CALLER = """
declare void @given(ptr, i32)
define void @twice(ptr %x) {
  call void @given(ptr %x, i32 1)
  call void @given(ptr %x, i32 2)
  ret void
}
define internal void @hidden() {
  ret void
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SCREWBOND_CACHE", str(tmp_path / "objects"))
    return tmp_path / "objects"


def test_hand_written_text_calls_given_addresses():
    seen = []
    given = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)(lambda _, number: seen.append(number))
    library = compile_ir(CALLER, {"given": ctypes.cast(given, ctypes.c_void_p).value}, keep=(given,))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address("twice"))(None)
    assert seen == [1, 2] and set(library.addresses) == {"twice"}


DOUBLED = """define double @doubled(double %x) {
  %sum = alloca double
  %y = fadd double %x, %x
  store double %y, ptr %sum
  %result = load double, ptr %sum
  ret double %result
}"""


@pytest.mark.parametrize("passes", [0, 1, 2])
def test_one_pass_or_more_puts_variables_into_registers(passes):
    module = str(machine.optimised(DOUBLED, passes, machine.target_machine(2)))
    assert ("alloca" in module) == (passes == 0) and module.count("fadd") == 1


@pytest.mark.parametrize(
    "text, message",
    [(CALLER, "E393.*\n.*no address is given for given"), ("define wrong", "E392"), ("define void @f() {", "E392")],
)
def test_wrong_text(text, message):
    with pytest.raises(CompileError, match=message):
        compile_ir(text)


def test_unknown_names():
    library = compile_routines([squares()])
    with pytest.raises(CompileError, match='E394 no compiled routine "cubes"\n  available: squares'):
        library.kernel("cubes")
    with pytest.raises(CompileError, match="E394"):
        library.address("cubes")
    with pytest.raises(CompileError, match="E396"):
        compile_routines([squares(), squares()])


def test_a_kernel_keeps_its_code():
    kernel = compile_routines([squares()]).kernel("squares")
    gc.collect()
    assert kernel(np.array([2.0, 3.0])).tolist() == [4.0, 9.0]


def test_code_for_the_baseline_processor(folder, monkeypatch):
    """The code contains no AVX multiplication, and has its own cache files."""
    text = routines_text([squares()])
    monkeypatch.setenv("SCREWBOND_PROCESSOR", "host")
    compile_routines([squares()])
    monkeypatch.setenv("SCREWBOND_PROCESSOR", "baseline")
    assert machine.processor()[1] == ""
    target = machine.target_machine(2)
    assert "vmul" not in target.emit_assembly(machine.optimised(text, 2, target))
    stored = set(folder.iterdir())
    assert compile_routines([squares()]).kernel("squares")([2.0, 3.0]).tolist() == [4.0, 9.0]
    assert set(folder.iterdir()) > stored
    monkeypatch.setenv("SCREWBOND_PROCESSOR", "fast")
    with pytest.raises(CompileError, match=r"E390 .*'fast'.*\n.*host, baseline, or haswell"):
        machine.processor()


def test_without_llvmlite():
    script = """
import sys
from pathlib import Path
sys.modules["llvmlite"] = None
from bondgraph.emit.llvm import CompileError, compile_ir, have_llvm
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.tape.routine import Routine
from bondgraph.tape.scalar import Tape
tape = Tape()
print(have_llvm(), numpy_kernel(Routine("f", tape, (("x", 1),), (tape.inputs("x", 1)[0] ** 2,)))([3.0]))
try:
    compile_ir("")
except CompileError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False [9.]") and "-m pip install 'llvmlite" in done.stdout


def test_import_is_light():
    script = "import sys, bondgraph.emit.llvm; print([m for m in ('llvmlite', 'sympy', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


FULL = """
import ctypes, math
from bondgraph.emit.llvm import compile_ir

calls = [f"%v{k} = call double @step(double %v{k - 1}, double {1.0 + k / 1024})" for k in range(1, 6_000)]
text = "\\n".join(["declare double @sin(double)",
    "define double @f(double %v0) {", *calls, "ret double %v5999", "}",
    "define internal double @step(double %x, double %c) noinline {",
    "%y = fmul double %x, %c", "%z = call double @sin(double %y)", "ret double %z", "}"])
system = ctypes.CDLL(None)
system.mmap.restype = ctypes.c_void_p
system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
reserve = lambda size: system.mmap(None, size, 0, 0x4022, -1, 0)
compile_ir(text.replace("@f", "@before"))
block = reserve(8 << 30)
for size in (1 << 24, 1 << 20, 1 << 18, 1 << 16):
    while reserve(size) > block:
        pass
library = compile_ir(text)
wanted = 0.5
for k in range(1, 6_000):
    wanted = math.sin(wanted * (1.0 + k / 1024))
found = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library.address("f"))(0.5)
print(abs(found - wanted) < 1e-9)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is filled by Linux system calls")
def test_code_links_if_memory_has_only_small_gaps(folder):
    """Next to a reserved block of 8 GB, code and constants reach each other only if allocated together."""
    done = subprocess.run([sys.executable, "-c", FULL], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr[-500:]
