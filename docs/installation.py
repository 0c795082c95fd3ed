"""Install requirements at the pinned versions into this Python's environment, with uv or pip.

uv takes half as long as pip for two hundred packages and finds the same versions, since all are pinned. It does not read the
configuration of pip, such as the addresses of indexes; this module passes it on as options and environment variables. Pip
installs if uv is missing or fails, or if a setting has no counterpart: `python -m docs.installation -e ".[dev]"`.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PINS = ("--constraint", str(ROOT / "constraints.txt"))
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-compile", *PINS)
"""Command that installs without compiling modules, because Python compiles them when they are imported."""

OPTIONS = ("index-url", "extra-index-url", "find-links", "constraint")
"""Settings of pip that are options of uv with the same names, each with one or several values."""
VARIABLES = {"cert": "SSL_CERT_FILE", "timeout": "UV_HTTP_TIMEOUT", "default-timeout": "UV_HTTP_TIMEOUT", "proxy": "ALL_PROXY"}
OTHER = {"disable-pip-version-check", "no-color", "no-input", "progress-bar", "quiet", "retries", "root-user-action", "verbose"}
SECTIONS = ("global", "install", ":env:")
"""Sections of pip's configuration that apply to `pip install`; the last one has priority."""


class UvSettings(NamedTuple):
    options: tuple[str, ...]
    variables: dict[str, str]


def uv_settings(listed: str) -> UvSettings | None:
    """Translate the lines of `pip config list` for uv; return None if a setting has no counterpart."""
    settings: dict[str, str] = {}
    lines = [line.partition("=") for line in listed.splitlines() if "=" in line]
    for section in SECTIONS:
        for name, _, value in lines:
            if name.startswith(f"{section}."):
                settings[name.removeprefix(f"{section}.")] = str(ast.literal_eval(value))
    options: list[str] = []
    variables = {}
    for name, value in settings.items():
        if name in OPTIONS:
            options += [word for each in value.split() for word in (f"--{name}", each)]
        elif name in VARIABLES:
            variables[VARIABLES[name]] = value
        elif name not in OTHER:
            return None
    return UvSettings(tuple(options), variables)


def by_uv(requirements: Sequence[str]) -> bool:
    """Install uv, then the requirements with it; return False if anything is missing or fails."""
    listed = subprocess.run((sys.executable, "-m", "pip", "config", "list"), capture_output=True, text=True, check=False)
    settings = uv_settings(listed.stdout) if listed.returncode == 0 else None
    if settings is None or subprocess.run((*PIP, "uv"), capture_output=True, check=False).returncode != 0:
        return False
    # Pip chooses the best version from all indexes.
    options = ("--quiet", "--python", sys.executable, "--index-strategy", "unsafe-best-match", *settings.options, *PINS)
    command = (sys.executable, "-m", "uv", "pip", "install", *options, *requirements)
    done = subprocess.run(command, env={**os.environ, **settings.variables}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"uv could not install the packages; trying pip:\n{done.stderr}", file=sys.stderr)
    return done.returncode == 0


def main(requirements: Sequence[str]) -> int:
    """Install the requirements, and return the exit code of the last program that ran."""
    if by_uv(requirements):
        return 0
    # The pip that comes with Python 3.11 takes two and a half times as long to check the pins.
    subprocess.run((*PIP, "pip"), check=False)
    return subprocess.run((*PIP, *requirements), check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
