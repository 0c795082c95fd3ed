"""Solvers' procedures printed as C give the same bits as LLVM IR; `pytest tests/run --procedures-by gcc` runs all tests with the
C code."""

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
    command = [sys.executable, "-m", "tests.run.courses", compiler]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def native():
    return courses.digests()


def test_courses_are_of_many_sorts(native):
    assert len(set(native.values())) == len(native) >= 30


@pytest.mark.release
@needed
@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_course_has_the_same_bits(compiler, native):
    found = by(compiler)
    assert found["made"] and found["digests"] == native


SANITIZED = "gcc -O0 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all"


def library() -> str:
    """Return the path of gcc's address sanitizer, which a process must load first, or "" if it is missing."""
    if "gcc" not in COMPILERS or sys.platform != "linux":
        return ""
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    return found if Path(found).is_absolute() else ""


@pytest.mark.release
@pytest.mark.skipif(not library(), reason="gcc's sanitizer is not installed: undefined behaviour is not checked")
def test_sanitizers_find_nothing(native):
    found = by(SANITIZED, LD_PRELOAD=library(), ASAN_OPTIONS="detect_leaks=0")
    assert found["digests"] == native
