"""uv gets the configuration of pip, which installs if uv fails."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from docs import installation
from docs.installation import UvSettings, main, uv_settings

LISTED = """\
:env:.cert='/certificates.crt'
:env:.find-links='/wheels /more wheels'
:env:.disable-pip-version-check='1'
global.find-links='/old'
global.extra-index-url='https://a.example/simple https://b.example/simple'
install.index-url='https://c.example/simple'
list.format='freeze'
"""


def test_uv_gets_the_addresses_of_pip() -> None:
    """The environment overrides a file, and settings for other commands are ignored."""
    assert uv_settings(LISTED) == UvSettings(
        (
            *("--find-links", "/wheels", "--find-links", "/more", "--find-links", "wheels"),
            *("--extra-index-url", "https://a.example/simple", "--extra-index-url", "https://b.example/simple"),
            *("--index-url", "https://c.example/simple"),
        ),
        {"SSL_CERT_FILE": "/certificates.crt"},
    )
    assert uv_settings("") == UvSettings((), {})


@pytest.mark.parametrize("setting", ["global.no-index='true'", ":env:.only-binary=':all:'", "install.client-cert='/my.pem'"])
def test_a_setting_without_a_counterpart_leaves_the_work_to_pip(setting: str) -> None:
    assert uv_settings(LISTED + setting) is None


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    def names(*failing: str, listed: str = LISTED, code: int = 0) -> list[str]:
        calls = []

        def run(command: tuple[str, ...], **_: object) -> subprocess.CompletedProcess[str]:
            assert command[:2] == (sys.executable, "-m")
            what = f"{command[2]} {command[-1]}"
            calls.append(what)
            return subprocess.CompletedProcess(command, 2 if what in failing else 0, listed, "no such version")

        monkeypatch.setattr(installation.subprocess, "run", run)
        assert main(["-e", ".[dev]"]) == code
        return calls

    return names


def test_pip_installs_where_uv_cannot(asked: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    first, by_pip = "pip list", ["pip pip", "pip .[dev]"]
    assert asked() == [first, "pip uv", "uv .[dev]"]
    assert asked("pip uv") == [first, "pip uv", *by_pip]
    assert asked(listed="global.no-index='true'") == [first, *by_pip]
    assert asked("pip list") == [first, *by_pip]
    assert capsys.readouterr().err == ""
    assert asked("uv .[dev]", "pip pip") == [first, "pip uv", "uv .[dev]", *by_pip]
    assert "no such version" in capsys.readouterr().err
    assert asked("uv .[dev]", "pip .[dev]", code=2) == [first, "pip uv", "uv .[dev]", *by_pip]
