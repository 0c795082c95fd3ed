"""Procedures of the solvers, compiled by a C compiler instead of LLVM, for tests that compare the two.

A compiler is a command with its flags: "gcc", or "clang -O3".
"""

from __future__ import annotations

import ctypes
import functools
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.inner.emit import Procedure, llvm, source_text

FLAGS = (*("-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-shared"), *("-Wall", "-Wextra", "-Wpedantic", "-Werror"))
COMPILERS = tuple(name for name in ("gcc", "clang") if shutil.which(name))
needed = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed: nothing compiled the procedures in C")


def by_compiler(compiler: str, procedures: Sequence[Procedure], others: Sequence[str] = ()) -> llvm.Library:
    given = llvm.compile_ir("\n".join(others)) if others else llvm.Library({})
    code = _shared(compiler, source_text(procedures), tuple(given.addresses))
    for name, address in given.addresses.items():
        ctypes.c_void_p.in_dll(code, f"{name}_address").value = address
    exported = [procedure.name for procedure in procedures if not procedure.internal]
    addresses = {name: ctypes.cast(getattr(code, name), ctypes.c_void_p).value or 0 for name in exported}
    return llvm.Library({**given.addresses, **addresses}, {}, (code, given))


@functools.cache
def _shared(compiler: str, text: str, given: tuple[str, ...]) -> ctypes.CDLL:
    """Build a shared library, whose variables `<name>_address` contain the addresses of the functions in `given`."""
    with tempfile.TemporaryDirectory() as folder:
        source, table, made = (Path(folder, name) for name in ("procedures.c", "given.c", "procedures.so"))
        source.write_text(text)
        table.write_text("".join(f"void *{name}_address;\n" for name in given) or "typedef int nothing;\n")
        command, *own = shlex.split(compiler)
        called = [f"-D{name}=(*{name}_address)" for name in given]
        line = [command, *FLAGS, *own, *called, str(source), str(table), "-lm", "-o", str(made)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:3000]
        return ctypes.CDLL(str(made))


def replace_procedures(compiler: str) -> list[int]:
    """Make a C compiler build all procedures that are imported later; return a list of the number of procedures in each
    build."""
    assert not [name for name in sys.modules if name.startswith("bondgraph.run.steppers")], "LLVM's code already exists"
    made: list[int] = []

    def compiled(write: Callable[[], Sequence[Procedure]], others: Callable[[], Sequence[str]] = tuple) -> llvm.Library:
        procedures = write()
        made.append(len(procedures))
        return by_compiler(compiler, procedures, others())

    llvm.compile_written = compiled
    return made
