"""Libraries of functional mock-up units, built by the C compiler of this machine, or by ziglang's for other platforms.

Code common to all models is compiled once for each method, compiler and platform, and cached.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bondgraph.emit import cache
from bondgraph.errors import refusal
from bondgraph.export.fmi.source import LIBRARY, MODEL

HOST = "host"
_FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fvisibility=hidden", "-ffunction-sections", "-g0", "-w")


@dataclass(frozen=True)
class Platform:
    """Platform of a library: its name in versions 3.0 and 2.0, the ending of libraries, and ziglang's name."""

    name: str
    name_of_2: str
    ending: str
    target: str


PLATFORMS = {
    each.name: each
    for each in (
        Platform("x86_64-linux", "linux64", "so", "x86_64-linux-gnu.2.17"),
        Platform("aarch64-linux", "aarch64-linux", "so", "aarch64-linux-gnu.2.17"),
        Platform("x86_64-windows", "win64", "dll", "x86_64-windows-gnu"),
        Platform("x86_64-darwin", "darwin64", "dylib", "x86_64-macos"),
        Platform("aarch64-darwin", "aarch64-darwin", "dylib", "aarch64-macos"),
    )
}
_SYSTEMS = {"Linux": "linux", "Windows": "windows", "Darwin": "darwin"}
_PROCESSORS = {"AMD64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}


def this_platform() -> Platform | None:
    return PLATFORMS.get(f"{_PROCESSORS.get(platform.machine())}-{_SYSTEMS.get(platform.system())}")


def host_compiler() -> tuple[str, ...]:
    named = os.environ.get("CC")
    for command in (named, "cc", "gcc", "clang"):
        words = shlex.split(command) if command else []
        if words and shutil.which(words[0]):
            return tuple(words)
        if command and command == named:
            return ()
    return ()


def cross_compiler(target: str) -> tuple[str, ...]:
    if importlib.util.find_spec("ziglang") is None:
        return ()
    return (sys.executable, "-m", "ziglang", "cc", "-target", target)


def library(sources: Mapping[str, str], identifier: str, kind: Platform, command: Sequence[str]) -> bytes:
    """Return the library that a compiler builds from the sources for a platform. Raises `ModelError` E605 if the compiler
    fails."""
    flags = [*_FLAGS, *(["-fPIC"] if kind.ending != "dll" else [])]
    name = cache.key("fmi", sources[LIBRARY], *command, _version(tuple(command)), *flags)
    with tempfile.TemporaryDirectory() as folder:
        for file, text in sources.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        common = cache.load(name)
        if common is None:
            _compile([*command, *flags, "-c", LIBRARY, "-o", "library.o"], folder)
            common = Path(folder, "library.o").read_bytes()
            cache.store(name, common)
        Path(folder, "library.o").write_bytes(common)
        made = f"{identifier}.{kind.ending}"
        libraries = ["-lm"] if kind.ending == "so" else []
        lean = ["-Wl,-dead_strip"] if kind.ending == "dylib" else ["-Wl,--gc-sections", "-Wl,-s"]
        _compile([*command, *flags, "-shared", MODEL, "library.o", *libraries, *lean, "-o", made], folder)
        return Path(folder, made).read_bytes()


def _compile(command: Sequence[str], folder: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()][:6]
        title = f'the compiler "{"ziglang" if "ziglang" in command else command[0]}" cannot build the library'
        cures = ("another compiler, named by the environment variable CC", "platforms=(), for an FMU with only sources")
        raise refusal("E605", title, *cures, about="fmu", why=lines, places=())


@functools.cache
def _version(command: tuple[str, ...]) -> str:
    """Return the version line of a compiler, run in a temporary folder, since ziglang's compiler leaves an empty file."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*command, "--version"], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]
