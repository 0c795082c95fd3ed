"""The solvers' procedures printed as C, in the place of those that LLVM makes: the same bits, no warning, nothing undefined.

All tests run that way with `pytest tests/run --procedures-by gcc`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compilers import COMPILERS, needed
from tests.run import courses

ROOT = Path(__file__).parents[2]


def by(compiler: str, **environment: str) -> dict[str, object]:
    """What `courses` prints in a process of its own."""
    command = [sys.executable, "-m", "tests.run.courses", compiler]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def native():
    return courses.digests()


def test_courses_are_of_many_sorts(native):
    """No two give the same numbers."""
    assert len(set(native.values())) == len(native) >= 30


@pytest.mark.release
@needed
@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_course_has_the_same_bits(compiler, native):
    found = by(compiler)
    assert found["made"] and found["digests"] == native


SANITIZED = "gcc -O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all"


def library() -> str:
    """Where gcc's sanitizer of addresses is, which a process must load before all else; "" where there is none."""
    if "gcc" not in COMPILERS or sys.platform != "linux":
        return ""
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    return found if Path(found).is_absolute() else ""


@pytest.mark.release
@pytest.mark.skipif(not library(), reason="no sanitizer of gcc is installed: nothing looked for undefined behaviour")
def test_sanitizers_find_nothing(native):
    """Numbers and addresses of every course under the eyes of a compiler's sanitizers, and still the same bits."""
    found = by(SANITIZED, LD_PRELOAD=library(), ASAN_OPTIONS="detect_leaks=0")
    assert found["digests"] == native
